package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** RFC 9111 §5.2, §1.2.2, §4.2.1, and RFC 9213 §2. */
class CacheControlTest {

  private static CacheControl of(String... lines) {
    return CacheControl.of(List.of(lines));
  }

  private static CacheControl targeted(String... lines) {
    var directives = CacheControl.targeted(List.of(lines));
    assertNotNull(directives);
    return directives;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          max-age=60                           ; 60
          MAX-AGE=60                           ; 60
          max-age="60"                         ; 60
          max-age="6\\0"                       ; 60
          public,,  , max-age=60 ,             ; 60
          max-age=060                          ; 60
          max-age=60, max-age=5                ; 60
          max-age=5, max-age=60                ; 5
          unknown="a, max-age=5", max-age=60   ; 60
          max-age=2147483648                   ; 2147483648
          max-age=99999999999999999999999999   ; 2147483648
          max-age                              ; 0
          max-age=                             ; 0
          max-age=-1                           ; 0
          max-age=1.5                          ; 0
          max-age='60'                         ; 0
          max-age=60s                          ; 0
          max-age= 60                          ; 0
          s-maxage=60                          ; -1
          max-age =60                          ; 0
          max-age = 60                         ; 0
          max-age 60                           ; 0
          xmax-age=60                          ; -1
          unknown="a, max-age=5                ; 5
          unknown="a\\", max-age=5              ; 5
          unknown="a", other="b, max-age=5     ; 5
          """)
  void maxAgeIsRead(String line, long seconds) {
    assertEquals(seconds, of(line).seconds("max-age"));
  }

  @Test
  void linesAreOneList() {
    var directives = of("no-store", "max-age=60");
    assertTrue(directives.has("no-store"));
    assertEquals(60, directives.seconds("max-age"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "private, private=\"a\"",
        "private=\"a\", private",
        "PRIVATE",
        "private=\"\"",
        "private=\",\"",
        "private=\" \"",
        "private=\"a",
        "private=\"a b\"",
        "private=\"a, max-age=5"
      })
  void theStricterOfTwoCounts(String line) {
    assertTrue(of(line).hasBare("private"));
    assertEquals(Set.of(), of(line).namedFields());
  }

  @Test
  void fieldsAreNamed() {
    var directives = of("private=\"A, b\", no-cache=Set-Cookie, private=c");
    assertFalse(directives.hasBare("private"));
    assertFalse(directives.hasBare("no-cache"));
    assertEquals(Set.of("a", "b", "c", "set-cookie"), directives.namedFields());
  }

  @Test
  void whatIsNoTokenIsPassedOver() {
    assertTrue(of("=5, (no-store), ;").isEmpty());
  }

  /** What allows something does not. */
  @ParameterizedTest
  @ValueSource(
      strings = {"no-store; max-age=60", "private;", "no-cache a", "PRIVATE = \"a\"", "no-store ="})
  void whatForbidsCountsWhateverFollowsIt(String line) {
    var directives = of(line);
    assertTrue(
        directives.has("no-store")
            || directives.hasBare("private")
            || directives.hasBare("no-cache"));
    assertTrue(of("public; max-age=60").isEmpty());
    assertTrue(of("must-understand no-store").isEmpty());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          max-age=60                  ; 60
          max-age=60, max-age=5       ; 5
          max-age=2147483648          ; 2147483648
          max-age=3000000000          ; 2147483648
          max-age=1.5                 ; 0
          max-age="60"                ; 0
          max-age=-1                  ; 0
          max-age                     ; 0
          max-age=(60)                ; 0
          s-maxage=60                 ; -1
          """)
  void aTargetedFieldIsTyped(String line, long seconds) {
    assertEquals(seconds, targeted(line).seconds("max-age"));
  }

  @Test
  void aTargetedFieldHasFlags() {
    var directives = targeted("no-store, no-cache=?1;a=b, private=?0, must-revalidate=1");
    assertTrue(directives.has("no-store"));
    assertTrue(directives.hasBare("no-cache"));
    assertFalse(directives.has("private"));
    assertFalse(directives.has("must-revalidate"));
  }

  @Test
  void parametersOfATargetedFieldAreIgnored() {
    assertEquals(60, targeted("max-age=60;a=1;b").seconds("max-age"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", " ", "max-age=60,", "max-age=60 no-store", "Max-Age=60", "max-age=\"60"})
  void aTargetedFieldThatIsNoDictionaryDoesNotCount(String line) {
    assertNull(CacheControl.targeted(List.of(line)));
  }
}
