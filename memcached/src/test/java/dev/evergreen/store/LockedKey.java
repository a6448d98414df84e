package dev.evergreen.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.lang.foreign.MemorySegment;

/** Holds what guards a key in a store, like somebody who has lost its processor amid a change. */
public final class LockedKey implements AutoCloseable {
  private final Index index;
  private final long bucket;

  /** From now on who wants to change the key tries it again and again. */
  public LockedKey(Store store, String name) throws ReflectiveOperationException {
    var field = Store.class.getDeclaredField("items");
    field.setAccessible(true);
    var items = (Items) field.get(store);
    var bytes = name.getBytes(US_ASCII);
    index = items.index;
    bucket = index.lock(items.hash(new Key().set(MemorySegment.ofArray(bytes), 0, bytes.length)));
  }

  @Override
  public void close() {
    index.unlock(bucket);
  }
}
