package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.storage.DamagedException;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One of the parts that a response is stored in. It is held while it is read, and need not be
 * before and afterwards: each that is held may need a buffer, and there may be many.
 */
final class StoredPart implements PartsLease.Piece {

  private final Storage storage;
  private final MemorySegment place;
  private final byte[] variant;
  private final ByteRange range;
  private final Fields joined;
  private final Recipient recipient;
  private @Nullable Found held;

  /**
   * A part that is held.
   *
   * @param place the key of the parts
   * @param joined the fields of what it is joined with
   */
  StoredPart(Storage storage, MemorySegment place, Found held, Fields joined, Recipient recipient) {
    this.recipient = recipient;
    this.storage = storage;
    this.place = place;
    this.held = held;
    this.joined = joined;
    variant = held.lease().variant();
    range = held.range().range();
  }

  @Override
  public ByteRange range() {
    return range;
  }

  /** It is held from now on. */
  @Override
  public Lease lease() throws IOException {
    var present = held;
    if (present == null) {
      present = findAgain();
      held = present;
    }
    return present.lease();
  }

  private Found findAgain() throws IOException {
    var found = Found.find(storage, place, each -> Arrays.equals(each, variant), recipient);
    boolean same = false;
    try {
      same = found != null && Parts.areOfOne(joined, found.head().fields());
    } finally {
      if (found != null && !same) {
        found.close();
      }
    }
    if (found == null || !same) {
      throw DamagedException.missing();
    }
    return found;
  }

  @Override
  public boolean isComing() {
    return false;
  }

  @Override
  public void leave() {
    if (held != null) {
      held.close();
      held = null;
    }
  }
}
