package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.MemoryPair;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What passes a relay is the same on both sides, byte for byte, and is seen as messages. */
@Timeout(60)
class RelayTest {

  /** Writes down what it sees, each direction for itself. */
  private static final class Seen implements Relay.Observer {
    private final StringBuilder requests = new StringBuilder();
    private final StringBuilder responses = new StringBuilder();

    @Override
    public void request(RequestHead head) {
      requests.append(head.method()).append(' ').append(head.target()).append('[');
    }

    @Override
    public void response(ResponseHead head) {
      responses.append(head.status()).append('[');
    }

    @Override
    public void body(boolean ofRequest, ByteBuffer part) {
      (ofRequest ? requests : responses).append(StandardCharsets.ISO_8859_1.decode(part));
    }

    @Override
    public void end(boolean ofRequest, Fields trailers) {
      (ofRequest ? requests : responses).append(trailers).append(']');
    }
  }

  /** A relay between two ends that a test holds. */
  private static final class Relayed implements AutoCloseable {
    final MemoryPair client;
    final MemoryPair server;
    final Seen seen = new Seen();
    final CompletableFuture<Integer> ended;

    Relayed(int piece) {
      client = MemoryPair.of(Talk.FIBERS, MemoryPair.CAPACITY, piece);
      server = MemoryPair.of(Talk.FIBERS, MemoryPair.CAPACITY, piece);
      ended =
          Talk.start(
              () -> {
                Relay.run(Talk.FIBERS, HttpSettings.DEFAULT, seen, client.far(), server.near());
                return 0;
              });
    }

    @Override
    public void close() {
      client.close();
      server.close();
    }
  }

  private static final String REQUESTS =
      "POST /%41?x=\"y\" HTTP/1.1\r\nhOST:a\r\nX:  b \t\r\nTransfer-Encoding: Chunked\r\nX:c\r\n\r\n"
          .concat(
              "0003 ; a=\"b\"\r\nabc\r\n0\r\nT: u\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: c\r\n\r\n")
          .concat("HEAD / HTTP/1.0\r\n\r\n");
  private static final String RESPONSES =
      "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Length:3\r\nx: \ty\r\n\r\nabc"
          .concat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;z\r\nab\r\n0\r\n\r\n")
          .concat("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");

  @Test
  void allPassesAsItIs() throws Exception {
    for (int piece : new int[] {1, 3, 10, MemoryPair.CAPACITY}) {
      try (var relayed = new Relayed(piece)) {
        Talk.write(relayed.client.near(), REQUESTS);
        relayed.client.near().shutdownOutput();
        assertEquals(REQUESTS, Talk.all(relayed.server.far()));
        Talk.write(relayed.server.far(), RESPONSES);
        relayed.server.far().shutdownOutput();
        assertEquals(RESPONSES, Talk.all(relayed.client.near()));
        relayed.ended.join();
        assertEquals(
            "POST /%41?x=\"y\"[abcT: u\r\n]GET http://b/[]HEAD /[]",
            relayed.seen.requests.toString());
        assertEquals("100[200[abc]200[ab]200[]", relayed.seen.responses.toString());
      }
    }
  }

  @Test
  void whatLeavesHttpPassesAsBytes() throws Exception {
    try (var relayed = new Relayed(MemoryPair.CAPACITY)) {
      var ask = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
      Talk.write(relayed.client.near(), ask + "\0\1\2");
      assertEquals(ask, Talk.until(relayed.server.far(), "\r\n\r\n"));
      var answer = "HTTP/1.1 101 Yes\r\nUpgrade: x\r\n\r\n";
      Talk.write(relayed.server.far(), answer + "\3\4");
      assertEquals(answer + "\3\4", Talk.until(relayed.client.near(), "\4"));
      relayed.client.near().shutdownOutput();
      assertEquals("\0\1\2", Talk.all(relayed.server.far()));
      Talk.write(relayed.server.far(), "\5");
      relayed.server.far().shutdownOutput();
      assertEquals("\5", Talk.all(relayed.client.near()));
      relayed.ended.join();
    }
  }

  @Test
  void whoIsNotLetOutGoesOn() throws Exception {
    try (var relayed = new Relayed(MemoryPair.CAPACITY)) {
      var ask = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
      for (int i = 0; i < 3; i++) {
        Talk.write(relayed.client.near(), ask);
        assertEquals(ask, Talk.until(relayed.server.far(), "\r\n\r\n"));
        Talk.write(relayed.server.far(), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!");
        assertTrue(Talk.until(relayed.client.near(), "!").endsWith("!"));
      }
    }
  }

  @Test
  void whatIsNoHttpDoesNotPass() throws Exception {
    try (var relayed = new Relayed(MemoryPair.CAPACITY)) {
      var bad = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
      Talk.write(relayed.client.near(), "POST / HTTP/1.1\r\nHost: a\r\n" + bad);
      var ended = assertThrows(CompletionException.class, relayed.ended::join);
      assertInstanceOf(MalformedMessageException.class, ended.getCause());
      assertTrue(Talk.all(relayed.server.far()).endsWith("[reset]"));
      assertTrue(Talk.all(relayed.client.near()).endsWith("[reset]"));
    }
  }
}
