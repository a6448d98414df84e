package dev.evergreen.memcached;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Commands of the text protocol, most of them well-formed. */
final class RandomCommands {
  private static final String[] KEYS = {
    "a", "b", "n1", "n2", "key:3", "Zm9v", "Q=JD", "YQ==", "bjE=", "k".repeat(250)
  };

  /** One letter too long. memcached carries out mg and ma before it finds that. */
  private static final String LONG_OPAQUE = "O" + "x".repeat(32);

  private static final String[] NUMBERS = {
    "0",
    "1",
    "5",
    "-1",
    "99",
    "100",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "+7",
    "18446744073709551616",
    "x",
    "1x",
    "",
    "007",
    "-0",
    "2147483647",
    "2147483648",
    "1\t2",
    "-18446744073709551615"
  };

  private static final String[] WORDS = {
    "noreply",
    "q",
    "0",
    "1",
    "-1",
    "k",
    "mg",
    "ms",
    "v",
    "a",
    "y".repeat(251),
    "",
    "\t",
    "verbosity",
    "touch",
    "incr",
    "cas",
    "delete",
    "mn",
    "b",
    "N0",
    "T0",
    "O1",
    "M"
  };

  private RandomCommands() {}

  /** Some commands for one pipeline. */
  static List<String> pipeline(Random random) {
    var commands = new ArrayList<String>();
    do {
      var command = next(random);
      // memcached pads a shorter number only if no reply that waits to be sent refers to the item.
      if (commands.isEmpty() || !command.matches("(?s)(incr|decr|ma) .*")) {
        commands.add(command);
      }
    } while (random.nextInt(3) > 0);
    return commands;
  }

  private static String one(Random random, String... of) {
    return of[random.nextInt(of.length)];
  }

  private static String key(Random random) {
    return random.nextInt(200) == 0 ? "k".repeat(251) : one(random, KEYS);
  }

  private static String number(Random random) {
    return random.nextInt(3) == 0 ? one(random, NUMBERS) : "" + random.nextInt(120);
  }

  private static String exptime(Random random) {
    return random.nextInt(20) == 0
        ? one(random, "-9223372036854775808", "-9223372036854775809", "9223372036854775808")
        : one(random, "0", "0", "0", "100", "-1", "x", "2592000", "5000000000", "1000000");
  }

  private static String noreply(Random random) {
    return random.nextInt(8) == 0 ? " noreply" : "";
  }

  private static String value(Random random) {
    return switch (random.nextInt(60)) {
      // With lines that are not too long for commands, should it be taken for some.
      case 0 -> ("large".repeat(200) + "\r\n").repeat(random.nextInt(60));
      case 1, 2, 3, 4, 5, 6, 7, 8, 9 -> "" + random.nextLong(-5, 1000);
      case 10, 11, 12, 13, 14, 15, 16, 17 -> Long.toUnsignedString(random.nextLong());
      case 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 -> "";
      case 30, 31, 32, 33, 34, 35, 36, 37, 38, 39 -> "v".repeat(random.nextInt(1800));
      default -> "value" + random.nextInt(10);
    };
  }

  private static String next(Random random) {
    return switch (random.nextInt(26)) {
      case 0, 1, 2 -> keys(one(random, "get", "gets", "get", "bget"), random);
      case 3 -> keys(one(random, "gat ", "gats ") + exptime(random), random);
      case 4, 5, 6, 7 -> storage(random);
      case 8 ->
          one(random, "incr ", "decr ")
              + key(random)
              + " "
              + number(random)
              + noreply(random)
              + "\r\n";
      case 9 -> "delete " + key(random) + one(random, "", "", " 0", " 5", noreply(random)) + "\r\n";
      case 10 -> "touch " + key(random) + " " + exptime(random) + noreply(random) + "\r\n";
      case 11 ->
          one(
                  random,
                  "flush_all",
                  "flush_all 0",
                  "flush_all -1",
                  "flush_all 0 noreply",
                  "flush_all 1 2 3",
                  "verbosity 1 noreply",
                  "verbosity 1",
                  "verbosity",
                  "flush_all x",
                  "flush_all noreply",
                  "verbosity x noreply")
              + "\r\n";
      case 12, 13, 14 ->
          "mg "
              + key(random)
              + flags(
                  random,
                  "v",
                  "q",
                  "k",
                  "s",
                  "f",
                  "c",
                  "b",
                  "u",
                  "h",
                  "O" + random.nextInt(99),
                  "t",
                  vivify(random),
                  touch(random),
                  one(random, "R30", "R500", "R0", "R-1", "R", "Rx", "R2592001", "R2147483647"),
                  "z",
                  "L",
                  "P/path/")
              + "\r\n";
      case 15, 16, 17 -> metaSet(random);
      case 18 ->
          "md "
              + key(random)
              + flags(
                  random,
                  "q",
                  "k",
                  "I",
                  touch(random),
                  one(random, "O7", "O7", LONG_OPAQUE),
                  compare(random),
                  "b",
                  "y",
                  "v")
              + "\r\n";
      case 19 ->
          "ma "
              + key(random)
              + flags(
                  random,
                  "q",
                  "k",
                  "v",
                  "c",
                  "t",
                  vivify(random),
                  "J" + number(random),
                  "D" + number(random),
                  "M" + one(random, "I", "D", "+", "-", "Z", "i", "d"),
                  "O1",
                  touch(random),
                  compare(random),
                  "b")
              + "\r\n";
      case 20 -> "mn\r\n";
      case 21 -> malformed(random);
      case 22 -> mutated(next(random), random);
      case 23 -> "me " + key(random) + one(random, "", "", " b", " b more", " q") + "\r\n";
      case 24 -> operators(random);
      default ->
          one(
              random,
              "\r\n",
              "\n",
              " \r\n",
              "me nokey\r\n",
              "me\r\n",
              "stats nothing\r\n",
              "lru\r\n",
              "slabs\r\n",
              "shutdown\r\n",
              "get  a  b\r\n",
              "mn a b\r\n",
              "gat 5\r\n",
              "delete a b c d e\r\n",
              "incr a b c d e\r\n",
              "cache_memlimit\r\n",
              "cache_memlimit 1\r\n",
              "cache_memlimit x\r\n",
              "stats detail\r\n",
              "lru_crawler\r\n",
              "lru_crawler sleep x\r\n",
              "lru_crawler sleep 2000000\r\n",
              "lru_crawler tocrawl 5\r\n",
              "set\r\n");
    };
  }

