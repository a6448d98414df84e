package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9111 §4.1. */
class VaryTest {

  private static Vary of(String response) {
    return Vary.of(Heads.fields(response)).orElseThrow();
  }

  @ParameterizedTest(name = "{0}: {2} and {3}")
  @CsvSource(
      delimiter = '~',
      quoteCharacter = '`',
      textBlock =
          """
          the same                  ~ a               ~ | A: 1                ~ | a: 1                  ~ true
          another                   ~ a               ~ | A: 1                ~ | A: 2                  ~ false
          another that is unnamed   ~ a               ~ | A: 1 | B: 1         ~ | A: 1 | B: 2           ~ true
          absent matches absent     ~ a               ~                       ~                         ~ true
          absent and present        ~ a               ~                       ~ | A: 1                  ~ false
          absent and empty          ~ a               ~                       ~ | A:                    ~ false
          two fields                ~ a, b            ~ | A: 1 | B: 2         ~ | A: 1 | B: 3           ~ false
          moved between fields      ~ a, b            ~ | A: 1                ~ | B: 1                  ~ false
          blanks                    ~ a               ~ | A: 1,2              ~ | A: 1 , 2              ~ true
          lines                     ~ a               ~ | A: 1, 2             ~ | A: 1 | A: 2           ~ true
          order counts              ~ a               ~ | A: 1, 2             ~ | A: 2, 1               ~ false
          case counts               ~ a               ~ | A: x                ~ | A: X                  ~ false
          commas in quotes          ~ a               ~ | A: "1,2"            ~ | A: "1, 2"             ~ false
          order of encodings        ~ Accept-Encoding ~ | Accept-Encoding: gzip, br ~ | Accept-Encoding: br,gzip ~ true
          case of encodings         ~ accept-encoding ~ | Accept-Encoding: GZip ~ | Accept-Encoding: gzip ~ true
          weights                   ~ accept-encoding ~ | Accept-Encoding: br;q=1 ~ | Accept-Encoding: br ; q=1 ~ true
          no blank belongs there    ~ accept-encoding ~ | Accept-Encoding: br;q=1 ~ | Accept-Encoding: br;q = 1 ~ false
          nothing between commas    ~ accept-encoding ~ | Accept-Encoding: br,gzip ~ | Accept-Encoding: br,,gzip ~ true
          something, maybe          ~ a               ~ | A: 1,2              ~ | A: 1,,2               ~ false
          something, maybe          ~ a               ~ | A: 1                ~ | A: 1,                 ~ false
          blanks in quotes          ~ accept          ~ | Accept: a/b;c="1;2" ~ | Accept: a/b;c="1 ; 2" ~ false
          no list: blanks           ~ user-agent      ~ | User-Agent: a, b    ~ | User-Agent: a , b     ~ false
          no list: lines            ~ cookie          ~ | Cookie: a=1, b=2    ~ | Cookie: a=1 | Cookie: b=2 ~ false
          no list: the same         ~ cookie          ~ | Cookie: a=1, b=2    ~ | cookie: a=1, b=2      ~ true
          other weights             ~ accept-encoding ~ | Accept-Encoding: br;q=1 ~ | Accept-Encoding: br;q=0 ~ false
          order of languages        ~ accept-language ~ | Accept-Language: de, en;q=0.5 ~ | Accept-Language: EN;q=0.5, de ~ true
          order of types            ~ accept          ~ | Accept: a/b, c/d    ~ | Accept: c/d, a/b      ~ true
          """)
  void requestsAreCompared(String why, String vary, String one, String other, boolean same) {
    var fields = of("| Vary: " + vary);
    assertEquals(same, select(fields, one).equals(select(fields, other)), why);
  }

  private static String select(Vary vary, String request) {
    return vary.select(Heads.fields(request == null ? "" : request));
  }

  @Test
  void namesHaveNoCaseAndNoOrder() {
    assertEquals(of("| Vary: A, b"), of("| Vary: B | Vary: a, b"));
  }

  @Test
  void aCodingVariesByWhatIsAccepted() {
    assertEquals(of("| Vary: Accept-Encoding"), of("| Content-Encoding: gzip"));
    assertEquals(of("| Vary: a, Accept-Encoding"), of("| Vary: A | Content-Encoding: gzip"));
  }

  @Test
  void withoutVaryAllRequestsAreTheSame() {
    assertEquals(Vary.NOTHING, of(""));
    assertEquals("", Vary.NOTHING.select(Heads.fields("| A: 1")));
  }

  @Test
  void aStarNeverMatches() {
    assertTrue(Vary.of(Heads.fields("| Vary: *")).isEmpty());
    assertTrue(Vary.of(Heads.fields("| Vary: a | Vary: *")).isEmpty());
  }
}
