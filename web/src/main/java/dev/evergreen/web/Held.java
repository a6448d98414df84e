package dev.evergreen.web;

import java.util.HashMap;
import java.util.Map;

/** The bytes of all results that are held, equal ones once. Guarded by the hub's lock. */
final class Held {

  private static final class Entry {
    private final Present present;
    private int uses;

    Entry(Present present) {
      this.present = present;
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
    }
  }

  /** Counts what is held beside results; negative when it is no more. */
  void count(int more) {
    bytes += more;
  }

  long bytes() {
    return bytes;
  }
}
