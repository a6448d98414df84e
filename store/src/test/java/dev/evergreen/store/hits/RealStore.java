package dev.evergreen.store.hits;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import dev.evergreen.store.Change;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import dev.evergreen.store.StoreOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Our store itself, with all that it costs; index and ghosts are taken from its limit. */
final class RealStore implements Policy {
  private final MemorySegment bytes = Arena.ofAuto().allocate(1 << 20);
  private final Key key = new Key();
  private final Item item = new Item();
  private final Change change = new Change();
  private final Store store;
  private int now = 1;

  RealStore(long limit, double meanSize) {
    store =
        Store.open(
            StoreOptions.of((long) (limit * meanSize / (meanSize + Policies.INDEX_BYTES))),
            () -> now);
  }

  @Override
  public String name() {
    return "our store";
  }

  @Override
  public boolean get(Request request, int second) {
    if (second + 1 != now) {
      now = second + 1;
      store.maintain();
    }
    bytes.set(JAVA_INT_UNALIGNED, 0, request.key());
    key.set(bytes, 0, Math.max(4, request.keyLength()));
    if (store.get(key, item) == Outcome.FOUND) {
      item.release();
      return true;
    }
    change.clear().expiry(request.lifetime() == 0 ? 0 : now + request.lifetime());
    var unused = store.store(key, bytes, 0, request.valueLength(), change, item);
    return false;
  }

  @Override
  public void close() {
    store.close();
  }
}
