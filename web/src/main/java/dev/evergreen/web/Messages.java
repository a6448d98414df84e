package dev.evergreen.web;

import dev.evergreen.core.Freshness;
import dev.evergreen.live.Present;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The messages of {@code docs/web-protocol.md} from the server. */
final class Messages {

  static final int PROTOCOL = 1;

  /**
   * What stands behind the JSON of a result, so that a plain GET, the tail of a WebSocket message
   * and the tail of an event are parts of one array.
   */
  static final byte[] TAIL = "}\n\n".getBytes(StandardCharsets.US_ASCII);

  private record ErrorBody(String type, String message, int status) {}

  private Messages() {}

  static String error(WebException error) {
    return Json.text(
        new ErrorBody(error.type(), String.valueOf(error.getMessage()), error.status()));
  }

  static String hello(WebSettings settings) {
    return "{\"type\":\"hello\",\"protocol\":"
        + PROTOCOL
        + ",\"heartbeat\":"
        + settings.heartbeatEvery().toMillis()
        + ",\"maxSubscriptions\":"
        + settings.maxSubscriptions()
        + ",\"maxMessageBytes\":"
        + settings.maxMessageBytes()
        + ",\"rate\":"
        + settings.maxMessagesPerSecond()
        + "}";
  }

  static String heartbeat() {
    return "{\"type\":\"heartbeat\"}";
  }

  /** The beginning of a message that {@link #messageTail} completes. */
  static String resultHead(@Nullable Long id, Present present) {
    return start(present.error() == null ? "result" : "error", id, present)
        + (present.error() == null ? ",\"value\":" : ",\"error\":");
  }

  /** The JSON and the brace that ends a message. */
  static ByteBuffer messageTail(Present present) {
    return present.withTail(1);
  }

  /** The JSON, the brace and the empty line that ends an event. */
  static ByteBuffer eventTail(Present present) {
    return present.withTail(TAIL.length);
  }

  /** The beginning of a message that the tail of {@link Delta#to} completes. */
  static String deltaHead(@Nullable Long id, Delta delta, Present present) {
    return start("delta", id, present) + ",\"from\":\"" + delta.from() + "\",\"delta\":";
  }

  static String unchanged(@Nullable Long id, Present present) {
    return start("unchanged", id, present) + "}";
  }

  static String freshness(@Nullable Long id, Present present) {
    return start("freshness", id, present) + "}";
  }

  static String end(@Nullable Long id, WebException error) {
    return "{\"type\":\"end\"" + id(id) + ",\"error\":" + error(error) + "}";
  }

  static String bye(String reason, Duration retryAfter) {
    return "{\"type\":\"bye\",\"reason\":\""
        + reason
        + "\",\"retryAfter\":"
        + retryAfter.toMillis()
        + "}";
  }

  static String freshnessName(Freshness freshness) {
    return freshness == Freshness.CURRENT ? "current" : "in-doubt";
  }

  private static String start(String type, @Nullable Long id, Present present) {
    return "{\"type\":\""
        + type
        + "\""
        + id(id)
        + ",\"tag\":\""
        + present.tag()
        + "\",\"freshness\":\""
        + freshnessName(present.freshness())
        + "\"";
  }

  private static String id(@Nullable Long id) {
    return id == null ? "" : ",\"id\":" + id;
  }
}
