package dev.evergreen.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import javax.net.ssl.SNIHostName;
import org.junit.jupiter.api.Test;

/** Which certificate a client asks for. */
class ClientTlsTest {
  @Test
  void aNameThatCannotBeToldIsNotAskedFor() throws Exception {
    var tls = ClientTls.trustingPublic();
    for (var host : List.of("a_b.example", "a.example.", "127.0.0.1", "::1", "a..b")) {
      var names = tls.engine(host, 443).getSSLParameters().getServerNames();
      assertEquals(List.of(), names, host);
    }
    assertEquals(
        List.of(new SNIHostName("a.example")),
        tls.engine("a.example", 443).getSSLParameters().getServerNames());
  }
}
