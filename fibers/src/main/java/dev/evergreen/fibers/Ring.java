package dev.evergreen.fibers;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.FileCalls;
import dev.evergreen.kernel.MemoryCalls;
import dev.evergreen.kernel.RingCalls;
import dev.evergreen.kernel.Scratch;
import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * An io_uring that sends: two queues in memory that is shared with the kernel. Entries are put,
 * then submitted together; their completions are there when that returns, as each says that it must
 * not wait ({@code MSG_DONTWAIT}). So nothing is under way between two submissions, and any thread
 * may make the next one; one at a time.
 *
 * <p>The kernel reads the tail of submissions and writes that of completions, and the heads the
 * other way; what a tail covers is written before it.
 */
final class Ring {

  private static final byte OP_SEND = 26;
  private static final int MSG_FLAGS = SocketCalls.MSG_DONTWAIT | SocketCalls.MSG_NOSIGNAL;
  private static final int ENTRY_SIZE = 64;
  private static final int COMPLETION_SIZE = 16;

  /** Since Linux 5.12; before that a ring's memory is limited as locked memory is. */
  private static final int FEATURE_NATIVE_WORKERS = 1 << 9;

  /** Both queues' heads, tails and completions are in one mapping. */
  private static final int FEATURE_SINGLE_MAP = 1;

  private static final int NEEDED = FEATURE_NATIVE_WORKERS | FEATURE_SINGLE_MAP;
  private static final int PARAMETERS_SIZE = 120;
  private static final long QUEUES = 0;
  private static final long ENTRIES = 0x10000000;

  private static final VarHandle INT = JAVA_INT.varHandle();

  private final int fd;
  private final MemorySegment queues;
  private final MemorySegment entries;
  private final int mask;
  private final long tailAt;
  private final long completionHeadAt;
  private final long completionTailAt;
  private final long completionsAt;
  private final int completionMask;

  /** By the order in which they were put. */
  private final int[] results;

  private int tail;
  private int put;
  private int head;

  /**
   * Makes one.
   *
   * @param size as many entries can be submitted together; a power of two
   * @throws IOException if the kernel refuses it
   */
  Ring(int size) throws IOException {
    var scratch = Carrier.currentScratch();
    var parameters = Arena.ofAuto().allocate(PARAMETERS_SIZE, 8);
    fd = Errno.check(RingCalls.open(scratch, size, parameters), "make an io_uring");
    results = new int[size];
    mask = size - 1;
    tailAt = parameters.get(JAVA_INT, 44);
    completionHeadAt = parameters.get(JAVA_INT, 80);
    completionTailAt = parameters.get(JAVA_INT, 84);
    completionsAt = parameters.get(JAVA_INT, 100);
    int completions = parameters.get(JAVA_INT, 4);
    completionMask = completions - 1;
    long arrayAt = parameters.get(JAVA_INT, 64);
    try {
      if ((parameters.get(JAVA_INT, 20) & NEEDED) != NEEDED) {
        throw new IOException("could not make an io_uring: Linux 5.12 or later is needed");
      }
      long ends =
          Math.max(arrayAt + 4L * size, completionsAt + (long) COMPLETION_SIZE * completions);
      queues = map(scratch, QUEUES, ends);
      entries = map(scratch, ENTRIES, (long) ENTRY_SIZE * size);
    } catch (IOException e) {
      FileCalls.close(scratch, fd);
      throw e;
    }
    for (int i = 0; i < size; i++) {
      queues.set(JAVA_INT, arrayAt + 4L * i, i);
      entries.set(JAVA_BYTE, (long) ENTRY_SIZE * i, OP_SEND);
      entries.set(JAVA_INT, (long) ENTRY_SIZE * i + 28, MSG_FLAGS);
    }
  }

  @SuppressWarnings("restricted") // The kernel has just mapped so much there.
  private MemorySegment map(Scratch scratch, long offset, long size) throws IOException {
    long address = MemoryCalls.share(scratch, fd, offset, size);
    Errno.check((int) Math.min(0, address), "map memory of the kernel's");
    return MemorySegment.ofAddress(address).reinterpret(size);
  }

  private static void unmap(Scratch scratch, MemorySegment mapped) {
    // It can fail only for what is no mapping.
    var _ = MemoryCalls.unmap(scratch, mapped);
  }

  /** Says why there can be none; empty if there can. */
  static String obstacle() {
    try {
      new Ring(1).close(Carrier.currentScratch());
      return "";
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    }
  }

  /** Adds an entry; the socket and the native memory must stay until it was submitted. */
  void put(int socket, long address, int size) {
    long at = (long) ENTRY_SIZE * ((tail + put) & mask);
    entries.set(JAVA_INT, at + 4, socket);
    entries.set(JAVA_LONG, at + 16, address);
    entries.set(JAVA_INT, at + 24, size);
    entries.set(JAVA_LONG, at + 32, put);
    put++;
  }

  /**
   * Sends all that was put.
   *
   * @return how many bytes of each were taken, or a negated error number, valid until the next call
   */
  int[] submit(Scratch scratch) {
    int n = put;
    put = 0;
    Arrays.fill(results, 0, n, 0);
    INT.setRelease(queues, tailAt, tail + n);
    int submitted = 0;
    int some;
    do {
      some = RingCalls.enter(scratch, fd, n - submitted, n - submitted);
      submitted += Math.max(0, some);
    } while (submitted < n && (some > 0 || some == -Errno.EINTR));
    // What the kernel did not take, for want of memory, must not leave later.
    tail += submitted;
    INT.setRelease(queues, tailAt, tail);
    for (int taken = takeResults(); taken < submitted; taken += takeResults()) {
      int result = RingCalls.enter(scratch, fd, 0, submitted - taken);
      if (result < 0 && result != -Errno.EINTR) {
        throw new IllegalStateException("io_uring_enter failed with error " + -result);
      }
    }
    return results;
  }

  private int takeResults() {
    int there = (int) INT.getAcquire(queues, completionTailAt) - head;
    for (int i = 0; i < there; i++) {
      long at = completionsAt + (long) COMPLETION_SIZE * ((head + i) & completionMask);
      results[(int) queues.get(JAVA_LONG, at)] = queues.get(JAVA_INT, at + 8);
    }
    head += there;
    INT.setRelease(queues, completionHeadAt, head);
    return there;
  }

  void close(Scratch scratch) {
    unmap(scratch, queues);
    unmap(scratch, entries);
    FileCalls.close(scratch, fd);
  }
}
