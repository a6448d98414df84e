package dev.evergreen.core.engine;

import dev.evergreen.core.engine.Cache.Edge;
import java.util.List;
import java.util.stream.Stream;

/** What a run has read: what its summary depends on, once it is accepted. */
record Edges(List<Edge> list) {

  static final Edges NONE = new Edges(List.of());

  /** The depth of the deepest. */
  int deepest() {
    int deepest = 0;
    for (var edge : list) {
      deepest = Math.max(deepest, edge.cache().depth());
    }
    return deepest;
  }

  /** Whether one of them is in doubt. */
  boolean inDoubt() {
    return list.stream().anyMatch(Edge::inDoubt);
  }

  /** Whether the reader went on without one of them, and with nothing in its place. */
  boolean areOpen() {
    return list.stream().anyMatch(edge -> edge.passed() && edge.outcome() == null);
  }

  /** The caches at their ends that count: a branch that did not wait has read nothing. */
  List<Cache> read() {
    return list.stream().filter(Edge::passed).map(Edge::cache).toList();
  }

  Edges and(Edges others) {
    if (others.list.isEmpty()) {
      return this;
    }
    return new Edges(Stream.concat(list.stream(), others.list.stream()).toList());
  }

  /** Releases them, since there is another run. */
  void release() {
    list.forEach(edge -> edge.cache().release(edge, false));
  }
}
