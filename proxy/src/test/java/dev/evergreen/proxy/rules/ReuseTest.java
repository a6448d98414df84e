package dev.evergreen.proxy.rules;

import static dev.evergreen.proxy.rules.Heads.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9111 §4, §4.2.4, §5.2.1; RFC 5861; RFC 8246. */
class ReuseTest {

  private static Life life(String control) {
    return Life.of(Heads.response("200 | Cache-Control: " + control), NOW, NOW, CacheRules.DEFAULT);
  }

  private static Demands demands(String request) {
    return Demands.of(Heads.request("GET / " + request).fields());
  }

  @ParameterizedTest(name = "{0}: {1}; after {2} s; {3}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          §4.2 fresh                 ; max-age=60 ; 59 ;                                           ; FRESH
          §4.2 stale                 ; max-age=60 ; 60 ;                                           ; VALIDATE
          §5.2.2.4 no-cache          ; max-age=60, no-cache ; 0 ;                                  ; VALIDATE
          §5.2.2.4 of a field        ; max-age=60, no-cache="a" ; 0 ;                              ; FRESH
          §5.2.1.1 max-age           ; max-age=60 ; 30 ; | Cache-Control: max-age=30               ; FRESH
          §5.2.1.1 max-age           ; max-age=60 ; 31 ; | Cache-Control: max-age=30               ; VALIDATE_FOR_REQUEST
          §5.2.1.1 reload            ; max-age=60 ; 1  ; | Cache-Control: max-age=0                ; VALIDATE_FOR_REQUEST
          §5.2.1.3 min-fresh         ; max-age=60 ; 30 ; | Cache-Control: min-fresh=30             ; FRESH
          §5.2.1.3 min-fresh         ; max-age=60 ; 31 ; | Cache-Control: min-fresh=30             ; VALIDATE_FOR_REQUEST
          §5.2.1.2 max-stale         ; max-age=60 ; 70 ; | Cache-Control: max-stale=10             ; STALE
          §5.2.1.2 max-stale         ; max-age=60 ; 71 ; | Cache-Control: max-stale=10             ; VALIDATE
          §5.2.1.2 any               ; max-age=60 ; 99 ; | Cache-Control: max-stale                ; STALE
          §5.2.1.2 invalid           ; max-age=60 ; 61 ; | Cache-Control: max-stale=x              ; VALIDATE
          §5.2.1.1 max-age and stale ; max-age=60 ; 70 ; | Cache-Control: max-stale, max-age=65    ; VALIDATE
          §5.2.2.2 must-revalidate   ; max-age=60, must-revalidate ; 61 ; | Cache-Control: max-stale ; VALIDATE
          §5.2.2.8 proxy-revalidate  ; max-age=60, proxy-revalidate ; 61 ; | Cache-Control: max-stale ; VALIDATE
          §5.2.2.10 s-maxage         ; s-maxage=60 ; 61 ; | Cache-Control: max-stale               ; VALIDATE
          §5.2.2.2 while fresh       ; max-age=60, must-revalidate ; 59 ;                          ; FRESH
          §5.2.1.4 no-cache          ; max-age=60 ; 1  ; | Cache-Control: no-cache                 ; VALIDATE_FOR_REQUEST
          §5.2.1.4 no-cache, stale   ; max-age=60 ; 61 ; | Cache-Control: no-cache                 ; VALIDATE
          §5.4 Pragma                ; max-age=60 ; 1  ; | Pragma: no-cache                        ; VALIDATE_FOR_REQUEST
          §5.4 Pragma, Cache-Control ; max-age=60 ; 1  ; | Pragma: no-cache | Cache-Control: max-age=9 ; FRESH
          5861 §3                    ; max-age=60, stale-while-revalidate=10 ; 70 ;                ; STALE_WHILE_REVALIDATE
          5861 §3                    ; max-age=60, stale-while-revalidate=10 ; 71 ;                ; VALIDATE
          5861 §3 must-revalidate    ; max-age=60, stale-while-revalidate=10, must-revalidate ; 61 ; ; VALIDATE
          5861 §3 no-cache           ; no-cache, stale-while-revalidate=10 ; 0 ;                   ; VALIDATE
          5861 §3 min-fresh          ; max-age=60, stale-while-revalidate=10 ; 61 ; | Cache-Control: min-fresh=1 ; VALIDATE
          8246 §2 reload             ; max-age=60, immutable ; 1 ; | Cache-Control: max-age=0      ; FRESH
          8246 §2 younger            ; max-age=60, immutable ; 31 ; | Cache-Control: max-age=30   ; VALIDATE_FOR_REQUEST
          8246 §2 min-fresh          ; max-age=60, immutable ; 31 ; | Cache-Control: min-fresh=30 ; VALIDATE_FOR_REQUEST
          8246 §2.1 forced reload    ; max-age=60, immutable ; 1 ; | Cache-Control: no-cache       ; VALIDATE_FOR_REQUEST
          8246 §2 stale              ; max-age=60, immutable ; 61 ; | Cache-Control: max-age=0     ; VALIDATE
          """)
  void useIsJudged(String why, String control, int seconds, String request, Reuse expected) {
    assertEquals(
        expected,
        Reuse.of(life(control), demands(request == null ? "" : request), NOW + 1000L * seconds),
        why);
  }

  @ParameterizedTest(name = "{0}: {1}; after {2} s; {3}")
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          5861 §4                  ; max-age=60, stale-if-error=10 ; 70 ;                                  ; true
          5861 §4                  ; max-age=60, stale-if-error=10 ; 71 ;                                  ; false
          5861 §4 in the request   ; max-age=60 ; 70 ; | Cache-Control: stale-if-error=10                  ; true
          §4.2.4 unsaid            ; max-age=60 ; 61 ;                                                     ; false
          §4.2.4 must-revalidate   ; max-age=60, stale-if-error=10, must-revalidate ; 61 ;                 ; false
          §4.2.4 s-maxage          ; s-maxage=60, stale-if-error=10 ; 61 ;                                 ; false
          §4.2.4 no-cache          ; no-cache, stale-if-error=10 ; 1 ;                                     ; false
          §5.2.1.4 insists         ; max-age=60, stale-if-error=10 ; 61 ; | Cache-Control: no-cache        ; false
          §5.2.1.1 fresh           ; max-age=60 ; 1 ; | Cache-Control: max-age=0                           ; true
          """)
  void useAfterAFailureIsJudged(
      String why, String control, int seconds, String request, boolean expected) {
    assertEquals(
        expected,
        Reuse.afterFailure(
            life(control), demands(request == null ? "" : request), NOW + 1000L * seconds),
        why);
  }

  @ParameterizedTest
  @CsvSource({"500, true", "502, true", "503, true", "504, true", "501, false", "404, false"})
  void someStatusesAreFailures(int status, boolean expected) {
    assertEquals(expected, Reuse.failure(status), "RFC 5861 §4");
  }

  @ParameterizedTest
  @CsvSource({"'| Cache-Control: only-if-cached', true", "'| Cache-Control: x', false"})
  void aRequestMayWantOnlyWhatIsStored(String request, boolean expected) {
    assertEquals(expected, demands(request).onlyIfCached(), "§5.2.1.7");
  }
}
