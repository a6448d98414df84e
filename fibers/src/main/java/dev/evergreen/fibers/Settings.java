package dev.evergreen.fibers;

import dev.evergreen.fibers.Fibers.Io;
import java.time.Duration;

/** What a runtime is made with; see {@link Fibers.Builder}. */
record Settings(
    String name, int processors, boolean helping, Duration ageBound, Duration spinning, Io io) {

  Settings withIo(Io other) {
    return new Settings(name, processors, helping, ageBound, spinning, other);
  }
}
