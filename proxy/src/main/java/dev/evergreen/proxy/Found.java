package dev.evergreen.proxy;

import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Validators;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Selector;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A stored response that was found for a request.
 *
 * @param part what of it is stored, if that is a part; else null
 */
record Found(Lease lease, StoredHead head, @Nullable ContentRange part) implements AutoCloseable {

  /** The tags of so many variants are sent; more of them would make the request long. */
  private static final int MOST = 16;

  /** Looks for one; null if there is none that can be read. */
  static @Nullable Found find(Storage storage, MemorySegment key, Selector selector) {
    return find(storage, key, selector, new Recipient());
  }

  /** The same for one who may read others meanwhile. */
  static @Nullable Found find(
      Storage storage, MemorySegment key, Selector selector, Recipient recipient) {
    var lease = storage.find(key, selector, recipient);
    return lease == null ? null : of(lease, null);
  }

  /**
   * Finds the other variants of a URI, those by which an origin can choose: with a strong tag. A
   * weak one may be that of the same text in another coding, too, which this client does not take.
   *
   * @param except the response that is held already, or null
   */
  static List<Found> others(Storage storage, MemorySegment key, @Nullable Found except) {
    var others = new ArrayList<Found>();
    for (var lease : storage.findAll(key, MOST, _ -> true)) {
      var found = of(lease, null);
      if (found != null && (found.isSame(except) || !found.hasStrongTag())) {
        found.close();
      } else if (found != null) {
        others.add(found);
      }
    }
    return others;
  }

  private boolean hasStrongTag() {
    try {
      var tag = validators().tag();
      return tag.isPresent() && !tag.get().weak();
    } catch (IOException e) {
      return false; // Nobody can answer by what cannot be read.
    }
  }

  private boolean isSame(@Nullable Found other) {
    return other != null
        && lease.stamp() == other.lease.stamp()
        && Arrays.equals(lease.variant(), other.lease.variant());
  }

  /**
   * What was found; null if it cannot be read, and then it is closed.
   *
   * @param part what of a response it is, if it is a part; else null
   */
  static @Nullable Found of(Lease lease, @Nullable ContentRange part) {
    try {
      return new Found(lease, StoredHead.of(lease.head()), part);
    } catch (IOException e) {
      lease.close();
      return null;
    }
  }

  /** Whether another response, or one at all, is there now than was found before. */
  static boolean changed(
      Storage storage, MemorySegment key, Selector selector, @Nullable Found before) {
    try (var now = find(storage, key, selector)) {
      if (now == null || before == null) {
        return now != null && before == null;
      }
      return now.head.life().received() != before.head.life().received()
          || now.lease.stamp() != before.lease.stamp();
    }
  }

  /** The length of the whole; -1 if that is not known. */
  long length() {
    return part == null ? lease.length() : part.complete();
  }

  /** What of a response this part is. */
  ContentRange range() {
    return Objects.requireNonNull(part);
  }

  /** For what requests it was stored. */
  byte[] variant() {
    return part == null ? lease.variant() : Parts.variant(lease.variant());
  }

  /**
   * Whether what is stored in the place of this whole response now is older than a stamp, and may
   * be used without a validation.
   *
   * @param key that of its URI
   */
  boolean isStillUsed(Storage storage, String key, long stamp) {
    var variant = lease.variant();
    try (var now = find(storage, Proxy.segment(key), each -> Arrays.equals(each, variant))) {
      return now != null && now.lease.stamp() < stamp && !now.head.life().isRetired();
    }
  }

  Validators validators() throws IOException {
    return Validators.of(head.fields());
  }

  @Override
  public void close() {
    lease.close();
  }
}
