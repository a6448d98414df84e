package dev.evergreen.core;

import org.jspecify.annotations.Nullable;

/**
 * That a run of a summary has read a cache: an edge of the dependency graph, from before the value
 * is taken until it is given up. The cache has them in a chain.
 *
 * <p>An edge knows what was read, so that a new result marks just those dependents that have read
 * another. Its fields are written with the cache's monitor; the run that made it reads them freely.
 */
final class Edge extends Chain.Link<Edge> {

  final Cache cache;
  final Summary dependent;

  /**
   * What was read; null while that is open. Once there is an outcome, the whole run sees the same.
   */
  private volatile @Nullable Outcome outcome;

  /** Whether the reader went on without the publisher's answer, so that it is in doubt. */
  private volatile boolean gaveUp;

  Edge(Cache cache, Summary dependent) {
    this.cache = cache;
    this.dependent = dependent;
  }

  @Nullable Outcome outcome() {
    return outcome;
  }

  /** The reader takes what the cache has. */
  void take(Outcome present) {
    outcome = present;
    gaveUp = false;
  }

  /**
   * The reader goes on without an answer.
   *
   * @param instead what it goes on with; null if it may ask again
   */
  void giveUp(@Nullable Outcome instead) {
    outcome = instead;
    gaveUp = true;
  }

  /** Whether the reader has gone on, with an outcome or without. */
  boolean passed() {
    return outcome != null || gaveUp;
  }

  /**
   * Whether what was read may be outdated, for all that is known. A branch that did not wait for an
   * answer, since another was first, has read nothing.
   */
  boolean inDoubt() {
    return gaveUp || (outcome != null && cache.inDoubt());
  }
}
