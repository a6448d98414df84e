package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * The names of the text protocol's commands, found without making an object: a client that sends
 * lines that are no commands is to cost no more than one that sends commands.
 */
final class CommandNames {
  private static final byte[][] NAMES =
      Stream.of(
              "get",
              "gets",
              "gat",
              "gats",
              "bget",
              "set",
              "add",
              "replace",
              "append",
              "prepend",
              "cas",
              "mg",
              "ms",
              "md",
              "ma",
              "mn",
              "me",
              "delete",
              "incr",
              "decr",
              "touch",
              "flush_all",
              "quit",
              "version",
              "verbosity",
              "stats",
              "cache_memlimit",
              "shutdown",
              "slabs",
              "lru",
              "lru_crawler",
              "watch",
              "refresh_certs")
          .map(name -> name.getBytes(US_ASCII))
          .sorted(Comparator.comparingLong(CommandNames::key))
          .toArray(byte[][]::new);

  private static final String[] TEXTS =
      Arrays.stream(NAMES).map(name -> new String(name, US_ASCII)).toArray(String[]::new);

  private static final long[] KEYS = Arrays.stream(NAMES).mapToLong(CommandNames::key).toArray();

  private CommandNames() {}

  /** The command's name that a word is; empty if it is none. */
  static String of(Line line, int word) {
    int at = Arrays.binarySearch(KEYS, line.prefix(word));
    return at >= 0 && line.length(word) == NAMES[at].length && line.startsWith(word, NAMES[at])
        ? TEXTS[at]
        : "";
  }

  private static long key(byte[] name) {
    return Line.packed(new String(name, 0, Math.min(8, name.length), US_ASCII));
  }
}
