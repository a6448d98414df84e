package dev.evergreen.proxy;

import dev.evergreen.http.Origin;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * The origins that have the same to offer, which of them are well, and which is asked next: of two
 * that are drawn by lot the one with fewer requests under way.
 *
 * <p>An origin that failed some times in a row is left alone for a while, unless all are. Any
 * thread may call.
 */
final class Origins {

  /** So many failures in a row, and it is left alone. */
  static final int FAILURES = 3;

  /** For so long, in milliseconds. */
  static final long PAUSE = 10_000;

  /** One of them. */
  static final class Member {
    final Origin origin;
    final AtomicInteger underWay = new AtomicInteger();
    final LongAdder requests = new LongAdder();
    final LongAdder failures = new LongAdder();
    private final AtomicInteger inARow = new AtomicInteger();
    private volatile long avoidedUntil = Long.MIN_VALUE;
    private volatile boolean sick;

    Member(Origin origin) {
      this.origin = origin;
    }

    /** It has answered. */
    void succeeded() {
      inARow.set(0);
      avoidedUntil = Long.MIN_VALUE;
    }

    /** It has not. */
    void failed(long now) {
      failures.increment();
      if (inARow.incrementAndGet() >= FAILURES) {
        avoidedUntil = now + PAUSE;
      }
    }

    /** What a check has found. */
    void checked(boolean well) {
      sick = !well;
      if (well) {
        succeeded();
      }
    }

    boolean well(long now) {
      return !sick && avoidedUntil <= now;
    }
  }

  private final List<Member> members;

  Origins(List<Origin> origins) {
    members = origins.stream().map(Member::new).toList();
  }

  List<Member> members() {
    return members;
  }

  boolean allAreIn(Set<Member> some) {
    return some.containsAll(members);
  }

  /**
   * Chooses one.
   *
   * @param tried those that have failed for this request already
   */
  Member choose(Set<Member> tried, long now) {
    var good = members.stream().filter(m -> !tried.contains(m) && m.well(now)).toList();
    if (good.isEmpty()) {
      good = members.stream().filter(m -> !tried.contains(m)).toList();
    }
    if (good.isEmpty()) {
      good = members;
    }
    if (good.size() == 1) {
      return good.getFirst();
    }
    var random = ThreadLocalRandom.current();
    int first = random.nextInt(good.size());
    int second = (first + 1 + random.nextInt(good.size() - 1)) % good.size();
    var one = good.get(first);
    var other = good.get(second);
    return other.underWay.get() < one.underWay.get() ? other : one;
  }
}
