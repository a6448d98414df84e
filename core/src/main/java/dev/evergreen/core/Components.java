package dev.evergreen.core;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The strongly connected components of a directed graph: all nodes of one can reach each other. One
 * walk, in time that grows with nodes and edges (Gabow, "Path-based depth-first search for strong
 * and biconnected components", Information Processing Letters 74, 2000).
 *
 * @param <N> nodes, which are what they equal
 */
final class Components<N> {

  /** How far the walk has come with a node. */
  private record Step<N>(N node, Iterator<N> next) {}

  /** The number of a node whose component is known: lower than all others. */
  private static final int DONE = -1;

  private final Function<N, List<N>> edges;

  /** In which order the walk has come to nodes. */
  private final Map<N, Integer> numbers = new HashMap<>();

  private final ArrayDeque<Step<N>> way = new ArrayDeque<>();

  /** Those whose component is not known yet, */
  private final ArrayDeque<N> open = new ArrayDeque<>();

  /** and of these the first of each that may be one. */
  private final ArrayDeque<N> firsts = new ArrayDeque<>();

  private final List<List<N>> found = new ArrayList<>();

  private Components(Function<N, List<N>> edges) {
    this.edges = edges;
  }

  /**
   * The components of a graph, each after those that can be reached from it.
   *
   * @param edges from a node to others, or to itself; all that are reached are nodes of the graph
   */
  static <N> List<List<N>> of(Collection<N> nodes, Function<N, List<N>> edges) {
    var components = new Components<>(edges);
    nodes.forEach(components::walk);
    return components.found;
  }

  private void walk(N start) {
    come(start);
    while (!way.isEmpty()) {
      var step = way.element();
      if (step.next.hasNext()) {
        come(step.next.next());
      } else {
        way.pop();
        leave(step.node);
      }
    }
  }

  private void come(N node) {
    var number = numbers.putIfAbsent(node, numbers.size());
    if (number == null) {
      open.push(node);
      firsts.push(node);
      way.push(new Step<>(node, edges.apply(node).iterator()));
    } else if (number != DONE) {
      // All since the node can be reached from it, and reach it.
      while (numbers.getOrDefault(firsts.element(), DONE) > number) {
        firsts.pop();
      }
    }
  }

  private void leave(N node) {
    if (!firsts.element().equals(node)) {
      return;
    }
    firsts.pop();
    var component = new ArrayList<N>();
    N last;
    do {
      last = open.pop();
      numbers.put(last, DONE);
      component.add(last);
    } while (!last.equals(node));
    found.add(component);
  }
}
