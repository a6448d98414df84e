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
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
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

  /** A rule may look at characters so often for each that there is, and so often at all. */
  private static final int LOOKS = 1_000;

  private static final int LOOKS_AT_ALL = 100_000;

  private static final System.Logger LOG = System.getLogger(Redactor.class.getName());

  private final SecretKeySpec key;
  private final List<Pattern> rules;
  private final AtomicLong overflows = new AtomicLong();
  private volatile boolean complained;

  private Redactor(byte[] key, List<Pattern> rules) {
    this.key = new SecretKeySpec(key, ALGORITHM);
    this.rules = List.copyOf(rules);
  }

  /**
   * With the key of the trace in that directory, which is made if there is none.
   *
   * @param rules what {@link #clean} replaces wherever it is found; bytes are characters of the
   *     same number
   * @throws IllegalArgumentException if a rule matches the empty text, which is everywhere, or has
   *     a zero in it
   */
  public static Redactor open(Path directory, List<Pattern> rules) throws IOException {
    for (var rule : rules) {
      if (rule.pattern().indexOf('\0') >= 0) {
        throw new IllegalArgumentException("A rule has a zero in it; write \\x00 for one");
      }
      if (rule.matcher("").find()) {
        throw new IllegalArgumentException(
            "The rule '%s' matches the empty text; one that hides something matches what is to be"
                    .formatted(rule)
                + " hidden only");
      }
    }
    return with(directory, rules);
  }

  private static Redactor with(Path directory, List<Pattern> rules) throws IOException {
    SpoolFiles.makeDirectory(directory);
    var key = SpoolFiles.readOrWrite(directory, "key", Redactor::newKey);
    if (key.length != KEY_BYTES) {
      throw new IOException(
          "The key in %s has %d bytes, not 32".formatted(directory.resolve("key"), key.length));
    }
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
    var text = Files.exists(file) ? Files.readString(file) : "";
    // A former version has kept no flags, and none before the first rule.
    boolean flags = text.startsWith("\0");
    var rules = new ArrayList<Pattern>();
    for (var rule : text.split("\0", 0)) {
      if (!rule.isEmpty()) {
        rules.add(flags ? read(rule) : Pattern.compile(rule));
      }
    }
    return with(directory, rules);
  }

  /** A rule as it is kept: its flags, a space, and what it is. */
  private static String kept(Pattern rule) {
    return "\0" + rule.flags() + " " + rule.pattern();
  }

  private static Pattern read(String kept) {
    int space = kept.indexOf(' ');
    var rule = kept.substring(space + 1);
    int flags = Integer.parseInt(kept.substring(0, space));
    // Those that the rule itself sets are among them, and may be for a part of it only.
    return Pattern.compile(rule, (flags & Pattern.LITERAL) != 0 ? flags : flags & ~own(rule));
  }

  private static int own(String rule) {
    try {
      return Pattern.compile(rule).flags();
    } catch (PatternSyntaxException e) {
      // It is none without its flags.
      return 0;
    }
  }

  /**
   * Keeps the rules in the trace's directory, for who loads what its recorder has left. Only that
   * recorder may: another one has other rules.
   */
  void keep(Path directory) throws IOException {
    var file = directory.resolve(RULES);
    var text = rules.stream().map(Redactor::kept).collect(Collectors.joining());
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

  /**
   * The bytes, with all that a rule finds replaced. Where a rule takes too long, or more room on
   * the stack than there is, nobody knows what it would find: then one mark stands for all of them.
   */
  public Bytes clean(Bytes bytes) {
    if (rules.isEmpty()) {
      return bytes;
    }
    var before = bytes.latin1();
    var text = before;
    for (var rule : rules) {
      try {
        text = clean(rule, text);
      } catch (TooLongException e) {
        complain(rule, "takes too long");
        return mark(bytes);
      } catch (StackOverflowError e) {
        overflows.incrementAndGet();
        complain(rule, "takes too much of the stack");
        return mark(bytes);
      }
    }
    return text.equals(before) ? bytes : latin1(text);
  }

  private String clean(Pattern rule, String text) {
    var found = rule.matcher(new Looked(text));
    var clean = new StringBuilder();
    int from = 0;
    while (found.find()) {
      if (found.start() < found.end()) {
        var secret = latin1(text.substring(found.start(), found.end()));
        clean.append(text, from, found.start()).append(mark(secret));
        from = found.end();
      }
    }
    return from == 0 ? text : clean.append(text, from, text.length()).toString();
  }

  private void complain(Pattern rule, String why) {
    if (!complained) {
      complained = true;
      LOG.log(
          System.Logger.Level.WARNING,
          "The rule '%s' %s; what it fails at is hidden whole".formatted(rule, why));
    }
  }

  /**
   * How often a rule had no room on the stack so far. How much it takes is not the same each time:
   * so equal values may have unequal marks there.
   */
  long overflows() {
    return overflows.get();
  }

  /** A text of which a rule sees so much only. */
  private static final class Looked implements CharSequence {
    private final String text;
    private long left;

    Looked(String text) {
      this.text = text;
      left = LOOKS_AT_ALL + (long) LOOKS * text.length();
    }

    @Override
    public int length() {
      return text.length();
    }

    @Override
    public char charAt(int index) {
      if (--left < 0) {
        throw new TooLongException();
      }
      return text.charAt(index);
    }

    @Override
    public CharSequence subSequence(int from, int to) {
      return text.subSequence(from, to);
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** A rule has looked at a text for too long. */
  private static final class TooLongException extends RuntimeException {
    private static final long serialVersionUID = 1;

    TooLongException() {
      super("a rule takes too long", null, false, false);
    }
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
