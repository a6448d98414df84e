package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.LinkCounts;
import java.util.concurrent.atomic.LongAdder;

/** Counts what {@link LinkCounts} tells. Thread-safe. */
final class Counters {
  final LongAdder messagesIn = new LongAdder();
  final LongAdder messagesOut = new LongAdder();
  final LongAdder framesIn = new LongAdder();
  final LongAdder framesOut = new LongAdder();
  final LongAdder bytesIn = new LongAdder();
  final LongAdder bytesOut = new LongAdder();
  final LongAdder writes = new LongAdder();
  final LongAdder malformed = new LongAdder();
  final LongAdder unknown = new LongAdder();
  final LongAdder refused = new LongAdder();
  final LongAdder dropped = new LongAdder();
  final LongAdder connections = new LongAdder();
  final LongAdder reconnections = new LongAdder();

  LinkCounts now(int connected, long queuedBytes) {
    return new LinkCounts(
        messagesIn.sum(),
        messagesOut.sum(),
        framesIn.sum(),
        framesOut.sum(),
        bytesIn.sum(),
        bytesOut.sum(),
        writes.sum(),
        malformed.sum(),
        unknown.sum(),
        refused.sum(),
        dropped.sum(),
        connections.sum(),
        reconnections.sum(),
        connected,
        queuedBytes);
  }
}
