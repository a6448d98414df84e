package dev.evergreen.web;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Bounds how many requests are worked on at a time. A request has a place while it is worked on,
 * not while its sender, or who takes its answer, or the first result of a computation is waited
 * for: those hold a connection only.
 *
 * <p>An address is given a place while it has fewer than are free: the only one has half of them at
 * most, and where some have much to be done that takes its time, something is left for the next. As
 * long as there are more places than addresses one is free for whoever has none.
 *
 * <p>Who left its place to wait for one of those was let in, and has spent its time: it gets the
 * next place that its address is given, before who comes anew.
 */
final class Places {
  /** So long does who goes on wait for a place at most. */
  static final Duration GO_ON_WITHIN = Duration.ofSeconds(5);

  /** Of one address, while it has places or somebody waits for one. */
  private static final class Share {
    int held;

    /** Those who go on, in turn. */
    final Deque<CountDownLatch> waiting = new ArrayDeque<>(1);
  }

  /** Guarded by this, as is all of the shares. */
  private final Map<Object, Share> byAddress = new HashMap<>();

  /** Those of whom somebody waits, and none of them may have a place yet. They take turns. */
  private final Deque<Share> waiting = new ArrayDeque<>();

  private int free;
  private final Duration goOnWithin;
  private final CountDownLatch ended = new CountDownLatch(1);

  /** With a limit to how long who goes on waits for a place. */
  Places(int most, Duration goOnWithin) {
    this.free = most;
    this.goOnWithin = goOnWithin;
  }

  /**
   * A place for a request of this address, until it is closed. For one thread.
   *
   * @throws WebException 503 if there is none
   */
  Place take(Object address) {
    if (leave(address, ask(address))) {
      throw busy();
    }
    return new Place(address);
  }

  private void takeInTurn(Object address) throws InterruptedException {
    var turn = ask(address);
    try {
      boolean given = turn.await(goOnWithin.toNanos(), TimeUnit.NANOSECONDS);
      if (!given && leave(address, turn)) {
        throw busy();
      }
    } catch (InterruptedException e) {
      if (!leave(address, turn)) {
        giveBack(address);
      }
      throw e;
    }
  }

  private synchronized CountDownLatch ask(Object address) {
    var share = byAddress.computeIfAbsent(address, any -> new Share());
    var turn = new CountDownLatch(1);
    share.waiting.add(turn);
    if (share.waiting.size() == 1) {
      waiting.add(share);
    }
    give();
    return turn;
  }

  /** Whether it still waited; else it has a place. */
  private synchronized boolean leave(Object address, CountDownLatch turn) {
    if (turn.getCount() == 0) {
      return false;
    }
    var share = Objects.requireNonNull(byAddress.get(address));
    share.waiting.remove(turn);
    if (share.waiting.isEmpty()) {
      waiting.remove(share);
    }
    forgetIfUnused(address, share);
    return true;
  }

  private synchronized void giveBack(Object address) {
    var share = Objects.requireNonNull(byAddress.get(address));
    share.held--;
    free++;
    give();
    forgetIfUnused(address, share);
  }

  /**
   * To those who wait and may have one, in turn: who came last; or where one is free now, whoever
   * may have that, and the address that has given it back, as it has fewer.
   */
  private void give() {
    // Whoever waits has one already where one is free: so these are few, however many wait.
    for (int left = waiting.size(); left > 0 && free > 0; left--) {
      var share = waiting.remove();
      if (share.held < free) {
        share.held++;
        free--;
        share.waiting.remove().countDown();
      }
      if (!share.waiting.isEmpty()) {
        waiting.add(share);
      }
    }
  }

  private void forgetIfUnused(Object address, Share share) {
    if (share.held == 0 && share.waiting.isEmpty()) {
      byAddress.remove(address);
    }
  }

  /** The server ends: whoever rests is refused, and has not been worked for. */
  void end() {
    ended.countDown();
  }

  /** Waits so long, for no place; or until the server ends. */
  void pause(long nanos) throws InterruptedException {
    boolean _ = ended.await(nanos, TimeUnit.NANOSECONDS);
  }

  private static WebException busy() {
    return new WebException(503, "too-many-requests", "The server is busy; try again.");
  }

  /** What waits for somebody else. */
  interface Waiting {
    void await() throws InterruptedException;
  }

  /** One request's. */
  final class Place implements AutoCloseable {

    private final Object address;
    private boolean held = true;

    private Place(Object address) {
      this.address = address;
    }

    /**
     * Waits without the place, and then for a place.
     *
     * @throws WebException 503 if there is none for too long
     */
    void leaveFor(Waiting waiting) throws InterruptedException {
      close();
      waiting.await();
      takeInTurn(address);
      held = true;
    }

    /**
     * Waits so long without the place, if at all.
     *
     * @throws WebException 503 if there is none for too long after that, or the server ends
     */
    void rest(long nanos) throws InterruptedException {
      if (nanos > 0) {
        leaveFor(
            () -> {
              if (ended.await(nanos, TimeUnit.NANOSECONDS)) {
                throw Failures.stopped();
              }
            });
      }
    }

    @Override
    public void close() {
      if (held) {
        held = false;
        giveBack(address);
      }
    }
  }
}
