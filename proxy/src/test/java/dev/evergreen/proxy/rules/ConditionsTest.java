package dev.evergreen.proxy.rules;

import static dev.evergreen.proxy.rules.Heads.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.http.HttpDate;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9110 §13, RFC 9111 §4.3. */
class ConditionsTest {

  @ParameterizedTest(name = "{0}: {1}; {2}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          without a condition       ; GET /                                    ; 200 | ETag: "1"           ; false
          the tag                   ; GET / | If-None-Match: "1"               ; 200 | ETag: "1"           ; true
          another tag               ; GET / | If-None-Match: "2"               ; 200 | ETag: "1"           ; false
          weak compare              ; GET / | If-None-Match: W/"1"             ; 200 | ETag: "1"           ; true
          weak compare              ; GET / | If-None-Match: "1"               ; 200 | ETag: W/"1"         ; true
          one of several            ; GET / | If-None-Match: "2", "1"          ; 200 | ETag: "1"           ; true
          one of several lines      ; GET / | If-None-Match: "2" | If-None-Match: "1" ; 200 | ETag: "1"    ; true
          any                       ; GET / | If-None-Match: *                 ; 200                       ; true
          no tag stored             ; GET / | If-None-Match: "1"               ; 200                       ; false
          of HEAD                   ; HEAD / | If-None-Match: "1"              ; 200 | ETag: "1"           ; true
          of POST                   ; POST / | If-None-Match: "1"              ; 200 | ETag: "1"           ; false
          of another success        ; GET / | If-None-Match: "1"               ; 203 | ETag: "1"           ; true
          of a redirection          ; GET / | If-None-Match: "1"               ; 301 | ETag: "1"           ; false
          of an error               ; GET / | If-None-Match: "1"               ; 404 | ETag: "1"           ; false
          before the date           ; GET / | If-None-Match: "2" | If-Modified-Since: NOW ; 200 | ETag: "1" | Last-Modified: NOW-9 ; false
          not changed since         ; GET / | If-Modified-Since: NOW-9         ; 200 | Last-Modified: NOW-9 ; true
          changed before            ; GET / | If-Modified-Since: NOW-5         ; 200 | Last-Modified: NOW-9 ; true
          changed after             ; GET / | If-Modified-Since: NOW-10        ; 200 | Last-Modified: NOW-9 ; false
          no date                   ; GET / | If-Modified-Since: yesterday     ; 200 | Last-Modified: NOW-9 ; false
          two dates (9110 13.1.3)   ; GET / | If-Modified-Since: NOW | If-Modified-Since: NOW ; 200 | Last-Modified: NOW-9 ; false
          made before (4.3.2)       ; GET / | If-Modified-Since: NOW-5         ; 200 | Date: NOW-9          ; true
          made after (4.3.2)        ; GET / | If-Modified-Since: NOW-10        ; 200 | Date: NOW-9          ; false
          received (4.3.2)          ; GET / | If-Modified-Since: NOW           ; 200                        ; true
          """)
  void aClientsConditionIsJudged(String why, String request, String stored, boolean expected) {
    var response = Heads.response(stored);
    assertEquals(
        expected,
        Conditions.notModified(Heads.request(request), response.status(), response.fields(), NOW),
        why);
  }

  @ParameterizedTest(name = "{0}: {1}; {2}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          without a condition    ; | Range: bytes=0-1        ; | ETag: "1"                           ; true
          the tag                ; | If-Range: "1"           ; | ETag: "1"                           ; true
          another                ; | If-Range: "2"           ; | ETag: "1"                           ; false
          a weak one             ; | If-Range: W/"1"         ; | ETag: W/"1"                         ; false
          a weak one             ; | If-Range: "1"           ; | ETag: W/"1"                         ; false
          no tag stored          ; | If-Range: "1"           ;                                       ; false
          the date               ; | If-Range: NOW-60        ; | Last-Modified: NOW-60 | Date: NOW   ; true
          another date           ; | If-Range: NOW-50        ; | Last-Modified: NOW-60 | Date: NOW   ; false
          a date that is weak    ; | If-Range: NOW           ; | Last-Modified: NOW | Date: NOW      ; false
          without Date           ; | If-Range: NOW-60        ; | Last-Modified: NOW-60               ; false
          two tags               ; | If-Range: "1" | If-Range: "1" ; | ETag: "1"                     ; false
          neither                ; | If-Range: x             ; | ETag: "1"                           ; false
          """)
  void aRangesConditionIsJudged(String why, String request, String stored, boolean expected) {
    assertEquals(
        expected,
        Conditions.rangeCounts(Heads.fields(request), Heads.fields(stored == null ? "" : stored)),
        why);
  }

  @ParameterizedTest
  @CsvSource({
    "| If-Match: x, true",
    "| If-Unmodified-Since: x, true",
    "| If-None-Match: x, false",
    "| If-Modified-Since: x, false"
  })
  void someConditionsAreTheOriginsToJudge(String request, boolean expected) {
    assertEquals(expected, Conditions.forOrigin(Heads.fields(request)), "RFC 9111 §4.3.2");
  }

  private static Validators validators(String stored) {
    return Validators.of(Heads.fields(stored));
  }

  @Test
  void aValidationNamesTheTagsOfAllVariants() {
    var request = Heads.fields("| If-None-Match: \"x\" | If-Range: y | Range: z | A: b");
    var chosen = validators("| ETag: \"1\" | Last-Modified: NOW-60");
    Conditions.validate(
        request, List.of(chosen, validators("| ETag: W/\"2\""), validators("")), chosen);
    assertEquals(
        "A: b\r\nIf-None-Match: \"1\", W/\"2\"\r\nIf-Modified-Since: "
            + HttpDate.format(NOW - 60_000)
            + "\r\n",
        request.toString(),
        "RFC 9111 §4.3.1");
  }

  /** Seen: a list of tags that was longer than a head may be. */
  @Test
  void aValidationNamesNoMoreTagsThanAnOriginTakes() {
    var request = Heads.fields("");
    var chosen = validators("| ETag: \"1\"");
    var long1 = "\"" + "a".repeat(3000) + "\"";
    var long2 = "\"" + "b".repeat(3000) + "\"";
    Conditions.validate(
        request,
        List.of(
            chosen,
            validators("| ETag: " + long1),
            validators("| ETag: " + long2),
            validators("| ETag: \"2\"")),
        chosen);
    assertEquals("\"1\", " + long1 + ", \"2\"", request.get("if-none-match"));
  }

  @Test
  void whatHasNoValidatorIsAskedForWithoutCondition() {
    var request = Heads.fields("| If-Modified-Since: x");
    Conditions.validate(request, List.of(validators("")), validators(""));
    assertEquals("", request.toString());
  }
}
