package dev.evergreen.provenance;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * One file of a spool, mapped into memory: a header, then frames one behind the other, then zeros.
 * A frame holds one body or several, each of which has a number.
 *
 * <p>A frame begins with a word that holds its length, the ordinal in the segment of its first
 * body, how many more it has, and whether it is finished. To claim the place of a frame is to
 * exchange the word there from zero to that: so places, ordinals and frames are in one order, any
 * number of threads may claim at the same time without waiting for each other, and whenever the
 * process is killed an unbroken chain of words leads to every frame that was finished. The word is
 * marked as finished after all else of the frame. If no frame fits any more, what is left becomes
 * padding. Room for one frame is kept for then: it takes the padding's place.
 *
 * <pre>
 *  0  long  word: bits 0-17 length, 18-30 how many bodies follow the first, 31 padding,
 *           32-62 ordinal, 63 finished; of padding bits 0-30 are the length
 *  8  int   CRC-32C of what follows, mixed with the segment's salt and the frame's place
 * 12  byte  kind    13 byte flags    14 short 0
 * 16  long  time, nanoseconds since 1970
 * 24  long  first subject     32  long  second subject     40  long  about
 * 48  body; of several first the length of each, an int, then all of them
 * </pre>
 *
 * The next frame begins at a multiple of eight. The salt is not to be guessed, so that nobody whose
 * request is recorded can put in it what is taken for a frame.
 */
final class SpoolSegment implements AutoCloseable {
  /** What precedes a frame's body. */
  static final int FRAME_HEADER = 48;

  /** What {@link #claim} returns when there is no room. */
  static final long FULL = -1;

  /** As many bodies a frame has at most: more than there can be requests in 64 KiB. */
  static final int MOST_BODIES = 1 << 13;

  /** More of the body follows in other frames. */
  static final byte MORE = 1;

  /** So much is kept for a frame that is put where all others have no room. */
  static final int KEPT = 128;

  private static final System.Logger LOG = System.getLogger(SpoolSegment.class.getName());
  private static final int HEADER = 64;

  /** "EvgrSpl" and the version. */
  private static final long MAGIC = 0x01_6c70_5372_6776_45L;

  private static final int AT_SIZE = 8;
  private static final int AT_FIRST = 16;
  private static final int AT_SALT = 24;
  private static final int AT_RUN = 32;
  private static final int AT_SUM = 56;

  private static final int CRC = 8;
  private static final int KIND = 12;
  private static final int FLAGS = 13;
  private static final int TIME = 16;
  private static final int FIRST_SUBJECT = 24;
  private static final int SECOND_SUBJECT = 32;
  private static final int ABOUT = 40;

  /** The kind of what is no frame. */
  private static final byte NO_KIND = -1;

  private static final long FINISHED = 1L << 63;
  private static final long PADDING = 1L << 31;
  private static final int MORE_BODIES = 18;
  private static final int LENGTH = (1 << MORE_BODIES) - 1;
  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final long index;
  private final Path path;
  private final Arena arena;
  private final ByteBuffer bytes;
  private final int size;

  /** Where to look for the end first: its offset, and in the high half the ordinal there. */
  private final AtomicLong tail = new AtomicLong(HEADER);

  /** Whether the room that was kept is used. */
  private boolean ended;

  private long first;
  private long salt;
  private long run;

  private SpoolSegment(long index, Path path, int size, FileChannel.MapMode mode)
      throws IOException {
    this.index = index;
    this.path = path;
    this.size = size;
    this.arena = Arena.ofShared();
    var options =
        mode == FileChannel.MapMode.READ_WRITE
            ? new StandardOpenOption[] {StandardOpenOption.READ, StandardOpenOption.WRITE}
            : new StandardOpenOption[] {StandardOpenOption.READ};
    try (var file = FileChannel.open(path, options)) {
      this.bytes = file.map(mode, 0, size, arena).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    } catch (IOException | RuntimeException e) {
      arena.close();
      throw e;
    }
  }

  /** Maps a file of zeros, to be written to when it has {@linkplain #begin begun}. */
  static SpoolSegment prepared(long index, Path path, int size) throws IOException {
    return new SpoolSegment(index, path, size, FileChannel.MapMode.READ_WRITE);
  }

  /**
   * Maps a file that is to be read only.
   *
   * @return null if its header is not there yet, or not ours, or if the file has gone
   */
  static @Nullable SpoolSegment reading(long index, Path path) throws IOException {
    try {
      return mapped(index, path);
    } catch (NoSuchFileException e) {
      LOG.log(System.Logger.Level.TRACE, "removed meanwhile", e);
      return null;
    }
  }

