package dev.evergreen.core.model;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells a node's observer what happens; what it should have begun or answered is nothing if it
 * fails.
 */
public record GuardedObserver(NodeObserver observer, Guard guard) implements NodeObserver {

  /** Guards an observer, unless it is told nothing. */
  public static NodeObserver of(NodeObserver observer) {
    return observer == NONE ? observer : new GuardedObserver(observer, new Guard("the observer"));
  }

  private void tell(Runnable event) {
    guard.tell(event);
  }

  private <T> T ask(Supplier<T> question, T otherwise) {
    return guard.ask(question, otherwise);
  }

  private Span guarded(Span span) {
    return span == Span.NONE ? span : failure -> tell(() -> span.end(failure));
  }

  @Override
  public void started(int types) {
    tell(() -> observer.started(types));
  }

  @Override
  public void releaseBegun() {
    tell(() -> observer.releaseBegun());
  }

  @Override
  public void releaseEnded(int grains, long nanos) {
    tell(() -> observer.releaseEnded(grains, nanos));
  }

  @Override
  public void stopped(int grains, long nanos) {
    tell(() -> observer.stopped(grains, nanos));
  }

  @Override
  public void fenced(int grains, String reason) {
    tell(() -> observer.fenced(grains, reason));
  }

  @Override
  public byte @Nullable [] asked() {
    return guard.ask(observer::asked);
  }

  @Override
  public void answered(NodeId from, long question, byte[] answer) {
    tell(() -> observer.answered(from, question, answer));
  }

  @Override
  public void callServed() {
    tell(() -> observer.callServed());
  }

  @Override
  public void callRetried() {
    tell(() -> observer.callRetried());
  }

  @Override
  public void callEnded(long nanos, @Nullable Exception failure) {
    tell(() -> observer.callEnded(nanos, failure));
  }

  @Override
  public TurnSpan turnBegins(GrainId grain, String operation, boolean readOnly, long arrived) {
    var span = ask(() -> observer.turnBegins(grain, operation, readOnly, arrived), TurnSpan.NONE);
    return span == TurnSpan.NONE ? span : succeeded -> tell(() -> span.end(succeeded));
  }

  @Override
  public Span activationBegins(GrainId grain) {
    return guarded(ask(() -> observer.activationBegins(grain), Span.NONE));
  }

  @Override
  public void deactivated(GrainId grain, String reason) {
    tell(() -> observer.deactivated(grain, reason));
  }

  @Override
  public Span loadBegins(GrainId grain) {
    return guarded(ask(() -> observer.loadBegins(grain), Span.NONE));
  }

  @Override
  public Span saveBegins(GrainId grain, int bytes) {
    return guarded(ask(() -> observer.saveBegins(grain, bytes), Span.NONE));
  }

  @Override
  public void runScheduled() {
    tell(() -> observer.runScheduled());
  }

  @Override
  public void runDiscarded() {
    tell(() -> observer.runDiscarded());
  }

  @Override
  public RunSpan runBegins() {
    var span = ask(() -> observer.runBegins(), RunSpan.NONE);
    return span == RunSpan.NONE
        ? span
        : (computation, taken, awaited, discarded) ->
            tell(() -> span.end(computation, taken, awaited, discarded));
  }

  @Override
  public void circleFound() {
    tell(() -> observer.circleFound());
  }

  @Override
  public void pushedHere() {
    tell(() -> observer.pushedHere());
  }

  @Override
  public void firstResultSent(NodeId to) {
    tell(() -> observer.firstResultSent(to));
  }

  @Override
  public void batchSent(NodeId to, int results) {
    tell(() -> observer.batchSent(to, results));
  }

  @Override
  public void batchAcknowledged(int results) {
    tell(() -> observer.batchAcknowledged(results));
  }

  @Override
  public void batchOverdue(int results) {
    tell(() -> observer.batchOverdue(results));
  }

  @Override
  public void batchReceived(int results) {
    tell(() -> observer.batchReceived(results));
  }

  @Override
  public void subscribed() {
    tell(() -> observer.subscribed());
  }

  @Override
  public void renewed(NodeId publisher, int subscriptions) {
    tell(() -> observer.renewed(publisher, subscriptions));
  }

  @Override
  public void askedAgain(int caches) {
    tell(() -> observer.askedAgain(caches));
  }
}
