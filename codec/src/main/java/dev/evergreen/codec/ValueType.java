package dev.evergreen.codec;

import org.jspecify.annotations.Nullable;

/**
 * One static type of value, compiled: it checks, freezes, compares and encodes values of that type.
 * Thread-safe and immutable.
 *
 * <p>The encoding is deterministic: two values that {@link #same} calls the same have the same
 * bytes, whatever the order of their maps and sets, in every process. Hence a set or map that was
 * decoded has lost its order; one whose static type is {@code SequencedSet} or {@code SequencedMap}
 * keeps it, and is another in another order. It tolerates versions: a record component that the
 * bytes lack reads as null, zero, false, or the empty optional or collection; one that the class
 * lacks is skipped.
 */
public interface ValueType {

  /** The Java type, as in source code. */
  String name();

  /**
   * Whether every value of this type is deeply immutable by its static type alone, so that it can
   * be shared without {@link #freeze}: strings, boxed types, records of such.
   */
  boolean immutable();

  /**
   * Whether values of this type are the {@link #same} just if {@code equals} says so, and have a
   * {@code hashCode} that is the same in every process: numbers, strings, moments and other types
   * of the JDK without parts.
   */
  boolean plain();

  /**
   * The same value, deeply unmodifiable and sharing nothing mutable with the argument. Returns the
   * argument itself where it is already so. Freezing a collection that was frozen costs no more
   * than a look; an unmodifiable one of the JDK is kept too, but its elements are looked at each
   * time. Arrays are always copied, wherever they are. A record is as unmodifiable as its
   * constructor leaves its fields, whatever its accessors answer; one that copies a list into an
   * {@code ArrayList} is copied each time, and so is what holds it.
   *
   * @throws NotAValueException if the object holds something that its static type does not allow
   * @throws ValueLimitException if the value exceeds the codec's limits in depth or size; the size
   *     counted here may be an estimate, never less than half of the encoded size
   */
  @Nullable Object freeze(@Nullable Object value);

  /**
   * Whether both values have the same encoding, found without encoding where possible. Identical
   * references compare in constant time, at every level.
   */
  boolean same(@Nullable Object a, @Nullable Object b);

  /**
   * The deterministic bytes of a value.
   *
   * @throws NotAValueException if the object holds something that its static type does not allow
   * @throws ValueLimitException if the value exceeds the codec's limits
   */
  byte[] encode(@Nullable Object value);

  /**
   * The frozen value of the bytes.
   *
   * @throws MalformedValueException if the bytes are no encoding of this type; nothing is allocated
   *     beyond a small multiple of the bytes' length
   * @throws ValueLimitException if the value exceeds the codec's limits
   */
  default @Nullable Object decode(byte[] bytes) {
    return read(bytes).value();
  }

  /**
   * As {@link #decode}, and tells whether something in the bytes was passed over, which encoding
   * the value would lose.
   */
  Read read(byte[] bytes);

  /**
   * What bytes were read as.
   *
   * @param unknown a record component, such as {@code Item.colours}, that the bytes have and this
   *     version of the record has not, nor names as {@link Removed}; null if there is none
   */
  record Read(@Nullable Object value, @Nullable String unknown) {}
}