  private static @Nullable SpoolSegment mapped(long index, Path path) throws IOException {
    int size;
    try (var file = FileChannel.open(path, StandardOpenOption.READ)) {
      size = (int) Math.min(file.size(), Integer.MAX_VALUE);
      var head = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      if (size < HEADER || file.read(head, 0) < Long.BYTES || head.getLong(0) != MAGIC) {
        return null;
      }
    }
    var segment = new SpoolSegment(index, path, size, FileChannel.MapMode.READ_ONLY);
    if (!segment.readHeader()) {
      segment.close();
      return null;
    }
    return segment;
  }

  /**
   * Gives it its header; from now on frames can be claimed.
   *
   * @param first the number of its first frame
   * @param salt a random number
   * @param run which process, or which life of it, writes it
   */
  void begin(long first, long salt, long run) {
    this.first = first;
    this.salt = salt;
    this.run = run;
    bytes.putLong(AT_SIZE, size);
    bytes.putLong(AT_FIRST, first);
    bytes.putLong(AT_SALT, salt);
    bytes.putLong(AT_RUN, run);
    bytes.putLong(AT_SUM, headerSum());
    WORD.setRelease(bytes, 0, MAGIC);
  }

  private boolean readHeader() {
    if ((long) WORD.getAcquire(bytes, 0) != MAGIC
        || bytes.getLong(AT_SIZE) != size
        || bytes.getLong(AT_SUM) != headerSum()) {
      return false;
    }
    first = bytes.getLong(AT_FIRST);
    salt = bytes.getLong(AT_SALT);
    run = bytes.getLong(AT_RUN);
    return true;
  }

  private long headerSum() {
    var sum = new CRC32C();
    sum.update(bytes.slice(AT_SIZE, AT_SUM - AT_SIZE));
    return sum.getValue();
  }

  /**
   * Claims the place of a frame. It must be filled and {@linkplain #finish finished} soon: readers
   * wait for it.
   *
   * @param length of the whole frame in bytes
   * @param bodies how many it has
   * @return its offset, and in the high half its ordinal; or {@link #FULL}
   * @throws IllegalStateException if the segment was closed meanwhile
   */
  long claim(int length, int bodies) {
    if (length > LENGTH || bodies > MOST_BODIES) {
      throw new IllegalArgumentException(
          "no frame has %d bytes and %d bodies".formatted(length, bodies));
    }
    long word = (long) (bodies - 1) << MORE_BODIES | length;
    long seen = tail.get();
    long at = seen;
    while (offset(at) < size) {
      int offset = offset(at);
      long present = (long) WORD.getAcquire(bytes, offset);
      if (present == 0) {
        long wanted =
            roomFor(length) <= size - KEPT - offset
                ? (at & ~0xffff_ffffL) | word
                : (at & ~0xffff_ffffL) | PADDING | (size - offset);
        present = (long) WORD.compareAndExchange(bytes, offset, 0L, wanted);
        if (present == 0) {
          boolean full = (wanted & PADDING) != 0;
          tail.compareAndExchange(seen, full ? at : after(at, wanted));
          return full ? FULL : at;
        }
      }
      if ((present & PADDING) != 0) {
        return FULL;
      }
      at = after(at, present);
    }
    return FULL;
  }

  /**
   * Puts a frame without a second subject into a segment that {@linkplain #claim is full}, in the
   * room that was kept, once. What is padding until then is a finished frame next: nobody sees it
   * being written. To be called by one thread at a time.
   *
   * @param body of at most {@link #KEPT} bytes with what precedes it
   * @return its place; or {@link #FULL} if there is such a frame
   */
  long putLast(FrameKind kind, long time, long one, long about, ByteBuffer body) {
    if (ended) {
      return FULL;
    }
    long at = tail();
    while (!isOver(at)) {
      at = after(at, word(at));
    }
    if (offset(at) >= size) {
      return FULL;
    }
    int offset = offset(at);
    int length = FRAME_HEADER + body.remaining();
    int behind = offset + roomFor(length);
    if (behind < size) {
      bytes.putLong(behind, (long) (ordinal(at) + 1) << 32 | PADDING | (size - behind));
    }
    head(at, kind, (byte) 0, time, one, 0, about);
    body(at, body, body.position(), body.remaining());
    long word = (at & ~0xffff_ffffL) | length;
    bytes.putInt(offset + CRC, sum(offset, word));
    WORD.setRelease(bytes, offset, word | FINISHED);
    ended = true;
    return at;
  }

  /**
   * The offset and ordinal of the frame after the one there. Whatever damage has made of the word,
   * it is farther on by a frame's least, and not beyond the end: no walk stands still or goes back.
   */
  private long after(long at, long word) {
    int room = Math.max(FRAME_HEADER, roomFor(length(word)));
    long next = at + Math.min(size - offset(at), room);
    return (word & PADDING) == 0 ? next + ((long) bodiesOf(word) << 32) : next;
  }

  static int offset(long at) {
    return (int) at;
  }

