package dev.evergreen.bench;

/** The heap of this process. */
final class Heap {

  private Heap() {}

  /** The bytes that are used after collections that find nothing more. */
  static long used() {
    var runtime = Runtime.getRuntime();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 4; i++) {
      System.gc();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }
}
