package dev.evergreen.reports;

import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.RevisionConflictException;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What a node counts, since its start. A count is one addition to memory that threads do not share
 * under contention; readers sum up, and may see one count without another that belongs to it.
 */
final class Meters {

  final LongAdder callsServed = new LongAdder();
  final LongAdder callsFailed = new LongAdder();
  final LongAdder callsTimedOut = new LongAdder();
  final LongAdder callsRefused = new LongAdder();
  final LongAdder callsRetried = new LongAdder();
  final Stopwatch callTime = new Stopwatch();

  final LongAdder activated = new LongAdder();
  final LongAdder activationsFailed = new LongAdder();
  final LongAdder deactivated = new LongAdder();

  final LongAdder hits = new LongAdder();
  final LongAdder misses = new LongAdder();
  final LongAdder runs = new LongAdder();
  final LongAdder runsDiscarded = new LongAdder();
  final LongAdder cycles = new LongAdder();

  final LongAdder pushesHere = new LongAdder();
  final LongAdder pushesSent = new LongAdder();
  final LongAdder batchesSent = new LongAdder();
  final LongAdder pushesAcknowledged = new LongAdder();
  final LongAdder pushesResent = new LongAdder();
  final LongAdder pushesReceived = new LongAdder();

  final LongAdder subscribed = new LongAdder();
  final LongAdder renewed = new LongAdder();
  final LongAdder askedAgain = new LongAdder();

  final LongAdder loads = new LongAdder();
  final LongAdder saves = new LongAdder();
  final LongAdder conflicts = new LongAdder();
  final LongAdder storageFailures = new LongAdder();

  void callEnded(long nanos, @Nullable Exception failure) {
    callTime.add(nanos);
    switch (failure) {
      case null -> {}
      case GrainTimeoutException e -> callsTimedOut.increment();
      case NotStartedException e -> callsRefused.increment();
      default -> callsFailed.increment();
    }
  }

  /** A run has ended that took so many results from caches, and waited for so many. */
  void runRead(int taken, int awaited) {
    if (taken > 0) {
      hits.add(taken);
    }
    if (awaited > 0) {
      misses.add(awaited);
    }
  }

  void loaded(@Nullable Throwable failure) {
    (failure == null ? loads : storageFailures).increment();
  }

  void saved(@Nullable Throwable failure) {
    switch (failure) {
      case null -> saves.increment();
      case RevisionConflictException e -> conflicts.increment();
      // The storage did what it should.
      case NodeGivenUpException e -> {}
      default -> storageFailures.increment();
    }
  }

  NodeReport.Calls calls() {
    return new NodeReport.Calls(
        callsServed.sum(),
        callsFailed.sum(),
        callsTimedOut.sum(),
        callsRefused.sum(),
        callsRetried.sum(),
        callTime.durations());
  }

  NodeReport.Life life() {
    return new NodeReport.Life(activated.sum(), activationsFailed.sum(), deactivated.sum());
  }

  NodeReport.Computing computing() {
    return new NodeReport.Computing(
        runs.sum(), runsDiscarded.sum(), cycles.sum(), hits.sum(), misses.sum());
  }

  NodeReport.Pushes pushes() {
    return new NodeReport.Pushes(
        pushesHere.sum(),
        pushesSent.sum(),
        batchesSent.sum(),
        pushesAcknowledged.sum(),
        pushesResent.sum(),
        pushesReceived.sum());
  }

  NodeReport.Subscribing subscribing() {
    return new NodeReport.Subscribing(subscribed.sum(), renewed.sum(), askedAgain.sum());
  }

  NodeReport.Saving saving() {
    return new NodeReport.Saving(loads.sum(), saves.sum(), conflicts.sum(), storageFailures.sum());
  }
}
