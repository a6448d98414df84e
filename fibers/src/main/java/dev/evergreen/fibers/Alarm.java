package dev.evergreen.fibers;

/**
 * A task that a processor runs at a time.
 *
 * @param at in the terms of {@link System#nanoTime}
 * @param number tells alarms of the same time apart
 * @param task short and not blocking; it runs on a carrier
 */
record Alarm(long at, long number, Runnable task) implements Comparable<Alarm> {

  @Override
  public int compareTo(Alarm other) {
    // By difference, as the nanosecond clock may overflow.
    return at != other.at ? Long.signum(at - other.at) : Long.compare(number, other.number);
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(number);
  }
}