  private static int ordinal(long at) {
    return (int) (at >>> 32);
  }

  private static int length(long word) {
    return (word & PADDING) == 0 ? (int) word & LENGTH : (int) word & 0x7fff_ffff;
  }

  private static int bodiesOf(long word) {
    return ((int) word >>> MORE_BODIES) + 1;
  }

  private static int roomFor(int length) {
    return (length + 7) & ~7;
  }

  /** The number of the first body of the frame that was claimed there. */
  long number(long at) {
    return first + ordinal(at);
  }

  /** Writes what a claimed frame has before its body. */
  void head(long at, FrameKind kind, byte flags, long time, long one, long two, long about) {
    int offset = offset(at);
    bytes.putInt(offset + KIND, kind.code() | (flags << 8));
    bytes.putLong(offset + TIME, time);
    bytes.putLong(offset + FIRST_SUBJECT, one);
    bytes.putLong(offset + SECOND_SUBJECT, two);
    bytes.putLong(offset + ABOUT, about);
  }

  /** Writes the body of a claimed frame; the position of what is written stays as it is. */
  void body(long at, ByteBuffer body, int from, int length) {
    bytes.put(offset(at) + FRAME_HEADER, body, from, length);
  }

  /** How long a frame with several bodies is. */
  static int lengthOf(Batch batch) {
    return FRAME_HEADER + batch.count() * Integer.BYTES + batch.length();
  }

  /** Writes the bodies of a frame that was claimed for several. */
  void bodies(long at, Batch batch) {
    int offset = offset(at) + FRAME_HEADER;
    for (int i = 0; i < batch.count(); i++) {
      bytes.putInt(offset, batch.end(i) - batch.start(i));
      offset += Integer.BYTES;
    }
    bytes.put(offset, batch.bytes(), batch.from(), batch.length());
  }

  /** Ends a claimed frame: from now on readers see it, and nothing but the disk can lose it. */
  void finish(long at) {
    int offset = offset(at);
    long word = (long) WORD.get(bytes, offset);
    bytes.putInt(offset + CRC, sum(offset, word));
    WORD.setRelease(bytes, offset, word | FINISHED);
  }

  /**
   * Ends a claimed frame that could not be written: readers pass it, and tell that it is missing.
   * Else they would wait for it. Needs no memory, since the want of it may be the reason.
   */
  void giveUp(long at) {
    int offset = offset(at);
    bytes.put(offset + KIND, NO_KIND);
    WORD.setRelease(bytes, offset, (long) WORD.get(bytes, offset) | FINISHED);
  }

  private int sum(int offset, long word) {
    var sum = new CRC32C();
    sum.update(bytes.slice(offset + KIND, length(word) - KIND));
    long place = salt + offset * 0x9E37_79B9_7F4A_7C15L + (word & ~FINISHED);
    place = (place ^ (place >>> 31)) * 0xBF58_476D_1CE4_E5B9L;
    return (int) sum.getValue() ^ (int) (place >>> 32);
  }

  // What a reader asks, about the place of a frame.

  /** The place of the first frame. */
  static long start() {
    return HEADER;
  }

  /** What is at a place where a frame may begin. */
  enum Place {
    /** A frame that is whole. */
    FRAME,
    /** Nothing yet. */
    EMPTY,
    /** A frame that is being written, or never was to its end. */
    UNFINISHED,
    /** The segment is over. */
    OVER,
    /** None of these: something was destroyed. */
    DAMAGED
  }

  Place look(long at) {
    int offset = offset(at);
    if (offset >= size) {
      return Place.OVER;
    }
    long word = (long) WORD.getAcquire(bytes, offset);
    if (word == 0) {
      return Place.EMPTY;
    }
    if ((word & PADDING) != 0) {
      boolean right = length(word) == size - offset && ordinal(word) == ordinal(at);
      return right ? Place.OVER : Place.DAMAGED;
    }
    if (!fits(offset, word) || ordinal(word & ~FINISHED) != ordinal(at)) {
      return Place.DAMAGED;
    }
    if ((word & FINISHED) == 0) {
      return Place.UNFINISHED;
    }
    return whole(offset, word) ? Place.FRAME : Place.DAMAGED;
  }

  private boolean fits(int offset, long word) {
    return length(word) >= bodiesAt(word) && length(word) <= size - offset;
  }

  /** Where the bodies are in a frame. */
  private static int bodiesAt(long word) {
    int bodies = bodiesOf(word);
    return bodies == 1 ? FRAME_HEADER : FRAME_HEADER + bodies * Integer.BYTES;
  }

  private boolean whole(int offset, long word) {
    return bytes.getInt(offset + CRC) == sum(offset, word)
        && FrameKind.known(bytes.get(offset + KIND));
  }

