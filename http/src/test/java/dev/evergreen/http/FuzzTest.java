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
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Mutated requests, by a seed: whatever we take for a request Netty's decoder takes for the same
 * one, and however it is cut we take it for the same. With {@code -Devergreen.http.fuzz=N} there
 * are N of them, and {@code -Devergreen.http.seed=S} says where they begin. What was found once is
 * in a {@link Corpus}.
 */
@Timeout(3600)
class FuzzTest {
  private static final int ROUNDS = Integer.getInteger("evergreen.http.fuzz", 3_000);
  private static final long SEED = Long.getLong("evergreen.http.seed", 20261123);

  private static final String CHUNKED = "Transfer-Encoding: chunked\r\nX: y z\r\n\r\n";

  private static final String HOST = "(?mdi)^host:.*\n";

  private static final String NOT_IN_TRAILERS =
      "(?mdi)^(connection|keep-alive|proxy-connection|te|upgrade|host|expect|range|date):.*\n";

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

  /** Says what was understood, as Netty does. */
  private static List<String> understood(String sent) throws Exception {
    var ours = normalised(ours(sent, MemoryPair.CAPACITY));
    var nettys = normalised(nettys(sent));
    // We refuse more; but whatever we take, it takes in the same place for the same.
    assertTrue(ours.size() <= nettys.size(), () -> describe(sent, ours, nettys));
    assertEquals(ours, nettys.subList(0, ours.size()), () -> describe(sent, ours, nettys));
    return ours;
  }

  /** What a client is told: the statuses, and why a request was refused. */
  private static String answers(String sent) throws Exception {
    Handler quiet =
        exchange -> {
          var _ = Talk.text(exchange.body());
          exchange.respond(ResponseHead.of(204));
        };
    return Talk.answer(quiet, sent).replaceAll("(?m)^Date:.*\\R", "");
  }

  @Test
  void whatWeUnderstandNettyUnderstandsAlike() throws Exception {
    var corpus = new Corpus("http1");
    for (var sent : corpus.inputs()) {
      var _ = understood(sent);
      corpus.tried(sent, answers(sent));
    }
    var random = new Random(SEED);
    int understood = 0;
    for (int i = 0; i < ROUNDS; i++) {
      var sent = mutated(random);
      understood += understood(sent).size();
      if (Corpus.GROWS) {
        corpus.tried(sent, answers(sent));
      }
    }
    assertTrue(understood > ROUNDS / 2, "too few were understood: " + understood);
    corpus.save();
  }

  @Test
  void cutsChangeNothing() throws Exception {
    var random = new Random(SEED + 1);
    var sent = new ArrayList<>(new Corpus("http1").inputs());
    for (int i = 0; i < ROUNDS / 10; i++) {
      sent.add(mutated(random));
    }
    for (var each : sent) {
      var whole = ours(each, MemoryPair.CAPACITY);
      for (int piece : new int[] {1, 2, 3, 1 + random.nextInt(50)}) {
        assertEquals(whole, ours(each, piece), () -> describe(each, whole, List.of()));
      }
    }
  }

  private static String describe(String sent, List<String> ours, List<String> nettys) {
    var text = sent.replace("\r", "\\r").replace("\n", "\\n").replace("\0", "\\0");
    return text + "\nours: " + ours + "\nNetty's: " + nettys;
  }

  /** ":method: GET", ":scheme: http", ":path: /", ":authority: a" */
  private static final byte[] REQUEST = {(byte) 0x82, (byte) 0x86, (byte) 0x84, 0x41, 1, 'a'};

  /** Frames behind the first ones, of which some make sense. */
  private static String frames(Random random) throws IOException {
    var bytes = new ByteArrayOutputStream();
    for (int stream = 1; stream < 2 * random.nextInt(3); stream += 2) {
      bytes.writeBytes(new byte[] {0, 0, (byte) REQUEST.length, 1});
      bytes.writeBytes(new byte[] {(byte) (4 + random.nextInt(2)), 0, 0, 0, (byte) stream});
      bytes.writeBytes(REQUEST);
    }
    for (int i = random.nextInt(8); i >= 0; i--) {
      var payload = payload(random);
      var head = ByteBuffer.allocate(9).put((byte) 0).putShort((short) payload.length);
      head.put((byte) random.nextInt(11));
      head.put((byte) (random.nextBoolean() ? 5 : random.nextInt(256)));
      head.putInt(random.nextInt(6));
      bytes.writeBytes(head.array());
      bytes.writeBytes(payload);
    }
    int cut = random.nextInt(8) == 0 ? random.nextInt(bytes.size()) : bytes.size();
    return bytes.toString(ISO_8859_1).substring(0, cut);
  }

