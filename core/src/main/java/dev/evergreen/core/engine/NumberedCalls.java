package dev.evergreen.core.engine;

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
final class NumberedCalls<T> {
  private static final int LEAST_BETWEEN = 256;

  private final Map<Long, T> open = new ConcurrentHashMap<>();
  private final int leastBetween;

  @GuardedBy("this")
  private long last;

  @GuardedBy("this")
  private long lookAgainAt;

  private volatile long oldest = 1;

  NumberedCalls() {
    this(LEAST_BETWEEN);
  }

  /**
   * @param leastBetween after how many numbers at the earliest the oldest is looked for again
   */
  NumberedCalls(int leastBetween) {
    this.leastBetween = leastBetween;
    this.lookAgainAt = leastBetween;
  }

  synchronized long add(T item) {
    open.put(++last, item);
    if (last == lookAgainAt) {
      // So seldom that looking through all costs each a constant.
      oldest = Collections.min(open.keySet());
      lookAgainAt = last + Math.max(leastBetween, open.size());
    }
    return last;
  }

  @Nullable T get(long number) {
    return open.get(number);
  }

  void remove(long number) {
    open.remove(number);
  }

  /** No number that is open is lower. */
  long oldest() {
    return oldest;
  }

  Collection<T> all() {
    return open.values();
  }
}
