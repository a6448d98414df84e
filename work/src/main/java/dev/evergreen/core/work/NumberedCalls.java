package dev.evergreen.core.work;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The calls that are open, by numbers in the order of opening. A number is given and entered in one
 * step: {@link #oldest} tells others to forget all lower ones, so that none may be entered later.
 */
public final class NumberedCalls<T> {
  private static final int LEAST_BETWEEN = 256;

  private final Map<Long, T> open = new ConcurrentHashMap<>();
  private final int leastBetween;

  @GuardedBy("this")
  private long last;

  @GuardedBy("this")
  private long lookAgainAt;

  private volatile long oldest = 1;

  /** Without any yet. */
  public NumberedCalls() {
    this(LEAST_BETWEEN);
  }

  /**
   * @param leastBetween after how many numbers at the earliest the oldest is looked for again
   */
  public NumberedCalls(int leastBetween) {
    this.leastBetween = leastBetween;
    this.lookAgainAt = leastBetween;
  }

  /** Gives one the next number. */
  public synchronized long add(T item) {
    open.put(++last, item);
    if (last == lookAgainAt) {
      // So seldom that looking through all costs each a constant.
      oldest = Collections.min(open.keySet());
      lookAgainAt = last + Math.max(leastBetween, open.size());
    }
    return last;
  }

  /** What has this number; null if that is open no more. */
  public @Nullable T get(long number) {
    return open.get(number);
  }

  /** It is open no more. */
  public void remove(long number) {
    open.remove(number);
  }

  /** No number that is open is lower. */
  public long oldest() {
    return oldest;
  }

  /** Those that are open. */
  public Collection<T> all() {
    return open.values();
  }
}
