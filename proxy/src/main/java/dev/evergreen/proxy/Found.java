package dev.evergreen.proxy;

import dev.evergreen.proxy.rules.Life;
import dev.evergreen.proxy.rules.Validators;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Selector;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A stored response that was found for a request. */
record Found(Lease lease, StoredHead head) implements AutoCloseable {

  /** Looks for one; null if there is none that can be read. */
  static @Nullable Found find(Storage storage, MemorySegment key, Selector selector) {
    var lease = storage.find(key, selector);
    if (lease == null) {
      return null;
    }
    try {
      return new Found(lease, StoredHead.of(lease.head()));
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

  /** Its life, which has ended if it was softly purged. */
  Life life(long now) {
    return lease.isStale() ? head.life().ended(now) : head.life();
  }

  Validators validators() throws IOException {
    return Validators.of(head.fields());
  }

  @Override
  public void close() {
    lease.close();
  }
}
