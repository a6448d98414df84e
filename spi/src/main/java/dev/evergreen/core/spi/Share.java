package dev.evergreen.core.spi;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How long a thread may go on with piece after piece of work before it lets others run. A virtual
 * thread has its carrier until it waits or yields. For one thread.
 */
public final class Share {

  private static final long NANOS = TimeUnit.MICROSECONDS.toNanos(100);

  private final LongSupplier clock;
  private final Runnable letOthersRun;
  private long sinceNanos;

  /** One that begins now. */
  public Share(LongSupplier clock, Runnable letOthersRun) {
    this.clock = clock;
    this.letOthersRun = letOthersRun;
    this.sinceNanos = clock.getAsLong();
  }

  /** A piece has ended, and the next follows: lets others run first if it has been long enough. */
  public void goesOn() {
    if (clock.getAsLong() - sinceNanos >= NANOS) {
      letOthersRun.run();
      sinceNanos = clock.getAsLong();
    }
  }
}
