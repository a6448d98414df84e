package dev.evergreen.proxy.rules;

import static dev.evergreen.proxy.rules.Heads.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** RFC 9111 §4.2. */
class LifeTest {

  private static Life of(String response) {
    return Life.of(Heads.response(response), NOW, NOW, CacheRules.DEFAULT);
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          §4.2.1 s-maxage first        ; 200 | Cache-Control: max-age=60, s-maxage=5 | Expires: NOW+9 ; 5
          §4.2.1 then max-age          ; 200 | Cache-Control: max-age=60 | Expires: NOW+9             ; 60
          §4.2.1 then Expires          ; 200 | Expires: NOW+9 | Date: NOW                             ; 9
          §4.2.1 minus Date            ; 200 | Expires: NOW+9 | Date: NOW-10                          ; 19
          §4.2.1 without Date, receipt ; 200 | Expires: NOW+9                                         ; 9
          §4.2.1 with a bad Date       ; 200 | Expires: NOW+9 | Date: x                               ; 9
          §4.2.1 past                  ; 200 | Expires: NOW-9 | Date: NOW                             ; 0
          §5.3 invalid is past         ; 200 | Expires: 0 | Last-Modified: NOW-1000                   ; 0
          §5.3 invalid is past         ; 200 | Expires: tomorrow                                      ; 0
          §4.2.1 two of them           ; 200 | Expires: NOW+9 | Expires: NOW+9                        ; 0
          §4.2.1 repeated: the first   ; 200 | Cache-Control: max-age=60, max-age=5                   ; 60
          §4.2.1 on two lines          ; 200 | Cache-Control: max-age=60 | Cache-Control: max-age=5   ; 60
          §4.2.1 invalid is stale      ; 200 | Cache-Control: max-age=x | Expires: NOW+9              ; 0
          §1.2.2 beyond 2^31           ; 200 | Cache-Control: max-age=99999999999                     ; 2147483648
          §4.2.2 a tenth of the age    ; 200 | Last-Modified: NOW-1000 | Date: NOW                    ; 100
          §4.2.2 without Date          ; 200 | Last-Modified: NOW-1000                                ; 100
          §4.2.2 at most a day         ; 200 | Last-Modified: NOW-999999999                           ; 86400
          §4.2.2 changed later         ; 200 | Last-Modified: NOW+1000                                ; 0
          §4.2.2 never known           ; 200 | ETag: "1"                                              ; 0
          §4.2.2 other status          ; 302 | Last-Modified: NOW-1000                                ; 0
          §4.2.2 other status, public  ; 302 | Last-Modified: NOW-1000 | Cache-Control: public        ; 100
          §4.2.2 with a cookie         ; 200 | Last-Modified: NOW-1000 | Set-Cookie: a=b              ; 0
          9213 Expires is ignored      ; 200 | Expires: NOW+9 | CDN-Cache-Control: public             ; 0
          9213 Cache-Control too       ; 200 | Cache-Control: max-age=9 | CDN-Cache-Control: max-age=5 ; 5
          9213 no coercion             ; 200 | CDN-Cache-Control: max-age=1.5, public                 ; 0
          9213 invalid is stale        ; 200 | CDN-Cache-Control: max-age=-1 | Last-Modified: NOW-1000 ; 0
          """)
  void aLifetimeIsFound(String why, String response, long seconds) {
    assertEquals(seconds, of(response).lifetime(), why);
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          §4.2.3 none               ; 200                         ; 0
          §4.2.3 apparent           ; 200 | Date: NOW-30          ; 30
          §4.2.3 Date in the future ; 200 | Date: NOW+30          ; 0
          §4.2.3 received           ; 200 | Age: 20               ; 20
          §4.2.3 the greater        ; 200 | Age: 20 | Date: NOW-30 ; 30
          §4.2.3 the greater        ; 200 | Age: 40 | Date: NOW-30 ; 40
          §5.1 list: the first      ; 200 | Age: 20, 30           ; 20
          §5.1 lines: the first     ; 200 | Age: 20 | Age: 30     ; 20
          §5.1 no number            ; 200 | Age: x                ; 0
          §5.1 first is no number   ; 200 | Age: x, 20            ; 0
          §5.1 negative             ; 200 | Age: -5               ; 0
          §5.1 part of a number     ; 200 | Age: 2.5              ; 0
          §1.2.2 too great          ; 200 | Age: 99999999999      ; 2147483648
          """)
  void anAgeIsFound(String why, String response, long seconds) {
    assertEquals(seconds, of(response).age(NOW), why);
  }

  @Test
  void theDelayOfAnAnswerCountsToItsAge() {
    var life = Life.of(Heads.response("200 | Age: 10"), NOW - 3000, NOW, CacheRules.DEFAULT);
    assertEquals(13, life.age(NOW), "§4.2.3");
  }

