package dev.evergreen.bench;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;

/** A grain that does next to nothing. */
interface Echo extends Grain {

  @ReadOnly
  int read();

  int write();

  /** Its implementation. */
  final class EchoGrain implements Echo {
    private int writes;

    EchoGrain(GrainContext<String> context) {}

    @Override
    public int read() {
      return 7;
    }

    @Override
    public int write() {
      return ++writes;
    }
  }
}
