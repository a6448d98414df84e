package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Appender;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A response that is being stored. One fiber receives it, any number follow.
 *
 * <p>Invariant: nobody begins to follow once it is closed, which is guarded by this; the appender
 * is closed afterwards.
 */
final class Arrival implements AutoCloseable {
  private final StoredHead head;
  private final Vary vary;
  private final byte[] variant;
  private final long stamp;
  private final @Nullable ContentRange part;
  private final @Nullable Fields before;
  private final Appender appender;

  /** Written by the fiber that receives it only. */
  private volatile long received;

  /** The same: why it will never be complete. */
  private volatile @Nullable OriginFailure failure;

  private boolean closed;

  /** One that begins to be stored; nothing has begun if this throws. */
  Arrival(Entry entry, Storage storage, Recipient recipient) throws IOException {
    this(entry, null, null, storage, recipient);
  }

  /**
   * The same of a part.
   *
   * @param part what of a response it is; null if the whole
   * @param before the fields of what it is joined with, which its own fields update; or null
   */
  Arrival(
      Entry entry,
      @Nullable ContentRange part,
      @Nullable Fields before,
      Storage storage,
      Recipient recipient)
      throws IOException {
    this.part = part;
    this.before = before;
    stamp = entry.stamp();
    head = StoredHead.of(ByteBuffer.wrap(entry.head()));
    vary = Vary.of(head.fields()).orElseThrow();
    variant = part == null ? entry.variant() : Parts.variant(entry.variant());
    appender = storage.append(entry, recipient);
  }

  StoredHead head() {
    return head;
  }

  Vary vary() {
    return vary;
  }

  /** For what requests it is. */
  byte[] variant() {
    return variant;
  }

  /** That of before the origin was asked. */
  long stamp() {
    return stamp;
  }

  /** What of the response it is, if it is a part; else null. */
  @Nullable ContentRange part() {
    return part;
  }

  /** The fields of what it is joined with; null if it is with nothing. */
  @Nullable Fields before() {
    return before;
  }

  Appender appender() {
    return appender;
  }

  /** More of it has come. */
  void append(ByteBuffer piece) throws IOException {
    long more = received + piece.remaining();
    appender.append(piece);
    received = more;
  }

  /** The origin has ended it too early. */
  void breakOff(OriginFailure why) {
    failure = why;
  }

  /** Why it will never be complete; null if it is not known that it will not, or nobody reads. */
  @Nullable OriginFailure failure() {
    return failure;
  }

  /** How many bytes of its body have come. */
  long received() {
    return received;
  }

  /** Reads it from its beginning; null if it has arrived, and is found in the storage or lost. */
  synchronized @Nullable Lease follow() {
    return closed ? null : appender.follow();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    appender.close(); // That may wait for those who follow.
  }
}
