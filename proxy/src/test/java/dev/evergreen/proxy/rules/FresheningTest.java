package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9111 §3.2, §4.3.4, §4.3.5. */
class FresheningTest {

  /** What is stored is told by its fields, the newest first, parted by "/". */
  @ParameterizedTest(name = "{0}: {1}; {2}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          strong: all that have it    ; | ETag: "1"     ; | ETag: "1" / | ETag: "2" / | ETag: "1"      ; [0, 2]
          strong: not the weak one    ; | ETag: "1"     ; | ETag: W/"1"                                ; []
          weak: the newest            ; | ETag: W/"1"   ; | ETag: "2" / | ETag: W/"1" / | ETag: W/"1"  ; [1]
          date: the newest            ; | Last-Modified: NOW ; | Last-Modified: NOW / | Last-Modified: NOW ; [0]
          another date                ; | Last-Modified: NOW ; | Last-Modified: NOW-9                  ; []
          another tag                 ; | ETag: "3"     ; | ETag: "1" / | ETag: "2"                    ; []
          neither: the only one       ;                 ; | ETag: "1"                                  ; [0]
          neither: of several none    ;                 ; | ETag: "1" / | ETag: "2"                    ; []
          """)
  void someAreFreshened(String why, String notModified, String stored, String expected) {
    var validators =
        Arrays.stream(stored.split("/(?=[ ]*\\|)")).map(each -> Validators.of(Heads.fields(each)));
    var head = Heads.response("304 " + (notModified == null ? "" : notModified));
    assertEquals(expected, Freshening.chosen(head, validators.toList()).toString(), why);
  }

  @Test
  void fieldsAreReplacedButForThoseOfTheBody() {
    var stored =
        Heads.fields(
            "| Content-Type: a | Content-Length: 5 | X: 1 | X: 2 | Y: 1 | ETag: \"1\""
                + " | Content-Encoding: gzip | Cache-Control: max-age=1 | Vary: A");
    var newer =
        Heads.response(
            "304 | Content-Type: b | Content-Length: 0 | x: 3 | x: 4 | Connection: Z | Z: 1 | ETag:"
                + " W/\"1\" | Content-Encoding: br | Cache-Control: max-age=2 | New: 1 | Vary: B");
    assertEquals(
        String.join(
            "\r\n",
            "Content-Length: 5",
            "Y: 1",
            "ETag: \"1\"",
            "Content-Encoding: gzip",
            "Content-Type: b",
            "x: 3",
            "x: 4",
            "Cache-Control: max-age=2",
            "New: 1",
            "Vary: B",
            ""),
        Freshening.update(stored, newer, Heads.NOW, CacheRules.DEFAULT).toString(),
        "§3.2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          | Cache-Control: private="X" ; 304 | X: 2                              ; | Cache-Control: private="X"
          | X: 1                       ; 304 | Cache-Control: no-cache="X"       ; | Cache-Control: no-cache="X"
          | Content-Digest: a=:b:      ; 304 | Content-Digest: c=:d:             ; | Content-Digest: a=:b:
          | Cache-Control: private="X" ; 304 | X: 2 | Cache-Control: max-age=5   ; | X: 2 | Cache-Control: max-age=5
          | Set-Cookie: a              ; 304 | Set-Cookie: b | Set-Cookie: c     ; | Set-Cookie: a
          | X: 1                       ; 304 | Set-Cookie: b | X: 2              ; | X: 2
          | Set-Cookie: a              ; 304 | Set-Cookie: b | Cache-Control: max-age=5 ; | Set-Cookie: b | Cache-Control: max-age=5
          """)
  void theDirectivesOfBothSayWhatIsStored(String stored, String newer, String expected) {
    assertEquals(
        Heads.fields(expected),
        Freshening.update(
            Heads.fields(stored), Heads.response(newer), Heads.NOW, CacheRules.DEFAULT),
        "§5.2.2.4, §5.2.2.7");
  }

  @Test
  void whoHasAskedGetsItsCookie() {
    assertEquals(
        Heads.fields("| X: 1 | Set-Cookie: b"),
        Freshening.forAsker(
            Heads.fields("| Set-Cookie: a | X: 1"), Heads.response("304 | Set-Cookie: b")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          200                                        ; true
          200 | ETag: "1"                            ; true
          200 | ETag: "2"                            ; false
          200 | ETag: W/"1"                          ; false
          200 | Last-Modified: NOW                   ; true
          200 | Last-Modified: NOW+1                 ; false
          200 | Content-Length: 5                    ; true
          200 | Content-Length: 6                    ; false
          """)
  void anAnswerToHeadConfirmsOrNot(String head, boolean expected) {
    var stored = Heads.fields("| ETag: \"1\" | Last-Modified: NOW");
    assertEquals(expected, Freshening.confirms(Heads.response(head), stored, 5), "§4.3.5");
  }
}
