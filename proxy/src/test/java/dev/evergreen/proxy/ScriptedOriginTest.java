package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.Socket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What tests rely on when their origin fails. */
@Timeout(60)
class ScriptedOriginTest {

  /** Seen: whoever connected at once after its end was still answered, on a busy machine. */
  @Test
  void nobodyIsAnsweredAfterItsEnd() throws Exception {
    for (int i = 0; i < 300; i++) {
      var origin = new ScriptedOrigin().then(200, "page");
      origin.close();
      var address = origin.origin();
      assertThrows(IOException.class, () -> ask(address.host(), address.port()));
    }
  }

  private static void ask(String host, int port) throws IOException {
    try (var socket = new Socket(host, port)) {
      socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(US_ASCII));
      if (socket.getInputStream().read() < 0) {
        throw new IOException("it was closed");
      }
    }
  }
}
