package dev.evergreen.codec;

/** A value is larger or deeper than the codec's limits allow. */
public final class ValueLimitException extends IllegalArgumentException {

  public ValueLimitException(String message) {
    super(message);
  }
}
