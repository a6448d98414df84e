package dev.evergreen.http;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The present in the form of the field Date, made once a second. */
final class HttpDate {
  private static final DateTimeFormatter FORM =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  private record Second(long second, String text) {}

  private static volatile Second last = new Second(0, "");

  private HttpDate() {}

  static String now() {
    var now = Instant.now();
    var known = last;
    if (known.second != now.getEpochSecond()) {
      known = new Second(now.getEpochSecond(), FORM.format(now));
      last = known;
    }
    return known.text;
  }
}