  @Test
  void ageGrowsWithResidence() {
    var life = of("200 | Age: 10 | Cache-Control: max-age=60");
    assertEquals(15, life.age(NOW + 5_999));
    assertEquals(45, life.ttl(NOW + 5_000));
    assertTrue(life.fresh(NOW + 49_999));
    assertFalse(life.fresh(NOW + 50_000), "fresh only while the lifetime is greater: §4.2");
    assertEquals(0, life.ttl(NOW + 50_000));
    assertEquals(-1, life.ttl(NOW + 51_000));
    assertEquals(10, life.age(NOW - 5_000), "clocks may be apart a little");
  }

  @Test
  void whatIsReceivedInTheFutureIsOfUnknownAge() {
    var life = of("200 | Cache-Control: max-age=60, stale-while-revalidate=60");
    assertEquals(Reuse.VALIDATE, Reuse.of(life, Demands.NONE, NOW - 3_600_000));
    assertEquals(CacheControl.LONGEST, life.age(NOW - 3_600_000));
  }

  @Test
  void residenceIsCountedByTheClockThatDoesNotGoBack() {
    var life = of("200 | Date: NOW-5 | Cache-Control: max-age=60").since(1_000_000);
    assertEquals(5, life.age(1_000_000));
    assertEquals(15, life.age(1_010_000));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          404                                      ; 10
          404 | Last-Modified: NOW-1000            ; 10
          404 | Cache-Control: max-age=5           ; 5
          404 | Expires: NOW+7                     ; 7
          404 | Set-Cookie: a=b                    ; 0
          410                                      ; 0
          410 | Last-Modified: NOW-1000            ; 100
          500                                      ; 0
          """)
  void failuresMayHaveALifetimeOfTheirOwn(String response, long seconds) {
    var rules = negative(404, 10);
    var life = Life.of(Heads.response(response), NOW, NOW, rules);
    assertEquals(seconds, life.lifetime(), "§4.2.2");
  }

  private static CacheRules negative(int status, int seconds) {
    return new CacheRules(
        List.of(),
        0.1,
        Duration.ofDays(1),
        Duration.ZERO,
        Map.of(status, Duration.ofSeconds(seconds)));
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 301, 403, 500, 503})
  void nothingIsGuessedOfOtherStatuses(int status) {
    assertThrows(IllegalArgumentException.class, () -> negative(status, 10), "RFC 9110 §15.1");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          max-age=60                             ; false ; false ; false ; 0  ; 0
          no-cache                               ; true  ; false ; false ; 0  ; 0
          no-cache="a"                           ; false ; false ; false ; 0  ; 0
          must-revalidate                        ; false ; true  ; false ; 0  ; 0
          proxy-revalidate                       ; false ; true  ; false ; 0  ; 0
          s-maxage=5                             ; false ; true  ; false ; 0  ; 0
          immutable                              ; false ; false ; true  ; 0  ; 0
          stale-while-revalidate=7               ; false ; false ; false ; 7  ; 0
          stale-if-error=8                       ; false ; false ; false ; 0  ; 8
          stale-while-revalidate, stale-if-error ; false ; false ; false ; 0  ; 0
          """)
  void directivesTellHowItIsUsed(
      String control,
      boolean validate,
      boolean neverStale,
      boolean immutable,
      long staleWhileRevalidate,
      long staleIfError) {
    var life = of("200 | Cache-Control: " + control);
    assertEquals(
        new Life(
            NOW,
            0,
            life.lifetime(),
            validate,
            neverStale,
            immutable,
            staleWhileRevalidate,
            staleIfError),
        life);
  }

  @Test
  void staleIfErrorHasADefault() {
    var rules = new CacheRules(List.of(), 0, Duration.ZERO, Duration.ofSeconds(30), Map.of());
    var silent = Life.of(Heads.response("200 | Cache-Control: max-age=1"), NOW, NOW, rules);
    assertEquals(30, silent.staleIfError());
    var said = Life.of(Heads.response("200 | Cache-Control: stale-if-error=1"), NOW, NOW, rules);
    assertEquals(1, said.staleIfError());
  }

  @Test
  void itsLifeCanBeEnded() {
    var life = of("200 | Cache-Control: max-age=60");
    var ended = life.endedAt(NOW + 5_500);
    assertFalse(ended.fresh(NOW + 5_500));
    assertEquals(5, ended.age(NOW + 5_500));
    assertEquals(life, life.endedAt(NOW + 90_000), "it had ended before");
    assertEquals(10_500, ended.staleMillis(NOW + 15_500), "to the second");
    assertEquals(9_000, life.endedAt(NOW - 4_000).staleMillis(NOW + 5_000), "before it came");
    var old = of("200 | Age: 10 | Cache-Control: max-age=60");
    assertEquals(12_000, old.endedAt(old.made()).staleMillis(NOW + 2_000));
  }

  @Test
  void whatIsRetiredIsNeverUsedAsItIs() {
    var life =
        of("200 | Cache-Control: max-age=60, immutable, stale-while-revalidate=60").retired();
    assertEquals(Reuse.VALIDATE, Reuse.of(life, Demands.NONE, NOW));
    var anyStale = Demands.of(Heads.fields("| Cache-Control: max-stale, stale-if-error=60"));
    assertEquals(Reuse.VALIDATE, Reuse.of(life, anyStale, NOW));
    assertFalse(Reuse.afterFailure(life, anyStale, NOW));
  }
}
