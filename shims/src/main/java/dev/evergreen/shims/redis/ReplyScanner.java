package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Finds where replies end, in pieces as they come: RESP2 and RESP3, nested as deep as one likes. It
 * keeps no bytes but the beginning of a few, and allocates nothing, whatever lengths are declared.
 */
final class ReplyScanner {

  private enum Phase {
    TYPE,
    LINE,
    LENGTH,
    BODY
  }

  private static final long MOST = Long.MAX_VALUE / 8;
  private static final int WORD = 16;

  private Phase phase = Phase.TYPE;

  /** Of this reply: how many values are still to come, the present one included. */
  private long missing;

  private byte type;
  private long value;
  private int digits;
  private boolean negative;
  private boolean returned;
  private long bodyLeft;
  private boolean strange;

  /** Of the present reply: its first byte. */
  private byte kind;

  private final byte[] word = new byte[WORD];
  private int wordLength;
  private boolean wordComes;
  private long lastInteger;
  private boolean attribute;
  private boolean nil;
  private boolean error;

  /** Up to where the bytes are understood. */
  int at;

  /** Whether nothing of a reply has come since the last one. */
  boolean atStart() {
    return missing == 0;
  }

  /** Whether what came is no reply at all; it never is one again. */
  boolean strange() {
    return strange;
  }

  /** Of the reply that ended last, or has begun: its first byte that tells its type. */
  byte kind() {
    return kind;
  }

  /** Whether it is a reply that says that something went wrong. */
  boolean isError() {
    return kind == '-' || kind == '!';
  }

  /** Whether it says that there is nothing. */
  boolean isNil() {
    return nil;
  }

  /** Whether it, or a value in it, says that something went wrong. */
  boolean holdsError() {
    return error;
  }

  /**
   * The beginning of its line or, if it is an array or a push, of its first value if that is a
   * bulk.
   */
  String word() {
    return new String(word, 0, wordLength, StandardCharsets.ISO_8859_1);
  }

  /** The last integer in it. */
  long lastInteger() {
    return lastInteger;
  }

  /**
   * Goes on from {@link #at}; says whether it has come to a reply's end. Else all bytes are used
   * up, or they are {@linkplain #strange strange}.
   */
  boolean scan(ByteBuffer bytes, int end) {
    while (at < end && !strange) {
      switch (phase) {
        case TYPE -> begin(bytes.get(at++));
        case LINE -> line(bytes, end);
        case LENGTH -> digit(bytes.get(at++));
        case BODY -> body(bytes, end);
      }
      if (missing == 0 && !strange) {
        return true;
      }
    }
    return false;
  }

  private void begin(byte b) {
    boolean first = missing == 0;
    if (first) {
      missing = 1;
      wordLength = 0;
      lastInteger = 0;
      attribute = false;
      error = false;
    }
    if (first || (attribute && missing == 1)) {
      kind = b;
      attribute = b == '|';
      wordComes = !attribute;
      nil = b == '_';
    }
    error |= b == '-' || b == '!';
    type = b;
    value = 0;
    digits = 0;
    negative = false;
    returned = false;
    switch (b) {
      case '+', '-', ':', '_', '#', ',', '(' -> phase = Phase.LINE;
      case '$', '!', '=', '*', '%', '~', '>', '|' -> phase = Phase.LENGTH;
      default -> strange = true;
    }
  }

  private void line(ByteBuffer bytes, int end) {
    while (at < end) {
      byte b = bytes.get(at++);
      if (b == '\n') {
        wordComes = false;
        if (type == ':') {
          lastInteger = negative ? -value : value;
        }
        valueEnds();
        return;
      }
      if (wordComes && b != '\r') {
        keep(b);
      }
      if (type == ':') {
        if (b == '-') {
          negative = true;
        } else if (b >= '0' && b <= '9') {
          value = value * 10 + (b - '0');
        }
      }
    }
  }

  private void keep(byte b) {
    if (wordLength < WORD) {
      word[wordLength++] = b;
    }
  }

  private void digit(byte b) {
    if (returned) {
      if (b == '\n' && digits > 0) {
        lengthEnds();
      } else {
        strange = true;
      }
    } else if (b == '\r') {
      returned = true;
    } else if (b == '-' && digits == 0 && !negative) {
      negative = true;
    } else if (b >= '0' && b <= '9' && value < MOST / 16) {
      value = value * 10 + (b - '0');
      digits++;
    } else {
      strange = true;
    }
  }

  private void lengthEnds() {
    nil |= negative && missing == 1;
    switch (type) {
      case '$', '!', '=' -> {
        if (negative) {
          wordComes = false;
          valueEnds();
        } else {
          bodyLeft = value + 2;
          phase = Phase.BODY;
        }
      }
      // An attribute is no value: what it speaks of is still to come.
      case '|' -> add(2 * value);
      case '%' -> {
        add(2 * value);
        valueEnds();
      }
      default -> {
        add(negative ? 0 : value);
        valueEnds();
      }
    }
  }

  private void add(long values) {
    strange |= negative && type != '*';
    missing += values;
    strange |= missing > MOST;
    phase = Phase.TYPE;
  }

  private void body(ByteBuffer bytes, int end) {
    int n = (int) Math.min(bodyLeft, end - at);
    if (wordComes) {
      for (int i = at; i < at + n && wordLength < WORD && bodyLeft - (i - at) > 2; i++) {
        keep(bytes.get(i));
      }
    }
    at += n;
    bodyLeft -= n;
    if (bodyLeft == 0) {
      wordComes = false;
      valueEnds();
    }
  }

  private void valueEnds() {
    missing--;
    phase = Phase.TYPE;
  }
}
