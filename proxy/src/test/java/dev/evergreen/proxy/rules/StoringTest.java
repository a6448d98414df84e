package dev.evergreen.proxy.rules;

import static dev.evergreen.proxy.rules.Heads.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9111 §3. */
class StoringTest {

  private static Storing of(String request, String response) {
    return Storing.of(Heads.request(request), Heads.response(response), NOW, CacheRules.DEFAULT);
  }

  @ParameterizedTest(name = "{0}: {1}; {2}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          §3 one of max-age         ; GET  ; 200 | Cache-Control: max-age=60                       ; YES
          §3 s-maxage               ; GET  ; 200 | Cache-Control: s-maxage=60                      ; YES
          §3 Expires                ; GET  ; 200 | Expires: NOW+60                                 ; YES
          §3 public                 ; GET  ; 200 | Cache-Control: public | ETag: "1"               ; YES
          §3 heuristic status       ; GET  ; 200 | Last-Modified: NOW-1000                         ; YES
          §3 heuristic status       ; GET  ; 404 | Last-Modified: NOW-1000                         ; YES
          §3 heuristic status       ; GET  ; 301 | ETag: "1"                                       ; YES
          §3 other status           ; GET  ; 302 | Last-Modified: NOW-1000                         ; STATUS
          §3 other status, explicit ; GET  ; 302 | Cache-Control: max-age=60                       ; YES
          §3 other status, Expires  ; GET  ; 500 | Expires: NOW+60                                 ; YES
          §3 unknown, explicit      ; GET  ; 299 | Cache-Control: max-age=60                       ; YES
          §3 unknown, heuristic     ; GET  ; 299 | Last-Modified: NOW-1000                         ; STATUS
          §3 unknown, public        ; GET  ; 299 | Cache-Control: public | Last-Modified: NOW-1000 ; YES
          §3 nothing to go by       ; GET  ; 200                                                   ; UNSAID
          §3 only past, nothing     ; GET  ; 200 | Expires: 0                                      ; UNSAID
          §3 past with a tag        ; GET  ; 200 | Expires: 0 | ETag: "1"                          ; YES
          §3 not final              ; GET  ; 103 | Cache-Control: max-age=60                       ; STATUS
          §3.3 part                 ; GET  ; 206 | Cache-Control: max-age=60                       ; STATUS
          of a range                ; GET  ; 416 | Cache-Control: max-age=60                       ; STATUS
          §4.3.3 not modified       ; GET  ; 304 | Cache-Control: max-age=60                       ; STATUS
          §3 method                 ; POST ; 200 | Cache-Control: max-age=60                       ; METHOD
          §3 method                 ; HEAD ; 200 | Cache-Control: max-age=60                       ; METHOD
          §3 unknown method         ; BREW ; 200 | Cache-Control: max-age=60                       ; METHOD
          §5.2.2.5 no-store         ; GET  ; 200 | Cache-Control: max-age=60, no-store             ; NO_STORE
          §5.2.2.5 any case         ; GET  ; 200 | Cache-Control: max-age=60, No-Store             ; NO_STORE
          §5.2.1.5 of the request   ; GET / | Cache-Control: no-store ; 200 | Cache-Control: max-age=60 ; NO_STORE
          §5.2.2.7 private          ; GET  ; 200 | Cache-Control: max-age=60, private              ; PRIVATE
          §5.2.2.7 private fields   ; GET  ; 200 | Cache-Control: max-age=60, private="a"          ; YES
          §5.2.2.4 no-cache         ; GET  ; 200 | Cache-Control: no-cache | ETag: "1"             ; YES
          §5.2.2.3 must-understand  ; GET  ; 200 | Cache-Control: max-age=60, must-understand, no-store ; YES
          §5.2.2.3 not understood   ; GET  ; 299 | Cache-Control: max-age=60, must-understand, no-store ; STATUS
          §5.2.2.3 not understood   ; GET  ; 299 | Cache-Control: max-age=60, must-understand      ; STATUS
          §3.5 Authorization        ; GET / | Authorization: x ; 200 | Cache-Control: max-age=60   ; AUTHORIZATION
          §3.5 public               ; GET / | Authorization: x ; 200 | Cache-Control: max-age=60, public ; YES
          §3.5 must-revalidate      ; GET / | Authorization: x ; 200 | Cache-Control: max-age=60, must-revalidate ; YES
          §3.5 s-maxage             ; GET / | Authorization: x ; 200 | Cache-Control: s-maxage=60  ; YES
          §3.5 no-cache is not it   ; GET / | Authorization: x ; 200 | Cache-Control: no-cache | ETag: "1" ; AUTHORIZATION
          §4.1 Vary: *              ; GET  ; 200 | Cache-Control: max-age=60 | Vary: *             ; VARY
          §4.1 Vary: a, *           ; GET  ; 200 | Cache-Control: max-age=60 | Vary: a, *          ; VARY
          §4.1 Vary: a              ; GET  ; 200 | Cache-Control: max-age=60 | Vary: a             ; YES
          §7.3 cookie, unsaid       ; GET  ; 200 | Set-Cookie: a=b                                 ; COOKIE
          §7.3 cookie, unsaid       ; GET  ; 200 | Set-Cookie: a=b | ETag: "1"                     ; COOKIE
          §7.3 cookie, unsaid       ; GET  ; 200 | Set-Cookie: a=b | Last-Modified: NOW-9          ; COOKIE
          §7.3 cookie, ask first    ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Cache-Control: no-cache ; COOKIE
          §7.3 cookie, ask first    ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Cache-Control: no-cache, max-age=60 ; COOKIE
          §7.3 cookie, ask first    ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Cache-Control: max-age=0 ; COOKIE
          §7.3 cookie, past         ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Expires: 0        ; COOKIE
          §7.3 cookie, for all      ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Cache-Control: public ; YES
          §7.3 cookie, for all      ; GET  ; 200 | Set-Cookie: a=b | Expires: NOW+60               ; YES
          §7.3 cookie, left out     ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Cache-Control: private="Set-Cookie" ; YES
          §7.3 cookie, left out     ; GET  ; 200 | Set-Cookie: a=b | ETag: "1" | Cache-Control: no-cache="set-cookie" ; YES
          §7.3 cookie, said         ; GET  ; 200 | Set-Cookie: a=b | Cache-Control: max-age=60     ; YES
          9213 §2.2 targeted        ; GET  ; 200 | CDN-Cache-Control: no-store | Cache-Control: max-age=60 ; NO_STORE
          9213 §2.2 targeted        ; GET  ; 200 | CDN-Cache-Control: max-age=60 | Cache-Control: no-store ; YES
          9213 §2.1 syntax error    ; GET  ; 200 | CDN-Cache-Control: max-age=60, | Cache-Control: no-store ; NO_STORE
          9213 §2.2 empty           ; GET  ; 200 | CDN-Cache-Control: | Cache-Control: no-store    ; NO_STORE
          9213 §2.2 other target    ; GET  ; 200 | X-Cache-Control: max-age=60 | Cache-Control: no-store ; NO_STORE
          9213 §2.2 private         ; GET  ; 200 | CDN-Cache-Control: private, max-age=60          ; PRIVATE
          §4.1 what the proxy says  ; GET  ; 200 | Cache-Control: max-age=60 | Vary: a, X-Forwarded-For ; VARY
          §4.1 what the proxy says  ; GET  ; 200 | Cache-Control: max-age=60 | Vary: Forwarded     ; VARY
          5861 §3 meanwhile         ; GET  ; 200 | Cache-Control: max-age=0, stale-while-revalidate=60 ; YES
          5861 §3 never meanwhile   ; GET  ; 200 | Cache-Control: no-cache, max-age=0, stale-while-revalidate=60 ; UNSAID
          5861 §3 never meanwhile   ; GET  ; 200 | Cache-Control: max-age=0, must-revalidate, stale-while-revalidate=60 ; UNSAID
          5861 §4 never if error    ; GET  ; 200 | Cache-Control: s-maxage=0, stale-if-error=60    ; UNSAID
          §5.2.2.4 no validator     ; GET  ; 200 | Cache-Control: no-cache, max-age=60             ; UNSAID
          §5.2.2.2 no validator     ; GET  ; 200 | Cache-Control: must-revalidate, max-age=60      ; YES
          §5.2.2.4 a date           ; GET  ; 200 | Cache-Control: no-cache | Last-Modified: NOW-9  ; YES
          5861 §4 if error          ; GET  ; 200 | Cache-Control: max-age=0, stale-if-error=60     ; YES
          """)
  void aResponseIsJudged(String why, String request, String response, Storing expected) {
    assertEquals(expected, of(request, response), why);
  }

  @Test
  void theFirstTargetThatCountsDecides() {
    var rules =
        new CacheRules(List.of("A-CC", "B-CC"), 0.1, Duration.ofDays(1), Duration.ZERO, Map.of());
    var both = "200 | B-CC: max-age=5 | A-CC: no-store";
    var request = Heads.request("GET /");
    assertEquals(Storing.NO_STORE, Storing.of(request, Heads.response(both), NOW, rules));
    var second = "200 | B-CC: max-age=5 | A-CC: 1 2 3 | Cache-Control: no-store";
    assertEquals(Storing.YES, Storing.of(request, Heads.response(second), NOW, rules));
  }

  @Test
  void someFieldsAreNeverStored() {
    var response =
        Heads.response(
            "200 | Connection: X-One, keep-alive | X-One: 1 | Keep-Alive: 5 | TE: a | Upgrade: b"
                + " | Proxy-Authenticate: c | Proxy-Authorization: d | Proxy-Authentication-Info: e"
                + " | Proxy-Connection: f | Transfer-Encoding: chunked | Age: 5 | Trailer: x"
                + " | Cache-Control: private=\"X-Two\", no-cache=\"X-Three, X-Four\""
                + " | X-Two: 2 | X-Three: 3 | X-Four: 4 | X-Five: 5");
    assertEquals(
        "Cache-Control: private=\"X-Two\", no-cache=\"X-Three, X-Four\"\r\nX-Five: 5\r\n",
        Storing.fields(response, CacheRules.DEFAULT).toString());
  }

  @Test
  void linesOfCookiesStayApart() {
    var response = Heads.response("200 | Set-Cookie: a=1 | Set-Cookie: b=2");
    assertEquals(
        List.of("a=1", "b=2"), Storing.fields(response, CacheRules.DEFAULT).all("set-cookie"));
  }
}
