package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Memory by whole pages. */
public final class MemoryCalls {

  private static final int PROT_READ_WRITE = 1 | 2;
  private static final int MAP_SHARED_POPULATE = 0x1 | 0x8000;
  private static final int MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x2 | 0x20 | 0x4000;
  private static final int MADV_DONTNEED = 4;

  private static final MethodHandle MMAP =
      CLibrary.function(
          "mmap", JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle MUNMAP =
      CLibrary.function("munmap", JAVA_INT, ADDRESS, JAVA_LONG);
  private static final MethodHandle MADVISE =
      CLibrary.function("madvise", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);

  private MemoryCalls() {}

  /**
   * Reserves memory that is zeros, and takes none of the machine's until it is written to.
   *
   * @return its address
   */
  public static long reserve(Scratch scratch, long bytes) {
    return map(scratch, bytes, MAP_PRIVATE_ANONYMOUS_NORESERVE, -1, 0);
  }

  /**
   * Maps memory that is shared with the kernel, or with whoever else has the descriptor.
   *
   * @return its address
   */
  public static long share(Scratch scratch, int fd, long offset, long bytes) {
    return map(scratch, bytes, MAP_SHARED_POPULATE, fd, offset);
  }

  private static long map(Scratch scratch, long bytes, int flags, int fd, long offset) {
    try {
      return scratch.result(
          (long)
              MMAP.invokeExact(
                  scratch.errno(), MemorySegment.NULL, bytes, PROT_READ_WRITE, flags, fd, offset));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Ends a mapping; nobody may touch the memory from now on. */
  public static int unmap(Scratch scratch, MemorySegment mapped) {
    try {
      return scratch.result((int) MUNMAP.invokeExact(scratch.errno(), mapped, mapped.byteSize()));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Gives pages that were {@linkplain #reserve reserved} back; they are zeros afterwards. */
  public static int giveBack(Scratch scratch, MemorySegment pages) {
    try {
      return scratch.result(
          (int) MADVISE.invokeExact(scratch.errno(), pages, pages.byteSize(), MADV_DONTNEED));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}
