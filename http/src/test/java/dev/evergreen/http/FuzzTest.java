package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.MemoryPair;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Mutated requests, by a seed: whatever we take for a request Netty's decoder takes for the same
 * one, and however it is cut we take it for the same. With {@code -Devergreen.http.fuzz=N} there
 * are N of them, and {@code -Devergreen.http.seed=S} says where they begin.
 */
@Timeout(3600)
class FuzzTest {
  private static final int ROUNDS = Integer.getInteger("evergreen.http.fuzz", 3_000);
  private static final long SEED = Long.getLong("evergreen.http.seed", 20261123);

  private static final String CHUNKED = "Transfer-Encoding: chunked\r\nX: y z\r\n\r\n";

  private static final String HOST = "(?mdi)^host:.*\n";

  private static final String NOT_IN_TRAILERS =
      "(?mdi)^(connection|keep-alive|proxy-connection|te|upgrade|host):.*\n";

  private static final String[] SEEDS = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /a?b=c HTTP/1.1\r\nHost: a:80\r\nContent-Length: 3\r\n\r\nabc",
    "PUT /x HTTP/1.1\r\nHost: a\r\n"
        + CHUNKED
        + "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
    "GET http://b/c HTTP/1.1\r\nHost: b\r\nConnection: keep-alive\r\nAccept: */*\r\n\r\n",
    "HEAD /y HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n",
  };

  private static final String[] PIECES = {
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    "\0",
    "\u000b",
    ":",
    ";",
    ",",
    "0",
    "1",
    "3",
    "a",
    "f",
    "+",
    "-",
    "\"",
    "\u00e4",
    "\u007f",
    "HTTP/1.1",
    "HTTP/1.0",
    "Content-Length: 3\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Host: a\r\n",
    "\r\n\r\n",
    "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    "chunked",
    "Connection: close\r\n",
    "#",
    "?",
    "/",
    "@",
  };

  /** Some requests one behind the other, with a few mutations. */
  static String mutated(Random random) {
    var text = new StringBuilder();
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      text.append(SEEDS[random.nextInt(SEEDS.length)]);
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      int at = random.nextInt(text.length() + 1);
      switch (random.nextInt(4)) {
        case 0 -> text.insert(at, PIECES[random.nextInt(PIECES.length)]);
        case 1 -> text.delete(at, Math.min(text.length(), at + 1 + random.nextInt(3)));
        case 2 -> text.insert(at, (char) random.nextInt(256));
        default -> {
          int to = Math.min(text.length(), at + 1 + random.nextInt(30));
          text.insert(random.nextInt(text.length() + 1), text.substring(at, to));
        }
      }
    }
    return text.toString();
  }

  /** The requests that were wholly understood. */
  private static List<String> ours(String sent, int piece) throws Exception {
    var requests = new ArrayList<String>();
    Handler handler =
        exchange -> {
          var head = exchange.request();
          var body = Talk.text(exchange.body());
          requests.add(
              text(
                  head.method(),
                  head.target(),
                  head.fields().toString(),
                  body,
                  exchange.body().trailers().toString()));
          exchange.respond(ResponseHead.of(204));
        };
    Talk.answer(handler, HttpSettings.DEFAULT, sent, piece);
    return requests;
  }

  private static String text(
      String method, String target, String fields, String body, String trailers) {
    return method + " " + target + "\n" + fields + "\n" + body + "\n" + trailers;
  }

  private static List<String> nettys(String sent) {
    var channel =
        new EmbeddedChannel(
            new HttpRequestDecoder(new HttpDecoderConfig().setMaxInitialLineLength(8192)));
    channel.writeInbound(Unpooled.wrappedBuffer(Talk.bytes(sent)));
    var requests = new ArrayList<String>();
    HttpRequest head = null;
    var body = new StringBuilder();
    HttpObject message;
    while ((message = channel.readInbound()) != null && message.decoderResult().isSuccess()) {
      if (message instanceof HttpRequest request) {
        head = request;
        body.setLength(0);
      }
      if (message instanceof HttpContent content) {
        body.append(content.content().toString(ISO_8859_1));
      }
      if (message instanceof LastHttpContent last && head != null) {
        requests.add(
            text(
                head.method().name(),
                head.uri(),
                fields(head.headers()),
                body.toString(),
                fields(last.trailingHeaders()).replaceAll(NOT_IN_TRAILERS, "")));
      }
    }
    channel.finishAndReleaseAll();
    return requests;
  }

  private static String fields(Iterable<java.util.Map.Entry<String, String>> headers) {
    var text = new StringBuilder();
    for (var header : headers) {
      text.append(header.getKey()).append(": ").append(header.getValue()).append("\r\n");
    }
    return text.toString();
  }

  /** Lines with their blanks as Netty's values have them. */
  private static List<String> normalised(List<String> requests) {
    return requests.stream()
        // The authority of a target counts more than Host, which is made the same.
        .map(it -> it.startsWith("http", it.indexOf(' ') + 1) ? it.replaceAll(HOST, "") : it)
        .map(it -> it.replaceAll("(?md)^([!-9;-~]+):[ \t]*([^\r\n]*?)[ \t]*\r$", "$1: $2\r"))
        .toList();
  }

  @Test
  void whatWeUnderstandNettyUnderstandsAlike() throws Exception {
    var random = new Random(SEED);
    var understood = new AtomicInteger();
    for (int i = 0; i < ROUNDS; i++) {
      var sent = mutated(random);
      var ours = normalised(ours(sent, MemoryPair.CAPACITY));
      var nettys = normalised(nettys(sent));
      understood.addAndGet(ours.size());
      // We refuse more; but whatever we take, it takes in the same place for the same.
      assertTrue(ours.size() <= nettys.size(), () -> describe(sent, ours, nettys));
      assertEquals(ours, nettys.subList(0, ours.size()), () -> describe(sent, ours, nettys));
    }
    assertTrue(understood.get() > ROUNDS / 2, "too few were understood: " + understood);
  }

  @Test
  void cutsChangeNothing() throws Exception {
    var random = new Random(SEED + 1);
    for (int i = 0; i < ROUNDS / 10; i++) {
      var sent = mutated(random);
      var whole = ours(sent, MemoryPair.CAPACITY);
      for (int piece : new int[] {1, 2, 3, 1 + random.nextInt(50)}) {
        assertEquals(whole, ours(sent, piece), () -> describe(sent, whole, List.of()));
      }
    }
  }

  private static String describe(String sent, List<String> ours, List<String> nettys) {
    var text = sent.replace("\r", "\\r").replace("\n", "\\n").replace("\0", "\\0");
    return text + "\nours: " + ours + "\nNetty's: " + nettys;
  }

  @Test
  void nonsenseByHttp2EndsTheConnectionAndNothingElse() throws Exception {
    var random = new Random(SEED + 2);
    for (int i = 0; i < ROUNDS / 10; i++) {
      try (var client = Http2Client.connect(Talk::echo)) {
        client.headers(1, random.nextBoolean(), Http2Client.get("/"));
        for (int j = random.nextInt(8); j >= 0; j--) {
          var payload = new byte[random.nextInt(20)];
          random.nextBytes(payload);
          client.send(random.nextInt(11), random.nextInt(256), random.nextInt(4), payload);
        }
        client.endOutput();
        while (client.next().type() != -1) {
          // Goes on to the end, which must come.
        }
        client.served.join();
      } catch (java.io.IOException e) {
        // The server has hung up amid what was sent.
      }
    }
  }
}
