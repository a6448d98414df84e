package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what happens in other threads. */
final class Await {

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  private Await() {}

  /** Returns when it has happened; fails when it has not within a minute. */
  static void await(String what, BooleanSupplier event) {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (!event.getAsBoolean()) {
      assertTrue(System.nanoTime() - deadline < 0, () -> "waited in vain for " + what);
      LockSupport.parkNanos(1_000_000);
    }
  }
}
