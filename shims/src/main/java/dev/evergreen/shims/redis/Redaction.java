package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Redactor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
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
   * @param busyMillis after how long a script is to be busy from now on; {@link #UNCHANGED}
   */
  record Told(
      @Nullable ByteBuffer bytes, boolean hidesReply, boolean changesRules, long busyMillis) {
    static final long UNCHANGED = -1;

    /** All as it is. */
    static final Told ALL = new Told(null, false, false, UNCHANGED);

    /** The same, with other bytes if there are none yet. */
    Told orElse(ByteBuffer other) {
      return bytes != null ? this : new Told(other, hidesReply, changesRules, busyMillis);
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
    return new Told(bytes, hidesReply(words), changesRules(words), busyMillis(words));
  }

  /** The words of any request, with marks for what must not be on record. */
  List<byte[]> clean(List<byte[]> words) {
    var hidden = hidden(words);
    return hidden == null ? words : hidden;
  }

  private static boolean hidesReply(List<byte[]> words) {
    return switch (word(words, 0) + " " + word(words, 1)) {
      // SETUSER's errors repeat what they do not like.
      case "acl getuser", "acl list", "acl genpass", "acl setuser" -> true;
      case "config get" ->
          words.stream().skip(2).map(Redaction::text).anyMatch(Redaction::mayFindSecret);
      // It repeats keys, for which it may take what is none.
      case "command getkeys", "command getkeysandflags" -> true;
      default -> false;
    };
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

  private static long busyMillis(List<byte[]> words) {
    long millis = Told.UNCHANGED;
    if (word(words, 0).equals("config") && word(words, 1).equals("set")) {
      for (int i = 2; i + 1 < words.size(); i += 2) {
        var setting = word(words, i);
        boolean named = setting.equals("busy-reply-threshold") || setting.equals("lua-time-limit");
        if (named && word(words, i + 1).matches("[0-9]{1,12}")) {
          millis = Long.parseLong(word(words, i + 1));
        }
      }
    }
    return millis;
  }

  private @Nullable List<byte[]> hidden(List<byte[]> words) {
    return switch (word(words, 0)) {
      // Where there are more words than a user's name and a password, all may be a password's.
      case "auth" -> hide(words, words.size() == 3 ? 2 : 1, words.size());
      case "hello", "migrate" -> hideBehindKeys(words);
      case "config" -> word(words, 1).equals("set") ? hideSettings(words) : null;
      case "acl" ->
          switch (word(words, 1)) {
            case "setuser" -> hideRules(words);
            case "dryrun" -> hideCommand(words, 3);
            default -> null;
          };
      case "command" -> hideCommand(words, 2);
      default -> null;
    };
  }

  /** Of a command that speaks of another one, which begins there; of a strange name it is any. */
  private @Nullable List<byte[]> hideCommand(List<byte[]> words, int from) {
    if (words.size() <= from) {
      return null;
    }
    var spoken = words.subList(from, words.size());
    boolean strange = !Verb.isKnown(word(spoken, 0)) && !Verb.isOfData(word(spoken, 0));
    var hidden = strange ? hide(spoken, 1, spoken.size()) : hidden(spoken);
    return hidden == null
        ? null
        : Stream.concat(words.subList(0, from).stream(), hidden.stream()).toList();
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

  /**
   * What may be a password wherever a word says that one comes, also where Redis would see that the
   * request is wrong.
   */
  private @Nullable List<byte[]> hideBehindKeys(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    for (int i = 1; i + 1 < words.size(); i++) {
      boolean hello = word(words, 0).equals("hello");
      boolean named = word(words, i).equals(hello ? "auth" : "auth2");
      if (named || word(words, i).equals("auth")) {
        // Behind a user's name, unless that was forgotten.
        int at = named && i + 2 < words.size() ? i + 2 : i + 1;
        hidden.set(at, mark(words.get(at)));
        found = true;
      }
    }
    return found ? hidden : null;
  }

  private @Nullable List<byte[]> hideSettings(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    boolean inPairs = words.size() % 2 == 0;
    for (int i = 2; i + 1 < words.size(); i++) {
      if (isSecret(word(words, i))) {
        // Else it may be one of several words.
        int end = inPairs ? i + 2 : words.size();
        hidden = new ArrayList<>(hide(hidden, i + 1, end));
        found = true;
      }
    }
    return found ? hidden : null;
  }

  /**
   * Passwords and their hashes begin with one of four signs, which stay, and of which one may have
   * been set apart; a rule that began with a bracket may have one in it.
   */
  private @Nullable List<byte[]> hideRules(List<byte[]> words) {
    var hidden = new ArrayList<>(words);
    boolean found = false;
    for (int i = 2; i < words.size(); i++) {
      var rule = words.get(i);
      if (rule.length > 0 && "><#!(".indexOf(rule[0]) >= 0) {
        var secret = new byte[rule.length - 1];
        System.arraycopy(rule, 1, secret, 0, secret.length);
        hidden.set(i, Inline.join(new byte[] {rule[0]}, mark(secret)));
        found = true;
        if (secret.length == 0 && i + 1 < words.size()) {
          i++;
          hidden.set(i, mark(words.get(i)));
        }
      }
    }
    return found ? hidden : null;
  }
}
