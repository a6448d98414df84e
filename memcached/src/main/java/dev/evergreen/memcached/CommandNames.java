package dev.evergreen.memcached;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * The names of the text protocol's commands, found without making an object: a client that sends
 * lines that are no commands is to cost no more than one that sends commands.
 */
final class CommandNames {
  private static final String[] NAMES =
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
          .sorted(Comparator.comparingLong(Line::prefix))
          .toArray(String[]::new);

  private static final long[] PREFIXES = Arrays.stream(NAMES).mapToLong(Line::prefix).toArray();

  private static final byte[][] BYTES =
      Arrays.stream(NAMES).map(TextProtocol::bytes).toArray(byte[][]::new);

  private CommandNames() {}

  /** The command's name that a word is; empty if it is none. */
  static String of(Line line, int word) {
    int at = Arrays.binarySearch(PREFIXES, line.prefix(word));
    return at >= 0 && line.length(word) == BYTES[at].length && line.startsWith(word, BYTES[at])
        ? NAMES[at]
        : "";
  }
}
