package dev.evergreen.core.work;

/**
 * Sees to it that a stack does not end in the middle of the runtime's work. What was taken by then
 * and not handed on, such as a turn that another grain has admitted, would be lost for everybody,
 * though only the one who calls has no more stack; and the JDK's own queues do not survive it. So
 * who comes from the application's code asks for room while nothing has begun yet, and it is there
 * that a stack ends. That takes about half a microsecond.
 */
public final class StackRoom {

  /** Of frames that are larger than most: more than the runtime's deepest path takes. */
  private static final int FRAMES = 64;

  private StackRoom() {}

  /**
   * Looks whether there is room.
   *
   * @throws StackOverflowError if there is none
   */
  public static void check() {
    if (descend(FRAMES, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 0) {
      throw new AssertionError("the sum of what is positive");
    }
  }

  /** All of its arguments are needed after the call, so that each frame keeps them. */
  private static long descend(
      int frames, long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
    long below = frames == 0 ? 1 : descend(frames - 1, b, c, d, e, f, g, h, i, j, a);
    return below + (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j) + (a & j);
  }
}
