package dev.evergreen.fibers;

import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.LinkedBlockingDeque;

/**
 * Buffers of native memory, 64 KiB each, on loan. Each processor has some lying ready, used by what
 * runs on it only; threads that run on none share some. A fiber should hold one only while it
 * works, not while it waits: with many connections that is what their memory would go to.
 *
 * <p>Who gives one back must not touch it any more, as another connection may have it.
 */
public final class Buffers {

  /** Of each buffer, in bytes: the most that leaves in one write. */
  public static final int SIZE = 64 << 10;

  /** More of them are left to the garbage collector. */
  private static final int KEPT = 64;

  /** The last given back is taken first, as it may still be in the core's cache. */
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  Buffers() {}

  private static final LinkedBlockingDeque<ByteBuffer> SHARED = new LinkedBlockingDeque<>(KEPT);

  /** Lends an empty one, of the current processor's if there is one. */
  public static ByteBuffer borrow() {
    var processor = Processor.current();
    var buffer = processor == null ? SHARED.pollFirst() : processor.buffers().free.pollFirst();
    return buffer != null ? buffer.clear() : allocate();
  }

  /** With an arena of its own: else a segment of it would make one each time. */
  private static ByteBuffer allocate() {
    return Arena.ofAuto().allocate(SIZE).asByteBuffer();
  }

  /** Takes back what {@link #borrow} lent, on whichever processor. */
  public static void giveBack(ByteBuffer buffer) {
    var processor = Processor.current();
    if (processor == null) {
      var _ = SHARED.offerFirst(buffer);
    } else if (processor.buffers().free.size() < KEPT) {
      processor.buffers().free.addFirst(buffer);
    }
  }
}
