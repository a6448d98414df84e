package dev.evergreen.proxy.storage;

import dev.evergreen.store.Holder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The segments that readers of large responses keep from being emptied. Together they are a tenth
 * of all at most, so that slow readers cannot stop the log; a single one that needs more gets it.
 * Of that each {@link Recipient} gets about a quarter of what others leave. Who gets none reads as
 * long as the segments are there, and looks for each piece.
 */
final class Pins {
  private final int bound;

  /** How many readers have pinned each segment. */
  private final int[] readers;

  /** How many segments are pinned. */
  private int pinned;

  Pins(int segments) {
    readers = new int[segments];
    bound = Math.max(1, segments / 10);
  }

  /** What one reader has pinned. For one thread at a time. */
  final class Pin implements AutoCloseable {
    private final Set<Segment> own = new HashSet<>();
    private final Recipient recipient;

    Pin(Recipient recipient) {
      this.recipient = recipient;
    }

    /** Pins these segments, too, or none of them. */
    void add(Collection<Segment> segments) {
      var more = new ArrayList<Segment>();
      for (var segment : segments) {
        if (!own.contains(segment)) {
          more.add(segment);
        }
      }
      if (!more.isEmpty() && take(more, own.size(), recipient)) {
        own.addAll(more);
      }
    }

    @Override
    public void close() {
      giveBack(own, recipient);
      own.clear();
    }
  }

  private synchronized boolean take(List<Segment> segments, int own, Recipient recipient) {
    int more = 0;
    for (var segment : segments) {
      if (segment.isLeaving()) {
        return false;
      }
      more += readers[segment.index] == 0 ? 1 : 0;
    }
    boolean isAlone = pinned == own;
    int elsewhere = Holder.COUNTS_AGAIN * (recipient.pinned - own);
    if (more > 0 && pinned + elsewhere + more > bound && !isAlone) {
      return false;
    }
    pinned += more;
    recipient.pinned += segments.size();
    segments.forEach(segment -> readers[segment.index]++);
    return true;
  }

  private synchronized void giveBack(Collection<Segment> segments, Recipient recipient) {
    recipient.pinned -= segments.size();
    for (var segment : segments) {
      pinned -= --readers[segment.index] == 0 ? 1 : 0;
    }
  }

  /** Lets the segment be emptied, unless it is pinned; from then on it cannot be. */
  synchronized boolean letLeave(Segment segment) {
    boolean free = readers[segment.index] == 0;
    if (free) {
      segment.leave();
    }
    return free;
  }
}
