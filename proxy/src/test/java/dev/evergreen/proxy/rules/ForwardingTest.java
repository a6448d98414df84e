package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.http.Version;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9110 §7.6. */
class ForwardingTest {

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '~',
      textBlock =
          """
    | Connection: A | A: 1 | B: 2 ~ | B: 2
    | Connection: a , close | Connection: b | A: 1 | B: 2 ~
    | Keep-Alive: 1 | Proxy-Connection: 2 | Upgrade: 3 | Transfer-Encoding: chunked ~
    | Proxy-Authorization: 1 | Proxy-Authenticate: 2 | Proxy-Authentication-Info: 3 ~
    | TE: gzip | A: 1 ~ | A: 1
    | TE: trailers | Connection: TE ~ | TE: trailers
    | Connection: Host | Host: a ~ | Host: a
    | Connection: Content-Length | Content-Length: 1 ~ | Content-Length: 1
    """)
  void whatIsForOneConnectionIsTakenAway(String fields, String expected) {
    var stripped = Heads.fields(fields);
    Forwarding.strip(stripped);
    assertEquals(Heads.fields(expected == null ? "" : expected), stripped, "§7.6.1");
  }

  @Test
  void aMessageTellsWhereItPassed() {
    var fields = Heads.fields("| Via: 1.0 other");
    assertEquals(0, Forwarding.passes(fields, "cache"));
    Forwarding.addVia(fields, Version.HTTP_2, "cache");
    assertEquals("1.0 other, 2.0 cache", fields.joined("via"), "§7.6.3");
    assertEquals(1, Forwarding.passes(fields, "cache"));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "TRACE / | Max-Forwards: 0, 0",
    "OPTIONS / | Max-Forwards: 5, 5",
    "OPTIONS /, -1",
    "OPTIONS / | Max-Forwards: x, -1",
    "GET / | Max-Forwards: 0, -1"
  })
  void hopsAreCounted(String request, long expected) {
    assertEquals(expected, Forwarding.maxForwards(Heads.request(request)).orElse(-1), "§7.6.2");
  }

  @ParameterizedTest
  @CsvSource({"GET, true", "PUT, true", "DELETE, true", "POST, false", "PATCH, false", "X, false"})
  void someMethodsCanBeSentAgain(String method, boolean expected) {
    assertEquals(expected, Forwarding.idempotent(method), "§9.2.2");
  }
}
