package dev.evergreen.live;

import dev.evergreen.core.Freshness;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * What a computation ended with last, in the bytes that all who look at it share: its JSON, and
 * behind it the {@linkplain Rendering#tail tail}.
 */
public final class Present {

  private final String tag;
  private final byte[] bytes;
  private final int jsonLength;
  private final @Nullable Exception error;
  private final Freshness freshness;

  private Present(
      String tag, byte[] bytes, int jsonLength, @Nullable Exception error, Freshness freshness) {
    this.tag = tag;
    this.bytes = bytes;
    this.jsonLength = jsonLength;
    this.error = error;
    this.freshness = freshness;
  }

  /** A value. */
  public static Present value(byte[] json, Rendering rendering, Freshness freshness) {
    return new Present(hash("v", json), join(json, rendering.tail()), json.length, null, freshness);
  }

  /**
   * A failure.
   *
   * @param told as the edge tells it
   */
  public static Present failure(Exception told, Rendering rendering, Freshness freshness) {
    var json = rendering.bytes(told);
    return new Present(hash("e", json), join(json, rendering.tail()), json.length, told, freshness);
  }

  /** Under the same tag, other JSON instead of its own. */
  public Present carrying(byte[] other) {
    var tail = Arrays.copyOfRange(bytes, jsonLength, bytes.length);
    return new Present(tag, join(other, tail), other.length, null, freshness);
  }

  /** The same in the bytes of another that is equal. */
  Present inBytesOf(Present same) {
    return new Present(tag, same.bytes, jsonLength, error, freshness);
  }

  Present with(Freshness other) {
    return new Present(tag, bytes, jsonLength, error, other);
  }

  /** Identifies the result: a hash of its JSON. */
  public String tag() {
    return tag;
  }

  /** What is told instead of a value; null for a value. */
  public @Nullable Exception error() {
    return error;
  }

  /** Whether it is known to be current. */
  public Freshness freshness() {
    return freshness;
  }

  /** How long the bytes are, with the tail. */
  public int length() {
    return bytes.length;
  }

  /** The JSON alone. */
  public ByteBuffer json() {
    return ByteBuffer.wrap(bytes, 0, jsonLength).slice();
  }

  /** The JSON and so many bytes of the tail. */
  public ByteBuffer withTail(int length) {
    return ByteBuffer.wrap(bytes, 0, jsonLength + length).slice();
  }

  /** Whether it is in the very bytes of the other. */
  boolean sharesBytesWith(Present other) {
    return bytes == other.bytes;
  }

  private static byte[] join(byte[] json, byte[] tail) {
    var all = Arrays.copyOf(json, json.length + tail.length);
    System.arraycopy(tail, 0, all, json.length, tail.length);
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
