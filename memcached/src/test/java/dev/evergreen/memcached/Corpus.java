package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * What clients have sent that is worth sending again: a file for each, named by what is in it. The
 * bytes are given as text, a character each.
 */
final class Corpus {
  private static final Path FOLDER = Path.of("src/test/resources/fuzz");

  /** Bytes and words that mean something to one of the protocols. */
  private static final String[] SPICES = {
    "\r\n",
    "\n",
    "\r",
    " ",
    "\0",
    "\u0080",
    "\u00ff",
    "0",
    "1",
    "-1",
    "250",
    "2048",
    "65536",
    "2147483647",
    "4294967295",
    "18446744073709551615",
    "noreply",
    "get ",
    "gets ",
    "set ",
    "mg ",
    "ms ",
    "md ",
    "ma ",
    "mn\r\n",
    " q",
    " k",
    " b",
    " v",
    " N0",
    " T0",
    " C1",
    " E1",
    " I",
    " x",
    "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
    "\u0080\n\0\0\0\0\0\0"
  };

  /** Mutated inputs are cut to this. */
  private static final int LONGEST = 20_000;

  /** An input and the name of its file. */
  record Kept(String name, String bytes) {}

  private final Path folder;
  private final List<Kept> all;

  private Corpus(Path folder, List<Kept> all) {
    this.folder = folder;
    this.all = all;
  }

  /** Those of a protocol, in the order of their names. */
  static Corpus of(String protocol) throws IOException {
    var folder = FOLDER.resolve(protocol);
    try (var files = Files.list(folder)) {
      var all = new ArrayList<Kept>();
      for (var file : files.sorted().toList()) {
        all.add(new Kept(file.getFileName().toString(), Files.readString(file, ISO_8859_1)));
      }
      return new Corpus(folder, all);
    }
  }

  List<Kept> all() {
    return all;
  }

  /** Where a new one belongs. */
  Path folder() {
    return folder;
  }

  /** Makes a new one of those that are kept; the same for the same seed and files. */
  String mutated(long seed) {
    var random = new Random(seed);
    var bytes = new StringBuilder(one(random));
    if (random.nextInt(3) > 0) {
      var other = one(random);
      bytes.setLength(random.nextInt(bytes.length() + 1));
      bytes.append(other, random.nextInt(other.length() + 1), other.length());
    }
    for (int i = random.nextInt(12); i > 0 && !bytes.isEmpty(); i--) {
      mutate(bytes, random);
    }
    bytes.setLength(Math.min(bytes.length(), LONGEST));
    return bytes.toString();
  }

  private String one(Random random) {
    return all.get(random.nextInt(all.size())).bytes;
  }

  private static void mutate(StringBuilder bytes, Random random) {
    int at = random.nextInt(bytes.length());
    int end = Math.min(bytes.length(), at + 1 + random.nextInt(40));
    switch (random.nextInt(8)) {
      case 0 -> bytes.setCharAt(at, (char) random.nextInt(256));
      case 1 -> bytes.setCharAt(at, (char) (bytes.charAt(at) ^ 1 << random.nextInt(8)));
      case 2 -> bytes.delete(at, end);
      case 3 -> bytes.insert(random.nextInt(bytes.length()), bytes.substring(at, end));
      case 4 -> bytes.insert(at, (char) random.nextInt(256));
      case 5 -> bytes.replace(at, Math.min(end, at + 8), SPICES[random.nextInt(SPICES.length)]);
      case 6 -> bytes.insert(at, bytes.substring(at, end).repeat(1 + random.nextInt(60)));
      default -> bytes.insert(at, SPICES[random.nextInt(SPICES.length)]);
    }
  }
}
