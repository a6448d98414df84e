package dev.evergreen.proxy;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.proxy.rules.EntityTag;
import dev.evergreen.proxy.rules.Validators;
import dev.evergreen.proxy.storage.DamagedException;
import dev.evergreen.proxy.storage.Lease;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A lease that goes on when its response has lost its place in the storage while a slow client took
 * it: from what is stored now, or else from the origin, if that is the same by its strong tag (RFC
 * 9110 §8.8.3). The origin is asked for a buffer's worth at a time, so that no connection to it
 * waits for the client.
 */
final class SteadyLease implements Lease {

  /** Where there may be the same response. */
  interface Elsewhere {
    /** Whether the response has begun; else it is better looked for anew. */
    boolean isTooLateToBeginAnew();

    /** What is stored now, or null. */
    @Nullable Found find();

    /**
     * Asks the origin for a part.
     *
     * @param range the value of Range
     * @param tag that of If-Range
     */
    OriginAnswer ask(String range, String tag) throws IOException;
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

  /** Whether a response may last so long that it loses its place meanwhile. */
  static boolean isWorthwhile(Lease lease) {
    long length = lease.length();
    return length < 0 || length > Buffers.SIZE;
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
    var tag = Validators.of(head.fields()).tag().filter(each -> !each.weak()).orElse(null);
    if (tag == null || length() < 0 || !elsewhere.isTooLateToBeginAnew()) {
      throw lost;
    }
    var again = findAgain(tag);
    if (again != null) {
      try {
        return again.lease().read(offset, most);
      } catch (DamagedException e) {
        lost.addSuppressed(e); // It has lost its place, too.
      }
    }
    return readFromOrigin(tag, offset, most, lost);
  }

  private @Nullable Found findAgain(EntityTag tag) throws IOException {
    letGoOfFound();
    var now = elsewhere.find();
    if (now != null && now.lease().length() == length() && isSame(tag, now.validators())) {
      found = now;
    } else if (now != null) {
      now.close();
    }
    return found;
  }

  private static boolean isSame(EntityTag tag, Validators other) {
    return other.tag().isPresent() && tag.equalsStrongly(other.tag().get());
  }

  private ByteBuffer[] readFromOrigin(EntityTag tag, long offset, long most, DamagedException lost)
      throws IOException {
    int count = (int) Math.min(Math.min(most, Buffers.SIZE), length() - offset);
    if (count == 0) {
      return NOTHING;
    }
    var range = offset + "-" + (offset + count - 1);
    try (var answer = elsewhere.ask("bytes=" + range, tag.toString())) {
      var fields = answer.head().fields();
      boolean isPart =
          answer.head().status() == 206
              && ("bytes " + range + "/" + length()).equals(fields.get("content-range"))
              && isSame(tag, Validators.of(fields));
      if (!isPart) {
        throw lost;
      }
      return new ByteBuffer[] {readWhole(answer, count)};
    } catch (OriginFailure e) {
      lost.addSuppressed(e);
      throw lost;
    }
  }

  private ByteBuffer readWhole(OriginAnswer answer, int count) throws IOException {
    var loan = Buffers.borrow();
    piece = loan;
    var into = loan.buffer().slice(0, count);
    var body = answer.exchange().body();
    while (into.hasRemaining()) {
      if (body.read(into) < 0) {
        throw new EOFException("the origin has sent less than it told");
      }
    }
    return into.flip().asReadOnlyBuffer();
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
