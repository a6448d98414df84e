package dev.evergreen.proxy.storage;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.store.Change;
import dev.evergreen.store.Holder;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Mode;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import dev.evergreen.store.StoreOptions;
import dev.evergreen.store.StoreStats;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
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
  private final Keys keys = new Keys();
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
    return set(new Key(), MemorySegment.ofArray(new byte[KEY_LENGTH]), hash);
  }

  private static Key set(Key key, MemorySegment bytes, long hash) {
    bytes.set(JAVA_LONG_UNALIGNED, 0, hash);
    return key.set(bytes, 0, KEY_LENGTH);
  }

  /**
   * Keys that look-ups use again, each of one look-up at a time. They are found by the thread's
   * number, so that those that run at once seldom want the same.
   */
  private static final class Keys {
    private static final int MOST = 16;

    private record Used(Key key, MemorySegment bytes) {}

    private final AtomicReferenceArray<@Nullable Used> free = new AtomicReferenceArray<>(MOST);

    Outcome hold(Store store, long hash, Item item, boolean noticed) {
      int slot = (int) Thread.currentThread().threadId() & (MOST - 1);
      var taken = free.getAndSet(slot, null);
      var used =
          taken != null ? taken : new Used(new Key(), MemorySegment.ofArray(new byte[KEY_LENGTH]));
      try {
        var key = set(used.key, used.bytes, hash);
        return noticed ? store.hold(key, item) : store.holdUnnoticed(key, item);
      } finally {
        free.setRelease(slot, used);
      }
    }
  }

  /** An object that was found. */
  sealed interface Found {}

  /** An object that is held: it stays as it is until {@link #close}. */
  static final class Held implements Found, Bytes, AutoCloseable {
    private final Item item;
    private Buffers.@Nullable Loan copy;
    final boolean isFirstHit;
    final long stamp;

    /** The whole object, if it lies in one place. */
    private final @Nullable MemorySegment whole;

    /** The same for those who want buffers. */
    private @Nullable ByteBuffer view;

    private Held(Item item, Buffers.@Nullable Loan copy) {
      this.item = item;
      this.copy = copy;
      isFirstHit = !item.isFetched();
      stamp = item.cas();
      var first =
          copy == null ? item.valueFrom(0) : MemorySegment.ofBuffer(copy.buffer()).asReadOnly();
      whole = first.byteSize() >= item.valueLength() ? first : null;
    }

    @Override
    public int length() {
      return item.valueLength();
    }

    @Override
    public MemorySegment from(int offset) {
      if (whole == null) {
        return item.valueFrom(offset);
      }
      return offset == 0 ? whole : whole.asSlice(offset);
    }

    /** A part of what lies in one place. */
    private ByteBuffer slice(MemorySegment all, int offset, int length) {
      var present = view;
      if (present == null) {
        present = all.asByteBuffer();
        view = present;
      }
      return present.slice(offset, length);
    }

    @Override
    public ByteBuffer whole(int offset, int length) {
      return whole == null ? Bytes.super.whole(offset, length) : slice(whole, offset, length);
    }

    @Override
    public ByteBuffer[] pieces(int offset, int length) {
      if (whole == null || length == 0) {
        return Bytes.super.pieces(offset, length);
      }
      return new ByteBuffer[] {slice(whole, offset, length)};
    }

    @Override
    public boolean equalsAt(int offset, MemorySegment key) {
      long n = key.byteSize();
      return whole == null
          ? Bytes.super.equalsAt(offset, key)
          : MemorySegment.mismatch(whole, offset, offset + n, key, 0, n) == -1;
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

  /**
   * A large object that may not be held, as slow readers hold so much: parts of it can be copied
   * until its memory is used for others. Each time counts as a hit, so that it stays while it is
   * being read.
   */
  final class Unheld implements Found {
    final long stamp;
    private final long hash;
    private final Item item;

    /** What comes before the body. */
    final byte[] prefix;

    private Unheld(long hash, Item item, byte[] prefix) {
      stamp = item.cas();
      this.hash = hash;
      this.item = item;
      this.prefix = prefix;
    }

    int bodyLength() {
      return item.valueLength() - prefix.length;
    }

    /** Copies a part of the body to the buffer's beginning; false if it is not there any more. */
    boolean copyBody(long offset, ByteBuffer to, int count) {
      int at = prefix.length + (int) offset;
      return store.copyPart(key(hash), item, at, MemorySegment.ofBuffer(to), count);
    }
  }

  /** Finds an object and holds it for who reads it, if that may be; that is a hit. */
  @Nullable Found find(long hash, Recipient recipient) {
    return find(hash, true, recipient.memory);
  }

  /**
   * Finds the object with the stamp and holds it, if that may be, for who has received it: that is
   * no hit.
   */
  @Nullable Found find(long hash, long stamp, Recipient recipient) {
    var found = find(hash, false, recipient.memory);
    return switch (found) {
      case null -> null;
      case Unheld unheld -> unheld.stamp == stamp ? unheld : null;
      case Held held -> {
        if (held.stamp == stamp) {
          yield held;
        }
        held.close();
        yield null;
      }
    };
  }

  /** Finds an object and holds it, to be written elsewhere: nobody has asked for it. */
  @Nullable Held peek(long hash) {
    return find(hash, false, null) instanceof Held held ? held : null;
  }

  /** Whether there is an object; nobody has asked for it. */
  boolean has(long hash) {
    var item = new Item();
    try {
      return store.peek(key(hash), item) != Outcome.NOT_FOUND;
    } finally {
      item.release();
    }
  }

  private @Nullable Found find(long hash, boolean noticed, @Nullable Holder holder) {
    var item = new Item(holder);
    return switch (keys.hold(store, hash, item, noticed)) {
      case FOUND -> new Held(item, null);
      case BUSY -> copy(hash, item, noticed);
      default -> null;
    };
  }

  /**
   * For when slow readers hold all that may be held: what fits into a buffer is copied as a whole,
   * also where the store takes it for large. So it stays as it is for whoever reads it.
   */
  private @Nullable Found copy(long hash, Item item, boolean noticed) {
    var key = key(hash);
    var loan = Buffers.borrow();
    boolean held = false;
    try {
      var buffer = MemorySegment.ofBuffer(loan.buffer());
      var outcome = noticed ? store.get(key, item) : store.peek(key, item);
      while (outcome != Outcome.NOT_FOUND && item.valueLength() <= buffer.byteSize()) {
        held =
            outcome == Outcome.FOUND
                ? item.copyValue(buffer, 0)
                : store.copyPart(key, item, 0, buffer, item.valueLength());
        if (held) {
          return new Held(item, loan);
        }
        outcome = noticed ? store.get(key, item) : store.peek(key, item);
      }
      return outcome == Outcome.NOT_FOUND ? null : unheld(key, hash, item);
    } finally {
      if (!held) {
        item.release();
        loan.close();
      }
    }
  }

  private @Nullable Unheld unheld(Key key, long hash, Item item) {
    var fixed = MemorySegment.ofArray(new byte[Image.FIXED]);
    if (!store.copyPart(key, item, 0, fixed, Image.FIXED)) {
      return null;
    }
    var prefix = new byte[Image.bodyAt(fixed)];
    return store.copyPart(key, item, 0, MemorySegment.ofArray(prefix), prefix.length)
        ? new Unheld(hash, item, prefix)
        : null;
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
    try (var reservation = store.reserveAtOnce(key(hash), (int) length)) {
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
