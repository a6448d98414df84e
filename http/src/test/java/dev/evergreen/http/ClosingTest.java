package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Fibers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Filter;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that is closed while it answers. */
@Timeout(60)
class ClosingTest {
  private static final String BY_HTTP_1 = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

  /** The preface, empty settings, and a GET of / at a. */
  private static final String BY_HTTP_2 =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
          + "\0\0\0\4\0\0\0\0\0"
          + "\0\0\6\1\5\0\0\0\1"
          + "\u0082\u0086\u0084\u0001\1a";

  /** Seen: a stack trace, as something that could not be begun any more was taken for a fault. */
  @Test
  void whatCannotBeBegunAsAllEndsIsNoFault() throws Exception {
    for (var request : List.of(BY_HTTP_1, BY_HTTP_2)) {
      var logged = new ConcurrentLinkedQueue<LogRecord>();
      Filter keep =
          event -> {
            logged.add(event);
            return false;
          };
      var log = Logger.getLogger(HttpServer.class.getName());
      log.setFilter(keep);
      try {
        closeWhileItAnswers(request);
      } finally {
        log.setFilter(null);
      }
      assertEquals(List.of(), logged.stream().map(LogRecord::getThrown).toList());
    }
  }

  private static void closeWhileItAnswers(String request) throws Exception {
    var begun = new CountDownLatch(1);
    var refused = new CountDownLatch(1);
    var runtime = new CompletableFuture<Fibers>();
    Handler handler =
        exchange -> {
          begun.countDown();
          try {
            Thread.sleep(Duration.ofDays(1));
          } catch (InterruptedException e) {
            refused.countDown();
            runtime.join().spawn(() -> {});
          }
        };
    var server = TestServer.start(handler);
    runtime.complete(server.fibers());
    try (var client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      send(client, request);
      begun.await();
    } finally {
      server.close();
    }
    refused.await();
  }

  private static void send(Socket client, String request) throws IOException {
    client.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
  }
}
