package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Redactor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Keeps credentials out of the record. */
final class Redaction {
  private static final byte[] HIDDEN = Inline.ascii("<hidden>");

  /**
   * What the record is told of a request.
   *
   * @param bytes in place of its own, or null
   * @param hidesReply whether its reply may hold credentials
   * @param changesRules whether it may change who may do what
   */
  record Told(@Nullable ByteBuffer bytes, boolean hidesReply, boolean changesRules) {

    /** All as it is. */
    static final Told ALL = new Told(null, false, false);

    /** The same, with other bytes if there are none yet. */
    Told orElse(ByteBuffer other) {
      return bytes != null ? this : new Told(other, hidesReply, changesRules);
    }
  }

  private final @Nullable Redactor redactor;

  /** With marks of a redactor's, which tell equal secrets, or without. */
  Redaction(@Nullable Redactor redactor) {
    this.redactor = redactor;
  }

  /** Of a request that is AUTH, HELLO or {@link Verb#SECRET}; all its words. */
  Told of(List<byte[]> words) {
    var hidden = hidden(words);
    var bytes = hidden == null ? null : ByteBuffer.wrap(Inline.asArray(hidden));
    return new Told(bytes, hidesReply(words), changesRules(words));
  }

  private static boolean hidesReply(List<byte[]> words) {
    if (word(words, 0).equals("acl")) {
      return switch (word(words, 1)) {
        case "getuser", "list", "genpass" -> true;
        default -> false;
      };
    }
    return word(words, 0).equals("config")
        && word(words, 1).equals("get")
        && words.stream().skip(2).map(Redaction::text).anyMatch(Redaction::mayFindSecret);
  }

  private static boolean mayFindSecret(String pattern) {
    return pattern.chars().anyMatch(c -> "*?[\\".indexOf(c) >= 0) || isSecret(pattern);
  }

  private static boolean isSecret(String setting) {
    return switch (setting) {
      case "requirepass", "masterauth", "tls-key-file-pass", "tls-client-key-file-pass" -> true;
      default -> false;
    };
  }

  private static boolean changesRules(List<byte[]> words) {
    return switch (word(words, 0) + " " + word(words, 1)) {
      case "acl setuser", "acl deluser", "acl load" -> true;
      case "config set" -> words.stream().map(Redaction::text).anyMatch("requirepass"::equals);
      default -> false;
    };
  }

  private @Nullable List<byte[]> hidden(List<byte[]> words) {
    return switch (word(words, 0)) {
      case "auth" -> hide(words, words.size() > 2 ? 2 : 1, words.size());
      case "hello" -> hideAfter(words, 2, "auth", 2);
      case "migrate" -> {
        var auth2 = hideAfter(words, 6, "auth2", 2);
        yield auth2 != null ? auth2 : hideAfter(words, 6, "auth", 1);
      }
      case "config" -> word(words, 1).equals("set") ? hideSettings(words) : null;
      case "acl" -> word(words, 1).equals("setuser") ? hideRules(words) : null;
      default -> null;
    };
  }

  private static String word(List<byte[]> words, int index) {
    return index < words.size() ? text(words.get(index)) : "";
  }

  private static String text(byte[] word) {
    return new String(word, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
  }

  private byte[] mark(byte[] secret) {
    return redactor == null ? HIDDEN : redactor.mark(Bytes.of(secret)).toArray();
  }

  private List<byte[]> hide(List<byte[]> words, int from, int to) {
    var hidden = new ArrayList<>(words);
    for (int i = from; i < Math.min(to, words.size()); i++) {
      hidden.set(i, mark(words.get(i)));
    }
    return hidden;
  }

  /** The word at a distance behind a key word. */
  private @Nullable List<byte[]> hideAfter(List<byte[]> words, int from, String key, int distance) {
    for (int i = from; i < words.size(); i++) {
      if (word(words, i).equals(key)) {
        return hide(words, i + distance, i + distance + 1);
      }
    }
    return null;
  }

  private @Nullable List<byte[]> hideSettings(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    for (int i = 2; i + 1 < words.size(); i += 2) {
      if (isSecret(word(words, i))) {
        hidden.set(i + 1, mark(words.get(i + 1)));
        found = true;
      }
    }
    return found ? hidden : null;
  }

  /** Passwords and their hashes begin with one of four signs, which stay. */
  private @Nullable List<byte[]> hideRules(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    for (int i = 3; i < words.size(); i++) {
      var rule = words.get(i);
      if (rule.length > 0 && "><#!".indexOf(rule[0]) >= 0) {
        var secret = new byte[rule.length - 1];
        System.arraycopy(rule, 1, secret, 0, secret.length);
        hidden.set(i, Inline.join(new byte[] {rule[0]}, mark(secret)));
        found = true;
      }
    }
    return found ? hidden : null;
  }
}