  private static String keys(String command, Random random) {
    var text = new StringBuilder(command);
    int count = random.nextInt(10) == 0 ? random.nextInt(60) : random.nextInt(4);
    for (int i = 0; i < count; i++) {
      text.append(' ').append(one(random, KEYS));
    }
    return text.append(one(random, "\r\n", "\r\n", " \r\n", "\n")).toString();
  }

  private static String storage(Random random) {
    var command = one(random, "set", "set", "add", "replace", "append", "prepend", "cas");
    var value = value(random);
    var length =
        random.nextInt(30) == 0
            ? one(random, "-1", "x", "2000000000000", "" + (value.length() + 1))
            : "" + value.length();
    var flags = random.nextInt(5) == 0 ? number(random) : "" + random.nextInt(9);
    var cas = command.equals("cas") ? " <cas" + random.nextInt(4) + ">" : "";
    if (length.equals("" + (value.length() + 1))) {
      // The value eats up the line feed; another line end keeps it off the next command.
      value += "\r\n";
    }
    return command
        + " "
        + key(random)
        + " "
        + flags
        + " "
        + exptime(random)
        + " "
        + length
        + cas
        + noreply(random)
        + "\r\n"
        + value
        + one(random, "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "xx\r\n", "x\r\n");
  }

  private static String vivify(Random random) {
    return one(random, "N0", "N1000", "N5000", "N20", "N-1", "N", "Nx", "N2592001");
  }

  private static String touch(Random random) {
    return one(random, "T0", "T1000", "T20", "T100", "T9000", "T-1", "T", "Tx", "T2147483648");
  }

  private static String compare(Random random) {
    return "C" + one(random, "<cas0>", "<cas1>", "<cas2>", "<cas3>", "0", "", "x", "-1");
  }

  /** What memcached answers at once, and here is answered as if it were switched off. */
  private static String operators(Random random) {
    var command =
        one(
            random,
            "slabs automove",
            "slabs",
            "lru tune",
            "lru mode",
            "lru temp_ttl",
            "lru",
            "lru_crawler sleep",
            "lru_crawler tocrawl",
            "lru_crawler",
            "cache_memlimit",
            "stats detail",
            "shutdown");
    var text = new StringBuilder(command);
    int count = random.nextInt(5);
    for (int i = 0; i < count; i++) {
      text.append(' ').append(one(random, NUMBERS));
    }
    return text.append("\r\n").toString();
  }

  private static String metaSet(Random random) {
    var value = value(random);
    var length = value.length() + one(random, "", "", "", "", "", "", "", "", "", "", "x", "\t1");
    return "ms "
        + key(random)
        + " "
        + length
        + flags(
            random,
            "q",
            "k",
            "c",
            one(random, "O3", "O3", LONG_OPAQUE),
            "b",
            "I",
            "F" + number(random),
            touch(random),
            compare(random),
            "M" + one(random, "E", "A", "P", "R", "S", "Z", "e", "a", "p", "r", "s"),
            "u")
        + "\r\n"
        + value
        + (random.nextInt(12) == 0 ? "x\r\n" : "\r\n");
  }

  private static String flags(Random random, String... of) {
    var text = new StringBuilder();
    int count = random.nextInt(40) == 0 ? 22 : random.nextInt(5);
    for (int i = 0; i < count; i++) {
      text.append(' ').append(one(random, of));
    }
    // See DifferentialTest.
    var all = text.indexOf(" N") >= 0 ? text.toString().replace(" b", "") : text.toString();
    return all.matches(".* [NT](-1|2592001|2147483648).*") ? all.replaceAll(" t(?= |$)", "") : all;
  }

  private static String malformed(Random random) {
    var text = new StringBuilder(one(random, WORDS));
    int count = random.nextInt(6);
    for (int i = 0; i < count; i++) {
      text.append(' ').append(one(random, WORDS));
    }
    // What may be taken for a value of one byte must not eat up the next command.
    return text.append("\r\n\r\n\r\n").toString();
  }

  /** Changes a letter into something else, but into no digit: no value may become longer. */
  private static String mutated(String command, Random random) {
    int at = random.nextInt(command.length());
    if (!Character.isLetter(command.charAt(at))) {
      return command;
    }
    return command.substring(0, at)
        + one(random, ":", "_", "@", "y", "z", "Y", "~")
        + command.substring(at + 1);
  }
}