  private static byte[] payload(Random random) {
    var payload =
        switch (random.nextInt(5)) {
          case 0 -> REQUEST.clone();
          case 1 -> new byte[] {0, 1, 't', 1, 'u'};
          case 2 -> new byte[] {0, (byte) (1 + random.nextInt(8)), 0, 0, 0, 1};
          case 3 -> Http2Client.bytes(1 << random.nextInt(32));
          default -> {
            var any = new byte[random.nextInt(20)];
            random.nextBytes(any);
            yield any;
          }
        };
    if (payload.length > 0 && random.nextInt(4) == 0) {
      payload[random.nextInt(payload.length)] = (byte) random.nextInt(256);
    }
    return payload;
  }

  /** What a server says to frames, and then to their end, which must be its own. */
  private static String said(String frames) throws IOException {
    var said = new TreeSet<String>(); // as streams are answered in any order
    try (var client = Http2Client.connect(Talk::echo)) {
      client.raw(frames);
      client.endOutput();
      for (var frame = client.next(); frame.type() != -1; frame = client.next()) {
        boolean why = frame.type() == Http2Client.GOAWAY || frame.type() == Http2Client.RST_STREAM;
        said.add(frame.type() + (why ? Arrays.toString(frame.payload()) : ""));
      }
      client.served.join();
    } catch (IOException e) {
      said.add("hung up"); // amid what was sent
    }
    return said.toString();
  }

  /**
   * What blocks of fields are taken for that one connection reads, each of them behind a byte that
   * tells its length.
   */
  private static String read(String blocks) throws IOException {
    var heads = new Http2Heads(HttpSettings.DEFAULT);
    var taken = new StringBuilder();
    var bytes = ByteBuffer.wrap(Talk.bytes(blocks));
    while (bytes.hasRemaining()) {
      var block = new byte[Math.min(bytes.get() & 0xff, bytes.remaining())];
      bytes.get(block);
      try {
        var read = heads.read(1, block, block.length);
        taken.append(read.fields()).append('\n').append(read.request(false)).append('\n');
      } catch (Http2Exception e) {
        taken.append(e.code()).append(' ').append(e.getMessage()).append('\n');
        if (e.stream() == 0) {
          return taken.toString(); // Nobody knows the table any more.
        }
      }
    }
    return taken.toString();
  }

  /** Blocks of the corpus that are mixed, changed and cut. */
  private static String blocks(Random random, List<String> from) {
    var blocks = new StringBuilder();
    for (int i = random.nextInt(3); i >= 0; i--) {
      blocks.append(from.get(random.nextInt(from.size())));
    }
    for (int i = random.nextInt(4); i > 0 && !blocks.isEmpty(); i--) {
      int at = random.nextInt(blocks.length());
      switch (random.nextInt(3)) {
        case 0 -> blocks.setCharAt(at, (char) random.nextInt(256));
        case 1 -> blocks.deleteCharAt(at);
        default -> blocks.insert(at, (char) random.nextInt(256));
      }
    }
    return blocks.toString();
  }

  @Test
  void blocksOfFieldsAreTakenOrRefused() throws Exception {
    var corpus = new Corpus("hpack");
    var all = new TreeSet<String>();
    for (var blocks : corpus.inputs()) {
      var taken = read(blocks);
      all.add(taken);
      corpus.tried(blocks, taken);
    }
    assertTrue(all.size() > 30, () -> all.size() + " ways to be right or wrong: " + all);
    var random = new Random(SEED + 3);
    for (int i = 0; i < ROUNDS; i++) {
      var blocks = blocks(random, corpus.inputs());
      var taken = read(blocks);
      if (Corpus.GROWS && taken.contains("_ERROR")) {
        corpus.tried(blocks, taken);
      }
    }
    corpus.save();
  }

  @Test
  void nonsenseByHttp2EndsTheConnectionAndNothingElse() throws Exception {
    var corpus = new Corpus("http2");
    for (var frames : corpus.inputs()) {
      corpus.tried(frames, said(frames));
    }
    var random = new Random(SEED + 2);
    for (int i = 0; i < ROUNDS / 5; i++) {
      var frames = frames(random);
      corpus.tried(frames, said(frames));
    }
    corpus.save();
  }
}
