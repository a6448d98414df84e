package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.MemoryPair;
import dev.evergreen.fibers.TestBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a client of HTTP/1.1 sees of a server. */
@Timeout(60)
class Http1ServerTest {
  private static final int WAITING = 300;
  private static final String HOST = "Host: a\r\n";
  private static final String CHUNKED = "Transfer-Encoding: Chunked\r\n\r\n";

  private static String ok(String body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
  }

  private static Handler responds(ResponseHead head, String... pieces) {
    return exchange -> {
      var out = exchange.respond(head);
      for (var piece : pieces) {
        out.write(Talk.bytes(piece));
      }
      out.end();
    };
  }

  @Test
  void aBodyThatWasDroppedLeavesNoDeadlineBehind() throws Exception {
    var time = Duration.ofMillis(50);
    var settings = HttpSettings.DEFAULT.withDrained(1000, time);
    var empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    try (var pair = MemoryPair.of(Talk.FIBERS, MemoryPair.CAPACITY, MemoryPair.CAPACITY)) {
      var served =
          Talk.serve(
              responds(ResponseHead.of(200, Fields.of("Content-Length", "0"))),
              settings,
              pair.far());
      Talk.write(pair.near(), "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\n\r\nabc");
      assertEquals(empty, Talk.until(pair.near(), "\r\n\r\n"));
      Thread.sleep(time.multipliedBy(3)); // longer than what was left might have taken
      Talk.write(pair.near(), "GET / HTTP/1.1\r\n" + HOST + "\r\n");
      assertEquals(empty, Talk.until(pair.near(), "\r\n\r\n"));
      pair.near().shutdownOutput();
      served.join();
    }
  }

