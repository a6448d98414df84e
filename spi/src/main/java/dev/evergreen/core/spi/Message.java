package dev.evergreen.core.spi;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What nodes send each other: calls, and the maintenance of the lines between summaries and caches
 * (004 §4.2). Engines pass it on and do not look inside. All parts are immutable by agreement.
 */
public sealed interface Message {

  /**
   * Calls an operation.
   *
   * @param id unique among the calls of the sending node's life
   * @param oldest the lowest id that the sender still waits for; lower ones need not be remembered
   * @param operation its name and parameter types
   * @param chain the turns that led to this call, innermost first
   * @param began when the chain began, or one that waits for it, by the nodes' logical time; 0 if
   *     it begins here
   * @param trace where in a trace it was made; null if it is not traced
   */
  record Call(
      long id,
      long oldest,
      GrainId target,
      String operation,
      byte[] arguments,
      boolean readOnly,
      List<Hop> chain,
      long began,
      @Nullable TraceContext trace)
      implements Message {}

  /**
   * One turn of a call chain.
   *
   * @param call a digest of operation and arguments
   * @param epoch the life of the activation
   * @param leftBy the id of the call by which the chain has left the turn's node
   */
  record Hop(
      GrainId grain, String operation, byte[] call, boolean readOnly, long epoch, long leftBy) {}

  /**
   * Answers a {@link Call}.
   *
   * @param time the sending node's logical time; 0 if it is not known
   */
  record Reply(long id, Answer answer, long time) implements Message {}

  /**
   * An older chain waits for a {@link Call} of the sender that is under way. Sent again while that
   * is so.
   *
   * @param id of the call
   * @param began when that chain began, by the nodes' logical time
   */
  record Hasten(long id, long began) implements Message {}

  /**
   * The sender waits no longer for a {@link Call} of it, which need not begin if it has not.
   *
   * @param id of the call
   */
  record Withdraw(long id) implements Message {}

  /** What came of an operation. */
  sealed interface Answer {

    /** It returned these encoded bytes. */
    record Returned(byte[] value) implements Answer {}

    /** It threw. */
    record Threw(Failure failure) implements Answer {}

    /**
     * It did not start.
     *
     * @param again whether to ask again: the grain may be found elsewhere, or here in a moment
     */
    record NotStarted(String reason, boolean again) implements Answer {}
  }

  /**
   * Says where a publisher's results stand.
   *
   * @param epoch one life of one activation; compared for equality only
   * @param sequence grows with every new result inside an epoch
   */
  record Version(long epoch, long sequence) {}

  /**
   * Subscribes caches of the sending node, or renews their subscriptions.
   *
   * @param request for the {@link SubscribeAnswer}
   * @param waits whether the answer may wait for the results, to come with them
   */
  record Subscribe(long request, List<Subscription> subscriptions, boolean waits)
      implements Message {}

  /**
   * One cache's wish.
   *
   * @param generation grows with every wish of a node; older ones than the last are ignored
   * @param have what the cache holds
   */
  record Subscription(SummaryKey key, long generation, @Nullable Version have) {}

  /**
   * The subscriptions of a request are registered, but for those of what is not here. Results that
   * differ from what the caches have follow as pushes.
   *
   * @param notHere of which this node has nothing to be subscribed
   * @param results of a request that waited for them; not acknowledged, as whoever gets no answer
   *     asks again
   * @param owed of which the subscriber holds another result, so that it is not to be trusted
   *     before the one that follows
   * @param nowhere of how many of what is not here, the last ones, nobody else has anything either,
   *     since their grains are here
   */
  record SubscribeAnswer(
      long request,
      List<SummaryKey> notHere,
      List<Update> results,
      List<SummaryKey> owed,
      int nowhere)
      implements Message {}

  /** Ends subscriptions. */
  record Unsubscribe(List<Subscription> subscriptions) implements Message {}

  /** New results for caches of the receiving node; acknowledged by {@link PushAck}. */
  record Push(long batch, List<Update> updates) implements Message {}

  /**
   * One new result.
   *
   * @param generation of the subscription that this answers
   * @param depth of the summary in the graph of dependencies
   * @param inDoubt whether something it was computed from is not heard of
   * @param provisional whether the runtime failed to compute it and will try again
   * @param trace where in a trace the write has been that led to it; null if it is not traced
   */
  record Update(
      SummaryKey key,
      long generation,
      Version version,
      Answer outcome,
      int depth,
      boolean inDoubt,
      boolean provisional,
      @Nullable TraceContext trace) {

    /** The same with another outcome. */
    public Update with(Answer other) {
      return new Update(key, generation, version, other, depth, inDoubt, provisional, trace);
    }
  }

  /** A batch of pushes was installed. */
  record PushAck(long batch) implements Message {}

  /** The sender does not host these grains any more: subscribe where they are now. */
  record Moved(List<SummaryKey> keys) implements Message {}

  /** Asks what the receiver holds and has done. */
  record Inspect(long id) implements Message {}

  /**
   * Answers an {@link Inspect}.
   *
   * @param report what the observer of the sender says ({@link NodeObserver#asked}); the core does
   *     not look inside
   */
  record Inspected(long id, byte[] report) implements Message {}

  /** Asks who reads summaries, in search of computations that need them. */
  record Probe(long id, List<SummaryKey> keys) implements Message {}

  /** Answers a {@link Probe}: one entry for each of its keys. */
  record ProbeAnswer(long id, List<Readers> readers) implements Message {}

  /**
   * Who reads one summary.
   *
   * @param root whether a reactive computation is among them
   */
  record Readers(List<Located> summaries, boolean root) {}

  /** A summary, and a node that holds it or a cache of it. */
  record Located(NodeId node, SummaryKey key) {}

  /**
   * Asks for a sign that a result reflects all that was acknowledged before this question. Asked
   * again while there is none.
   *
   * @param fence what it is asked for
   * @param patienceNanos how long the answer is of use
   */
  record Settle(Fence fence, SummaryKey key, long patienceNanos) implements Message {}

  /**
   * Answers a {@link Settle}.
   *
   * @param version of a result that reflects what was asked for, as later ones do
   */
  record Settled(Fence fence, SummaryKey key, Version version) implements Message {}

  /**
   * One computation's wish for a result that reflects what was acknowledged before.
   *
   * @param number unique among those of a life of the node
   */
  record Fence(NodeId by, long number) {}

  /** No computation reaches these summaries: caches that only they read are to be closed. */
  record Unreachable(List<SummaryKey> keys) implements Message {}
}
