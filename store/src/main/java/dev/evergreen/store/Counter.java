package dev.evergreen.store;

/**
 * A number that threads add to without meeting.
 *
 * <p>Adding makes no objects, unlike that of the JDK's {@code LongAdder}: most is counted while a
 * bucket is locked, and that would stay so if no memory were found.
 */
final class Counter {
  private final Stripes stripes;
  private final int place;

  Counter(Stripes stripes) {
    this.stripes = stripes;
    place = stripes.take();
  }

  void increment() {
    stripes.add(place, 1);
  }

  void add(long number) {
    stripes.add(place, number);
  }

  /** The sum; without what is being added meanwhile, or with it. */
  long sum() {
    return stripes.sum(place);
  }

  void reset() {
    stripes.reset(place);
  }
}
