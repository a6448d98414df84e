package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;

/**
 * Finds where requests end, in pieces as they come, and where their first arguments lie. It accepts
 * only what Redis certainly reads the same way; all else is {@link Found#STRANGE}, and for Redis to
 * judge. It keeps no bytes and allocates nothing, whatever lengths are declared.
 *
 * <p>Places of arguments count from the request's first byte, so that it may be moved while it is
 * not whole.
 */
final class RequestScanner {

  /** As many arguments are remembered; what a request is about is among them. */
  static final int KEPT = 12;

  /** What was found. */
  enum Found {
    /** A whole request, which ends at {@link #at}. */
    WHOLE,
    /** A line that ends at {@link #at} and is to be split as {@link Inline} does. */
    LINE,
    /** A request of nothing, which is not replied to, and ends at {@link #at}. */
    EMPTY,
    /** The beginning of a request: more is needed. */
    PART,
    /** Nothing that this scanner understands. */
    STRANGE
  }

  private enum Phase {
    START,
    COUNT,
    DOLLAR,
    LENGTH,
    BODY
  }

  /** Redis takes more arguments only in requests that need more memory than it has. */
  private static final long MOST_ARGUMENTS = Integer.MAX_VALUE;

  /** Of numbers that are read at once: none of them is longer than a buffer. */
  private static final int MOST_DIGITS = 5;

  private static final long LONGEST_ARGUMENT = Long.MAX_VALUE / 4;

  private Phase phase = Phase.START;
  private int began;
  private long value;
  private int digits;
  private boolean returned;
  private boolean negative;
  private long left;
  private long bodyLeft;
  private boolean refused;

  /** Up to where no line ends that has begun; 0 if none has. */
  private int searched;

  /** Up to where the bytes are understood. */
  int at;

  /** How many arguments there are, also of one that is not whole once its beginning is. */
  int count;

  final int[] starts = new int[KEPT];
  final int[] ends = new int[KEPT];
  private int found;

  /** Forgets a request that has begun; the next one begins at an index. */
  void restart(int from) {
    phase = Phase.START;
    at = from;
    searched = 0;
  }

  /** The bytes that were not used up have moved. */
  void moved(int by) {
    at += by;
    began += by;
    searched += by;
  }

  /** Where the present request begins. */
  int began() {
    return began;
  }

  /** Whether nothing of a request has come since the last one. */
  boolean atStart() {
    return phase == Phase.START;
  }

  /** How long the request is at least, by what it says. */
  long declared() {
    return at - began + (phase == Phase.BODY ? bodyLeft : 0);
  }

  /** Whether every Redis refuses what is strange; else some may take it for a request. */
  boolean refused() {
    return refused;
  }

  /** Whether an argument is there, whole, and remembered. */
  boolean has(int index) {
    return index < kept() && ends[index] <= at - began;
  }

  /** How many arguments are remembered. */
  int kept() {
    return Math.min(found, KEPT);
  }

  /** Goes on from {@link #at}. */
  Found scan(ByteBuffer bytes, int end) {
    if (phase == Phase.START) {
      if (at == end) {
        return Found.PART;
      }
      began = at;
      if (bytes.get(at) != '*') {
        return scanLine(bytes, end);
      }
      searched = 0;
      if (takeWhole(bytes, end)) {
        return Found.WHOLE;
      }
      at++;
      found = 0;
      count = 0;
      number(Phase.COUNT);
    }
    while (at < end) {
      var result = step(bytes, end);
      if (result != Found.PART) {
        return result;
      }
    }
    return Found.PART;
  }

  /**
   * Takes a request that is there whole and says nothing unusual, as nearly all are: so nothing has
   * to be kept from one byte to the next. All else is left to the careful way.
   */
  private boolean takeWhole(ByteBuffer bytes, int end) {
    long number = shortNumber(bytes, began + 1, end);
    int arguments = (int) number;
    int from = (int) (number >> 32);
    for (int i = 0; i < arguments; i++) {
      if (from >= end || bytes.get(from) != '$') {
        return false;
      }
      number = shortNumber(bytes, from + 1, end);
      int start = (int) (number >> 32);
      int argumentEnd = start + (int) number;
      if (start < 0 || argumentEnd + 2 > end || !isLineEnd(bytes, argumentEnd)) {
        return false;
      }
      if (i < KEPT) {
        starts[i] = start - began;
        ends[i] = argumentEnd - began;
      }
      from = argumentEnd + 2;
    }
    if (arguments <= 0) {
      return false;
    }
    found = arguments;
    count = arguments;
    at = from;
    return true;
  }

