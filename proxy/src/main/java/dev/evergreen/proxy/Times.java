package dev.evergreen.proxy;

import java.util.function.LongSupplier;

/**
 * The time, in milliseconds since 1970, by two clocks. One counts how long something is kept, and
 * never goes back. The other is the machine's, which may be set: others have theirs by the same
 * standard, so dates of messages are compared with it, and told by it.
 */
record Times(LongSupplier steady, LongSupplier machine) {

  /** Those of this machine. */
  static Times ofMachine() {
    LongSupplier machine = System::currentTimeMillis;
    return new Times(new SteadyClock(machine, System::nanoTime), machine);
  }

  /** The time by which durations are counted. */
  long now() {
    return steady.getAsLong();
  }

  /** The time by which dates are told. */
  long date() {
    return machine.getAsLong();
  }
}
