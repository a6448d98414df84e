package dev.evergreen.store;

import dev.evergreen.kernel.MemoryCalls;
import dev.evergreen.kernel.Scratch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory that costs nothing until it is written to.
 *
 * <p>{@link Arena#allocate} writes zeros to all it gives, so that a store of 64 GB would take 64 GB
 * at its start. On Linux the memory is therefore mapped; elsewhere it is allocated, which is the
 * same but for the cost.
 */
public final class Memory {
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
  // The address and its length come from one call that succeeded, and the arena unmaps exactly
  // that.
  @SuppressWarnings("restricted")
  public static MemorySegment reserve(long bytes, Arena arena) {
    if (!LINUX) {
      return arena.allocate(bytes, 64);
    }
    long address = MemoryCalls.reserve(Scratch.ofThread(), bytes);
    if (address < 0) {
      throw new OutOfMemoryError(
          "cannot reserve " + bytes + " bytes of address space; ask for less, or raise ulimit -v");
    }
    return MemorySegment.ofAddress(address).reinterpret(bytes, arena, Memory::unmap);
  }

  private static void unmap(MemorySegment mapped) {
    // It can fail only for what is no mapping.
    var _ = MemoryCalls.unmap(Scratch.ofThread(), mapped);
  }

  /** Gives the pages of a range back to the system, as far as that can be done now. */
  static void giveBack(MemorySegment range) {
    if (LINUX) {
      // The system keeps what is locked; nothing is wrong then but that it is not free for others.
      var _ = MemoryCalls.giveBack(Scratch.ofThread(), range);
    }
  }
}
