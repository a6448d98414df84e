package dev.evergreen.web;

import dev.evergreen.core.Freshness;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * What a live computation ended with last, in the bytes that all who look at it share.
 *
 * <p>The bytes are the JSON of the value (or of the error) followed by {@code }} and two line ends,
 * so that a plain GET, the tail of a WebSocket message and the tail of an event are parts of one
 * array.
 *
 * @param tag identifies the result: a hash of its JSON
 * @param bytes the JSON with its tail
 * @param error the failure, or null for a value
 * @param freshness whether it is known to be current
 */
record Present(String tag, byte[] bytes, @Nullable WebException error, Freshness freshness) {

  private static final byte[] TAIL = "}\n\n".getBytes(StandardCharsets.US_ASCII);

  static Present value(byte[] json, Freshness freshness) {
    return new Present(hash("v", json), withTail(json), null, freshness);
  }

  static Present failure(WebException error, Freshness freshness) {
    var json = Messages.error(error).getBytes(StandardCharsets.UTF_8);
    return new Present(hash("e", json), withTail(json), error, freshness);
  }

  /** Under the same tag, a delta that leads to it instead of its JSON. */
  Present carrying(byte[] delta) {
    return new Present(tag, withTail(delta), null, freshness);
  }

  /** The same in the bytes of another that is equal. */
  Present inBytesOf(Present same) {
    return new Present(tag, same.bytes, error, freshness);
  }

  Present with(Freshness other) {
    return new Present(tag, bytes, error, other);
  }

  /** The JSON alone. */
  ByteBuffer json() {
    return ByteBuffer.wrap(bytes, 0, bytes.length - TAIL.length).slice();
  }

  /** The JSON and the brace that ends a message. */
  ByteBuffer messageTail() {
    return ByteBuffer.wrap(bytes, 0, bytes.length - 2).slice();
  }

  /** The JSON, the brace and the empty line that ends an event. */
  ByteBuffer eventTail() {
    return ByteBuffer.wrap(bytes);
  }

  private static byte[] withTail(byte[] json) {
    var all = Arrays.copyOf(json, json.length + TAIL.length);
    System.arraycopy(TAIL, 0, all, json.length, TAIL.length);
    return all;
  }

  private static String hash(String kind, byte[] json) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      digest.update(kind.getBytes(StandardCharsets.US_ASCII));
      var hash = Arrays.copyOf(digest.digest(json), 16);
      return Base64.getUrlEncoder().withoutPadding().encodeToString(hash);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }
}