  /** Seen: when as many waited for their answers as there may be buffers, no answer could come. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "\r\n",
        "\r\nG",
        "Content-Length: 3\r\n\r\nabc",
        CHUNKED + "3\r\nabc\r\n0\r\n\r\n"
      })
  void whoWaitsForAnAnswerKeepsNoBuffer(String rest) throws Exception {
    var asked = new CountDownLatch(WAITING);
    var answers = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          var body = Talk.text(exchange.body());
          exchange.keepNoBuffer();
          asked.countDown();
          await(answers);
          exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(Talk.bytes(body + "|")));
        };
    var served = new ArrayList<CompletableFuture<Integer>>();
    var pairs = new ArrayList<MemoryPair>();
    try {
      for (int i = 0; i < WAITING; i++) {
        pairs.add(MemoryPair.of(Talk.FIBERS));
        served.add(Talk.serve(handler, HttpSettings.DEFAULT, pairs.getLast().far()));
        Talk.write(pairs.getLast().near(), "POST / HTTP/1.1\r\n" + HOST + rest);
      }
      asked.await();
      int taken = Buffers.count();
      // Some lie ready at processors.
      assertTrue(taken < WAITING / 2, () -> taken + " buffers for " + WAITING + " that wait");
      answers.countDown();
      for (var pair : pairs) {
        assertTrue(Talk.until(pair.near(), "|").startsWith("HTTP/1.1 200 OK"));
        pair.near().shutdownOutput();
      }
      served.forEach(CompletableFuture::join);
    } finally {
      answers.countDown();
      pairs.forEach(MemoryPair::close);
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  @Test
  void pipelinedRequestsAreAnsweredInOrder() throws Exception {
    var sent = new StringBuilder();
    var expected = new StringBuilder();
    for (int i = 0; i < 100; i++) {
      sent.append("POST /" + i + " HTTP/1.1\r\n" + HOST + "Content-Length: 2\r\n\r\nab");
      expected.append(ok("POST /" + i + " a /" + i + "|ab|"));
    }
    assertEquals(expected.toString(), Talk.answer(Talk::echo, sent.toString()));
  }

  @Test
  void everyCutGivesTheSame() throws Exception {
    var sent =
        "\r\nPOST /a?b HTTP/1.1\r\nHost: a:80\r\nX:  y \t\r\nConnection: Z\r\n"
            + CHUNKED
            + "3\r\nabc\r\n0000A ; x=\"y\";z\r\n0123456789\r\n0\r\nT: u\r\nHost: evil\r\nz: 1\r\n\r\n"
            + "GET http://b/c HTTP/1.1\r\nHost: a\r\n\r\n"
            + "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde";
    var whole = Talk.answer(Talk::echo, sent);
    assertEquals(
        ok("POST /a?b a:80 /a?b|abc0123456789|T: u\r\n")
            + ok("GET http://b/c b /c||")
            + ok("PUT / a /|abcde|").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
        whole);
    for (int piece = 1; piece < 40; piece++) {
      assertEquals(whole, Talk.answer(Talk::echo, HttpSettings.DEFAULT, sent, piece));
    }
    for (int cut = 1; cut < sent.length(); cut++) {
      var answer = Talk.answer(Talk::echo, sent.substring(0, cut));
      // Nothing that is not whole is answered as if it were.
      int refused = answer.indexOf("HTTP/1.1 400 ");
      var others = refused < 0 ? answer : answer.substring(0, refused);
      assertTrue(whole.startsWith(others), () -> answer);
    }
  }

  @Test
  void headAnd204And304HaveNoBodies() throws Exception {
    var two = "GET / HTTP/1.1\r\n" + HOST + "\r\nGET / HTTP/1.1\r\n" + HOST + "\r\n";
    var head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    assertEquals(
        head + head,
        Talk.answer(
            e -> e.respond(ResponseHead.of(200), ByteBuffer.wrap(Talk.bytes("abc"))),
            two.replace("GET", "HEAD")));
    assertEquals(
        head + head,
        Talk.answer(
            responds(ResponseHead.of(200, Fields.of("Content-Length", "3")), "abc"),
            two.replace("GET", "HEAD")));
    assertEquals(
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n".repeat(2),
        Talk.answer(responds(ResponseHead.of(304, Fields.of("Content-Length", "3")), "abc"), two));
    assertEquals(
        "HTTP/1.1 204 No Content\r\n\r\n".repeat(2),
        Talk.answer(responds(ResponseHead.of(204), "abc"), two));
  }

  @Test
  void aResponseWithoutLengthHasChunksAndTrailers() throws Exception {
    Handler handler =
        exchange -> {
          var out = exchange.respond(ResponseHead.of(200));
          out.write(Talk.bytes("abc"));
          out.write(new byte[0]);
          out.write(ByteBuffer.allocateDirect(40_000).put(0, (byte) 'x'));
          out.end(Fields.of("T", "u", "Content-Length", "7"));
        };
    var answer = Talk.answer(handler, "GET / HTTP/1.1\r\n" + HOST + "\r\n");
    assertEquals(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n9c40\r\nx"
            + "\0".repeat(39_999)
            + "\r\n0\r\nT: u\r\n\r\n",
        answer);
  }

  @Test
  void clientsOfOldKeepTheConnectionIfTheySaySo() throws Exception {
    var old = "GET / HTTP/1.0\r\n\r\n";
    var keeping = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    Handler sized = e -> e.respond(ResponseHead.of(200), ByteBuffer.wrap(Talk.bytes("a")));
    var closes = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na";
    var stays = closes.replace("close", "keep-alive");
    assertEquals(closes, Talk.answer(sized, old + old));
    assertEquals(stays + closes, Talk.answer(sized, keeping + old + old));
    assertEquals(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc",
        Talk.answer(responds(ResponseHead.of(200), "ab", "c"), keeping + keeping));
  }

  @Test
  void fieldsOfTheConnectionAreLeftOut() throws Exception {
    var fields =
        Fields.of(
            "Connection", "x-mine, close",
            "X-Mine", "1",
            "Keep-Alive", "timeout=3",
            "Proxy-Connection", "close",
            "Transfer-Encoding", "gzip",
            "Upgrade", "h2c",
            "TE", "trailers",
            "Content-Length", "1",
            "X-Other", "2");
    var get = "GET / HTTP/1.1\r\n" + HOST + "\r\n";
    assertEquals(
        "HTTP/1.1 200 OK\r\nX-Other: 2\r\nContent-Length: 1\r\n\r\na".repeat(2),
        Talk.answer(responds(ResponseHead.of(200, fields), "a"), get + get));
  }

  @Test
  void keptLinesAreSentAsTheyAre() throws Exception {
    var lines = ByteBuffer.allocateDirect(10).put(Talk.bytes("A: b\r\nC:d")).put((byte) 13);
    Handler handler =
        exchange -> {
          var kept = ByteBuffer.wrap(Talk.bytes("A: b\r\nC:d\r\n"));
          var body = ByteBuffer.allocateDirect(30_000);
          exchange.respond(200, kept, Fields.of("Age", "1"), body, ByteBuffer.allocateDirect(1));
        };
    assertEquals(10, lines.position());
    var head = "HTTP/1.1 200 OK\r\nA: b\r\nC:d\r\nAge: 1\r\nContent-Length: 30001\r\n\r\n";
    assertEquals(
        head + "\0".repeat(30_001) + head,
        Talk.answer(
            handler, "GET / HTTP/1.1\r\n" + HOST + "\r\nHEAD / HTTP/1.1\r\n" + HOST + "\r\n"));
  }

  @Test
  void filesAreSent(@TempDir Path directory) throws Exception {
    var file = Files.writeString(directory.resolve("f"), "0123456789");
    Handler handler =
        exchange -> {
          try (var channel = FileChannel.open(file)) {
            var out = exchange.respond(ResponseHead.of(200, Fields.of("Content-Length", "5")));
            out.write(channel, 3, 5);
            out.end();
          }
        };
    var answer = Talk.answer(handler, "GET / HTTP/1.1\r\n" + HOST + "\r\n");
    assertEquals("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n34567", answer);
  }

  @Test
  void whoWaitsFor100IsToldWhenTheBodyIsRead() throws Exception {
    try (var pair = MemoryPair.of(Talk.FIBERS)) {
      var served = Talk.serve(Talk::echo, HttpSettings.DEFAULT, pair.far());
      var head = "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\nExpect: 100-Continue\r\n\r\n";
      Talk.write(pair.near(), head);
      assertEquals("HTTP/1.1 100 Continue\r\n\r\n", Talk.until(pair.near(), "\r\n\r\n"));
      Talk.write(pair.near(), "abc");
      assertEquals(ok("POST / a /|abc|"), Talk.until(pair.near(), "|abc|"));
      // Who sends the body at once needs not be told.
      Talk.write(pair.near(), head + "abc");
      assertEquals(ok("POST / a /|abc|"), Talk.until(pair.near(), "|abc|"));
      pair.near().close();
      served.join();
    }
  }

  @Test
  void a100OfTheHandlersIsSentOnceAndNotToClientsOfOld() throws Exception {
    Handler handler =
        exchange -> {
          exchange.inform(ResponseHead.of(103, Fields.of("Link", "</a>")));
          if (exchange.awaitsContinue()) {
            exchange.inform(ResponseHead.of(100));
          }
          Talk.echo(exchange);
        };
    var head =
        "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc";
    assertEquals(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
            + ok("POST / a /|abc|"),
        Talk.answer(handler, head));
    assertTrue(
        Talk.answer(handler, head.replace("HTTP/1.1", "HTTP/1.0")).startsWith("HTTP/1.1 200 OK"));
  }

  @Test
  void whoIsRefusedBeforeTheBodyIsNotReadAsIfItFollowed() throws Exception {
    Handler refuses = e -> e.respond(ResponseHead.of(413), ByteBuffer.allocate(0));
    var sent =
        "POST / HTTP/1.1\r\n"
            + HOST
            + "Content-Length: 40\r\nExpect: 100-continue\r\n\r\n"
            + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    assertEquals(
        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        Talk.answer(refuses, sent));
  }

  @Test
  void anUnreadBodyIsDroppedUpToALimit() throws Exception {
    Handler handler = e -> e.respond(ResponseHead.of(200), ByteBuffer.allocate(0));
    var settings = HttpSettings.DEFAULT.withDrained(1000, Duration.ofSeconds(5));
    var next = "GET / HTTP/1.1\r\n" + HOST + "\r\n";
    var ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (var framing :
        List.of("Content-Length: 1000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3e8\r\n")) {
      var body = "x".repeat(1000) + (framing.startsWith("T") ? "\r\n0\r\n\r\n" : "");
      var sent = "POST / HTTP/1.1\r\n" + HOST + framing + body + next;
      assertEquals(ok + ok, Talk.answer(handler, settings, sent, 1000));
    }
    var large = "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 1001\r\n\r\n" + "x".repeat(1001);
    assertEquals(
        ok.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
        Talk.answer(handler, settings, large + next, 1000));
    var chunks =
        "POST / HTTP/1.1\r\n"
            + HOST
            + "Transfer-Encoding: chunked\r\n\r\n"
            + ("64\r\n" + "x".repeat(100) + "\r\n").repeat(100)
            + "0\r\n\r\n";
    assertEquals(ok, Talk.answer(handler, settings, chunks + next, 1000));
  }

  @Test
  void aBodyIsAnsweredWhileItStillComes() throws Exception {
    Handler handler =
        exchange -> {
          var out = exchange.respond(ResponseHead.of(200));
          var piece = ByteBuffer.allocate(10);
          while (exchange.body().read(piece.clear()) >= 0) {
            out.write(piece.flip());
          }
          out.end();
        };
    try (var pair = MemoryPair.of(Talk.FIBERS)) {
      var served = Talk.serve(handler, HttpSettings.DEFAULT, pair.far());
      Talk.write(pair.near(), "POST / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n");
      Talk.until(pair.near(), "\r\n\r\n");
      for (int i = 0; i < 10; i++) {
        Talk.write(pair.near(), "1\r\n" + i + "\r\n");
        assertEquals("1\r\n" + i + "\r\n", Talk.until(pair.near(), "\r\n" + i + "\r\n"));
      }
      Talk.write(pair.near(), "0\r\n\r\n");
      assertEquals("0\r\n\r\n", Talk.until(pair.near(), "\r\n\r\n"));
      pair.near().shutdownOutput();
      served.join();
    }
  }

  @Test
  void aBodyThatIsCutOffIsNotWhole() throws Exception {
    var seen = new ArrayList<Exception>();
    Handler handler =
        exchange -> {
          try {
            Talk.echo(exchange);
          } catch (IOException e) {
            seen.add(e);
            throw e;
          }
        };
    var post = "POST / HTTP/1.1\r\n" + HOST;
    for (var cut :
        List.of(
            "Content-Length: 3\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")) {
      var answer = Talk.answer(handler, post + cut);
      assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
      assertEquals(IncompleteMessageException.class, seen.removeFirst().getClass());
    }
  }

  @Test
  void whoAwaitsABodyWhoseEndWasSeenDoesNotWait() throws Exception {
    try (var pair = MemoryPair.of(Talk.FIBERS)) {
      Talk.write(pair.near(), "abc");
      pair.near().shutdownOutput();
      var result =
          Talk.start(
              () -> {
                try (var in = new Input(pair.far())) {
                  while (!in.ended()) {
                    var _ = in.fill();
                  }
                  var reader = new Http1Reader(in, HttpSettings.DEFAULT, false);
                  reader.begin(4);
                  var into = ByteBuffer.allocate(3);
                  assertEquals(3, reader.tryRead(into));
                  reader.await();
                  return assertThrows(
                      IncompleteMessageException.class, () -> reader.tryRead(into.clear()));
                }
              });
      result.join();
    }
  }

  @Test
  void aResponseThatIsNotWholeDoesNotLookLikeOne() throws Exception {
    var get = "GET / HTTP/1.1\r\n" + HOST + "\r\n";
    Handler fails =
        exchange -> {
          exchange.respond(ResponseHead.of(200)).write(Talk.bytes("abc"));
          throw new IOException("the origin died");
        };
    assertTrue(Talk.answer(fails, get + get).endsWith("[reset]"));
    Handler forgets = e -> e.respond(ResponseHead.of(200)).write(Talk.bytes("abc"));
    assertTrue(Talk.answer(forgets, get + get).endsWith("[reset]"));
    Handler lies = responds(ResponseHead.of(200, Fields.of("Content-Length", "4")), "abc");
    assertTrue(Talk.answer(lies, get + get).endsWith("[reset]"));
    Handler more = responds(ResponseHead.of(200, Fields.of("Content-Length", "2")), "abc");
    assertTrue(Talk.answer(more, get + get).endsWith("[reset]"));
  }

  @Test
  void whatIsNotAnsweredIs500() throws Exception {
    var get = "GET / HTTP/1.1\r\n" + HOST + "\r\n";
    Handler nothing = _ -> {};
    assertTrue(Talk.answer(nothing, get).startsWith("HTTP/1.1 500 "));
    Handler fails =
        _ -> {
          throw new IllegalStateException("as a test wants it");
        };
    assertTrue(Talk.answer(fails, get).startsWith("HTTP/1.1 500 "));
  }

  /** Seen: it was told as a fault of the server's, and logged as one. */
  @Test
  void whoFindsNoBufferIs503() throws Exception {
    Handler findsNone =
        _ -> {
          throw TestBuffers.exhausted();
        };
    var answer = Talk.answer(findsNone, "GET / HTTP/1.1\r\n" + HOST + "\r\n");
    assertTrue(answer.startsWith("HTTP/1.1 503 "), answer);
    try (var client = Http2Client.connect(findsNone)) {
      client.headers(1, true, Http2Client.request("GET", "/"));
      assertEquals("503 ", client.response(1));
    }
  }

