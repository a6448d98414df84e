package dev.evergreen.http;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Dates in fields, in the three formats of RFC 9110 §5.6.7. Letters are read without regard to
 * case, as RFC 9111 §4.2 wants it of caches.
 */
public final class HttpDate {

  private static final List<String> MONTHS =
      List.of("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec");
  private static final String MONTH = "(?<month>" + String.join("|", MONTHS) + ")";
  private static final String TIME = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";

  /** The format that is preferred, and is nearly all that comes: it is read without a pattern. */
  private static final String IMF = "Mon, 01 Jan 2000 00:00:00 GMT";

  private static final List<String> DAYS = List.of("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun");
  private static final Pattern RFC_850 =
      Pattern.compile(
          "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-"
              + MONTH
              + "-(?<year>\\d\\d) "
              + TIME
              + " GMT",
          Pattern.CASE_INSENSITIVE);
  private static final Pattern ASCTIME =
      Pattern.compile(
          "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
              + MONTH
              + " (?<day>[ \\d]\\d) "
              + TIME
              + " (?<year>\\d{4})",
          Pattern.CASE_INSENSITIVE);

  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  private record Second(long second, String text) {}

  private static volatile Second last = new Second(0, "");

  private HttpDate() {}

  /** The present as {@link #format} writes it, made once a second. */
  static String now() {
    long second = Instant.now().getEpochSecond();
    var known = last;
    if (known.second != second) {
      known = new Second(second, format(1000 * second));
      last = known;
    }
    return known.text;
  }

  /**
   * Reads a date.
   *
   * @param now the present, in milliseconds since 1970: a year of two digits is at most 50 years
   *     after it
   * @return milliseconds since 1970; empty if the text is no date
   */
  public static OptionalLong parse(String text, long now) {
    if (isImf(text)) {
      int month = indexAt(MONTHS, text, 8) + 1;
      int day = number(text, 5, 7);
      int hour = number(text, 17, 19);
      return time(
          number(text, 12, 16), month, day, hour, number(text, 20, 22), number(text, 23, 25));
    }
    for (var format : List.of(RFC_850, ASCTIME)) {
      var match = format.matcher(text);
      if (match.matches()) {
        return time(match, now);
      }
    }
    return OptionalLong.empty();
  }

  /** Whether a text is like {@link #IMF} but for its names and digits. */
  private static boolean isImf(String text) {
    if (text.length() != IMF.length()
        || indexAt(DAYS, text, 0) < 0
        || indexAt(MONTHS, text, 8) < 0) {
      return false;
    }
    for (int i = 3; i < text.length(); i++) {
      char form = IMF.charAt(i);
      char c = text.charAt(i);
      boolean ofMonth = i >= 8 && i < 11;
      boolean fits = isDigit(form) ? isDigit(c) : isSame(form, c);
      if (!ofMonth && !fits) {
        return false;
      }
    }
    return true;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isSame(char form, char c) {
    return form == c || (form >= 'A' && form <= 'Z' && form + ('a' - 'A') == c);
  }

  private static int indexAt(List<String> names, String text, int at) {
    for (int i = 0; i < names.size(); i++) {
      if (text.regionMatches(true, at, names.get(i), 0, 3)) {
        return i;
      }
    }
    return -1;
  }

  private static int number(String text, int from, int to) {
    return Integer.parseInt(text, from, to, 10);
  }

  private static OptionalLong time(Matcher match, long now) {
    return time(
        year(match.group("year"), now),
        indexAt(MONTHS, match.group("month"), 0) + 1,
        Integer.parseInt(match.group("day").strip()),
        Integer.parseInt(match.group("hour")),
        Integer.parseInt(match.group("minute")),
        Integer.parseInt(match.group("second")));
  }

  private static OptionalLong time(int year, int month, int day, int hour, int minute, int second) {
    try {
      var time = LocalDateTime.of(year, month, day, hour, minute, 0);
      // 60 is a leap second.
      return second > 60
          ? OptionalLong.empty()
          : OptionalLong.of(time.plusSeconds(second).toInstant(ZoneOffset.UTC).toEpochMilli());
    } catch (DateTimeException e) {
      return OptionalLong.empty();
    }
  }

  private static int year(String digits, long now) {
    int year = Integer.parseInt(digits);
    if (digits.length() == 4) {
      return year;
    }
    int present = Instant.ofEpochMilli(now).atOffset(ZoneOffset.UTC).getYear();
    int inThisCentury = present - present % 100 + year;
    return inThisCentury > present + 50 ? inThisCentury - 100 : inThisCentury;
  }

  /** Writes a date in the format that is preferred. */
  public static String format(long millis) {
    return FORMAT.format(Instant.ofEpochMilli(millis));
  }
}
