package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who the client is, by the word of those that are trusted. */
@Timeout(60)
class ProxyProtocolTest {
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final String SIGNATURE = "\r\n\r\n\0\r\nQUIT\n";

  private final ScriptedOrigin origin = new ScriptedOrigin().then(200, "");
  private @Nullable Proxy proxy;

  ProxyProtocolTest() throws IOException {}

  private Browser connect(String trusted, boolean accepts) throws IOException {
    var started =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(List.of(ANY))
                .withOrigins(List.of(origin.origin()))
                .withStorage(StorageOptions.memory(1 << 20))
                .withTrust(new Trust(List.of(Trust.Network.parse(trusted))))
                .withProxyProtocol(accepts)
                .withAdmin(ANY)
                .withProcessors(1));
    proxy = started;
    return new Browser(started.addresses().getFirst());
  }

  @AfterEach
  void end() {
    origin.close();
    if (proxy != null) {
      proxy.close();
    }
  }

  private String client() {
    return Objects.requireNonNull(proxy).log().last().getLast().client();
  }

  private void assertClient(String expected, String header) throws IOException {
    try (var browser = connect("127.0.0.0/8", true)) {
      browser.send(header);
      assertEquals(200, browser.get("/").status());
    }
    assertEquals(expected, client());
  }

  @ParameterizedTest
  @CsvSource({
    "192.0.2.1, PROXY TCP4 192.0.2.1 192.0.2.2 1 2",
    "2001:db8:0:0:0:0:0:1, PROXY TCP6 2001:db8::1 ::1 1 2",
    "127.0.0.1, PROXY UNKNOWN",
    "127.0.0.1, PROXY UNKNOWN what ever"
  })
  void aLineNamesTheClient(String client, String line) throws IOException {
    assertClient(client, line + "\r\n");
  }

  @Test
  void bytesNameTheClient() throws IOException {
    assertClient("192.0.2.1", SIGNATURE + "!\21\0\14\300\0\2\1\177\0\0\1\0\1\0\2");
  }

  @Test
  void aCheckOfTheBalancersIsItsOwn() throws IOException {
    assertClient("127.0.0.1", SIGNATURE + " \0\0\0");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PROXY TCP4 name 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1\r\n",
        "PROXY TCP9 192.0.2.1 192.0.2.2 1 2\r\n",
        SIGNATURE + "\21\21\0\0",
        SIGNATURE + "!\21\0\4abcd"
      })
  void whatIsWrongEndsTheConnection(String header) throws IOException {
    try (var browser = connect("127.0.0.0/8", true)) {
      browser.send(header);
      assertThrows(IOException.class, browser::receive);
    }
    assertEquals(0, origin.count());
  }

  @Test
  void strangersAreNotAskedForIt() throws IOException {
    try (var browser = connect("10.0.0.0/8", true)) {
      assertEquals(200, browser.get("/").status());
    }
    assertEquals("127.0.0.1", client());
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.0/8, '192.0.2.1', 192.0.2.1",
    "127.0.0.0/8, '192.0.2.9, 192.0.2.1', 192.0.2.1",
    "127.0.0.0/8, '192.0.2.1, 127.0.0.9', 192.0.2.1",
    "127.0.0.0/8, 'x', 127.0.0.1",
    "10.0.0.0/8, '192.0.2.1', 127.0.0.1",
    "127.0.0.1, '192.0.2.1', 192.0.2.1",
    "127.0.0.2, '192.0.2.1', 127.0.0.1"
  })
  void aFieldNamesTheClientIfItsSenderIsTrusted(String trusted, String field, String client)
      throws IOException {
    try (var browser = connect(trusted, false)) {
      browser.get("/", "X-Forwarded-For: " + field);
    }
    assertEquals(client, client());
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1, https, 200",
    "127.0.0.1, http, 421",
    "127.0.0.1, x, 421",
    "10.0.0.0/8, https, 421"
  })
  void whoIsTrustedMayHaveEndedTheTlsOfAWholeUri(String trusted, String told, int status)
      throws IOException {
    try (var browser = connect(trusted, false)) {
      assertEquals(status, browser.get("https://test/a", "X-Forwarded-Proto: " + told).status());
    }
  }

  @Test
  void theSchemeIsThatOfTheClient() throws Exception {
    try (var browser = connect("127.0.0.1", false)) {
      browser.get("/", "X-Forwarded-Proto: https", "X-Forwarded-For: 192.0.2.1");
    }
    var request = origin.next();
    assertEquals("https", request.field("X-Forwarded-Proto"));
    assertEquals("192.0.2.1, 127.0.0.1", request.field("X-Forwarded-For"));
    assertEquals("for=127.0.0.1;proto=https;host=\"test\"", request.field("Forwarded"));
  }
}