  /**
   * The place of the next whole frame behind one, found by its sum alone; the segment's end if
   * there is none.
   */
  long search(long at) {
    for (int offset = offset(at) + 8; offset <= size - FRAME_HEADER; offset += 8) {
      long word = (long) WORD.getAcquire(bytes, offset);
      if ((word & (FINISHED | PADDING)) == FINISHED && fits(offset, word) && whole(offset, word)) {
        return (word & Long.MAX_VALUE & ~0xffff_ffffL) | offset;
      }
    }
    return (at & ~0xffff_ffffL) | size;
  }

  /** Whether the word there, though not its frame, is as it should be. */
  boolean leadsOn(long at) {
    long word = (long) WORD.getAcquire(bytes, offset(at));
    return (word & PADDING) == 0
        && fits(offset(at), word)
        && ordinal(word & ~FINISHED) == ordinal(at);
  }

  /** Whether it is a frame that its writer never wrote to its end, and does not any more. */
  boolean isGivenUp(long at) {
    long word = (long) WORD.getAcquire(bytes, offset(at));
    return (word & FINISHED) == 0 || bytes.get(offset(at) + KIND) == NO_KIND;
  }

  /** The place after a frame whose word is as it should be. */
  long next(long at) {
    return after(at, (long) WORD.getAcquire(bytes, offset(at)));
  }

  FrameKind kind(long at) {
    return FrameKind.of(bytes.get(offset(at) + KIND));
  }

  byte flags(long at) {
    return bytes.get(offset(at) + FLAGS);
  }

  long time(long at) {
    return bytes.getLong(offset(at) + TIME);
  }

  long firstSubject(long at) {
    return bytes.getLong(offset(at) + FIRST_SUBJECT);
  }

  long secondSubject(long at) {
    return bytes.getLong(offset(at) + SECOND_SUBJECT);
  }

  long about(long at) {
    return bytes.getLong(offset(at) + ABOUT);
  }

  /** How many bodies a frame has. */
  int bodies(long at) {
    return bodiesOf(word(at));
  }

  /** Where in a frame its first body is. */
  int firstBody(long at) {
    return bodiesAt(word(at));
  }

  /** How long one of a frame's bodies is. */
  int bodyLength(long at, int index) {
    return bodies(at) == 1
        ? length(word(at)) - FRAME_HEADER
        : bytes.getInt(offset(at) + FRAME_HEADER + index * Integer.BYTES);
  }

  /** A copy of a body that is somewhere in a frame. */
  byte[] body(long at, int from, int length) {
    var copy = new byte[length];
    bytes.get(offset(at) + from, copy);
    return copy;
  }

  private long word(long at) {
    return (long) WORD.getAcquire(bytes, offset(at));
  }

  /** The place where the next frame will be claimed: behind a place, over all that is claimed. */
  long end(long from) {
    long at = from;
    while (offset(at) < size) {
      long word = (long) WORD.getAcquire(bytes, offset(at));
      if (word == 0) {
        return at;
      }
      at = after(at, word);
    }
    return at;
  }

  /**
   * The place behind a place and all finished frames that follow it. Not behind padding: there may
   * be a last frame next.
   */
  long finished(long from) {
    long at = from;
    while (!isOver(at) && isFinished(at)) {
      at = next(at);
    }
    return at;
  }

  /** Whether no frame is at a place because the segment is full before it. */
  boolean isOver(long at) {
    return offset(at) >= size || (word(at) & PADDING) != 0;
  }

  /** The place of the first frame from one on that is not finished, or is damaged. */
  long finishedFrom(long place) {
    long at = place;
    while (offset(at) < size && leadsOn(at) && isFinished(at)) {
      at = next(at);
    }
    return at;
  }

  private boolean isFinished(long at) {
    return ((long) WORD.getAcquire(bytes, offset(at)) & FINISHED) != 0;
  }

  /** The highest number of its frames, also behind damage. */
  long lastNumber() {
    long last = first - 1;
    long at = HEADER;
    for (var place = look(at); place != Place.OVER; place = look(at)) {
      if (place == Place.FRAME) {
        at = next(at);
        last = number(at) - 1;
      } else {
        at = search(at);
      }
    }
    return last;
  }

  /** Where the frames end at the moment, or somewhat before. */
  long tail() {
    return tail.get();
  }

  /** Forces what is between two offsets to the disk. */
  void force(int from, int to) {
    ((MappedByteBuffer) bytes).force(from, to - from);
  }

  long index() {
    return index;
  }

  /** Another one in each file. */
  long salt() {
    return salt;
  }

  long firstNumber() {
    return first;
  }

  /** Which process, or which life of it, writes it. */
  long run() {
    return run;
  }

  int size() {
    return size;
  }

  Path path() {
    return path;
  }

  /** Gives the memory back. Who still claims in it gets an exception. */
  @Override
  public void close() {
    arena.close();
  }
}
