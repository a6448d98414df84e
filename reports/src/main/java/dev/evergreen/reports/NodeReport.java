package dev.evergreen.reports;

import dev.evergreen.core.Node;
import dev.evergreen.core.spi.LinkCounts;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeId;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * What a node is, holds and has done since its start. A value: it can be sent, kept and compared
 * with a later one, which is how rates are made.
 *
 * @param node this life of the node
 * @param upSince when it started, by its wall clock
 * @param at when this was reported, by its wall clock
 * @param serving whether it takes calls: no longer once it stops, or the others regard it as gone
 * @param counts what it holds at the moment
 * @param activations grains that are active here, by type; types without any are left out
 * @param hottest the summaries that ran most often among those that are held, the first in front;
 *     at most {@link #HOTTEST}
 * @param queues what waits
 * @param links what has gone over the connections to other nodes
 */
public record NodeReport(
    NodeId node,
    Instant upSince,
    Instant at,
    boolean serving,
    NodeCounts counts,
    Map<String, Integer> activations,
    List<HotSummary> hottest,
    Queues queues,
    Calls calls,
    Life life,
    Computing computing,
    Pushes pushes,
    Subscribing subscribing,
    Saving saving,
    LinkCounts links) {

  /** How many summaries a report names. */
  public static final int HOTTEST = 20;

  public NodeReport {
    activations = Map.copyOf(activations);
    hottest = List.copyOf(hottest);
  }

  /**
   * What a node holds and has done since its start. Does not wait; takes time in proportion to the
   * number of active grains and summaries: ask once a second, not once a request.
   *
   * @throws IllegalArgumentException if the node makes no reports
   */
  public static NodeReport of(Node node) {
    return Reporter.of(node).report();
  }

  /**
   * A summary that runs often.
   *
   * @param type of the grain
   * @param key of the grain, as text
   * @param operation its name
   * @param arguments as text, shortened where they are long
   * @param runs how often it was computed
   * @param subscribers nodes whose caches it pushes to
   * @param readers computations of its own node that read it
   */
  public record HotSummary(
      String type,
      String key,
      String operation,
      String arguments,
      long runs,
      int subscribers,
      int readers) {}

  /**
   * What waits.
   *
   * @param calls calls that wait to be admitted by their grains
   * @param runs runs of computations that wait for a processor or for their grain
   * @param outboxes results that wait for another node, or for its acknowledgement, by its address
   */
  public record Queues(int calls, int runs, Map<String, Integer> outboxes) {
    public Queues {
      outboxes = Map.copyOf(outboxes);
    }
  }

  /**
   * Calls made on this node by grains and from outside, wherever their grains are; reads of
   * computations are none.
   *
   * @param served calls of other nodes that were taken for grains here
   * @param failed ended with an exception of the operation or the runtime, other than these:
   * @param timedOut gave no answer within their limit
   * @param refused certainly did not start, for instance since a queue was full
   * @param retried attempts beyond a call's first
   * @param time how long those took that have ended, whatever their end
   */
  public record Calls(
      long served, long failed, long timedOut, long refused, long retried, Durations time) {

    /** How many have ended, well or badly. */
    public long ended() {
      return time.count();
    }
  }

  /**
   * Lives of grains on this node.
   *
   * @param activated began
   * @param failed could not begin
   * @param deactivated ended
   */
  public record Life(long activated, long failed, long deactivated) {}

  /**
   * Computations, of grains and at the root.
   *
   * @param runs began
   * @param discarded runs that a write made worthless while they ran
   * @param cycles found
   * @param hits reads of a computation that a cache had the result for
   * @param misses reads of a computation that had to wait for their first result
   */
  public record Computing(long runs, long discarded, long cycles, long hits, long misses) {}

  /**
   * Results on their way from summaries to caches.
   *
   * @param here to this node's own caches
   * @param sent to other nodes, again or for the first time
   * @param batches messages of changes; a first result goes with the answer to its subscription
   * @param acknowledged by other nodes, of those in batches
   * @param resent given back to an outbox, as no acknowledgement came in time
   * @param received from other nodes
   */
  public record Pushes(
      long here, long sent, long batches, long acknowledged, long resent, long received) {}

  /**
   * Subscriptions of this node's caches.
   *
   * @param begun caches that were made
   * @param renewed renewals sent to other nodes
   * @param askedAgain attempts after one that was not answered, or whose grain had moved
   */
  public record Subscribing(long begun, long renewed, long askedAgain) {}

  /**
   * States of this node's grains.
   *
   * @param loads that succeeded
   * @param saves that succeeded
   * @param conflicts saves refused since another activation had saved
   * @param failures loads and saves that the storage could not do
   */
  public record Saving(long loads, long saves, long conflicts, long failures) {}
}
