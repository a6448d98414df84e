package dev.evergreen.proxy.storage;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.store.Change;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Mode;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import dev.evergreen.store.StoreOptions;
import dev.evergreen.store.StoreStats;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Objects in memory: {@link Image}s in a {@link Store}, by their hashes, with their stamps for CAS
 * numbers. Which keys they have is in the images.
 */
final class MemoryTier implements AutoCloseable {
  /** Nothing expires here: what is fresh is the proxy's matter. */
  private static final int NOW = 1;

  private static final int KEY_LENGTH = 8;

  private final Store store;
  private final int largest;

  MemoryTier(long limit, int largest) {
    int itemLimit = (int) Math.min(limit / 2, largest + 128L);
    store = Store.open(new StoreOptions(limit, itemLimit, true), () -> NOW);
    this.largest = largest;
  }

  /** Whether an image of this size may be kept in memory. */
  boolean takes(long imageLength) {
    return imageLength <= largest;
  }

  private static Key key(long hash) {
    var bytes = new byte[KEY_LENGTH];
    var key = MemorySegment.ofArray(bytes);
    key.set(JAVA_LONG_UNALIGNED, 0, hash);
    return new Key().set(key, 0, KEY_LENGTH);
  }

  /** An object that is held: it stays as it is until {@link #close}. */
  static final class Held implements Bytes, AutoCloseable {
    private final Item item;
    private Buffers.@Nullable Loan copy;
    final boolean isFirstHit;
    final long stamp;

    private Held(Item item, Buffers.@Nullable Loan copy) {
      this.item = item;
      this.copy = copy;
      isFirstHit = !item.isFetched();
      stamp = item.cas();
    }

    @Override
    public int length() {
      return item.valueLength();
    }

    @Override
    public MemorySegment from(int offset) {
      return copy == null
          ? item.valueFrom(offset)
          : MemorySegment.ofBuffer(copy.buffer()).asSlice(offset, length() - offset);
    }

    @Override
    public void close() {
      item.release();
      if (copy != null) {
        copy.close();
        copy = null;
      }
    }
  }

  /** Finds an object and holds it. */
  @Nullable Held find(long hash) {
    var item = new Item();
    var key = key(hash);
    return switch (store.hold(key, item)) {
      case FOUND -> new Held(item, null);
      case BUSY -> copy(key, item);
      default -> null;
    };
  }

  /** For when slow readers hold all that may be held: a small object can be copied. */
  private @Nullable Held copy(Key key, Item item) {
    var loan = Buffers.borrow();
    var buffer = MemorySegment.ofBuffer(loan.buffer());
    while (store.get(key, item) == Outcome.FOUND && item.valueLength() <= buffer.byteSize()) {
      if (item.copyValue(buffer, 0)) {
        return new Held(item, loan);
      }
    }
    item.release();
    loan.close();
    return null;
  }

  /** The stamp of the object, 0 if there is none. */
  long stamp(long hash) {
    var item = new Item();
    long stamp = store.peek(key(hash), item) == Outcome.NOT_FOUND ? 0 : item.cas();
    item.release();
    return stamp;
  }

  /** Stores an object in place of any other. */
  boolean put(long hash, long stamp, byte[] prefix, List<MemorySegment> body) {
    return put(hash, new Change().setCas(stamp), prefix, body);
  }

  /** Stores an object if there is none. */
  boolean add(long hash, long stamp, byte[] prefix, List<MemorySegment> body) {
    return put(hash, new Change().mode(Mode.ADD).setCas(stamp), prefix, body);
  }

  /** Stores an object in place of the one with the former stamp. */
  boolean replace(long hash, long former, long stamp, byte[] prefix, List<MemorySegment> body) {
    return put(hash, new Change().ifCas(former).setCas(stamp), prefix, body);
  }

  private boolean put(long hash, Change change, byte[] prefix, List<MemorySegment> body) {
    long length = prefix.length;
    for (var piece : body) {
      length += piece.byteSize();
    }
    if (!takes(length)) {
      return false;
    }
    try (var reservation = store.reserve(key(hash), (int) length)) {
      if (reservation == null) {
        return false;
      }
      reservation.fill(MemorySegment.ofArray(prefix), 0, prefix.length);
      for (var piece : body) {
        reservation.fill(piece, 0, (int) piece.byteSize());
      }
      var item = new Item();
      var outcome = reservation.commit(change, item);
      item.release();
      return outcome == Outcome.STORED;
    }
  }

  /** Removes the object with the stamp. */
  void remove(long hash, long stamp) {
    var item = new Item();
    var unused = store.delete(key(hash), new Change().ifCas(stamp), item);
    item.release();
  }

  /** Removes whatever there is. */
  void remove(long hash) {
    var item = new Item();
    var unused = store.delete(key(hash), new Change(), item);
    item.release();
  }

  void maintain() {
    store.maintain();
  }

  StoreStats stats() {
    return store.stats();
  }

  @Override
  public void close() {
    store.close();
  }
}
