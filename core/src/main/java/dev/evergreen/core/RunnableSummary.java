package dev.evergreen.core;

import dev.evergreen.core.spi.TraceContext;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What all summaries share: the mark, and the run under way. Marked many times it runs once; marked
 * during a run it runs once more (004 §4.3). Guarded by the activation where there is one, whose
 * chain of what waits to run it is a link of.
 */
abstract class RunnableSummary extends Chain.Link<RunnableSummary> implements Summary {

  final NodeRuntime node;
  boolean marked;
  @Nullable Run underWay;

  /** What the accepted run has read. */
  Edges edges = Edges.NONE;

  /** How often in a row writes have discarded its run. */
  int discards;

  /** Where in a trace the write was that has marked it last, if that is traced. */
  @Nullable TraceContext cause;

  /** How often it has run. */
  long runs;

  private @Nullable Set<Thread> watchers; // only while somebody watches

  RunnableSummary(NodeRuntime node) {
    this.node = node;
  }

  /** Whether it is gone and runs no more. */
  abstract boolean over();

  /** Whether it is marked and not under way. */
  final boolean mayBegin() {
    return marked && underWay == null && !over();
  }

  /** Starts a run: clears the mark. */
  final Run begin() {
    var run = new Run(node, this);
    marked = false;
    underWay = run;
    run.cause = cause;
    cause = null;
    runs++;
    node.observer().runScheduled();
    return run;
  }

  /** A write has discarded the run under way. */
  final void discarded() {
    underWay = null;
    marked = true;
    discards++;
    node.observer().runDiscarded();
  }

  /** A run has ended; without a result it is to be repeated. */
  final void ended(Run run, boolean repeat) {
    if (underWay == run) {
      underWay = null;
      marked |= repeat;
      cause = repeat && cause == null ? run.cause : cause;
      wakeWatchers();
    }
  }

  /** Takes what a run has read as the edges from now on; returns those until now. */
  final Edges accepted(Edges read) {
    var until = edges;
    edges = read;
    discards = 0;
    return until;
  }

  /** Gives up the edges; returns them, to be released without a monitor. */
  final Edges giveUpEdges() {
    return accepted(Edges.NONE);
  }

  /** Wakes a thread whenever this may have settled, or is over. */
  final void watch(Thread thread) {
    synchronized (guard()) {
      if (watchers == null) {
        watchers = new LinkedHashSet<>(2);
      }
      watchers.add(thread);
    }
  }

  final void unwatch(Thread thread) {
    synchronized (guard()) {
      if (watchers != null && watchers.remove(thread) && watchers.isEmpty()) {
        watchers = null;
      }
    }
  }

  /** Called with the guard's monitor held. */
  final void wakeWatchers() {
    if (watchers != null) {
      watchers.forEach(node.threads()::unpark);
    }
  }

  /**
   * What the present result was computed from, if it is neither marked nor being computed again;
   * else null.
   */
  final @Nullable List<Cache> settledOn() {
    synchronized (guard()) {
      return marked || underWay != null || over() ? null : computedFrom();
    }
  }

  /** What the present result was computed from; null if there is none. With the monitor held. */
  abstract @Nullable List<Cache> computedFrom();

  /** A run under way has read something for the first time. */
  void hasRead() {}

  /** The object whose monitor guards this summary. */
  abstract Object guard();

  @Override
  public final List<Cache> dependencies() {
    synchronized (guard()) {
      return edges.caches();
    }
  }
}
