package dev.evergreen.store;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What a request found or made: a consistent picture of an item, and the way to its value. Belongs
 * to one caller, who uses it for one request after the other; not safe for several threads.
 *
 * <p>A small value is still in the store and may change: {@link #copyValue} says whether it copied
 * what the picture shows, and if not the request is repeated. A {@link #isHeld held} value stays as
 * it is until {@link #release}, so that it can be copied in pieces:
 *
 * {@snippet :
 * do {
 *   if (store.get(key, item) != Outcome.FOUND) return miss();
 *   end = writeHeader(item);
 * } while (!item.copyValue(output, end));
 * }
 */
public final class Item {
  /** Memory for a longer value is not kept for the next one. */
  private static final int LONGEST_KEPT = 512;

  private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

  private @Nullable Items items;
  private long bucket;
  private long header;
  private final @Nullable Holder holder;
  private long pinned;
  private long held;
  private boolean spilled;
  private MemorySegment spill = NOTHING;

  /** How often in a row the value changed while it was copied. */
  int torn;

  long place;

  /** Of the {@link Segments}, when there was an item at the place. */
  long moment;

  int bits;
  int keyLength;
  int valueLength;
  int flags;
  int expiry;
  int previousExpiry;
  int lastAccess;
  short epoch;
  long cas;
  long size;
  long number;
  boolean won;
  boolean wonBefore;
  boolean isNew;

  /** An item that nothing was found for yet. */
  public Item() {
    this(null);
  }

  /** The same of one who may hold others, too; null if nobody does. */
  public Item(@Nullable Holder holder) {
    this.holder = holder;
  }

  /** The item's CAS number. */
  public long cas() {
    return cas;
  }

  /** The client flags, 32 bits. */
  public int flags() {
    return flags;
  }

  /** The second of the store's clock at which the item expires, 0 if never. */
  public int expiry() {
    return expiry;
  }

  /** The expiry before this request changed it. */
  public int previousExpiry() {
    return previousExpiry;
  }

  /** The second at which the item was last read or stored before this request. */
  public int lastAccess() {
    return lastAccess;
  }

  /** Whether the item was read before this request. */
  public boolean isFetched() {
    return (bits & Records.FETCHED) != 0;
  }

  /** Whether the item was stored under a key that was given encoded. */
  public boolean isKeyBinary() {
    return (bits & Records.BINARY) != 0;
  }

  /** Whether the item was marked stale. */
  public boolean isStale() {
    return (bits & Records.STALE) != 0;
  }

  /** Whether this request won the right to renew the item. */
  public boolean isWon() {
    return won;
  }

  /** Whether an earlier request won the right to renew the item. */
  public boolean isWonBefore() {
    return wonBefore;
  }

  /** Whether this request made the item because there was none. */
  public boolean isNew() {
    return isNew;
  }

  /** The bytes of the key. */
  public int keyLength() {
    return keyLength;
  }

  /** The bytes of the value. */
  public int valueLength() {
    return valueLength;
  }

  /** The bytes of memory that the item takes. */
  public long size() {
    return size;
  }

  /** The number that arithmetic made, 64 bits without sign. */
  public long number() {
    return number;
  }

  /**
   * Whether the value stays as it is until {@link #release}; so are large values, which are larger
   * than any other.
   */
  public boolean isHeld() {
    return pinned != 0;
  }

  /**
   * Copies the whole value.
   *
   * @return false if the value may have changed meanwhile: what was copied is worthless, and the
   *     request is to be repeated
   */
  public boolean copyValue(MemorySegment target, long at) {
    if (spilled) {
      MemorySegment.copy(spill, 0, target, at, valueLength);
      return true;
    }
    var from = source();
    if (isHeld()) {
      from.records.read(place, 0, target, at, valueLength);
      return true;
    }
    // By the picture only: the record itself may be anything by now.
    long value = Records.keyAt(place) + keyLength;
    MemorySegment.copy(from.records.memory, value, target, at, valueLength);
    if (from.index.isUnchanged(bucket, header)) {
      torn = 0;
      return true;
    }
    torn++;
    return false;
  }

  /**
   * The bytes of a held value from the offset on, as far as they lie in one place: not empty before
   * the value's end. They stay as they are until {@link #release} and are not to be written to.
   */
  public MemorySegment valueFrom(int offset) {
    if (!isHeld()) {
      throw new IllegalStateException("only a held value stays where it is; use copyValue");
    }
    var records = source().records;
    return offset == valueLength
        ? MemorySegment.NULL
        : records
            .memory
            .asSlice(records.valueAt(place, offset), records.contiguous(place, offset))
            .asReadOnly();
  }

  /** Copies a part of a held value. */
  public void copyPart(int offset, MemorySegment target, long at, int length) {
    if (!isHeld()) {
      throw new IllegalStateException("only a held value can be copied in parts; use copyValue");
    }
    source().records.read(place, offset, target, at, length);
  }

  /**
   * Lets go of a held value. Does nothing if there is none, so that it may be called at any time.
   */
  public void release() {
    if (pinned != 0) {
      var from = source();
      from.letGo(pinned);
      from.unpin(pinned);
      pinned = 0;
      if (holder != null) {
        holder.add(-held);
      }
    }
    spilled = false;
    if (spill.byteSize() > LONGEST_KEPT) {
      spill = NOTHING;
    }
  }

  private Items source() {
    if (items == null) {
      throw new IllegalStateException("nothing was found yet");
    }
    return items;
  }

  /** Takes the picture. */
  void load(Items items, long place) {
    var records = items.records;
    this.items = items;
    this.place = place;
    moment = items.segments.moment();
    bits = records.bits(place);
    epoch = records.epoch(place);
    keyLength = records.keyLength(place);
    valueLength = records.valueLength(place);
    flags = records.flags(place);
    expiry = records.expiry(place);
    previousExpiry = expiry;
    lastAccess = records.lastAccess(place);
    cas = records.cas(place);
    won = false;
    isNew = false;
    wonBefore = (bits & Records.WON) != 0;
  }

  /** The value is valid as long as the bucket's header is this one. */
  void validWhile(long bucket, long header) {
    this.bucket = bucket;
    this.header = header;
    measure();
  }

  private void measure() {
    size = source().records.itemSize(keyLength, valueLength);
  }

  /** Pins a large value, or copies a small one, under the lock; false if no more may be held. */
  boolean keepValue() {
    var from = source();
    if ((bits & Records.LARGE) == 0) {
      if (spill.byteSize() < valueLength) {
        spill = MemorySegment.ofArray(new byte[valueLength]);
      }
      from.records.read(place, 0, spill, 0, valueLength);
      spilled = true;
      return true;
    }
    return holdValue();
  }

  /** Pins the value under the lock; false if no more may be held. */
  boolean holdValue() {
    var from = source();
    held = from.hold(place, holder == null ? 0 : holder.bytes());
    if (held == 0) {
      return false;
    }
    if (holder != null) {
      holder.add(held);
    }
    from.pin(place);
    pinned = place;
    return true;
  }

  /** Takes the picture for a request that does not read the value. */
  void loadWithoutValue(Items items, long place) {
    load(items, place);
    measure();
  }
}
