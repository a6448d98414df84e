package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

@SuppressWarnings("restricted") // What was mapped is looked at.
class MemoryCallsTest {

  private static final int ENOMEM = 12;
  private static final int EINVAL = 22;
  private static final long SIZE = 1 << 20;

  private final Scratch scratch = new Scratch();

  private static MemorySegment at(long address, long size) {
    assertTrue(address > 0, "error " + -address);
    return MemorySegment.ofAddress(address).reinterpret(size);
  }

  private static boolean isZero(MemorySegment memory) {
    return memory.mismatch(Arena.ofAuto().allocate(memory.byteSize())) == -1;
  }

  @Test
  void whatIsReservedIsZeros() {
    var memory = at(MemoryCalls.reserve(scratch, SIZE), SIZE);
    assertTrue(isZero(memory));
    memory.set(JAVA_BYTE, SIZE - 1, (byte) 1);
    assertEquals(0, MemoryCalls.unmap(scratch, memory));
  }

  @Test
  void whatIsGivenBackIsZerosAgain() {
    var memory = at(MemoryCalls.reserve(scratch, SIZE), SIZE);
    memory.fill((byte) 1);
    assertEquals(0, MemoryCalls.giveBack(scratch, memory.asSlice(0, SIZE / 2)));
    assertTrue(isZero(memory.asSlice(0, SIZE / 2)));
    assertEquals(1, memory.get(JAVA_BYTE, SIZE / 2));
    assertEquals(-EINVAL, MemoryCalls.giveBack(scratch, memory.asSlice(1)), "not a whole page");
    assertEquals(0, MemoryCalls.unmap(scratch, memory));
  }

  @Test
  void moreThanThereIsCannotBeReserved() {
    assertEquals(-ENOMEM, MemoryCalls.reserve(scratch, 1L << 60));
    assertEquals(-EINVAL, MemoryCalls.reserve(scratch, 0));
  }

  @Test
  void aRingSharesItsQueues() {
    var parameters = Arena.ofAuto().allocate(120, 8);
    int ring = RingCalls.open(scratch, 4, parameters);
    assumeTrue(ring >= 0, "this kernel allows no io_uring");
    var queues = at(MemoryCalls.share(scratch, ring, 0, 4096), 4096);
    long entriesAt = parameters.get(JAVA_INT, 40 + 12);
    assertEquals(4, queues.get(JAVA_INT, entriesAt), "how many entries there are");
    assertEquals(0, RingCalls.enter(scratch, ring, 0, 0));
    assertEquals(0, MemoryCalls.unmap(scratch, queues));
    FileCalls.close(scratch, ring);
  }

  @Test
  void aRingOfNoEntriesIsRefused() {
    int result = RingCalls.open(scratch, 0, Arena.ofAuto().allocate(120, 8));
    assertTrue(result < 0, "a ring was made: " + result);
  }
}
