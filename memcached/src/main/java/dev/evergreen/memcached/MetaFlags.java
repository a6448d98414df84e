package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocol.bytes;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The flags of a meta command: a letter each, some with a token. Each may be given once. */
final class MetaFlags {
  static final byte[] INVALID_MODE_OF_SET = bytes("CLIENT_ERROR invalid mode for ms M token");
  static final byte[] INVALID_MODE_OF_ARITHMETIC =
      bytes("CLIENT_ERROR invalid mode for ma M token");
  private static final byte[] DUPLICATE = bytes("CLIENT_ERROR duplicate flag");
  private static final byte[] INVALID = bytes("CLIENT_ERROR invalid flag");
  private static final byte[] BAD_TOKEN = bytes("CLIENT_ERROR bad token in command line format");
  private static final byte[] BAD_KEY = bytes("CLIENT_ERROR error decoding key");
  private static final byte[] BAD_MODE = bytes("CLIENT_ERROR incorrect length for M token");
  private static final byte[] BAD_INITIAL = bytes("CLIENT_ERROR invalid numeric initial value");
  private static final byte[] BAD_DELTA = bytes("CLIENT_ERROR invalid numeric delta value");
  static final byte[] LONG_OPAQUE = bytes("CLIENT_ERROR opaque token too long");
  private static final int LONGEST_OPAQUE = 32;
  private static final long MG = Line.packed("mg");

  private final TextProtocol protocol;
  private final Line line;
  private long lettersBelow;
  private long lettersFrom64;
  private byte @Nullable [] error;
  private boolean opaqueIsLong;

  private byte[] decodedKey = {};

  int vivifiedExpiry;
  int expiry;
  int recacheBefore;
  int clientFlags;
  long cas;
  long newCas;
  long initial;
  long delta;
  int mode;

  MetaFlags(TextProtocol protocol) {
    this.protocol = protocol;
    line = protocol.line;
  }

  boolean has(int letter) {
    return ((letter < 64 ? lettersBelow : lettersFrom64) >> letter & 1) != 0;
  }

  /**
   * Reads the flags from a word on, and sets the key.
   *
   * @return what is wrong, or null; {@link #LONG_OPAQUE} only if nothing else is
   */
  byte @Nullable [] read(int firstWord) {
    lettersBelow = 0;
    lettersFrom64 = 0;
    error = null;
    opaqueIsLong = false;
    clientFlags = 0;
    expiry = 0;
    initial = 0;
    delta = 1;
    mode = 0;
    line.key(1, protocol.key);
    for (int word = firstWord; word < line.count(); word++) {
      int letter = line.first(word);
      if (letter < 0 || letter == 127 || has(letter)) {
        return DUPLICATE;
      }
      if (letter < 64) {
        lettersBelow |= 1L << letter;
      } else {
        lettersFrom64 |= 1L << letter;
      }
      if (!readFlag(word, letter)) {
        return INVALID;
      }
    }
    return error == null && opaqueIsLong ? LONG_OPAQUE : error;
  }

  /** Whether the mode is one of these, or none was given. */
  boolean isModeOf(String modes) {
    return mode == 0 || modes.indexOf(mode) >= 0;
  }

  /** False if there is no such flag. */
  private boolean readFlag(int word, int letter) {
    switch (letter) {
      case 'P', 'L', 'k', 's', 't', 'c', 'f', 'l', 'h', 'v', 'u', 'q', 'I', 'x' -> {}
      case 'd' -> {
        // Of ours, of a get only; a word that begins with it is as unknown as in memcached.
        return line.length(word) == 1 && line.packed(0) == MG;
      }
      case 'O' -> opaqueIsLong = line.length(word) > LONGEST_OPAQUE;
      case 'b' -> check(decodeKey(), BAD_KEY);
      case 'N' -> {
        check(line.readFlagInt(word), BAD_TOKEN);
        vivifiedExpiry = protocol.expiry();
      }
      case 'T' -> {
        check(line.readFlagInt(word), BAD_TOKEN);
        expiry = protocol.expiry();
      }
      case 'R' -> {
        check(line.readFlagInt(word), BAD_TOKEN);
        recacheBefore = protocol.expiry();
      }
      case 'F' -> {
        // This one has no words of its own.
        check(line.readFlagLong(word), error == null ? TextProtocol.BAD_FORMAT : error);
        clientFlags = line.integer();
      }
      case 'C' -> {
        check(line.readFlagLong(word), BAD_TOKEN);
        cas = line.number();
      }
      case 'E' -> {
        check(line.readFlagLong(word), BAD_TOKEN);
        newCas = line.number();
      }
      case 'J' -> {
        check(line.readFlagLong(word), BAD_INITIAL);
        initial = line.number();
      }
      case 'D' -> {
        check(line.readFlagLong(word), BAD_DELTA);
        delta = line.number();
      }
      case 'M' -> {
        check(line.length(word) == 2, BAD_MODE);
        mode = line.length(word) > 1 ? line.byteAt(line.begin(word) + 1) : 0;
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  /** The key as a reply shows it: encoded if it was stored so, however this request gave it. */
  byte[] shownKey(boolean encoded) {
    var key =
        has('b')
            ? decodedKey
            : line.memory().asSlice(line.begin(1), line.length(1)).toArray(JAVA_BYTE);
    return encoded ? Base64.getEncoder().encode(key) : key;
  }

  private void check(boolean good, byte[] complaint) {
    if (!good) {
      error = complaint;
    }
  }

  /**
   * Makes the key the bytes that its word stands for in base 64, as memcached reads it: what is not
   * of that counts for nothing, and so does what is behind the first four letters with padding,
   * which may be anywhere among them.
   */
  boolean decodeKey() {
    var text = line.text(1).replaceAll("[^A-Za-z0-9+/=]", "");
    if (text.isEmpty() || text.length() % 4 != 0) {
      return false;
    }
    int first = text.indexOf('=');
    var counts = first < 0 ? text : text.substring(0, first / 4 * 4 + 4);
    int padding = (int) counts.chars().filter(c -> c == '=').count();
    if (padding > 2) {
      return false;
    }
    var bytes = Base64.getDecoder().decode(counts.replace('=', 'A'));
    decodedKey = Arrays.copyOf(bytes, bytes.length - padding);
    protocol.key.set(MemorySegment.ofArray(decodedKey), 0, decodedKey.length);
    return true;
  }
}
