package dev.evergreen.web;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Waits for what has no event of its own. */
final class Await {

  private Await() {}

  static void until(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("Not within 20 s: " + what);
      }
      try {
        Thread.sleep(2);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
