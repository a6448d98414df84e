package dev.evergreen.fibers;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * The native memory that a thread needs to make system calls: for error numbers, events, addresses.
 *
 * <p>Each carrier has one, used by whatever runs on it: that is safe because a fiber leaves its
 * carrier only where it waits, and nothing waits between filling and reading this memory. Threads
 * that are not ours have one each.
 */
final class Scratch {

  /** As many events one wait takes at most. */
  static final int EVENTS = 512;

  static final int ADDRESS_SIZE = 128;

  /** As many buffers one send gathers at most. */
  static final int PARTS = 16;

  /** The size of C's {@code struct msghdr}, behind which the parts are put. */
  private static final int MESSAGE_SIZE = 56;

  private static final int PARTS_AT = 16;
  private static final int PART_COUNT_AT = 24;

  private static final ThreadLocal<Scratch> OF_OTHERS = ThreadLocal.withInitial(Scratch::new);

  private final MemorySegment errno;
  private final MemorySegment address;
  private final MemorySegment small;
  private final MemorySegment position;
  private MemorySegment events = MemorySegment.NULL;
  private MemorySegment message = MemorySegment.NULL;

  Scratch() {
    var arena = Arena.ofAuto();
    errno = arena.allocate(Kernel.ERRNO_LAYOUT);
    address = arena.allocate(ADDRESS_SIZE, 8);
    small = arena.allocate(48, 8);
    position = arena.allocate(8, 8);
  }

  static Scratch current() {
    return VirtualThreadHook.currentCarrier() instanceof Carrier carrier
        ? carrier.scratch()
        : OF_OTHERS.get();
  }

  MemorySegment errno() {
    return errno;
  }

  MemorySegment address() {
    return address;
  }

  /** A message of all that is in some buffers of native memory. */
  MemorySegment message(ByteBuffer[] from) {
    if (message.byteSize() == 0) {
      message = Arena.ofAuto().allocate(MESSAGE_SIZE + 16L * PARTS, 8);
      message.set(JAVA_LONG, PARTS_AT, message.address() + MESSAGE_SIZE);
    }
    message.set(JAVA_LONG, PART_COUNT_AT, from.length);
    for (int i = 0; i < from.length; i++) {
      long at = MESSAGE_SIZE + 16L * i;
      message.set(JAVA_LONG, at, MemorySegment.ofBuffer(from[i]).address());
      message.set(JAVA_LONG, at + 8, from[i].remaining());
    }
    return message;
  }

  MemorySegment events() {
    if (events.byteSize() == 0) {
      events = Arena.ofAuto().allocate((long) EVENTS * Kernel.EVENT_SIZE, 8);
    }
    return events;
  }

  int eventFlags(int index) {
    return events.get(JAVA_INT_UNALIGNED, (long) index * Kernel.EVENT_SIZE);
  }

  long eventData(int index) {
    return events.get(JAVA_LONG_UNALIGNED, (long) index * Kernel.EVENT_SIZE + Kernel.EVENT_DATA);
  }

  MemorySegment event(int flags, long data) {
    small.set(JAVA_INT, 0, flags);
    small.set(JAVA_LONG_UNALIGNED, Kernel.EVENT_DATA, data);
    return small;
  }

  MemorySegment duration(long nanos) {
    var time = small.asSlice(16, 16);
    time.set(JAVA_LONG, 0, nanos / 1_000_000_000);
    time.set(JAVA_LONG, 8, nanos % 1_000_000_000);
    return time;
  }

  MemorySegment at(long value) {
    position.set(JAVA_LONG, 0, value);
    return position;
  }

  MemorySegment number(int value) {
    var number = small.asSlice(32, 4);
    number.set(JAVA_INT, 0, value);
    return number;
  }

  int number() {
    return small.get(JAVA_INT, 32);
  }

  MemorySegment length(int value) {
    var length = small.asSlice(40, 4);
    length.set(JAVA_INT, 0, value);
    return length;
  }

  int length() {
    return small.get(JAVA_INT, 40);
  }
}