  /** A number of few digits with its line's end, and in the high half what is behind; or -1. */
  private static long shortNumber(ByteBuffer bytes, int from, int end) {
    int most = Math.min(from + MOST_DIGITS, end - 2);
    int value = 0;
    int i = from;
    while (i < most && bytes.get(i) >= '0' && bytes.get(i) <= '9') {
      value = value * 10 + bytes.get(i++) - '0';
    }
    boolean plain = i == from + 1 || (i > from && bytes.get(from) != '0');
    return plain && i <= end - 2 && isLineEnd(bytes, i) ? (long) (i + 2) << 32 | value : -1;
  }

  private static boolean isLineEnd(ByteBuffer bytes, int at) {
    return bytes.get(at) == '\r' && bytes.get(at + 1) == '\n';
  }

  private Found step(ByteBuffer bytes, int end) {
    switch (phase) {
      case DOLLAR -> {
        if (bytes.get(at++) != '$') {
          return strange(true);
        }
        number(Phase.LENGTH);
      }
      case BODY -> {
        return body(bytes, end);
      }
      default -> {
        return digit(bytes.get(at++));
      }
    }
    return Found.PART;
  }

  /** Of an argument, with the line's end that follows it. */
  private Found body(ByteBuffer bytes, int end) {
    // Of the line's end, one byte may have come before.
    int n = (int) Math.min(Math.max(0, bodyLeft - 2), end - at);
    at += n;
    bodyLeft -= n;
    while (bodyLeft <= 2 && at < end) {
      if (bytes.get(at++) != (bodyLeft == 2 ? '\r' : '\n')) {
        // Redis would not look; but one that did would take what comes for something else.
        return strange(false);
      }
      if (--bodyLeft == 0) {
        return argumentEnds();
      }
    }
    return Found.PART;
  }

  private Found strange(boolean everywhere) {
    refused = everywhere;
    return Found.STRANGE;
  }

  private Found argumentEnds() {
    left--;
    phase = left == 0 ? Phase.START : Phase.DOLLAR;
    return left == 0 ? Found.WHOLE : Found.PART;
  }

  private void number(Phase which) {
    phase = which;
    value = 0;
    digits = 0;
    negative = false;
    returned = false;
  }

  /** Of a number and its line's end. Redis takes no zero before other digits. */
  private Found digit(byte b) {
    if (returned) {
      return b == '\n' && digits > 0 ? numberEnds() : strange(digits == 0);
    }
    if (b == '\r') {
      returned = true;
      return Found.PART;
    }
    if (b == '-' && digits == 0 && !negative && phase == Phase.COUNT) {
      // As many as none.
      negative = true;
      return Found.PART;
    }
    if (b < '0' || b > '9' || (digits > 0 && value == 0) || (negative && digits + b == '0')) {
      return strange(true);
    }
    value = value * 10 + (b - '0');
    digits++;
    return value > (phase == Phase.COUNT ? MOST_ARGUMENTS : LONGEST_ARGUMENT)
        ? strange(true)
        : Found.PART;
  }

  private Found numberEnds() {
    if (phase == Phase.COUNT) {
      if (value == 0 || negative) {
        phase = Phase.START;
        return Found.EMPTY;
      }
      left = value;
      count = (int) value;
      phase = Phase.DOLLAR;
      return Found.PART;
    }
    if (found < KEPT) {
      starts[found] = at - began;
      ends[found] = (int) Math.min(Integer.MAX_VALUE, at - began + value);
    }
    found++;
    bodyLeft = value + 2;
    phase = Phase.BODY;
    return Found.PART;
  }

  private Found scanLine(ByteBuffer bytes, int end) {
    for (int i = Math.max(at, searched); i < end; i++) {
      if (bytes.get(i) == '\n') {
        at = i + 1;
        searched = 0;
        return Found.LINE;
      }
    }
    searched = end;
    return Found.PART;
  }
}
