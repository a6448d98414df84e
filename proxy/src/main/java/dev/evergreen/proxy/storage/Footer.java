package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The list of a segment's objects, 24 bytes each: hash, place, stamp. It is written behind the last
 * record when the segment is full, and in the file's last 32 bytes is said where:
 *
 * <pre>
 * 0 magic  4 objects  8 sequence of the segment  16 offset of the list  20 CRC32C of the list  28 CRC32C of these 28 bytes
 * </pre>
 */
final class Footer {
  static final int ENTRY = 24;
  static final int TRAILER = 32;
  private static final int WORDS = ENTRY / 8;
  private static final int MAGIC = 0x464f5645;
  private static final int SUM_AT = 28;

  private long[] words = new long[WORDS << 8];
  private int count;

  int count() {
    return count;
  }

  /** How many bytes it takes with so many more entries. */
  int bytes(int more) {
    return (count + more) * ENTRY + TRAILER;
  }

  void add(long hash, long place, long stamp) {
    if (WORDS * (count + 1) > words.length) {
      words = Arrays.copyOf(words, 2 * words.length);
    }
    words[WORDS * count] = hash;
    words[WORDS * count + 1] = place;
    words[WORDS * count + 2] = stamp;
    count++;
  }

  /** Forgets all entries but the first ones. */
  void shorten(int entries) {
    count = entries;
  }

  long hash(int entry) {
    return words[WORDS * entry];
  }

  long place(int entry) {
    return words[WORDS * entry + 1];
  }

  long stamp(int entry) {
    return words[WORDS * entry + 2];
  }

  void write(Segment segment, int at, int segmentSize) throws IOException {
    var list = ByteBuffer.allocateDirect(Math.max(1, count * ENTRY)).order(LITTLE_ENDIAN);
    for (int i = 0; i < WORDS * count; i++) {
      list.putLong(words[i]);
    }
    var trailer = ByteBuffer.allocateDirect(TRAILER).order(LITTLE_ENDIAN);
    trailer.putInt(MAGIC).putInt(count).putLong(segment.sequence).putInt(at);
    trailer.putInt(DiskRecord.sum(list, 0, count * ENTRY)).putInt(0);
    trailer.putInt(DiskRecord.sum(trailer, 0, SUM_AT)).flip();
    segment.file.write(list.flip(), at);
    segment.file.write(trailer, segmentSize - TRAILER);
  }

  /** Reads the list of a segment; null if there is none for its present use, or a damaged one. */
  static @Nullable Footer read(Segment segment, int segmentSize) throws IOException {
    var trailer = ByteBuffer.allocateDirect(TRAILER).order(LITTLE_ENDIAN);
    segment.file.read(trailer, segmentSize - TRAILER);
    if (trailer.hasRemaining()
        || trailer.getInt(0) != MAGIC
        || trailer.getLong(8) != segment.sequence
        || trailer.getInt(SUM_AT) != DiskRecord.sum(trailer, 0, SUM_AT)) {
      return null;
    }
    int count = trailer.getInt(4);
    int at = trailer.getInt(16);
    if (at < 0 || count < 0 || (long) at + (long) count * ENTRY + TRAILER > segmentSize) {
      return null;
    }
    var list = ByteBuffer.allocateDirect(count * ENTRY).order(LITTLE_ENDIAN);
    segment.file.read(list, at);
    if (list.hasRemaining() || DiskRecord.sum(list, 0, count * ENTRY) != trailer.getInt(20)) {
      return null;
    }
    var footer = new Footer();
    for (list.flip(); list.hasRemaining(); ) {
      footer.add(list.getLong(), list.getLong(), list.getLong());
    }
    return footer.isSound(segment) ? footer : null;
  }

  /** Sums that are right say that it was written so, but not by whom. */
  private boolean isSound(Segment segment) {
    for (int i = 0; i < count; i++) {
      if (Place.segment(place(i)) != segment.index || !Marks.isStamp(stamp(i))) {
        return false;
      }
    }
    return true;
  }
}
