package dev.evergreen.memcached;

import dev.evergreen.store.Key;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counts requests by the prefix of their key, while somebody wants it: {@code stats detail}. */
final class Details {
  /** What is counted. */
  enum Kind {
    GET(0, " get "),
    HIT(1, " hit "),
    SET(2, " set "),
    DELETE(3, " del ");

    private final int place;
    private final String shown;

    Kind(int place, String shown) {
      this.place = place;
      this.shown = shown;
    }
  }

  /** Clients choose prefixes; beyond so many, further ones are not counted. */
  private static final int MOST_PREFIXES = 10_000;

  /** Of a prefix and its numbers. */
  private static final int LONGEST_LINE = Key.MAX_LENGTH + 128;

  /** So much of the heap may be dumps that are whole; each lies there twice when it is made. */
  private static final int PART_FOR_DUMPS = 16;

  private final char delimiter;
  private final Map<String, AtomicLongArray> counts = new ConcurrentHashMap<>();
  private volatile boolean enabled;

  /** How many may have all counts in one piece, as the binary protocol says its length first. */
  final Semaphore wholeDumps =
      new Semaphore(
          Math.clamp(
              Runtime.getRuntime().maxMemory()
                  / PART_FOR_DUMPS
                  / (2L * MOST_PREFIXES * LONGEST_LINE),
              1,
              Integer.MAX_VALUE));

  Details(char delimiter, boolean enabled) {
    this.delimiter = delimiter;
    this.enabled = enabled;
  }

  boolean enabled() {
    return enabled;
  }

  void enable(boolean on) {
    enabled = on;
  }

  void count(String key, Kind kind) {
    int end = key.indexOf(delimiter);
    // One may be empty.
    if (end >= 0) {
      var prefix = key.substring(0, end);
      var count = counts.get(prefix);
      if (count == null && counts.size() < MOST_PREFIXES) {
        count = counts.computeIfAbsent(prefix, _ -> new AtomicLongArray(4));
      }
      if (count != null) {
        count.getAndIncrement(kind.place);
      }
    }
  }

  void clear() {
    counts.clear();
  }

  /** Who is told the counts. */
  interface Reader {
    /** The line of the next prefix, or the last one. */
    void line(CharSequence line) throws IOException;
  }

  /** Tells them line by line: all together they may be megabytes. */
  void dump(Reader reader) throws IOException {
    for (var entry : counts.entrySet()) {
      var count = entry.getValue();
      var line = new StringBuilder("PREFIX ").append(entry.getKey());
      for (var kind : Kind.values()) {
        line.append(kind.shown).append(count.get(kind.place));
      }
      reader.line(line.append("\r\n"));
    }
    reader.line("END\r\n");
  }

  /** All of them together, for who has one of {@link #wholeDumps} until it has left. */
  String wholeDump() throws IOException {
    var text = new StringBuilder();
    dump(text::append);
    return text.toString();
  }
}
