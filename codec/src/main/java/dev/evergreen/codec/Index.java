package dev.evergreen.codec;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Where in an array of keys a key is, found in constant time. Null may be a key.
 *
 * <p>A hash table with open addressing, whose places depend on a secret of this process. Keys of
 * one and the same hash code, which a sender can choose, are a different matter: when many turn up,
 * the keys are looked up by their encodings instead. The same is done for keys whose {@code equals}
 * looks at identity, such as arrays.
 */
final class Index {
  private static final int SECRET = ThreadLocalRandom.current().nextInt() | 1;
  private static final int MAX_COLLISIONS = 32;

  private final @Nullable Object[] keys;
  private final int[] places;
  private final int[] hashes;
  private final int shift;
  private final @Nullable Shape shape;
  private final Limits limits;
  private @Nullable Map<byte[], Integer> byBytes;
  private boolean twice;

  /** Keys without a shape are always looked up by their hash codes. */
  Index(@Nullable Object[] keys, @Nullable Shape shape, Limits limits) {
    this.keys = keys;
    this.shape = shape;
    this.limits = limits;
    int bits = 33 - Integer.numberOfLeadingZeros(Math.max(1, keys.length));
    this.places = new int[1 << bits];
    this.shift = 32 - bits;
    this.hashes = new int[keys.length];
    if (shape != null && shape.identity()) {
      useBytes(shape);
    } else {
      insertAll();
    }
  }

  /** Whether there are equal keys. */
  boolean twice() {
    return twice;
  }

  private void insertAll() {
    for (int i = 0; i < keys.length; i++) {
      int collisions = insert(i);
      if (collisions > MAX_COLLISIONS && shape != null) {
        useBytes(shape);
        return;
      }
    }
  }

  /** Returns how many different keys of the same hash code it met. */
  private int insert(int position) {
    Object key = keys[position];
    int hash = Objects.hashCode(key);
    hashes[position] = hash;
    int collisions = 0;
    int place = place(hash);
    while (places[place] != 0) {
      int other = places[place] - 1;
      if (hashes[other] == hash) {
        twice |= Objects.equals(keys[other], key);
        collisions++;
      }
      place = (place + 1) & (places.length - 1);
    }
    places[place] = position + 1;
    return collisions;
  }

  private int place(int hash) {
    int mixed = (hash ^ (hash >>> 16)) * SECRET;
    return mixed >>> shift;
  }

  private void useBytes(Shape shape) {
    var all = new TreeMap<byte[], Integer>(Arrays::compareUnsigned);
    for (int i = 0; i < keys.length; i++) {
      if (all.putIfAbsent(encode(shape, keys[i]), i) != null) {
        twice = true;
      }
    }
    byBytes = all;
  }

  private byte[] encode(Shape shape, @Nullable Object key) {
    var out = new Writer(limits);
    shape.put(out, key);
    return out.toBytes();
  }

  /** The position of the key, or -1. */
  int find(@Nullable Object key) {
    if (byBytes != null && shape != null) {
      return findByBytes(shape, byBytes, key);
    }
    int hash = Objects.hashCode(key);
    for (int place = place(hash); places[place] != 0; place = (place + 1) & (places.length - 1)) {
      int position = places[place] - 1;
      if (hashes[position] == hash && Objects.equals(keys[position], key)) {
        return position;
      }
    }
    return -1;
  }

  private int findByBytes(Shape shape, Map<byte[], Integer> all, @Nullable Object key) {
    try {
      Integer position = all.get(encode(shape, key));
      return position == null ? -1 : position;
    } catch (NotAValueException | ValueLimitException e) {
      return -1;
    }
  }
}