  @Test
  void tunnelsPassBytesBothWaysAndEndEachByItself() throws Exception {
    Handler handler =
        exchange -> {
          var connects = exchange.request().is("CONNECT");
          var tunnel =
              exchange.tunnel(
                  connects
                      ? ResponseHead.of(200)
                      : ResponseHead.of(101, Fields.of("Upgrade", "echo")));
          var all = Talk.text(tunnel.in());
          tunnel.out().write(Talk.bytes("<" + all + ">"));
          tunnel.out().end();
        };
    // Bytes may follow the head at once.
    assertEquals(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n<abcdef>",
        Talk.answer(
            handler,
            "GET / HTTP/1.1\r\n" + HOST + "Connection: x, Upgrade\r\nUpgrade: echo\r\n\r\nabcdef"));
    assertEquals(
        "HTTP/1.1 200 OK\r\n\r\n<GET / HTTP/1.1\r\n\r\n>",
        Talk.answer(handler, "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\nGET / HTTP/1.1\r\n\r\n"));
    var refused = new CompletableFuture<Throwable>();
    Handler wrong =
        exchange -> {
          refused.complete(
              assertThrows(
                  IllegalStateException.class, () -> exchange.tunnel(ResponseHead.of(101))));
          assertFalse(exchange.responded());
          Talk.echo(exchange);
        };
    Talk.answer(wrong, "GET / HTTP/1.1\r\n" + HOST + "\r\n");
    assertTrue(refused.isDone());
  }

