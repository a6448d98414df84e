package dev.evergreen.fibers;

/** Those that are not in use as well, whose memory is kept all the same. */
public final class AllBuffers {
  private AllBuffers() {}

  /** The bytes of all of them. */
  public static long bytes() {
    return (long) Buffers.made() * Buffers.SIZE;
  }
}
