package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import java.net.Inet6Address;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What origins are told. */
final class OriginRequestsTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '\'',
      nullValues = "-",
      value = {
        "websocket       ; websocket",
        "a/1 ,, b        ; a/1, b",
        "h2c             ; -",
        "a, H2C          ; -",
        "a, http/2       ; -",
        "a\", h2c        ; -",
        "\"a, h2c        ; -",
        "\"a, h2c\", b    ; -",
        "a/b/c           ; -",
        "a b             ; -",
        "a/              ; -",
      })
  void onlyWhatIsAProtocolIsAskedFor(String wanted, @Nullable String passes) {
    var fields = Fields.of("Host", "a", "Connection", "upgrade", "Upgrade", wanted);
    var expected = passes == null ? "" : passes;
    assertEquals(expected, OriginRequests.upgrade(RequestHead.of("GET", "/", fields)));
  }

  /** Seen: with the name of an interface, which no address in these fields has. */
  @Test
  void anAddressIsToldAsTheFieldsHaveIt() throws Exception {
    var link = new byte[16];
    link[0] = (byte) 0xfe;
    link[1] = (byte) 0x80;
    link[15] = 1;
    assertEquals(
        "\"[fe80:0:0:0:0:0:0:1]\"", OriginRequests.node(Inet6Address.getByAddress("", link, 1)));
    assertEquals("127.0.0.1", OriginRequests.node(InetAddress.ofLiteral("127.0.0.1")));
  }
}
