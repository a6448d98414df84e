package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.proxy.rules.Life;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of a response beside its body: its status, its life, and its fields as lines that
 * are ready to be sent, without Content-Length, which the storage knows.
 */
final class StoredHead {

  private static final byte VERSION = 1;
  private static final int VALIDATE = 1;
  private static final int NEVER_STALE = 2;
  private static final int IMMUTABLE = 4;
  private static final int LINES = 4 + 5 * Long.BYTES;

  private final ByteBuffer bytes;
  private final Life life;
  private @Nullable Fields fields;

  private StoredHead(ByteBuffer bytes, Life life) {
    this.bytes = bytes;
    this.life = life;
  }

  /** The bytes of one. Content-Length is left out. */
  static byte[] encode(int status, Life life, Fields fields) {
    var kept = fields.copy().remove("content-length");
    var into = ByteBuffer.allocate(LINES + kept.size());
    int flags =
        (life.validate() ? VALIDATE : 0)
            | (life.neverStale() ? NEVER_STALE : 0)
            | (life.immutable() ? IMMUTABLE : 0);
    into.put(VERSION).put((byte) flags).putShort((short) status);
    into.putLong(life.received()).putLong(life.initialAge()).putLong(life.lifetime());
    into.putLong(life.staleWhileRevalidate()).putLong(life.staleIfError());
    kept.put(into);
    return into.array();
  }

  /**
   * Reads one.
   *
   * @throws IOException if another version of this program wrote it
   */
  static StoredHead of(ByteBuffer bytes) throws IOException {
    int at = bytes.position();
    if (bytes.remaining() < LINES || bytes.get(at) != VERSION) {
      throw new IOException("a stored response has a head of another version");
    }
    int flags = bytes.get(at + 1);
    var life =
        new Life(
            bytes.getLong(at + 4),
            bytes.getLong(at + 12),
            bytes.getLong(at + 20),
            (flags & VALIDATE) != 0,
            (flags & NEVER_STALE) != 0,
            (flags & IMMUTABLE) != 0,
            bytes.getLong(at + 28),
            bytes.getLong(at + 36));
    return new StoredHead(bytes, life);
  }

  int status() {
    return bytes.getShort(bytes.position() + 2);
  }

  Life life() {
    return life;
  }

  /** Its Date, in milliseconds since 1970; when it was received if that is none. */
  long date() throws IOException {
    var date = fields().get("date");
    return date == null
        ? life.received()
        : HttpDate.parse(date, life.received()).orElse(life.received());
  }

  /** The lines of the fields, each with its CR LF. */
  ByteBuffer lines() {
    return bytes.slice(bytes.position() + LINES, bytes.remaining() - LINES);
  }

  /** The fields, which are not to be changed. */
  Fields fields() throws IOException {
    var present = fields;
    if (present == null) {
      present = new Fields().parse(lines()).freeze();
      fields = present;
    }
    return present;
  }
}
