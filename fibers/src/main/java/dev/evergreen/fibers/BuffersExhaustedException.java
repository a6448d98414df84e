package dev.evergreen.fibers;

import java.io.IOException;

/** A buffer is needed and there may be no more of them; see {@link Buffers}. */
public final class BuffersExhaustedException extends IOException {

  private static final long serialVersionUID = 1;

  BuffersExhaustedException(int limit) {
    super("all " + limit + " buffers are in use; give them more room, or serve fewer at a time");
  }
}
