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

  private static final Pattern IMF =
      Pattern.compile(
          "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d\\d) "
              + MONTH
              + " (?<year>\\d{4}) "
              + TIME
              + " GMT",
          Pattern.CASE_INSENSITIVE);
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
    for (var format : List.of(IMF, RFC_850, ASCTIME)) {
      var match = format.matcher(text);
      if (match.matches()) {
        return time(match, now);
      }
    }
    return OptionalLong.empty();
  }

  private static OptionalLong time(Matcher match, long now) {
    try {
      var time =
          LocalDateTime.of(
              year(match.group("year"), now),
              month(match.group("month")),
              Integer.parseInt(match.group("day").strip()),
              Integer.parseInt(match.group("hour")),
              Integer.parseInt(match.group("minute")),
              0);
      int second = Integer.parseInt(match.group("second"));
      // 60 is a leap second.
      return second > 60
          ? OptionalLong.empty()
          : OptionalLong.of(time.plusSeconds(second).toInstant(ZoneOffset.UTC).toEpochMilli());
    } catch (DateTimeException e) {
      return OptionalLong.empty();
    }
  }

  private static int month(String name) {
    int month = 0;
    while (!MONTHS.get(month).equalsIgnoreCase(name)) {
      month++;
    }
    return month + 1;
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
