package dev.evergreen.store;

/**
 * How an item is to be changed. Belongs to one caller, who clears it for each request; not safe for
 * several threads.
 *
 * <p>Times are seconds of the store's clock. An item is gone when the clock has reached its expiry;
 * 0 is never.
 */
public final class Change {
  Mode mode = Mode.SET;
  int flags;
  int expiry;
  boolean touches;
  boolean compares;
  long expectedCas;
  boolean setsCas;
  long newCas;
  boolean invalidates;
  boolean empties;
  boolean vivifies;
  int vivifiedExpiry;
  boolean decrements;
  long delta;
  long initial;
  boolean binaryKey;

  /** A change with the defaults of {@link #clear}. */
  public Change() {}

  /** Back to a plain set: client flags 0, no expiry, no condition. */
  public Change clear() {
    mode = Mode.SET;
    flags = 0;
    expiry = 0;
    touches = false;
    compares = false;
    expectedCas = 0;
    setsCas = false;
    newCas = 0;
    invalidates = false;
    empties = false;
    vivifies = false;
    vivifiedExpiry = 0;
    decrements = false;
    delta = 0;
    initial = 0;
    binaryKey = false;
    return this;
  }

  public Change mode(Mode mode) {
    this.mode = mode;
    return this;
  }

  /** The client flags. */
  public int flags() {
    return flags;
  }

  public Change flags(int flags) {
    this.flags = flags;
    return this;
  }

  /**
   * The expiry of what is stored; deletes and arithmetic leave it as it is unless this is called.
   */
  public Change expiry(int second) {
    expiry = second;
    touches = true;
    return this;
  }

  /** Makes the change only if the item has this CAS number, which is never 0. */
  public Change ifCas(long expected) {
    compares = true;
    expectedCas = expected;
    return this;
  }

  /** Gives the item this CAS number instead of the next one. */
  public Change setCas(long cas) {
    setsCas = true;
    newCas = cas;
    return this;
  }

  /**
   * A delete marks the item stale instead, so that the next reader wins the right to renew it. A
   * set whose expected CAS number is lower than the item's stores nevertheless, and the item is
   * stale.
   */
  public Change invalidate() {
    invalidates = true;
    return this;
  }

  /**
   * A delete leaves an item without value and client flags, which expires only if an expiry is
   * given.
   */
  public Change empty() {
    empties = true;
    return this;
  }

  /** An append, a prepend or arithmetic makes the item if there is none. */
  public Change vivify(int expiry) {
    vivifies = true;
    vivifiedExpiry = expiry;
    return this;
  }

  /**
   * Arithmetic adds this number of 64 bits without sign, and starts again at 0 behind the largest.
   */
  public Change increment(long delta) {
    decrements = false;
    this.delta = delta;
    return this;
  }

  /** Arithmetic subtracts this number of 64 bits without sign, down to 0. */
  public Change decrement(long delta) {
    decrements = true;
    this.delta = delta;
    return this;
  }

  /** Notes of an item that is stored that its key is to be shown encoded. */
  public Change binaryKey() {
    binaryKey = true;
    return this;
  }

  /** Bits of a new record that come from the request. */
  int bits() {
    return binaryKey ? Records.BINARY : 0;
  }

  /** The number that arithmetic makes if there is no item and it vivifies. */
  public Change initial(long number) {
    initial = number;
    return this;
  }
}
