package dev.evergreen.store;

/**
 * What reading an item is to do to it. Belongs to one caller, who clears it for each request; not
 * safe for several threads.
 */
public final class Fetch {
  boolean touches;
  int expiry;
  boolean vivifies;
  int vivifiedExpiry;
  boolean setsCas;
  long vivifiedCas;
  boolean recaches;
  int recacheBefore;
  boolean recachesUntouched;
  boolean unnoticed;
  boolean valueless;
  boolean binaryKey;

  boolean isGet;
  boolean holds;

  /** A fetch that only reads. */
  public Fetch() {}

  static Fetch get(boolean noticed) {
    var fetch = new Fetch();
    fetch.unnoticed = !noticed;
    fetch.isGet = true;
    return fetch;
  }

  static Fetch hold(boolean noticed) {
    var fetch = get(noticed);
    fetch.holds = true;
    return fetch;
  }

  /** Whether an item that is neither missing nor stale is left as it is, but for its access. */
  boolean onlyReads() {
    return !touches && !recaches && !valueless && !holds;
  }

  /** Back to one that only reads. */
  public Fetch clear() {
    touches = false;
    vivifies = false;
    setsCas = false;
    recaches = false;
    recachesUntouched = false;
    unnoticed = false;
    valueless = false;
    binaryKey = false;
    isGet = false;
    return this;
  }

  /** Sets the item's expiry, in seconds of the store's clock; 0 is never. */
  public Fetch touch(int expiry) {
    touches = true;
    this.expiry = expiry;
    return this;
  }

  /** Makes an item without a value if there is none. Who made it has won the right to fill it. */
  public Fetch vivify(int expiry) {
    vivifies = true;
    vivifiedExpiry = expiry;
    return this;
  }

  /** Gives an item that is made this CAS number instead of the next one. */
  public Fetch vivifiedCas(long cas) {
    setsCas = true;
    vivifiedCas = cas;
    return this;
  }

  /**
   * Lets the first reader win the right to renew an item that expires before this second of the
   * store's clock.
   */
  public Fetch recacheBefore(int second) {
    recaches = true;
    recacheBefore = second;
    return this;
  }

  /** Judges by the expiry that the item had before it is touched whether it is to be renewed. */
  public Fetch recacheUntouched() {
    recachesUntouched = true;
    return this;
  }

  /** Notes of an item that is made that its key is to be shown encoded. */
  public Fetch binaryKey() {
    binaryKey = true;
    return this;
  }

  /** Reads as another one does, and counts as it does, but has no other effect. */
  public Fetch readLike(Fetch other) {
    clear();
    unnoticed = other.unnoticed;
    valueless = other.valueless;
    return this;
  }

  /** Nobody wins the right to renew a stale item by it. */
  public Fetch winless() {
    isGet = true;
    return this;
  }

  /** Does not count as an access. */
  public Fetch unnoticed() {
    unnoticed = true;
    return this;
  }

  /** Leaves the value where it is: it cannot be copied, and is not held. */
  public Fetch withoutValue() {
    valueless = true;
    return this;
  }
}
