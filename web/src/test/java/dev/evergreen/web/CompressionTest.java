package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.live.HandNode;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.component.LifeCycle;
import org.eclipse.jetty.websocket.core.CloseStatus;
import org.eclipse.jetty.websocket.core.CoreSession;
import org.eclipse.jetty.websocket.core.ExtensionConfig;
import org.eclipse.jetty.websocket.core.Frame;
import org.eclipse.jetty.websocket.core.FrameHandler;
import org.eclipse.jetty.websocket.core.OpCode;
import org.eclipse.jetty.websocket.core.client.CoreClientUpgradeRequest;
import org.eclipse.jetty.websocket.core.client.WebSocketCoreClient;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compressed messages: what Jetty's client reads and writes, and what bytes say. */
final class CompressionTest {

  private static final String SUBSCRIBE =
      "{\"type\":\"subscribe\",\"id\":%d,\"view\":\"%s\",\"params\":{}}";

  record Nothing() {}

  private final HandNode node = new HandNode();
  private final AtomicInteger version = new AtomicInteger();
  private WebServer server = builder().start();

  private WebServer.Builder builder() {
    return WebServer.builder(node)
        .port(0)
        .view(
            LiveView.of(
                "long",
                Nothing.class,
                Authorisation.everyone(),
                nothing -> () -> "é" + version + ", and so on".repeat(2_000)))
        .view(
            LiveView.of("noise", Nothing.class, Authorisation.everyone(), nothing -> () -> noise()))
        .view(LiveView.of("short", Nothing.class, Authorisation.everyone(), nothing -> () -> "a"));
  }

