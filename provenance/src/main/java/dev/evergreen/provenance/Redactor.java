package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Replaces what must not be stored by a mark, which is the same for equal values: a hash by a key
 * of the trace, of 64 bits. Without the key nobody can try values out. The key is the file {@code
 * key} of the trace's directory; who removes it makes the marks meaningless.
 *
 * <p>Under one key and the same rules, equal values have equal marks, and unequal ones have unequal
 * marks but for one chance in 2<sup>64</sup>. Of marks under different keys or rules nothing is
 * said: where they change, the loader notes a gap, so that no answer compares them.
 */
public final class Redactor {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int KEY_BYTES = 32;
  private static final int MARK_BYTES = 8;
  private static final String MARK = "<hidden:";
  private static final String RULES = "rules";

  private final SecretKeySpec key;
  private final List<Pattern> rules;

  private Redactor(byte[] key, List<Pattern> rules) {
    this.key = new SecretKeySpec(key, ALGORITHM);
    this.rules = List.copyOf(rules);
  }

  /**
   * With the key of the trace in that directory, which is made if there is none.
   *
   * @param rules what {@link #clean} replaces wherever it is found; bytes are characters of the
   *     same number
   */
  public static Redactor open(Path directory, List<Pattern> rules) throws IOException {
    SpoolFiles.makeDirectory(directory);
    var key = SpoolFiles.readOrWrite(directory, "key", Redactor::newKey);
    if (key.length != KEY_BYTES) {
      throw new IOException(
          "The key in %s has %d bytes, not 32".formatted(directory.resolve("key"), key.length));
    }
    keep(directory, rules);
    return new Redactor(key, rules);
  }

  private static byte[] newKey() {
    var key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    return key;
  }

  /** With the rules, too, of the last recorder in that directory: for who loads what it left. */
  static Redactor reopen(Path directory) throws IOException {
    var file = directory.resolve(RULES);
    var rules = new ArrayList<Pattern>();
    for (var rule : Files.exists(file) ? Files.readString(file).split("\0", 0) : new String[0]) {
      if (!rule.isEmpty()) {
        rules.add(Pattern.compile(rule));
      }
    }
    return open(directory, rules);
  }

  private static void keep(Path directory, List<Pattern> rules) throws IOException {
    var file = directory.resolve(RULES);
    var text = String.join("\0", rules.stream().map(Pattern::pattern).toList());
    if (Files.exists(file) ? !Files.readString(file).equals(text) : !text.isEmpty()) {
      SpoolFiles.write(directory, RULES, text.getBytes(StandardCharsets.UTF_8));
    }
  }

  /** What is stored instead of a secret. */
  public Bytes mark(Bytes secret) {
    return Bytes.of(MARK + hash(secret) + ">");
  }

  /** Which key and which rules these are: marks can be compared if it is the same. */
  String id() {
    var parts = rules.stream().map(rule -> rule.flags() + " " + rule.pattern()).toList();
    return hash(Bytes.of("rules\0" + String.join("\0", parts)));
  }

  private String hash(Bytes bytes) {
    try {
      var mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return HexFormat.of().formatHex(mac.doFinal(bytes.toArray()), 0, MARK_BYTES);
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has HmacSHA256", e);
    }
  }

  /** The bytes, with all that a rule finds replaced. */
  public Bytes clean(Bytes bytes) {
    if (rules.isEmpty()) {
      return bytes;
    }
    var before = bytes.latin1();
    var text = before;
    for (var rule : rules) {
      text = rule.matcher(text).replaceAll(found -> mark(latin1(found.group())).text());
    }
    return text.equals(before) ? bytes : latin1(text);
  }

  /** Whether there are no rules. */
  boolean idle() {
    return rules.isEmpty();
  }

  private static Bytes latin1(String text) {
    return Bytes.of(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Whether there is a mark among the bytes, or what looks like one. */
  public static boolean isMarked(Bytes bytes) {
    int length = MARK.length() + 2 * MARK_BYTES + 1;
    for (int i = 0; i <= bytes.length() - length; i++) {
      if (bytes.at(i) == '<' && bytes.at(i + length - 1) == '>' && isMark(bytes, i)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isMark(Bytes bytes, int from) {
    for (int i = 0; i < MARK.length(); i++) {
      if (bytes.at(from + i) != MARK.charAt(i)) {
        return false;
      }
    }
    return true;
  }
}
