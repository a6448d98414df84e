package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.regex.Pattern;

/**
 * Numbers with fractions as Redis adds them: with 64 significant bits, which is what C calls a long
 * double on x86.
 */
final class LongDoubles {
  /** How C reads a number, but for hexadecimal ones and those that are none or infinite. */
  static final Pattern DECIMAL =
      Pattern.compile("[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?");

  private static final Pattern HEXADECIMAL = Pattern.compile("[+-]?0[xX].*");

  private static final int BITS = 64;

  /** No number has a digit farther before or behind the point. */
  private static final int MOST_DIGITS = 4933;

  private static final int MOST_ZEROS = 4951;
  private static final BigDecimal INFINITE = new BigDecimal(BigInteger.ONE.shiftLeft(1 << 14));

  /** Redis writes no more digits behind the point. */
  private static final int MOST_DECIMALS = 17;

  private LongDoubles() {}

  /** The sum of two numbers, as Redis writes it. */
  static Bytes sum(Bytes one, Bytes other) {
    var sum = rounded(number(one).add(number(other)));
    var written = sum.setScale(MOST_DECIMALS, RoundingMode.HALF_EVEN).stripTrailingZeros();
    return Bytes.of(written.signum() == 0 ? "0" : written.toPlainString());
  }

  private static BigDecimal number(Bytes text) {
    refuseHexadecimal(Call.plain(text));
    if (!DECIMAL.matcher(text.text()).matches()) {
      throw new Refusal("ERR");
    }
    BigDecimal number;
    try {
      number = new BigDecimal(text.text());
    } catch (NumberFormatException e) {
      throw new Refusal("ERR");
    }
    long digits = (long) number.precision() - number.scale();
    if (number.signum() != 0 && (digits > MOST_DIGITS || digits < -MOST_ZEROS)) {
      // Looked at before it is written out, as that might be very long.
      throw new Refusal("ERR");
    }
    return rounded(number);
  }

  /** What C reads, and this does not. */
  static void refuseHexadecimal(Bytes text) {
    if (HEXADECIMAL.matcher(text.text()).matches()) {
      throw new UnsupportedOperationException("a hexadecimal number");
    }
  }

  /** The nearest number that there is. */
  private static BigDecimal rounded(BigDecimal exact) {
    if (exact.signum() == 0) {
      return BigDecimal.ZERO;
    }
    var numerator = exact.unscaledValue().abs();
    var denominator = BigInteger.ONE;
    if (exact.scale() > 0) {
      denominator = BigInteger.TEN.pow(exact.scale());
    } else {
      numerator = numerator.multiply(BigInteger.TEN.pow(-exact.scale()));
    }
    // One bit more than wanted, or just as many.
    int exponent = numerator.bitLength() - denominator.bitLength() - BITS;
    var quotient = divided(numerator, denominator, exponent);
    if (quotient[0].bitLength() > BITS) {
      quotient = divided(numerator, denominator, ++exponent);
    }
    var digits = quotient[0];
    int half = quotient[1].shiftLeft(1).compareTo(quotient[2]);
    if (half > 0 || (half == 0 && digits.testBit(0))) {
      digits = digits.add(BigInteger.ONE);
    }
    var number =
        exponent >= 0
            ? new BigDecimal(digits.shiftLeft(exponent))
            : new BigDecimal(digits).divide(new BigDecimal(BigInteger.ONE.shiftLeft(-exponent)));
    if (number.compareTo(INFINITE) >= 0) {
      throw new Refusal("ERR");
    }
    return exact.signum() < 0 ? number.negate() : number;
  }

  /** The quotient by so many powers of two more, the rest, and what that is a rest of. */
  private static BigInteger[] divided(BigInteger numerator, BigInteger denominator, int exponent) {
    var dividend = numerator.shiftLeft(Math.max(-exponent, 0));
    var divisor = denominator.shiftLeft(Math.max(exponent, 0));
    var quotient = dividend.divideAndRemainder(divisor);
    return new BigInteger[] {quotient[0], quotient[1], divisor};
  }
}
