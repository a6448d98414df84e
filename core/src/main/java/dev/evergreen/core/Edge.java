package dev.evergreen.core;

import org.jspecify.annotations.Nullable;

/**
 * That a run of a summary has read a cache: an edge of the dependency graph, from before the value
 * is taken until it is given up. The cache has them in a chain.
 */
final class Edge extends Chain.Link<Edge> {

  final Cache cache;
  final Summary dependent;

  /** What was read. Once there is an outcome, the whole run sees the same. */
  volatile @Nullable Outcome outcome;

  Edge(Cache cache, Summary dependent) {
    this.cache = cache;
    this.dependent = dependent;
  }
}
