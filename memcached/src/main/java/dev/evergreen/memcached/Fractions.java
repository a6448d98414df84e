package dev.evergreen.memcached;

import java.math.BigInteger;
import java.util.OptionalDouble;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Numbers that may have a fraction, as memcached reads them by C's {@code strtod}. */
final class Fractions {
  private static final String BLANKS = "[ \\t-\\r]";

  /** It never goes back: else a long line of digits would take as long as thousands of commands. */
  private static final Pattern NUMBER =
      Pattern.compile(
          BLANKS
              + "*+(?<sign>[+-]?+)(?:(?<infinite>(?i:inf(?:inity)?+))|(?<none>(?i:nan(?:\\(\\w*+\\))?+))"
              + "|0[xX](?<hex>\\p{XDigit}++(?:\\.\\p{XDigit}*+)?+|\\.\\p{XDigit}++)(?:[pP](?<power>[+-]?+\\d++))?+"
              + "|(?<decimal>(?:\\d++(?:\\.\\d*+)?+|\\.\\d++)(?:[eE][+-]?+\\d++)?+))(?:(?:"
              + BLANKS
              + "|\\x00).*+)?+",
          Pattern.DOTALL);

  /** The exponent of the least number that there is, and of all that are below the normal ones. */
  private static final int LEAST_EXPONENT = -1074;

  private Fractions() {}

  /** The number that a text begins with, up to its end or a blank; empty if it does not. */
  static OptionalDouble of(String text) {
    var found = NUMBER.matcher(text);
    if (!found.matches()) {
      return OptionalDouble.empty();
    }
    double size = size(found);
    boolean inRange = found.group("infinite") != null || isInRange(size, found);
    return inRange
        ? OptionalDouble.of(found.group("sign").equals("-") ? -size : size)
        : OptionalDouble.empty();
  }

  private static double size(MatchResult found) {
    if (found.group("infinite") != null) {
      return Double.POSITIVE_INFINITY;
    }
    if (found.group("none") != null) {
      return Double.NaN;
    }
    var hex = found.group("hex");
    return Double.parseDouble(
        hex == null ? found.group("decimal") : "0x" + hex + "p" + power(found));
  }

  private static String power(MatchResult found) {
    var power = found.group("power");
    return power == null ? "0" : power;
  }

  /** What is too large is none to C, and so is what is so small that it loses digits. */
  private static boolean isInRange(double size, MatchResult found) {
    return !Double.isInfinite(size)
        && !(size < Double.MIN_NORMAL
            && (found.group("hex") == null ? isCut(found) : isHexCut(found)));
  }

  /** Whether a decimal number below the normal ones is not exact, as none is but 0. */
  private static boolean isCut(MatchResult found) {
    return found.group("decimal").split("[eE]", 2)[0].chars().anyMatch(c -> c >= '1' && c <= '9');
  }

  private static boolean isHexCut(MatchResult found) {
    var digits = found.group("hex");
    int point = digits.indexOf('.');
    int fraction = point < 0 ? 0 : digits.length() - point - 1;
    var number = new BigInteger(digits.replace(".", ""), 16);
    var last =
        new BigInteger(power(found))
            .add(BigInteger.valueOf(number.getLowestSetBit() - 4L * fraction));
    return number.signum() != 0 && last.compareTo(BigInteger.valueOf(LEAST_EXPONENT)) < 0;
  }
}
