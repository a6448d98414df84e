package dev.evergreen.memcached;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.SlowPeers.Direction;
import dev.evergreen.store.Item;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Writes replies straight into the connection's output. {@link #begin} makes room for a reply and
 * {@link #end} makes what was written since part of the output; without it, it never happened.
 */
final class Output {
  static final byte[] CRLF = {'\r', '\n'};

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  private final Statistics statistics;
  private final SlowPeers valueHolders;
  private final SlowPeers longReplies;
  private final Log log;
  private @Nullable Connection connection;
  private @Nullable ByteBuffer buffer;
  private MemorySegment memory = MemorySegment.NULL;
  private int at;
  private long writtenInTurn;

  /** Hears of replies. */
  interface Log {
    /** Whether anything is to be told. */
    boolean isOn();

    /** What a reply begins with: its first line, or what its header says. */
    void reply(String head);
  }

  Output(Statistics statistics, SlowPeers valueHolders, SlowPeers longReplies, Log log) {
    this.statistics = statistics;
    this.valueHolders = valueHolders;
    this.longReplies = longReplies;
    this.log = log;
  }

  /** From now on replies go to this connection. */
  void attach(Connection connection) {
    this.connection = connection;
  }

  void beginTurn() {
    writtenInTurn = 0;
  }

  /** How many bytes of replies were written since a turn began. */
  long writtenInTurn() {
    return writtenInTurn;
  }

  /** Makes room; may send what was written before, and wait until the peer takes it. */
  // Which buffer it is matters, not what is in it.
  @SuppressWarnings("ReferenceEquality")
  void begin(int bytes) throws IOException {
    var into = connection().reserve(bytes);
    if (into != buffer) {
      buffer = into;
      memory = whole(into);
    }
    at = into.position();
  }

  private Connection connection() {
    if (connection == null) {
      throw new IllegalStateException("there is no connection to write to");
    }
    return connection;
  }

  /**
   * All of a buffer, in which replies of before may lie: nothing need have been sent since another
   * worker wrote them, if more input was there at once.
   */
  private static MemorySegment whole(ByteBuffer buffer) {
    int position = buffer.position();
    var memory = MemorySegment.ofBuffer(buffer.position(0));
    buffer.position(position);
    return memory;
  }

  void end() {
    tell();
    commit();
  }

  /** Tells what was written since {@link #begin}, before a value is added. */
  private void tell() {
    var into = buffer;
    if (into == null || at == into.position() || !log.isOn()) {
      return;
    }
    int from = into.position();
    if (memory.get(JAVA_BYTE, from) == (byte) BinaryProtocol.RESPONSE) {
      int opcode = memory.get(JAVA_BYTE, from + 1) & 0xff;
      int status = memory.get(SHORT, from + 6) & 0xffff;
      log.reply("binary response 0x%02x status 0x%04x".formatted(opcode, status));
    } else {
      int end = from;
      while (end < at && memory.get(JAVA_BYTE, end) != '\r') {
        end++;
      }
      log.reply(shown(memory, from, end - from));
    }
  }

  /** Bytes for a log: what would be no character of a line there is a question mark. */
  static String shown(MemorySegment bytes, long at, int length) {
    var text = new StringBuilder(length);
    for (int i = 0; i < length; i++) {
      int c = bytes.get(JAVA_BYTE, at + i);
      text.append(c >= ' ' && c != 0x7f ? (char) c : '?');
    }
    return text.toString();
  }

  private void commit() {
    var into = buffer;
    if (into != null) {
      int written = at - into.position();
      statistics.written.add(written);
      writtenInTurn += written;
      into.position(at);
    }
  }

  /** Forgets the connection and its buffer, which belongs to others while it waits. */
  void detach() {
    connection = null;
    buffer = null;
    memory = MemorySegment.NULL;
  }

  void put(int c) {
    memory.set(JAVA_BYTE, at++, (byte) c);
  }

  void put(byte[] text) {
    MemorySegment.copy(text, 0, memory, JAVA_BYTE, at, text.length);
    at += text.length;
  }

  void put(String text) {
    put(text.getBytes(ISO_8859_1));
  }

  void put(MemorySegment from, long offset, int bytes) {
    MemorySegment.copy(from, offset, memory, at, bytes);
    at += bytes;
  }

  void putShort(int number) {
    put(number >> 8);
    put(number);
  }

  void putInt(int number) {
    memory.set(INT, at, number);
    at += Integer.BYTES;
  }

  void putLong(long number) {
    memory.set(LONG, at, number);
    at += Long.BYTES;
  }

  void crlf() {
    put('\r');
    put('\n');
  }

  /** The decimal digits of a number without sign. */
  void number(long number) {
    at += digits(number);
    long rest = number;
    int i = at;
    if (rest < 0) {
      memory.set(JAVA_BYTE, --i, (byte) ('0' + Long.remainderUnsigned(rest, 10)));
      rest = Long.divideUnsigned(rest, 10);
    }
    do {
      memory.set(JAVA_BYTE, --i, (byte) ('0' + rest % 10));
      rest /= 10;
    } while (rest != 0);
  }

  static int digits(long number) {
    int digits = 1;
    for (long rest = Long.divideUnsigned(number, 10); rest != 0; rest /= 10) {
      digits++;
    }
    return digits;
  }

  /** Writes a whole reply. */
  void line(byte[] text) throws IOException {
    begin(text.length + CRLF.length);
    put(text);
    put(CRLF);
    end();
  }

  /** Writes a text of any length. */
  void text(CharSequence text) throws IOException {
    if (text.length() <= Buffers.SIZE) {
      pieces(text);
    } else {
      try (var _ = longReplies.hold(connection(), Direction.SENDING)) {
        pieces(text);
      }
    }
  }

  private void pieces(CharSequence text) throws IOException {
    for (int done = 0; done < text.length(); ) {
      int piece = Math.min(text.length() - done, Buffers.SIZE / 4);
      begin(piece);
      for (int end = done + piece; done < end; done++) {
        memory.set(JAVA_BYTE, at++, (byte) text.charAt(done));
      }
      commit();
    }
  }

  /**
   * Ends the reply with the item's value and what comes behind it. A held value leaves in pieces,
   * as the peer takes them; for another one there must be room.
   *
   * @return false if the value changed meanwhile: nothing was written, and the request must be
   *     repeated
   */
  boolean valueOf(Item item, byte[] behind) throws IOException {
    if (item.isHeld()) {
      end();
      try (var _ = valueHolders.hold(connection(), Direction.SENDING);
          var _ = longReplies.hold(connection(), Direction.SENDING)) {
        heldValue(item);
      }
      begin(behind.length);
      put(behind);
      commit();
      return true;
    }
    if (!item.copyValue(memory, at)) {
      return false;
    }
    tell();
    at += item.valueLength();
    put(behind);
    commit();
    return true;
  }

  private void heldValue(Item item) throws IOException {
    for (int done = 0; done < item.valueLength(); ) {
      begin(1);
      int piece = Math.min(item.valueLength() - done, Buffers.SIZE - at);
      item.copyPart(done, memory, at, piece);
      at += piece;
      commit();
      done += piece;
    }
    item.release();
  }
}
