package dev.evergreen.web;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The bytes of all results that are held, equal ones once. Guarded by the hub's lock. */
final class Held {

  private static final class Entry {
    private final Present present;
    private int uses;
    private @Nullable Compressed compressed;

    Entry(Present present) {
      this.present = present;
    }
  }

  /** What ends a message with a result, compressed by whoever needs it first. */
  static final class Compressed {
    private @Nullable Present from;
    private byte @Nullable [] bytes;

    Compressed(Present from) {
      this.from = from;
    }

    static int most(Present present) {
      return present.bytes().length / 2;
    }

    /** Null if it is not worth it. To be called without the hub's lock. */
    synchronized byte @Nullable [] bytes() {
      if (from != null) {
        bytes = SharedDeflate.deflate(from.messageTail());
        from = null;
      }
      return bytes;
    }
  }

  private final Map<String, Entry> byTag = new HashMap<>();
  private long bytes;

  /** Holds a result; gives it in the bytes that all equal ones share. */
  Present add(Present present) {
    var entry = byTag.get(present.tag());
    if (entry == null) {
      entry = new Entry(present);
      byTag.put(present.tag(), entry);
      bytes += present.bytes().length;
    }
    entry.uses++;
    return present.inBytesOf(entry.present);
  }

  void remove(Present present) {
    var entry = byTag.get(present.tag());
    if (entry != null && --entry.uses == 0) {
      byTag.remove(present.tag());
      bytes -= entry.present.bytes().length;
      if (entry.compressed != null) {
        bytes -= Compressed.most(entry.present);
      }
    }
  }

  /**
   * The compressed form of a result, for all who are sent it; null if that is not held, or if there
   * is no room for it among {@code most} bytes. Whether it is made or not, it counts as long as it
   * may be.
   */
  @Nullable Compressed compressed(Present present, long most) {
    var entry = byTag.get(present.tag());
    if (entry == null || entry.present.bytes() != present.bytes()) {
      return null;
    }
    if (entry.compressed == null && bytes + Compressed.most(present) <= most) {
      entry.compressed = new Compressed(present);
      bytes += Compressed.most(present);
    }
    return entry.compressed;
  }

  /** Counts what is held beside results; negative when it is no more. */
  void count(int more) {
    bytes += more;
  }

  long bytes() {
    return bytes;
  }
}
