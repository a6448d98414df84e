package dev.evergreen.core.spi;

import java.util.Map;

/** What a node shows to its observer. Thread-safe; no method blocks. */
public interface NodeView {

  /** This life of the node. */
  NodeId self();

  /** The node's clock. */
  Clock clock();

  /** Whether it takes calls: no longer once it stops, or the others regard it as gone. */
  boolean serving();

  /**
   * Goes along all activations and their summaries, which takes time in proportion to them.
   *
   * @return how much there is of everything
   */
  NodeCounts walk(Visitor visitor);

  /** How many runs of computations wait for a processor, or for their grain. */
  int backlog();

  /** How many results wait for another node, or for its acknowledgement, by its address. */
  Map<String, Integer> outboxes();

  /** What has gone over the links to other nodes. */
  LinkCounts links();

  /**
   * Asks the observer of another node; the answer, if one comes, goes to {@link
   * NodeObserver#answered}.
   *
   * @return false if the question certainly did not leave
   */
  boolean ask(NodeId other, long question);

  /** Is shown what there is, with monitors of the node held: it must not call the node. */
  interface Visitor {

    /** Looks at nothing. */
    Visitor NONE =
        new Visitor() {
          @Override
          public void activation(GrainId grain, int waiting) {}

          @Override
          public void summary(SummaryView summary, long runs, int subscribers) {}
        };

    /** A grain is active; so many calls wait to be admitted. */
    void activation(GrainId grain, int waiting);

    /**
     * A result of a grain's operation is kept.
     *
     * @param runs how often it was computed
     * @param subscribers nodes whose caches it is pushed to
     */
    void summary(SummaryView summary, long runs, int subscribers);
  }

  /** A summary; may be asked later, when it may be gone. */
  interface SummaryView {

    GrainId grain();

    /** The operation's name. */
    String operation();

    /** The arguments as people write them, of any length. */
    String arguments();

    /** How many computations of its own node read it. */
    int readers();
  }
}
