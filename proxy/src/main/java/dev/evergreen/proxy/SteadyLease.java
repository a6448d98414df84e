package dev.evergreen.proxy;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.EntityTag;
import dev.evergreen.proxy.storage.DamagedException;
import dev.evergreen.proxy.storage.Lease;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A lease that goes on when its response has lost its place in the storage while a slow client took
 * it: from what is stored now, or else from the origin, if that is the same by its strong tag (RFC
 * 9110 §8.8.3), its length and its coding. The origin is asked for a buffer's worth at a time, so
 * that no connection to it waits for the client.
 */
final class SteadyLease implements Lease {

  /** Where there may be the same response. */
  interface Elsewhere {
    /** Whether the response has begun; else it is better looked for anew. */
    boolean isTooLateToBeginAnew();

    /** What is stored now, or null. */
    @Nullable Found find();

    /**
     * Asks the origin for a part, and has its answer read, as long as the client stays.
     *
     * @param range the value of Range
     * @param tag that of If-Range
     * @return what the reader says; false if the client wants nothing of the origin
     */
    boolean ask(String range, String tag, Part reader) throws IOException;
  }

  /** Reads an answer; false if it is not the part that was asked for. */
  interface Part {
    boolean read(OriginAnswer answer) throws IOException;
  }

  private static final ByteBuffer[] NOTHING = {};

  private final StoredHead head;
  private final Lease first;
  private final Elsewhere elsewhere;
  private @Nullable Found found;
  private Buffers.@Nullable Loan piece;

  /**
   * One that begins with another, which stays its caller's.
   *
   * @param head the head of what it reads
   */
  SteadyLease(StoredHead head, Lease first, Elsewhere elsewhere) {
    this.head = head;
    this.first = first;
    this.elsewhere = elsewhere;
  }

  /**
   * Whether a response may last so long that it loses its place meanwhile; one in parts, of which
   * few are held, may do so also if it is short.
   */
  static boolean isWorthwhile(Lease lease) {
    long length = lease.length();
    return length < 0 || length > Buffers.SIZE || lease instanceof PartsLease;
  }

  @Override
  public ByteBuffer[] read(long offset, long most) throws IOException {
    letGo();
    try {
      var present = found;
      return (present == null ? first : present.lease()).read(offset, most);
    } catch (DamagedException e) {
      return readOn(offset, most, e);
    }
  }

  private ByteBuffer[] readOn(long offset, long most, DamagedException lost) throws IOException {
    var tag = Parts.strongTag(head.fields()).orElse(null);
    if (tag == null || length() < 0 || !elsewhere.isTooLateToBeginAnew()) {
      throw lost;
    }
    var again = findAgain();
    if (again != null) {
      try {
        return again.lease().read(offset, most);
      } catch (DamagedException e) {
        lost.addSuppressed(e); // It has lost its place, too.
      }
    }
    return readFromOrigin(tag, offset, most, lost);
  }

  private @Nullable Found findAgain() throws IOException {
    letGoOfFound();
    var now = elsewhere.find();
    if (now != null && now.lease().length() == length() && isSame(now.head().fields())) {
      found = now;
    } else if (now != null) {
      now.close();
    }
    return found;
  }

  private boolean isSame(Fields other) throws IOException {
    return Parts.areOfOne(head.fields(), other);
  }

  private ByteBuffer[] readFromOrigin(EntityTag tag, long offset, long most, DamagedException lost)
      throws IOException {
    int count = (int) Math.min(Math.min(most, Buffers.SIZE), length() - offset);
    if (count == 0) {
      return NOTHING;
    }
    var range = offset + "-" + (offset + count - 1);
    try {
      if (!elsewhere.ask(
          "bytes=" + range,
          tag.toString(),
          answer -> isPart(answer, range, count) && readWhole(answer, count))) {
        throw lost;
      }
    } catch (OriginFailure e) {
      lost.addSuppressed(e);
      throw lost;
    }
    return new ByteBuffer[] {present().slice(0, count).asReadOnlyBuffer()};
  }

  private boolean isPart(OriginAnswer answer, String range, int count) throws IOException {
    var fields = answer.head().fields();
    long told = answer.exchange().body().length();
    return answer.head().status() == 206
        && fields.all("content-range").equals(List.of("bytes " + range + "/" + length()))
        && (told < 0 || told == count)
        && isSame(fields);
  }

  /** All of it, to the end: then others can use the connection. */
  private boolean readWhole(OriginAnswer answer, int count) throws IOException {
    piece = Buffers.borrow();
    var into = present().slice(0, count);
    var body = answer.exchange().body();
    while (into.hasRemaining()) {
      if (body.read(into) < 0) {
        throw new EOFException("the origin has sent less than it told");
      }
    }
    return body.read(ByteBuffer.allocate(1)) < 0;
  }

  private ByteBuffer present() {
    return Objects.requireNonNull(piece).buffer();
  }

  private void letGo() {
    if (piece != null) {
      piece.close();
      piece = null;
    }
  }

  private void letGoOfFound() {
    if (found != null) {
      found.close();
      found = null;
    }
  }

  @Override
  public Source source() {
    return first.source();
  }

  @Override
  public ByteBuffer head() {
    return first.head();
  }

  @Override
  public byte[] variant() {
    return first.variant();
  }

  @Override
  public long stamp() {
    return first.stamp();
  }

  @Override
  public boolean isStale() {
    return first.isStale();
  }

  @Override
  public long length() {
    return first.length();
  }

  @Override
  public void close() {
    letGo();
    letGoOfFound();
  }
}
