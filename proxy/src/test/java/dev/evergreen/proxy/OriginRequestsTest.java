package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.Inet6Address;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;

/** What origins are told. */
final class OriginRequestsTest {

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
