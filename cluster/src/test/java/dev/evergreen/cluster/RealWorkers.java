package dev.evergreen.cluster;

import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.work.Workers;

/** The machine's clock and threads, for all tests of a process. */
final class RealWorkers {

  private static final RealTime TIME = RealTime.create();

  static final Workers REAL = new Workers(TIME, TIME, () -> 0);

  private RealWorkers() {}
}
