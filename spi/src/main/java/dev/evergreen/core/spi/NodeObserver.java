package dev.evergreen.core.spi;

import org.jspecify.annotations.Nullable;

/**
 * Is told what happens on a node, to count, record or log it; every method does nothing by default.
 * Thread-safe. Many methods are called on hot paths, some with monitors of the node held: they must
 * neither block, nor throw, nor call the node. Durations and moments are in nanoseconds of the
 * node's clock.
 */
public interface NodeObserver {

  /** Is told nothing. */
  NodeObserver NONE = new NodeObserver() {};

  /** Makes the observers of nodes; one that is on the class path is found by its services file. */
  @FunctionalInterface
  interface Provider {

    /** Whose observers are {@link NodeObserver#NONE}. */
    Provider NONE = node -> NodeObserver.NONE;

    /** The observer of a node that is about to start and has nothing to show yet. */
    NodeObserver observe(NodeView node);
  }

  // Something that takes time: who begins it gets what is told its end. Never null; where nobody
  // measures, one instance serves all.

  /** A step of the runtime under way. */
  @FunctionalInterface
  interface Span {

    /** Nobody wants to know. */
    Span NONE = failure -> {};

    /**
     * It has ended.
     *
     * @param failure what it failed with; null if it succeeded
     */
    void end(@Nullable Throwable failure);
  }

  /** An operation under way. */
  @FunctionalInterface
  interface TurnSpan {

    /** Nobody wants to know. */
    TurnSpan NONE = succeeded -> {};

    /** It has ended: it returned, and its state is saved, or not. */
    void end(boolean succeeded);
  }

  /** A computation under way. */
  @FunctionalInterface
  interface RunSpan {

    /** Nobody wants to know. */
    RunSpan NONE = (computation, taken, awaited, discarded) -> {};

    /**
     * It has ended.
     *
     * @param computation its text names what ran; to be made only where it is wanted
     * @param taken how many results it took from caches
     * @param awaited for how many first results it had to wait
     * @param discarded whether a write made it worthless while it ran
     */
    void end(Object computation, int taken, int awaited, boolean discarded);
  }

  // The node

  /**
   * The node has started.
   *
   * @param types how many types of grains it hosts
   */
  default void started(int types) {}

  /** Grains begin to leave the node, for others. */
  default void releaseBegun() {}

  /** So many grains have left it. */
  default void releaseEnded(int grains, long nanos) {}

  /** It has stopped, and its grains were closed. */
  default void stopped(int grains, long nanos) {}

  /** It was stopped at once, since the others regard it as gone; it had so many grains. */
  default void fenced(int grains, String reason) {}

  /**
   * Another node asks what this one holds and has done.
   *
   * @return bytes that the observer of the other understands; null to give no answer
   */
  default byte @Nullable [] asked() {
    return null;
  }

  /**
   * The answer to {@link NodeView#ask} has come.
   *
   * @throws RuntimeException if it cannot be read; the node logs it
   */
  default void answered(NodeId from, long question, byte[] answer) {}

  // Calls

  /** A call of another node was taken. */
  default void callServed() {}

  /** A call that certainly did not start is made again. */
  default void callRetried() {}

  /**
   * A call from outside or of a grain here has ended, wherever it went.
   *
   * @param failure what its caller gets instead of a result; null if there is one
   */
  default void callEnded(long nanos, @Nullable Exception failure) {}

  /** An operation begins to run on its grain; it arrived there at {@code arrived}. */
  default TurnSpan turnBegins(GrainId grain, String operation, boolean readOnly, long arrived) {
    return TurnSpan.NONE;
  }

  // Grains

  /** A grain's object is about to be made, its state loaded. */
  default Span activationBegins(GrainId grain) {
    return Span.NONE;
  }

  /** A grain that was active no longer is. */
  default void deactivated(GrainId grain, String reason) {}

  /** A grain's state is about to be loaded. */
  default Span loadBegins(GrainId grain) {
    return Span.NONE;
  }

  /** A grain's state of so many bytes is about to be saved. */
  default Span saveBegins(GrainId grain, int bytes) {
    return Span.NONE;
  }

  // Computations, of grains and at the root

  /** A run is wanted and on its way. */
  default void runScheduled() {}

  /** A write has made a run worthless. */
  default void runDiscarded() {}

  /** A run begins to execute. */
  default RunSpan runBegins() {
    return RunSpan.NONE;
  }

  /** Computations that read, or calls that wait for, each other were found. */
  default void circleFound() {}

  // Results on their way from summaries to caches

  /** A result has gone to a cache of this node. */
  default void pushedHere() {}

  /** A first result went to another node, with the answer to its subscription. */
  default void firstResultSent(NodeId to) {}

  /** Results go to another node in one batch. */
  default void batchSent(NodeId to, int results) {}

  /** A batch of so many results was acknowledged. */
  default void batchAcknowledged(int results) {}

  /** A batch of so many results was not acknowledged in time, so that they are sent again. */
  default void batchOverdue(int results) {}

  /** A batch of another node has arrived. */
  default void batchReceived(int results) {}

  // Subscriptions of this node's caches

  /** A new cache subscribes. */
  default void subscribed() {}

  /** Subscriptions at another node are about to be renewed. */
  default void renewed(NodeId publisher, int subscriptions) {}

  /** So many caches ask again, since their grain did not answer, or has moved. */
  default void askedAgain(int caches) {}
}