  private static String noise() {
    return new Random(7)
        .ints(3_000, ' ' + 3, 0x2000)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  @AfterEach
  void close() {
    server.close();
  }

  /** Jetty's client, which offers compression, keeps the frames as they come and reads them. */
  private static final class Client implements FrameHandler, AutoCloseable {
    private final WebSocketCoreClient sockets = new WebSocketCoreClient();
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private final ByteArrayOutputStream partial = new ByteArrayOutputStream();
    private final CoreSession session;
    private volatile @Nullable CoreSession opened;

    Client(WebServer server) throws Exception {
      sockets.start();
      var uri = server.uri().toString().replace("http:", "ws:") + "live";
      var request = CoreClientUpgradeRequest.from(sockets, URI.create(uri), this);
      // Unlike browsers, this client forgets what was only if it has offered to.
      request.addExtensions(
          "permessage-deflate; client_no_context_takeover; server_no_context_takeover");
      session = sockets.connect(request).get(20, TimeUnit.SECONDS);
    }

    @Override
    public void onOpen(CoreSession now, Callback callback) {
      opened = now;
      callback.succeeded();
      now.demand();
    }

    @Override
    public void onFrame(Frame frame, Callback callback) {
      if (frame.isDataFrame()) {
        var bytes = new byte[frame.getPayloadLength()];
        frame.getPayload().slice().get(bytes);
        partial.writeBytes(bytes);
        if (frame.isFin()) {
          messages.add(partial.toString(StandardCharsets.UTF_8));
          partial.reset();
        }
      }
      callback.succeeded();
      var open = opened;
      if (frame.getOpCode() != OpCode.CLOSE && open != null) {
        open.demand();
      }
    }

    @Override
    public void onError(Throwable cause, Callback callback) {
      messages.add("{\"type\":\"failed\",\"why\":\"" + cause + "\"}");
      callback.succeeded();
    }

    @Override
    public void onClosed(CloseStatus status, Callback callback) {
      messages.add("{\"type\":\"closed\",\"code\":" + status.getCode() + "}");
      callback.succeeded();
    }

    void send(String message) {
      session.sendFrame(new Frame(OpCode.TEXT, message), Callback.NOOP, false);
    }

    JsonNode next() throws InterruptedException {
      while (true) {
        var text = messages.poll(20, TimeUnit.SECONDS);
        var message = Json.tree(Objects.requireNonNull(text).getBytes(StandardCharsets.UTF_8));
        if (!List.of("hello", "heartbeat").contains(message.path("type").asText())) {
          return message;
        }
      }
    }

    @Override
    public void close() {
      session.abort();
      LifeCycle.stop(sockets);
    }
  }

  @Test
  void aClientThatCompressesUnderstandsAllResultsAndIsUnderstood() throws Exception {
    try (var client = new Client(server)) {
      client.send(SUBSCRIBE.formatted(1, "long"));
      assertEquals("é0, and so on", client.next().path("value").asText().substring(0, 13));
      client.send(SUBSCRIBE.formatted(2, "short"));
      assertEquals("a", client.next().path("value").asText());
      client.send(SUBSCRIBE.formatted(3, "noise"));
      assertEquals(noise(), client.next().path("value").asText());
      for (int i = 1; i < 20; i++) {
        version.set(i);
        node.changed();
        var message = client.next();
        assertEquals("é" + i + ", and", message.path("value").asText().split(" so", -1)[0]);
        assertEquals(1, message.path("id").asInt());
      }
    }
  }

  @Test
  void whoDoesNotOfferItIsSentTheSameUncompressed() throws Exception {
    try (var plain = Browser.open(server);
        var client = new Client(server)) {
      plain.subscribe(1, "long", "{}", null);
      client.send(SUBSCRIBE.formatted(1, "long"));
      assertEquals(plain.next().path("value"), client.next().path("value"));
    }
  }

  @Test
  void aResultIsCountedWithItsCompressedForm() throws Exception {
    try (var plain = Browser.open(server)) {
      plain.subscribe(1, "long", "{}", null);
      plain.next();
      long alone = server.counts().heldBytes();
      try (var client = new Client(server)) {
        client.send(SUBSCRIBE.formatted(1, "long"));
        client.next();
        assertEquals(alone + alone / 2, server.counts().heldBytes());
      }
      version.set(1);
      node.changed();
      plain.next();
      assertEquals(alone, server.counts().heldBytes());
    }
  }

  @Test
  void whereThereIsNoRoomItIsSentAsItIs() throws Exception {
    server.close();
    server = builder().settings(WebSettings.DEFAULT.withMaxHeldBytes(30_000)).start();
    try (var client = new Client(server)) {
      client.send(SUBSCRIBE.formatted(1, "long"));
      assertTrue(client.next().path("value").asText().startsWith("é0"));
      assertTrue(server.counts().heldBytes() < 30_000);
    }
  }

  private static RawClient connect(WebServer server, String offer) throws Exception {
    var client = new RawClient(server);
    client.send(
        RawClient.UPGRADE.replace(
            "Sec-WebSocket-Version",
            "Sec-WebSocket-Extensions: " + offer + "\r\nSec-WebSocket-Version"));
    return client;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "permessage-deflate; client_max_window_bits | yes",
        "permessage-deflate; server_no_context_takeover; client_max_window_bits=10 | yes",
        "permessage-deflate; server_max_window_bits=15 | yes, of 15",
        "permessage-deflate; client_max_window_bits=16 | no",
        "permessage-deflate; client_max_window_bits=08 | no",
        "permessage-deflate; server_max_window_bits=10 | no",
        "permessage-deflate; server_max_window_bits=10, permessage-deflate | yes",
        "permessage-deflate; unheard_of | no",
        "permessage-deflate; server_no_context_takeover=1 | no",
        "deflate-frame | no",
      })
  void anOfferIsAcceptedIfItCanBeMet(String offer, String accepted) throws Exception {
    try (var client = connect(server, offer)) {
      var head = client.some();
      assertTrue(head.startsWith("HTTP/1.1 101"), head);
      var forgets = "client_no_context_takeover permessage-deflate %sserver_no_context_takeover";
      var expected =
          switch (accepted) {
            case "yes" -> forgets.formatted("");
            case "yes, of 15" -> forgets.formatted("server_max_window_bits=15 ");
            default -> "";
          };
      assertEquals(expected, accepted(head));
    }
  }

  private static String accepted(String head) {
    return head.lines()
        .filter(line -> line.startsWith("Sec-WebSocket-Extensions: "))
        .flatMap(line -> Stream.of(line.split("[:;]", -1)).skip(1).map(String::strip))
        .sorted()
        .collect(Collectors.joining(" "));
  }

  @Test
  void itCanBeSwitchedOff() throws Exception {
    server.close();
    server = builder().compressed(false).start();
    try (var client = connect(server, "permessage-deflate")) {
      assertTrue(!client.some().contains("Extensions"));
    }
  }

