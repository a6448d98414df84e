package dev.evergreen.store;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A store with strings for bytes and a clock that tests set. For one thread. */
final class TestStore implements AutoCloseable {
  final AtomicInteger clock = new AtomicInteger(1000);
  final Store store;
  final Item item = new Item();
  private final Key key = new Key();

  TestStore(StoreOptions options) {
    store = Store.open(options, clock::get);
  }

  TestStore(long limit) {
    this(StoreOptions.of(limit));
  }

  Key key(String text) {
    return key.set(MemorySegment.ofArray(text.getBytes(ISO_8859_1)), 0, text.length());
  }

  Outcome store(String key, String value, Change change) {
    var bytes = value.getBytes(ISO_8859_1);
    return store.store(key(key), MemorySegment.ofArray(bytes), 0, bytes.length, change, item);
  }

  Outcome set(String key, String value) {
    return store(key, value, new Change());
  }

  @Nullable String get(String key) {
    do {
      if (store.get(key(key), item) != Outcome.FOUND) {
        return null;
      }
    } while (!copied());
    return value();
  }

  @Nullable String fetch(String key, Fetch fetch) {
    return store.fetch(key(key), fetch, item) == Outcome.FOUND && copied() ? value() : null;
  }

  private byte[] copy = new byte[0];

  private boolean copied() {
    copy = new byte[item.valueLength()];
    return item.copyValue(MemorySegment.ofArray(copy), 0);
  }

  private String value() {
    item.release();
    return new String(copy, ISO_8859_1);
  }

  Outcome delete(String key) {
    return store.delete(key(key), new Change(), item);
  }

  Outcome add(String key, Change change) {
    return store.arithmetic(key(key), change, item);
  }

  /** All keys with the sizes of their items. */
  Map<String, Long> walk() {
    var found = new HashMap<String, Long>();
    var walker = store.walker();
    boolean more = true;
    while (more) {
      more =
          walker.step(
              7,
              (bytes, item) ->
                  found.put(
                      new String(
                          bytes.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE), ISO_8859_1),
                      item.size()));
    }
    return found;
  }

  /**
   * That the counts agree with what is there, to the byte, when nothing is reserved and nothing has
   * expired unnoticed.
   */
  void checkAccounts() {
    var stats = store.stats();
    var items = walk();
    assertEquals(items.size(), stats.items(), "items");
    assertEquals(items.values().stream().mapToLong(Long::longValue).sum(), stats.bytes(), "bytes");
    assertEquals(store.liveBytes(), stats.bytes(), "bytes of live records");
    assertTrue(stats.memory() <= stats.limit(), "memory " + stats.memory());
    assertTrue(stats.bytes() <= stats.memory(), "bytes within the memory");
    assertEquals(0, stats.heldBytes(), "held bytes");
    assertEquals(0, store.pins(), "pins");
    assertEquals(provenItems(), store.queues().provenItems(), "proven items");
  }

  private long provenItems() {
    var index = store.index();
    long proven = 0;
    for (long bucket = 0; bucket < index.buckets() * Index.BUCKET; bucket += Index.BUCKET) {
      for (long slot = index.nextSlot(bucket); slot != 0; slot = index.nextSlot(slot)) {
        proven += index.place(slot) != 0 && store.isProven(index.place(slot)) ? 1 : 0;
      }
    }
    return proven;
  }

  @Override
  public void close() {
    store.close();
  }
}
