package dev.evergreen.fibers;

import java.io.UncheckedIOException;

/** For tests of what becomes of those who find no buffer, without a wait for one. */
public final class TestBuffers {
  private TestBuffers() {}

  /** What {@link Buffers#borrow} throws when none was given back in time. */
  public static UncheckedIOException exhausted() {
    return new UncheckedIOException(new BuffersExhaustedException(1));
  }
}
