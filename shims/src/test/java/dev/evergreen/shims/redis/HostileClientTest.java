package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that mean no good, or are met by others that mean none. */
@Timeout(60)
class HostileClientTest {
  private static Shimmed shimmed;

  @BeforeAll
  static void start() throws IOException {
    shimmed = Shimmed.start();
  }

  @AfterAll
  static void end() {
    if (shimmed != null) {
      shimmed.close();
    }
  }

  private static String said(int port, String bytes) throws IOException {
    try (var talk = Talk.to(port)) {
      talk.send(Inline.ascii(bytes));
      return talk.rest();
    }
  }

  /** Says what is no request, and more and more until the connection is ended. */
  private static String flooded(int port) throws IOException {
    try (var talk = Talk.to(port)) {
      talk.send(new byte[] {'*', 0});
      var more = Inline.ascii("A".repeat(1024) + "\n");
      while (true) {
        try {
          talk.send(more);
        } catch (SocketException e) {
          return talk.rest();
        }
      }
    }
  }

  /** Seen: the client was let go as soon as Redis took no more, before it had heard why. */
  @Test
  void whoFloodsHearsWhatIsWrong() throws IOException {
    var expected = flooded(shimmed.redis.port);
    assertTrue(expected.startsWith("-ERR Protocol error"), expected);
    for (int i = 0; i < 60; i++) {
      assertEquals(expected, flooded(shimmed.port()));
    }
  }

  /** What is declared is refused before it has come. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "*1\r\n$536870913\r\n",
        "*1\r\n$3000000000\r\n",
        "*2\r\n$3\r\nGET\r\n$4000000000000000000\r\n",
        "PING\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$536870913\r\n"
      })
  void whatIsTooLongIsRefusedAtOnce(String bytes) throws IOException {
    var expected = said(shimmed.redis.port, bytes);
    assertTrue(expected.endsWith("Protocol error: invalid bulk length\r\n"), expected);
    assertEquals(expected, said(shimmed.port(), bytes));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "*20\r\n",
        "*1\r\n$20000\r\n",
        "*2\r\n$4\r\nAUTH\r\n$16385\r\n",
        "PING\r\n*11\r\n"
      })
  void whoIsNotKnownYetMaySayLittle(String bytes) throws IOException {
    shimmed.redis.ask("CONFIG", "SET", "requirepass", "word");
    try (var client = Talk.to(shimmed.redis.port)) {
      client.ask("AUTH", "word");
      try (var fresh = Shimmed.before(shimmed.redis, "word")) {
        var expected = said(shimmed.redis.port, bytes);
        assertTrue(expected.contains("Protocol error: unauthenticated"), expected);
        assertEquals(expected, said(Shimmed.port(fresh), bytes));
      } finally {
        client.ask("CONFIG", "SET", "requirepass", "");
      }
    }
  }

  /** Who has an upstream of their own goes on by that. */
  @Test
  void aClientOutlivesTheLaneThatItHasKilled() throws IOException {
    try (var killer = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+OK\r\n", other.ask("SET", "a", "1"));
      assertEquals("$1\r\n1\r\n", killer.ask("GET", "a"));
      assertEquals("$-1\r\n", killer.ask("CLIENT", "GETNAME"));
      var killed = killer.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      assertTrue(killed.startsWith(":"), killed);
      assertEquals("", other.rest());
      assertEquals("$1\r\n1\r\n", killer.ask("GET", "a"));
      try (var next = shimmed.client()) {
        assertEquals("$1\r\n1\r\n", next.ask("GET", "a"));
      }
    }
  }
}
