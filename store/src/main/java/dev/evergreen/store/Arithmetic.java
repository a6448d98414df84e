package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;

/** Adds to values that are decimal numbers, where they are if the new number fits. */
final class Arithmetic {
  private static final int MOST_DIGITS = 20;

  /** Of key and value together: memcached keeps what is longer in pieces, and looks at no digit. */
  private static final int LONGEST = (512 << 10) - 59;

  private final Items items;
  private final Records records;
  private final Index index;
  private final Allocator allocator;
  private final Linker linker;
  private final MemorySegment memory;

  Arithmetic(Items items, Allocator allocator, Linker linker) {
    this.items = items;
    this.records = items.records;
    this.index = items.index;
    this.allocator = allocator;
    this.linker = linker;
    this.memory = records.memory;
  }

  Outcome add(Key key, Change change, Item item) {
    while (true) {
      var outcome = tryToAdd(key, change, item);
      if (outcome != Outcome.BUSY) {
        return outcome;
      }
    }
  }

  /** Answers BUSY if the item changed while a new record was made for it. */
  private Outcome tryToAdd(Key key, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long old = linker.alive(index.find(bucket, key), now);
    var outcome = old == 0 ? Outcome.NOT_FOUND : admit(old, change, item);
    if (outcome == Outcome.STORED && addInPlace(old, change, item, now)) {
      index.unlockChanged(bucket);
      return outcome;
    }
    int queue = old == 0 ? Segments.NEW : items.segments.queueOf(old);
    if (outcome == Outcome.STORED) {
      // So that it stays the number that was read, or is not found any more.
      items.pin(old);
    }
    index.unlock(bucket);
    if (outcome == Outcome.NOT_FOUND && change.vivifies) {
      item.number = change.initial;
    } else if (outcome != Outcome.STORED) {
      return outcome;
    }
    try {
      int digits = digits(item.number);
      long place = allocator.create(key, digits, queue);
      if (place < 0) {
        return Outcome.OUT_OF_MEMORY;
      }
      write(place, item.number, digits, digits);
      return link(key, place, old, change, item);
    } finally {
      if (old != 0) {
        items.unpin(old);
      }
    }
  }

  /** Leaves the new number in the item if there is one. */
  private Outcome admit(long old, Change change, Item item) {
    int length = records.valueLength(old);
    if (length == 0 || records.keyLength(old) + length > LONGEST) {
      return Outcome.NOT_NUMERIC;
    }
    if (!linker.matches(change, old)) {
      return Outcome.EXISTS;
    }
    if (!parse(old, item)) {
      return Outcome.NOT_NUMERIC;
    }
    if (!change.decrements) {
      item.number += change.delta;
    } else if (Long.compareUnsigned(change.delta, item.number) > 0) {
      item.number = 0;
    } else {
      item.number -= change.delta;
    }
    return Outcome.STORED;
  }

  private boolean addInPlace(long old, Change change, Item item, int now) {
    int digits = digits(item.number);
    int length = Math.max(digits, records.valueLength(old));
    if (items.isHeld(old)
        || records.headSize(records.keyLength(old), length) != records.size(old)) {
      return false;
    }
    records.bits(old, bitsFor(digits, old));
    records.valueLength(old, length);
    write(old, item.number, digits, length);
    records.cas(old, linker.newCas(change, records.cas(old)));
    records.lastAccess(old, now);
    int former = records.expiry(old);
    if (change.touches) {
      items.expiry(old, change.expiry);
    }
    item.loadWithoutValue(items, old);
    item.previousExpiry = former;
    return true;
  }

  /** As in memcached a number that becomes longer is another item: neither stale nor read. */
  private int bitsFor(int digits, long old) {
    int bits = records.bits(old);
    boolean longer = digits > records.valueLength(old);
    return longer ? bits & ~(Records.STALE | Records.WON | Records.FETCHED) : bits;
  }

  /** Links the record with the new number if the item has the number that it had then. */
  private Outcome link(Key key, long place, long oldThen, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    long old = linker.alive(slot, now);
    boolean same = linker.isStill(oldThen, old, change);
    boolean linked = false;
    if (same) {
      int former = old == 0 ? 0 : records.expiry(old);
      int expiry = old == 0 ? change.vivifiedExpiry : change.touches ? change.expiry : former;
      items.stamp(
          place,
          old,
          old == 0 ? 0 : records.flags(old),
          expiry,
          old == 0 ? change.bits() : bitsFor(records.valueLength(place), old),
          linker.newCas(change, old == 0 ? 0 : records.cas(old)),
          now);
      linked = linker.link(bucket, slot, old, key.hash, place, item);
      item.isNew = old == 0;
      item.previousExpiry = former;
      index.unlockChanged(bucket);
    } else {
      index.unlock(bucket);
    }
    linker.settle(linked, place);
    return linked ? Outcome.STORED : same ? Outcome.OUT_OF_MEMORY : Outcome.BUSY;
  }

  /**
   * Reads blanks, a sign and digits into the item's number, as C's strtoull does, up to the end, a
   * blank or a zero byte.
   */
  private boolean parse(long place, Item item) {
    long at = records.valueAt(place, 0);
    // No number goes beyond the first fragment of a large value.
    long end = at + records.contiguous(place, 0);
    while (at < end && isBlank(at)) {
      at++;
    }
    boolean negative = at < end && memory.get(JAVA_BYTE, at) == '-';
    if (negative || (at < end && memory.get(JAVA_BYTE, at) == '+')) {
      at++;
    }
    long number = 0;
    int digits = 0;
    for (; at < end && isDigit(at); at++, digits++) {
      int digit = memory.get(JAVA_BYTE, at) - '0';
      if (Long.compareUnsigned(number, Long.divideUnsigned(-1L - digit, 10)) > 0) {
        return false;
      }
      number = number * 10 + digit;
    }
    item.number = negative ? -number : number;
    boolean ends =
        at == end ? !records.isLarge(place) : isBlank(at) || memory.get(JAVA_BYTE, at) == 0;
    // A negative number is none, unless it comes out positive in 64 bits.
    return digits > 0 && ends && !(negative && item.number < 0);
  }

  private boolean isDigit(long at) {
    byte c = memory.get(JAVA_BYTE, at);
    return c >= '0' && c <= '9';
  }

  private boolean isBlank(long at) {
    byte c = memory.get(JAVA_BYTE, at);
    return c == ' ' || (c >= '\t' && c <= '\r');
  }

  private static int digits(long number) {
    int digits = 1;
    for (long rest = Long.divideUnsigned(number, 10); rest != 0; rest /= 10) {
      digits++;
    }
    assert digits <= MOST_DIGITS;
    return digits;
  }

  /** Writes the number's digits, and blanks up to the length. */
  private void write(long place, long number, int digits, int length) {
    long begin = records.valueAt(place, 0);
    for (int i = digits; i < length; ) {
      int piece = Math.min(length - i, records.contiguous(place, i));
      // Not by a slice, which is an object: the bucket is locked, and must not stay so.
      long at = records.valueAt(place, i);
      for (int done = 0; done < piece; done++) {
        memory.set(JAVA_BYTE, at + done, (byte) ' ');
      }
      i += piece;
    }
    long rest = number;
    for (int i = digits - 1; i >= 0; i--) {
      memory.set(JAVA_BYTE, begin + i, (byte) ('0' + Long.remainderUnsigned(rest, 10)));
      rest = Long.divideUnsigned(rest, 10);
    }
  }
}
