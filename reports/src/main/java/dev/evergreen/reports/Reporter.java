package dev.evergreen.reports;

import dev.evergreen.core.Node;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.NodeView;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Watches a node: counts what it does, writes its life log and its events of the flight recorder,
 * and makes reports of it, also for other nodes. Thread-safe.
 */
public final class Reporter implements NodeObserver {

  private final NodeView node;
  private final Instant upSince;
  private final LifeLog life;
  private final Questions questions;
  private final Meters meters = new Meters();
  private final Span loading = meters::loaded;
  private final Span saving = meters::saved;
  private final RunSpan running =
      (computation, taken, awaited, discarded) -> meters.runRead(taken, awaited);

  /**
   * Watches a node that is about to start.
   *
   * @param usual the level of what is seldom in its life, and no trouble
   */
  public Reporter(NodeView node, System.Logger.Level usual) {
    this.node = node;
    this.upSince = node.clock().now();
    this.life = new LifeLog(node.self(), node.clock(), usual);
    this.questions = new Questions(node);
  }

  /**
   * Who watches a node.
   *
   * @throws IllegalArgumentException if that is no reporter
   */
  public static Reporter of(Node node) {
    if (node.observer() instanceof Reporter reporter) {
      return reporter;
    }
    throw new IllegalArgumentException(
        node + " makes no reports: it is watched by " + node.observer());
  }

  /** Whether the node takes calls. Looks at no grain, as a report does. */
  public boolean serving() {
    return node.serving();
  }

  /** As {@link NodeReport#of}. */
  NodeReport report() {
    var census = new Census();
    var counts = node.walk(census);
    return new NodeReport(
        node.self(),
        upSince,
        node.clock().now(),
        node.serving(),
        counts,
        census.activations(),
        census.hottest(),
        new NodeReport.Queues(census.waitingCalls(), node.backlog(), node.outboxes()),
        meters.calls(),
        meters.life(),
        meters.computing(),
        meters.pushes(),
        meters.subscribing(),
        meters.saving(),
        node.links());
  }

  /**
   * What other nodes report, of those that answer in time. Blocks until all have answered, for at
   * most {@code patience}, or until it is interrupted.
   */
  public List<NodeReport> ask(Collection<NodeId> others, Duration patience) {
    return questions.ask(others, patience);
  }

  @Override
  public byte[] asked() {
    return Questions.encode(report());
  }

  @Override
  public void answered(NodeId from, long question, byte[] answer) {
    questions.answered(from, question, answer);
  }

  // The node

  @Override
  public void started(int types) {
    life.usual("node-started", "types", types);
  }

  @Override
  public void releaseBegun() {
    life.usual("release-begun");
  }

  @Override
  public void releaseEnded(int grains, long nanos) {
    life.usual("release-ended", "grains", grains, "millis", nanos / 1_000_000);
  }

  @Override
  public void stopped(int grains, long nanos) {
    life.usual("node-stopped", "grains", grains, "millis", nanos / 1_000_000);
  }

  @Override
  public void fenced(int grains, String reason) {
    life.warning("node-fenced", "grains", grains, "reason", reason);
  }

  // Calls

  @Override
  public void callServed() {
    meters.callsServed.increment();
  }

  @Override
  public void callRetried() {
    meters.callsRetried.increment();
  }

  @Override
  public void callEnded(long nanos, @Nullable Exception failure) {
    meters.callEnded(nanos, failure);
  }

  @Override
  public TurnSpan turnBegins(GrainId grain, String operation, boolean readOnly, long arrived) {
    if (!Events.TurnRan.wanted()) {
      return TurnSpan.NONE;
    }
    var event = new Events.TurnRan();
    event.waited = node.clock().nanos() - arrived;
    event.begin();
    return succeeded -> event.commitFor(grain, operation, readOnly, succeeded);
  }

  // Grains

  @Override
  public Span activationBegins(GrainId grain) {
    var event = new Events.Activated();
    event.begin();
    return failure -> {
      event.commitFor(grain, failure == null);
      if (failure == null) {
        meters.activated.increment();
        life.debug("activated", "grain", grain);
      } else {
        meters.activationsFailed.increment();
        life.warning(
            "activation-failed", "grain", grain, "reason", String.valueOf(failure.getMessage()));
      }
    };
  }

  @Override
  public void deactivated(GrainId grain, String reason) {
    meters.deactivated.increment();
    life.debug("deactivated", "grain", grain, "reason", reason);
  }

  @Override
  public Span loadBegins(GrainId grain) {
    return loading;
  }

  @Override
  public Span saveBegins(GrainId grain, int bytes) {
    if (!Events.Saved.wanted()) {
      return saving;
    }
    var event = new Events.Saved();
    event.begin();
    return failure -> {
      saving.end(failure);
      event.commitFor(grain, bytes, failure == null);
    };
  }

  // Computations

  @Override
  public void runScheduled() {
    meters.runs.increment();
  }

  @Override
  public void runDiscarded() {
    meters.runsDiscarded.increment();
  }

  @Override
  public RunSpan runBegins() {
    if (!Events.ComputationRan.wanted()) {
      return running;
    }
    var event = new Events.ComputationRan();
    event.begin();
    return (computation, taken, awaited, discarded) -> {
      running.end(computation, taken, awaited, discarded);
      event.commitFor(computation, taken, awaited, discarded);
    };
  }

  @Override
  public void circleFound() {
    meters.cycles.increment();
  }

  // Pushes

  @Override
  public void pushedHere() {
    meters.pushesHere.increment();
  }

  @Override
  public void firstResultSent(NodeId to) {
    meters.pushesSent.increment();
  }

  @Override
  public void batchSent(NodeId to, int results) {
    meters.batchesSent.increment();
    meters.pushesSent.add(results);
    Events.BatchSent.commitFor(to, results);
  }

  @Override
  public void batchAcknowledged(int results) {
    meters.pushesAcknowledged.add(results);
  }

  @Override
  public void batchOverdue(int results) {
    meters.pushesResent.add(results);
  }

  @Override
  public void batchReceived(int results) {
    meters.pushesReceived.add(results);
  }

  // Subscriptions

  @Override
  public void subscribed() {
    meters.subscribed.increment();
  }

  @Override
  public void renewed(NodeId publisher, int subscriptions) {
    // Whoever sees the count finds the event.
    Events.Renewed.commitFor(publisher, subscriptions);
    meters.renewed.add(subscriptions);
  }

  @Override
  public void askedAgain(int caches) {
    meters.askedAgain.add(caches);
  }
}