  @Test
  void whatFollowsATunnelThatIsRefusedIsNoRequest() throws Exception {
    Handler refuses = exchange -> exchange.respond(ResponseHead.of(405), ByteBuffer.allocate(0));
    var answer =
        Talk.answer(
            refuses,
            "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\nGET /smuggled HTTP/1.1\r\n"
                + HOST
                + "\r\n");
    assertEquals(2, answer.split("HTTP/1.1 405", -1).length, "the client may speak for others");
    assertTrue(answer.contains("Connection: close\r\n"), answer);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Authorization",
        "Cookie",
        "Content-Type",
        "Content-Encoding",
        "Cache-Control",
        "If-None-Match",
        "Range",
        "Max-Forwards",
        "Content-Length",
        "Host"
      })
  void whatSteersOrFramesAMessageCannotComeBehindIt(String name) throws Exception {
    var answer =
        Talk.answer(
            Talk::echo,
            "POST / HTTP/1.1\r\n"
                + HOST
                + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n"
                + name
                + ": evil\r\n\r\n");
    assertTrue(answer.contains("|X: y\r\n"), answer);
    assertFalse(answer.contains("evil"), answer);
  }

  @Test
  void slowHeadsGet408AndIdleConnectionsNothing() throws Exception {
    var quick = Duration.ofMillis(50);
    var settings =
        HttpSettings.DEFAULT.withTimes(quick, quick, quick, quick).withDrained(10, quick);
    try (var pair = MemoryPair.of(Talk.FIBERS)) {
      var served = Talk.serve(Talk::echo, settings, pair.far());
      assertEquals("", Talk.all(pair.near()));
      served.join();
    }
    for (var begun :
        List.of("GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")) {
      try (var pair = MemoryPair.of(Talk.FIBERS)) {
        var served = Talk.serve(Talk::echo, settings, pair.far());
        Talk.write(pair.near(), begun);
        assertTrue(Talk.all(pair.near()).startsWith("HTTP/1.1 408 "));
        served.join();
      }
    }
  }

  @Test
  void drainingLetsIdleClientsGoAndTellsTheOthers() throws Exception {
    var draining = CancelScope.open();
    Handler handler =
        exchange -> {
          draining.cancel();
          Talk.echo(exchange);
        };
    try (var idle = MemoryPair.of(Talk.FIBERS);
        var pair = MemoryPair.of(Talk.FIBERS)) {
      var brief = HttpSettings.DEFAULT.withDrained(0, Duration.ofMillis(300));
      var idleServed = Talk.serve(handler, brief, idle.far(), draining);
      var served = Talk.serve(handler, HttpSettings.DEFAULT, pair.far(), draining);
      Talk.write(pair.near(), "GET / HTTP/1.1\r\n" + HOST + "\r\n");
      assertTrue(Talk.all(pair.near()).contains("\r\nConnection: close\r\n"));
      assertEquals("", Talk.all(idle.near()));
      idleServed.join();
      served.join();
    }
  }

  @Test
  void theFirstRequestOfAConnectionIsAnsweredThoughItComesLate() throws Exception {
    var draining = CancelScope.open();
    draining.cancel();
    var settings = HttpSettings.DEFAULT.withDrained(0, Duration.ofSeconds(30));
    try (var pair = MemoryPair.of(Talk.FIBERS, MemoryPair.CAPACITY, MemoryPair.CAPACITY)) {
      var served = Talk.serve(Talk::echo, settings, pair.far(), draining);
      assertThrows(TimeoutException.class, () -> served.get(300, TimeUnit.MILLISECONDS));
      Talk.write(pair.near(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      var answer = Talk.all(pair.near());
      assertTrue(answer.startsWith("HTTP/1.1 200"), answer);
      assertTrue(answer.contains("Connection: close"), answer);
      served.join();
    }
  }
}
