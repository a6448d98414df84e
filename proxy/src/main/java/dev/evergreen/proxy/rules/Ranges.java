package dev.evergreen.proxy.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a Range asks for of a body whose length is known (RFC 9110 §14.2).
 *
 * <p>A Range that is malformed, of another unit, or that asks for so many or such overlapping parts
 * that the answer would be a burden has no effect: the whole is sent.
 */
public sealed interface Ranges {

  /** So many parts are sent in one answer. */
  int MOST = 16;

  /** All of it, with status 200. */
  record Whole() implements Ranges {}

  /** Some of it, with status 206: one part as it is, several as multipart/byteranges. */
  record Parts(List<ByteRange> ranges) implements Ranges {
    public Parts {
      ranges = List.copyOf(ranges);
    }
  }

  /** Nothing that there is: status 416. */
  record Unsatisfiable() implements Ranges {}

  /** The last n bytes, or from a first to a last one, which may be missing. */
  Pattern RANGE = Pattern.compile("(\\d*)-(\\d*)");

  /**
   * Reads a Range.
   *
   * @param lines the lines of the field
   * @param length of the body
   */
  static Ranges of(List<String> lines, long length) {
    if (lines.size() != 1) {
      return new Whole();
    }
    var line = Members.trim(lines.getFirst());
    int equals = line.indexOf('=');
    if (equals < 0 || !line.substring(0, equals).toLowerCase(Locale.ROOT).equals("bytes")) {
      return new Whole();
    }
    return of(Members.of(List.of(line.substring(equals + 1))), length, new ArrayList<>());
  }

  /** Whether a Range asks for one part, and not for all there is, however long that may be. */
  static boolean isPart(List<String> lines) {
    return of(lines, Long.MAX_VALUE) instanceof Parts(var ranges)
        && ranges.size() == 1
        && ranges.getFirst().length() < Long.MAX_VALUE;
  }

  private static Ranges of(List<String> specs, long length, List<ByteRange> satisfiable) {
    if (specs.isEmpty() || specs.size() > MOST) {
      return new Whole();
    }
    for (var spec : specs) {
      var match = RANGE.matcher(spec);
      if (!match.matches() || spec.length() == 1) {
        return new Whole();
      }
      long first = number(match.group(1));
      long last = number(match.group(2));
      if (!match.group(1).isEmpty() && !match.group(2).isEmpty() && last < first) {
        return new Whole();
      }
      var range = range(match.group(1).isEmpty(), first, match.group(2).isEmpty(), last, length);
      if (range != null) {
        if (satisfiable.stream().anyMatch(range::overlaps)) {
          return new Whole();
        }
        satisfiable.add(range);
      }
    }
    return satisfiable.isEmpty() ? new Unsatisfiable() : new Parts(satisfiable);
  }

  private static @Nullable ByteRange range(
      boolean suffix, long first, boolean open, long last, long length) {
    if (suffix) {
      return last == 0 || length == 0
          ? null
          : new ByteRange(Math.max(0, length - last), length - 1);
    }
    return first >= length
        ? null
        : new ByteRange(first, open ? length - 1 : Math.min(last, length - 1));
  }

  /** What has too many digits is beyond the end of every body. */
  private static long number(String digits) {
    return digits.isEmpty() ? 0 : digits.length() > 18 ? Long.MAX_VALUE : Long.parseLong(digits);
  }
}
