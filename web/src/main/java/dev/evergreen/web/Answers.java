package dev.evergreen.web;

import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.SlowPeers;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes of the answers that are on their way: they are held until the client has taken them. A
 * payer may have several answers as long as they are within its share; a single one that is larger
 * is let through.
 *
 * <p>Where all together leave no room for another, those pay who are the slowest to take theirs:
 * they are cut, so that whoever comes is answered.
 */
final class Answers {

  /** What of the time until it is cut in any case one is spared though others need the room. */
  private static final int PART_OF_PATIENCE = 5;

  /** What of those who hold something are cut at most: for those who come next, too. */
  private static final int PART_OF_HOLDERS = 4;

  /** So often are all of them looked at, at most. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final long most;
  private final long mostOfPayer;
  private final Duration grace;
  private final Counters counters;

  /** Those who are to take an answer. */
  private final SlowPeers takers = new SlowPeers();

  private final AtomicLong lookedAt = new AtomicLong(System.nanoTime() - LOOK_NANOS);

  /** Of those that have any; guarded by this, as is the sum. */
  private final Map<Object, Long> byPayer = new HashMap<>();

  private long bytes;

  Answers(WebSettings settings, Counters counters) {
    this.most = settings.maxAnswerBytes();
    this.mostOfPayer = settings.maxAnswerBytesPerAddress();
    this.grace = settings.stallAfter().dividedBy(PART_OF_PATIENCE);
    this.counters = counters;
  }

  /**
   * Whether there may be room for one more answer, before anything is done for it.
   *
   * @throws WebException 503 if not
   */
  void checkRoom(List<?> payers) {
    if (!hasRoom(payers)) {
      cutSlowest();
      if (!hasRoom(payers)) {
        throw tooManyWait();
      }
    }
  }

  private synchronized boolean hasRoom(List<?> payers) {
    if (payers.stream().anyMatch(payer -> of(payer) >= mostOfPayer)) {
      throw tooManyWait();
    }
    return bytes < most;
  }

  private static WebException tooManyWait() {
    return new WebException(
        503, "too-many-requests", "Too many answers wait to be taken; try again later.");
  }

  /**
   * Holds an answer until it is {@linkplain #giveBack given back}.
   *
   * @throws WebException 429 or 503 if there is no room for it
   */
  void hold(List<?> payers, int length) {
    if (!mayHold(payers, length)) {
      cutSlowest();
      if (!mayHold(payers, length)) {
        throw new WebException(
            503, "too-many-bytes", "The answers that wait to be taken are large; try again later.");
      }
    }
  }

  /** Holds it, unless all together leave no room for it. */
  private synchronized boolean mayHold(List<?> payers, int length) {
    for (var payer : payers) {
      if (of(payer) > 0 && of(payer) + length > mostOfPayer) {
        throw new WebException(
            429, "too-many-bytes", "The answers that wait to be taken at your address are large.");
      }
    }
    if (bytes > 0 && bytes + length > most) {
      return false;
    }
    add(payers, length);
    return true;
  }

  /**
   * Without the lock: who is cut gives back what was held for it, on this thread or on its own. One
   * look is enough for many who find no room, and looks at all.
   */
  private void cutSlowest() {
    long now = System.nanoTime();
    long before = lookedAt.get();
    if (now - before >= LOOK_NANOS && lookedAt.compareAndSet(before, now)) {
      takers.hangUp(1 + takers.count() / PART_OF_HOLDERS, grace, Long.MAX_VALUE);
    }
  }

  /** Says that this peer is to take an answer that is held, until that is closed. */
  SlowPeers.Hold takenBy(Peer peer) {
    return takenBy(peer.pace, peer::close);
  }

  SlowPeers.Hold takenBy(Pace pace, Runnable cut) {
    return takers.hold(
        pace,
        () -> {
          counters.cut("slowest");
          cut.run();
        });
  }

  /**
   * Holds an answer that says what has been done, for which it is too late to be refused; whether
   * there {@linkplain #checkRoom is room} was looked at before. So it may go beyond the limits, by
   * what is worked on at a time.
   */
  synchronized void holdDone(List<?> payers, int length) {
    add(payers, length);
  }

  synchronized void giveBack(List<?> payers, int length) {
    add(payers, -length);
  }

  private void add(List<?> payers, long more) {
    for (var payer : payers) {
      byPayer.merge(payer, more, (before, m) -> before + m == 0 ? null : Long.valueOf(before + m));
    }
    bytes += more;
  }

  private long of(Object payer) {
    return byPayer.getOrDefault(payer, 0L);
  }

  synchronized long bytes() {
    return bytes;
  }
}
