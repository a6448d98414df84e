package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One page's WebSocket, with the messages that came in order. */
final class Browser implements AutoCloseable {

  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static final ObjectMapper MAPPER = new ObjectMapper();
  static final Duration PATIENCE = Duration.ofSeconds(20);

  private final WebSocket socket;
  private final Listener listener;

  private Browser(WebSocket socket, Listener listener) {
    this.socket = socket;
    this.listener = listener;
  }

  static Browser open(WebServer server, String... headers) {
    return openAt(server, "live", headers);
  }

  /** One that knows what to do with deltas. */
  static Browser openForDeltas(WebServer server) {
    return openAt(server, "live?deltas=1");
  }

  private static Browser openAt(WebServer server, String path, String... headers) {
    var listener = new Listener();
    var builder = CLIENT.newWebSocketBuilder();
    for (int i = 0; i < headers.length; i += 2) {
      builder.header(headers[i], headers[i + 1]);
    }
    var uri = URI.create(server.uri().toString().replace("http:", "ws:") + path);
    var browser = new Browser(builder.buildAsync(uri, listener).join(), listener);
    var hello = browser.next();
    if (!hello.path("type").asText().equals("hello")) {
      throw new AssertionError("Expected hello, got " + hello);
    }
    return browser;
  }

  void send(String message) {
    socket.sendText(message, true).join();
  }

  void subscribe(long id, String view, String params, @Nullable String have) {
    send(
        "{\"type\":\"subscribe\",\"id\":"
            + id
            + ",\"view\":\""
            + view
            + "\",\"params\":"
            + params
            + (have == null ? "" : ",\"have\":\"" + have + "\"")
            + "}");
  }

  WebSocket socket() {
    return socket;
  }

  /** The next message that is no heartbeat. */
  JsonNode next() {
    while (true) {
      var message = poll(PATIENCE);
      if (message == null) {
        throw new AssertionError("No message within " + PATIENCE + "; closed: " + listener.closed);
      }
      if (!message.path("type").asText().equals("heartbeat")) {
        return message;
      }
    }
  }

  /** The next message of any type, or null. */
  @Nullable JsonNode poll(Duration limit) {
    try {
      return listener.messages.poll(limit.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** The close code, waited for. */
  int closeCode() {
    try {
      return listener.closed.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("Not closed: " + e, e);
    }
  }

  boolean isClosed() {
    return listener.closed.isDone();
  }

  @Override
  public void close() {
    socket.abort();
  }

  private static final class Listener implements WebSocket.Listener {

    private final BlockingQueue<JsonNode> messages = new LinkedBlockingQueue<>();
    private final CompletableFuture<Integer> closed = new CompletableFuture<>();
    private final StringBuilder text = new StringBuilder();

    @Override
    public @Nullable CompletionStage<?> onText(
        WebSocket webSocket, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        try {
          messages.add(MAPPER.readTree(text.toString()));
        } catch (IOException e) {
          closed.completeExceptionally(e);
        }
        text.setLength(0);
      }
      webSocket.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onPong(WebSocket webSocket, ByteBuffer message) {
      messages.add(MAPPER.createObjectNode().put("type", "pong").put("bytes", message.remaining()));
      webSocket.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket webSocket, int code, String reason) {
      closed.complete(code);
      return null;
    }

    @Override
    public void onError(WebSocket webSocket, Throwable error) {
      closed.complete(1006);
    }
  }
}
