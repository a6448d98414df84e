package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Requests and responses whose end is unclear (RFC 9112 §6, §11): never forwarded, never stored.
 * "~" stands for CR LF.
 */
@Timeout(60)
class SmugglingTest {
  private final ScriptedOrigin origin = new ScriptedOrigin();
  private final Proxy proxy =
      Proxy.start(
          ProxySettings.DEFAULT
              .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
              .withOrigins(List.of(origin.origin()))
              .withStorage(StorageOptions.memory(16 << 20))
              .withProcessors(1));

  SmugglingTest() throws IOException {}

  @AfterEach
  void end() {
    origin.close();
    proxy.close();
  }

  private static String raw(String text) {
    return text.replace("~", "\r\n");
  }

  /** All that the proxy says until it closes the connection. */
  private String ask(String request) throws IOException {
    var address = proxy.addresses().getFirst();
    try (var socket = new Socket(address.getAddress(), address.getPort())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(raw(request).getBytes(ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST / HTTP/1.1~Host: a~Content-Length: 3~Transfer-Encoding: chunked~~0~~GET /x HTTP/1.1~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: gzip, chunked~~0~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: chunked~Transfer-Encoding: chunked~~0~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: \u000bchunked~~0~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: xchunked~~0~~",
        "POST / HTTP/1.1~Host: a~Content-Length: 3, 3~~abc",
        "POST / HTTP/1.1~Host: a~Content-Length: 3~Content-Length: 4~~abcd",
        "POST / HTTP/1.1~Host: a~Content-Length: +3~~abc",
        "POST / HTTP/1.1~Host: a~Content-Length: 0x3~~abc",
        "POST / HTTP/1.1~Host: a~Content-Length : 3~~abc",
        "POST / HTTP/1.1~Host: a~Content-Length: -1~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: chunked~~0x5~hello~0~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: chunked~~11111111111111111~a~0~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: chunked~~5\nhello~0~~",
        "POST / HTTP/1.1~Host: a~Transfer-Encoding: chunked~~5;a\nb~hello~0~~",
        "GET / HTTP/1.1~Host: a~X: b~ c: d~~",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1~Host: a~X: b\rc~~",
        "GET / HTTP/1.1~Host: a~X: b\u0000c~~",
        "GET / HTTP/1.1~Host: a~Host: b~~",
        "GET / HTTP/1.1~~",
        "GET / HTTP/1.1~ Host: a~~",
        "GET\t/ HTTP/1.1~Host: a~~",
        "GET /\u0001 HTTP/1.1~Host: a~~",
        "GET / HTTP/1.2~Host: a~~",
        "GET / http/1.1~Host: a~~",
        "GET / HTTP/2.0~Host: a~~"
      })
  void aRequestThatIsUnclearIsRefused(String request) throws Exception {
    origin.then(200, "", "Cache-Control: max-age=60");
    var answer = ask(request);
    // Where only the body is wrong the head may be on its way to the origin; no request comes of
    // it.
    assertTrue(answer.isEmpty() || answer.matches("(?s)HTTP/1\\.1 (400|501|502|505) .*"), answer);
    assertEquals(
        0, origin.requests().stream().filter(r -> !r.line().startsWith("POST / ")).count());
    assertEquals(1, answer.isEmpty() ? 1 : answer.split("HTTP/1\\.1 ", -1).length - 1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 X~Content-Length: 4~Content-Length: 5~~body",
        "HTTP/1.1 200 X~Content-Length: 4~Transfer-Encoding: chunked~~0~~",
        "HTTP/1.1 200 X~Transfer-Encoding: gzip, chunked~~0~~",
        "HTTP/1.1 200 X~Content-Length: 4, 4~~body",
        "HTTP/1.1 200 X~Content-Length : 4~~body",
        "HTTP/1.1 200 X~A: b~ c: d~Content-Length: 4~~body",
        "HTTP/1.1 200 X~A: b\u0000~Content-Length: 4~~body",
        "HTTP/1.1 20 X~Content-Length: 4~~body",
        "HTTP/3.1 200 X~Content-Length: 4~~body",
        "nonsense~~"
      })
  void aResponseThatIsUnclearIs502(String response) throws Exception {
    var stored = raw(response).replaceFirst("~~", "~Cache-Control: max-age=60~~");
    origin.then(
        (_, wire) -> {
          wire.send(stored);
          wire.socket().close();
        });
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      assertEquals(502, browser.get("/a").status());
      int asked = origin.count();
      assertEquals(502, browser.get("/a").status());
      assertTrue(origin.count() > asked, "nothing was stored");
    }
  }

  @Test
  void aResponseThatMoreFollowsIsNotStored() throws Exception {
    origin
        .then(
            (_, wire) ->
                wire.send(
                    ScriptedOrigin.response(200, "1", "Cache-Control: max-age=60")
                        + ScriptedOrigin.response(200, "evil", "Cache-Control: max-age=60")))
        .then(200, "2", "Cache-Control: max-age=60");
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      assertEquals(502, browser.get("/a").status());
    }
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      assertEquals("2", browser.get("/b").body());
      assertEquals("2", browser.get("/a").body());
    }
  }

  /** RFC 9112 §6.3: such a response ends with its head. What is behind it answers nobody. */
  @Test
  void whatFollowsAHeadThatIsAllAnswersNobody() throws Exception {
    var evil = ScriptedOrigin.response(200, "evil", "Cache-Control: max-age=60");
    var head = raw("HTTP/1.1 200 OK~Content-Length: 4~~");
    var none = raw("HTTP/1.1 204 No Content~~");
    var same = raw("HTTP/1.1 304 Not Modified~ETag: \"a\"~Cache-Control: max-age=60~~");
    origin
        .then((_, wire) -> wire.send(head + evil))
        .then((_, wire) -> wire.send(none + evil))
        .then(200, "page", "Cache-Control: max-age=0", "ETag: \"a\"")
        .then((_, wire) -> wire.send(same + evil))
        .then(200, "2");
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      assertEquals(200, browser.head("/a").status());
      assertEquals(204, browser.get("/b").status());
      assertEquals("page", browser.get("/c").body());
      assertEquals("page", browser.get("/c").body(), "it was validated");
      assertEquals("2", browser.get("/d").body());
    }
  }

  @Test
  void theAbsoluteFormBeatsHost() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: max-age=60");
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      assertEquals("1", browser.get("http://one/a").body());
      var request = origin.next();
      assertEquals("GET /a HTTP/1.1", request.line());
      assertEquals("one", request.field("Host"));
      assertEquals("2", browser.get("/a").body(), "what another host has is another's");
    }
  }
}
