package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Memory that costs nothing until it is written to.
 *
 * <p>{@link Arena#allocate} writes zeros to all it gives, so that a store of 64 GB would take 64 GB
 * at its start. On Linux the memory is therefore mapped; elsewhere it is allocated, which is the
 * same but for the cost.
 */
public final class Memory {
  private static final int READ_AND_WRITE = 3;
  private static final int PRIVATE_ANONYMOUS_NORESERVE = 0x2 | 0x20 | 0x4000;
  private static final int DONT_NEED = 4;
  private static final boolean LINUX = System.getProperty("os.name", "").equals("Linux");

  private Memory() {}

  /**
   * Whether address space costs nothing here, so that more of it may be reserved than is ever used.
   */
  static boolean isLazy() {
    return LINUX;
  }

  /**
   * Reserves zeroed memory until the arena is closed.
   *
   * @throws OutOfMemoryError if the system refuses
   */
  // The address and its length come from one mmap call that succeeded, and the arena unmaps exactly
  // that.
  @SuppressWarnings("restricted")
  public static MemorySegment reserve(long bytes, Arena arena) {
    if (!LINUX) {
      return arena.allocate(bytes, 64);
    }
    var address = Calls.mmap(bytes);
    return MemorySegment.ofAddress(address)
        .reinterpret(bytes, arena, ignored -> Calls.munmap(address, bytes));
  }

  /** Gives the pages of a range back to the system; they read as zeros afterwards. */
  static void giveBack(MemorySegment range) {
    if (LINUX) {
      Calls.madvise(range);
    }
  }

  private static final class Calls {
    private static final MethodHandle MMAP =
        link(
            "mmap",
            FunctionDescriptor.of(
                JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MUNMAP =
        link("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle MADVISE =
        link("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));

    // The descriptors above are those of the C library's functions.
    @SuppressWarnings("restricted")
    private static MethodHandle link(String name, FunctionDescriptor type) {
      var linker = Linker.nativeLinker();
      return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }

    static long mmap(long bytes) {
      long address;
      try {
        address =
            (long) MMAP.invokeExact(0L, bytes, READ_AND_WRITE, PRIVATE_ANONYMOUS_NORESERVE, -1, 0L);
      } catch (Throwable e) {
        throw new AssertionError("mmap cannot throw", e);
      }
      if (address == -1) {
        throw new OutOfMemoryError(
            "cannot reserve "
                + bytes
                + " bytes of address space; ask for less, or raise ulimit -v");
      }
      return address;
    }

    static void munmap(long address, long bytes) {
      try {
        int unused = (int) MUNMAP.invokeExact(address, bytes);
      } catch (Throwable e) {
        throw new AssertionError("munmap cannot throw", e);
      }
    }

    static void madvise(MemorySegment range) {
      try {
        int unused = (int) MADVISE.invokeExact(range, range.byteSize(), DONT_NEED);
      } catch (Throwable e) {
        throw new AssertionError("madvise cannot throw", e);
      }
    }
  }
}
