package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Keeps credentials out of the record: in their place it says that there was something. */
final class Redaction {
  private static final byte[] HIDDEN = "(redacted)".getBytes(StandardCharsets.US_ASCII);

  private Redaction() {}

  /**
   * What is to be recorded of a request.
   *
   * @param words all of them
   * @return null if it may be recorded as it is
   */
  static @Nullable ByteBuffer of(List<byte[]> words) {
    var hidden = hidden(words);
    return hidden == null ? null : ByteBuffer.wrap(Inline.asArray(hidden));
  }

  private static @Nullable List<byte[]> hidden(List<byte[]> words) {
    return switch (word(words, 0)) {
      case "auth" -> hide(words, words.size() > 2 ? 2 : 1, words.size());
      case "hello" -> hideAfter(words, 2, "auth", 2, 1);
      case "migrate" -> {
        var auth2 = hideAfter(words, 6, "auth2", 2, 1);
        yield auth2 != null ? auth2 : hideAfter(words, 6, "auth", 1, 1);
      }
      case "config" -> word(words, 1).equals("set") ? hideSettings(words) : null;
      case "acl" -> word(words, 1).equals("setuser") ? hideRules(words) : null;
      default -> null;
    };
  }

  private static String word(List<byte[]> words, int index) {
    return index < words.size()
        ? new String(words.get(index), StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT)
        : "";
  }

  private static List<byte[]> hide(List<byte[]> words, int from, int to) {
    var hidden = new ArrayList<>(words);
    for (int i = from; i < Math.min(to, words.size()); i++) {
      hidden.set(i, HIDDEN);
    }
    return hidden;
  }

  /** Some words, a distance behind a key word. */
  private static @Nullable List<byte[]> hideAfter(
      List<byte[]> words, int from, String key, int distance, int count) {
    for (int i = from; i < words.size(); i++) {
      if (word(words, i).equals(key)) {
        return hide(words, i + distance, i + distance + count);
      }
    }
    return null;
  }

  private static @Nullable List<byte[]> hideSettings(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    for (int i = 2; i + 1 < words.size(); i += 2) {
      var name = word(words, i);
      if (name.equals("requirepass")
          || name.equals("masterauth")
          || name.endsWith("key-file-pass")
          || name.endsWith("key-pass")) {
        hidden.set(i + 1, HIDDEN);
        found = true;
      }
    }
    return found ? hidden : null;
  }

  /** Passwords and their hashes begin with one of four signs. */
  private static @Nullable List<byte[]> hideRules(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    for (int i = 3; i < words.size(); i++) {
      var rule = words.get(i);
      if (rule.length > 0 && "><#!".indexOf(rule[0]) >= 0) {
        hidden.set(i, sign(rule[0]));
        found = true;
      }
    }
    return found ? hidden : null;
  }

  private static byte[] sign(byte first) {
    return ((char) first + "(redacted)").getBytes(StandardCharsets.US_ASCII);
  }
}
