package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * The native memory that a thread needs to make system calls: for error numbers, events, addresses.
 * Each call may overwrite all of it, so one thread at a time may use it, from a call until it has
 * read what that left here.
 */
public final class Scratch {

  /** As many events one wait takes at most. */
  static final int EVENTS = 512;

  static final int ADDRESS_SIZE = 128;

  /** As many buffers one send gathers at most. */
  public static final int PARTS = 16;

  /** The size of C's {@code struct msghdr}, behind which the parts are put. */
  private static final int MESSAGE_SIZE = 56;

  private static final int PARTS_AT = 16;
  private static final int PART_COUNT_AT = 24;
  private static final int CONTROL_AT = 32;
  private static final int CONTROL_SIZE_AT = 40;
  private static final int FLAGS_AT = 48;

  /** One part is behind a message that receives, and then what the kernel says about it. */
  private static final int SAID_AT = MESSAGE_SIZE + 16;

  private static final int SAID_SIZE = 64;

  /** The size of C's {@code struct cmsghdr}, and where its level is. */
  private static final int SAID_HEAD = 16;

  private static final int LEVEL_AT = 8;

  private static final ThreadLocal<Scratch> OF_THREADS = ThreadLocal.withInitial(Scratch::new);

  private final MemorySegment errno;
  private final MemorySegment address;
  private final MemorySegment event;
  private final MemorySegment duration;
  private final MemorySegment number;
  private final MemorySegment length;
  private final MemorySegment position;
  private MemorySegment events = MemorySegment.NULL;
  private MemorySegment message = MemorySegment.NULL;
  private MemorySegment received = MemorySegment.NULL;

  /** Allocates it; it goes with the garbage. */
  public Scratch() {
    var arena = Arena.ofAuto();
    errno = arena.allocate(CLibrary.ERRNO_LAYOUT);
    address = arena.allocate(ADDRESS_SIZE, 8);
    event = arena.allocate(16, 8);
    duration = arena.allocate(16, 8);
    number = arena.allocate(4, 8);
    length = arena.allocate(4, 8);
    position = arena.allocate(8, 8);
  }

  /** The current thread's, made when it is first needed. */
  public static Scratch ofThread() {
    return OF_THREADS.get();
  }

  MemorySegment errno() {
    return errno;
  }

  /** The result of a call, or the negated error number that it left. */
  long result(long result) {
    return result >= 0 ? result : -errno.get(JAVA_INT, CLibrary.ERRNO_AT);
  }

  int result(int result) {
    return (int) result((long) result);
  }

  /** An address of a socket, to be written before a call, or as the last one has left it. */
  public MemorySegment address() {
    return address;
  }

  /** How many bytes the address has that the last call has left. */
  public int length() {
    return length.get(JAVA_INT, 0);
  }

  MemorySegment length(int value) {
    length.set(JAVA_INT, 0, value);
    return length;
  }

  /** A message of what is in some buffers of native memory, from the first on. */
  MemorySegment message(ByteBuffer[] from, int first) {
    int count = Math.min(PARTS, from.length - first);
    if (message.byteSize() == 0) {
      message = Arena.ofAuto().allocate(MESSAGE_SIZE + 16L * PARTS, 8);
      message.set(JAVA_LONG, PARTS_AT, message.address() + MESSAGE_SIZE);
    }
    message.set(JAVA_LONG, PART_COUNT_AT, count);
    for (int i = 0; i < count; i++) {
      long at = MESSAGE_SIZE + 16L * i;
      var part = from[first + i];
      message.set(JAVA_LONG, at, MemorySegment.ofBuffer(part).address());
      message.set(JAVA_LONG, at + 8, part.remaining());
    }
    return message;
  }

  /** A message that takes what fits into this memory, and a time. */
  MemorySegment receiving(MemorySegment into) {
    if (received.byteSize() == 0) {
      received = Arena.ofAuto().allocate(SAID_AT + SAID_SIZE, 8);
      received.set(JAVA_LONG, PARTS_AT, received.address() + MESSAGE_SIZE);
      received.set(JAVA_LONG, PART_COUNT_AT, 1);
      received.set(JAVA_LONG, CONTROL_AT, received.address() + SAID_AT);
    }
    received.set(JAVA_LONG, MESSAGE_SIZE, into.address());
    received.set(JAVA_LONG, MESSAGE_SIZE + 8, into.byteSize());
    received.set(JAVA_LONG, CONTROL_SIZE_AT, SAID_SIZE);
    received.set(JAVA_INT, FLAGS_AT, 0);
    return received;
  }

  /**
   * When the last of what was received came to this machine, in nanoseconds since 1970; 0 if the
   * kernel did not say it.
   */
  public long arrival() {
    long said = received.get(JAVA_LONG, CONTROL_SIZE_AT);
    if (said < SAID_HEAD + 16
        || received.get(JAVA_INT, SAID_AT + LEVEL_AT) != SocketCalls.SOL_SOCKET
        || received.get(JAVA_INT, SAID_AT + LEVEL_AT + 4) != SocketCalls.SO_TIMESTAMPNS) {
      return 0;
    }
    long seconds = received.get(JAVA_LONG, SAID_AT + SAID_HEAD);
    return seconds * 1_000_000_000 + received.get(JAVA_LONG, SAID_AT + SAID_HEAD + 8);
  }

  MemorySegment events() {
    if (events.byteSize() == 0) {
      events = Arena.ofAuto().allocate((long) EVENTS * PollCalls.EVENT_SIZE, 8);
    }
    return events;
  }

  /** What has happened, of one of the events of the last wait. */
  public int eventFlags(int index) {
    return events.get(JAVA_INT_UNALIGNED, (long) index * PollCalls.EVENT_SIZE);
  }

  /** With what the descriptor was registered to which an event has happened. */
  public long eventData(int index) {
    return events.get(
        JAVA_LONG_UNALIGNED, (long) index * PollCalls.EVENT_SIZE + PollCalls.EVENT_DATA);
  }

  MemorySegment event(int flags, long data) {
    event.set(JAVA_INT, 0, flags);
    event.set(JAVA_LONG_UNALIGNED, PollCalls.EVENT_DATA, data);
    return event;
  }

  MemorySegment duration(long nanos) {
    duration.set(JAVA_LONG, 0, nanos / 1_000_000_000);
    duration.set(JAVA_LONG, 8, nanos % 1_000_000_000);
    return duration;
  }

  MemorySegment position(long value) {
    position.set(JAVA_LONG, 0, value);
    return position;
  }

  MemorySegment number(int value) {
    number.set(JAVA_INT, 0, value);
    return number;
  }

  int number() {
    return number.get(JAVA_INT, 0);
  }
}