  private static byte[] compress(byte[] message) {
    try (var deflater = new Deflater(9, true)) {
      deflater.setInput(message);
      var out = new byte[message.length + 100];
      int length = deflater.deflate(out, 0, out.length, Deflater.SYNC_FLUSH);
      return Arrays.copyOf(out, length - 4);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"bomb", "garbage", "continuation", "without offer"})
  void whatIsNotCompressedAsItShallBeEndsTheConnection(String kind) throws Exception {
    var offer = kind.equals("without offer") ? "x" : "permessage-deflate";
    try (var client = connect(server, offer)) {
      client.status();
      switch (kind) {
        case "bomb" -> client.send(RawClient.frame(0xC1, compress(new byte[10 << 20])));
        case "garbage" -> client.send(RawClient.frame(0xC1, new byte[] {(byte) 0xFF, 1, 2, 3}));
        case "continuation" -> {
          client.send(
              RawClient.frame(0x41, compress("{\"type\":".getBytes(StandardCharsets.UTF_8))));
          client.send(RawClient.frame(0xC0, new byte[0]));
        }
        default ->
            client.send(
                RawClient.frame(
                    0xC1, compress("{\"type\":\"ping\"}".getBytes(StandardCharsets.UTF_8))));
      }
      // A close frame.
      assertTrue(client.rest().contains("\u0088"));
    }
    assertEquals(0, server.counts().views());
  }

  @Test
  void onlyTheFirstFrameSaysThatAMessageIsCompressed() throws Exception {
    try (var client = connect(server, "permessage-deflate")) {
      client.status();
      var message = compress("{\"type\":\"heartbeat\"}".getBytes(StandardCharsets.UTF_8));
      client.send(RawClient.frame(0x41, Arrays.copyOf(message, 9)));
      client.send(RawClient.frame(0xC0, Arrays.copyOfRange(message, 9, message.length)));
      assertTrue(client.rest().contains("\u0088"), "RFC 7692 §6");
      assertEquals(1, server.counts().malformed());
    }
  }

  @Test
  void aMessageInPiecesIsReadAsOne() throws Exception {
    try (var client = connect(server, "permessage-deflate")) {
      client.status();
      var message = compress(SUBSCRIBE.formatted(1, "short").getBytes(StandardCharsets.UTF_8));
      client.send(RawClient.frame(0x41, Arrays.copyOf(message, 9)));
      client.send(RawClient.frame(0x00, new byte[0]));
      client.send(RawClient.frame(0x80, Arrays.copyOfRange(message, 9, message.length)));
      var received = new StringBuilder();
      while (!received.toString().contains("\"a\"}")) {
        received.append(client.some());
      }
    }
  }

  private static byte[] message(ByteBuffer head, byte[] tail) {
    return ByteBuffer.allocate(head.remaining() + tail.length).put(head).put(tail).array();
  }

  /** Heads and tails of all kinds of lengths are one stream. */
  @Test
  void aStoredHeadAndACompressedTailAreOneMessage() throws DataFormatException {
    var random = new Random(1);
    for (int i = 0; i < 300; i++) {
      var head = new byte[random.nextInt(i < 10 ? 1 : 66_000) % 65_536];
      random.nextBytes(head);
      var tail =
          "tail %d "
              .formatted(i)
              .repeat(10 + random.nextInt(5_000))
              .getBytes(StandardCharsets.UTF_8);
      var deflated = Objects.requireNonNull(SharedDeflate.deflate(ByteBuffer.wrap(tail)));
      var both = message(ByteBuffer.wrap(head), tail);
      var sent = message(SharedDeflate.stored(ByteBuffer.wrap(head)), deflated);
      assertArrayEquals(both, SharedDeflate.inflate(sent, both.length));
      assertNull(SharedDeflate.inflate(sent, both.length - 1));
    }
  }

  @Test
  void aStreamThatSaysThatItEndsIsReadAndAnotherBehindItRefused() throws DataFormatException {
    try (var deflater = new Deflater(9, true)) {
      deflater.setInput(new byte[] {1, 2, 3});
      deflater.finish();
      var out = new byte[100];
      int length = deflater.deflate(out);
      assertArrayEquals(
          new byte[] {1, 2, 3}, SharedDeflate.inflate(Arrays.copyOf(out, length + 1), 100));
      assertThrows(
          DataFormatException.class,
          () -> SharedDeflate.inflate(Arrays.copyOf(out, length + 50), 100));
    }
  }

  @Test
  void whatDoesNotBecomeHalfAsLongIsNotCompressed() {
    var bytes = new byte[10_000];
    new Random(3).nextBytes(bytes);
    assertNull(SharedDeflate.deflate(ByteBuffer.wrap(bytes)));
    assertEquals(List.of(), SharedDeflate.accept(new ArrayList<ExtensionConfig>()));
  }
}
