package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** RFC 9110 §5.6.7. */
class HttpDateTest {
  private static final long NOW = Instant.parse("2026-11-23T00:00:00Z").toEpochMilli();

  private static OptionalLong parse(String text) {
    return HttpDate.parse(text, NOW);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          Sun, 06 Nov 1994 08:49:37 GMT    | 1994-11-06T08:49:37Z
          Sunday, 06-Nov-94 08:49:37 GMT   | 1994-11-06T08:49:37Z
          Sun Nov  6 08:49:37 1994         | 1994-11-06T08:49:37Z
          Wed Nov 16 08:49:37 1994         | 1994-11-16T08:49:37Z
          Sunday, 06-Nov-76 08:49:37 GMT   | 2076-11-06T08:49:37Z
          Sunday, 06-Nov-77 08:49:37 GMT   | 1977-11-06T08:49:37Z
          Sat, 31 Dec 2016 23:59:60 GMT    | 2017-01-01T00:00:00Z
          sun, 06 nov 1994 08:49:37 gmt    | 1994-11-06T08:49:37Z
          SUNDAY, 06-NOV-94 08:49:37 GMT   | 1994-11-06T08:49:37Z
          sun nOv  6 08:49:37 1994         | 1994-11-06T08:49:37Z
          """)
  void aDateIsReadInThreeFormats(String text, String expected) {
    assertEquals(Instant.parse(expected).toEpochMilli(), parse(text).orElseThrow());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0",
        "-1",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun; 06 Nov 1994 08:49:37 GMT",
        "Sut, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nob 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49.37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GM7",
        "Sun, 0x Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT"
      })
  void whatIsNoDateIsNone(String text) {
    assertTrue(parse(text).isEmpty());
  }

  @Test
  void aDateIsWrittenInThePreferredFormat() {
    assertEquals(
        "Sun, 06 Nov 1994 08:49:37 GMT",
        HttpDate.format(Instant.parse("1994-11-06T08:49:37Z").toEpochMilli()));
  }
}
