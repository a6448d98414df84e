package dev.evergreen.core.sim;

/** A read of a grain that yields a number. */
sealed interface Ref {

  /** What of it. */
  enum Aspect {
    VALUE,
    PARITY,
    /** The value, by way of an {@link Audit}. */
    AUDITED
  }

  /** Of a {@link Cell}. */
  record OfCell(String key, Aspect aspect) implements Ref {}

  /** Of a {@link Formula}. */
  record OfFormula(long key, int argument, Aspect aspect) implements Ref {}

  /**
   * Of a stall.
   *
   * @param tag a part of the question that only nodes of the newer version know
   */
  record OfStall(String key, long added, int tag) implements Ref {}

  /** How often a {@link Ring} was changed. */
  record OfRing(String key) implements Ref {}

  /** Of a {@link Meter}. */
  record OfMeter(String key) implements Ref {}

  /** Of a {@link Courier}. */
  record OfCourier(Courier.Key key) implements Ref {}
}
