package dev.evergreen.proxy.storage;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/**
 * The variants of a URI, that asked for last first. A list is an object of its own, under the URI's
 * hash; a variant that is not on it is not found.
 */
record VariantList(List<byte[]> variants) {
  /** More of them fall off the end. */
  static final int MOST = 64;

  /** Reads what {@link #toBytes} wrote. */
  static VariantList of(byte[] bytes) {
    var buffer = ByteBuffer.wrap(bytes);
    var variants = new ArrayList<byte[]>();
    while (buffer.hasRemaining()) {
      var variant = new byte[buffer.getShort() & 0xffff];
      buffer.get(variant);
      variants.add(variant);
    }
    return new VariantList(variants);
  }

  byte[] toBytes() {
    int length = variants.stream().mapToInt(variant -> 2 + variant.length).sum();
    var buffer = ByteBuffer.allocate(length);
    for (var variant : variants) {
      buffer.putShort((short) variant.length).put(variant);
    }
    return buffer.array();
  }

  /**
   * The list with the variant before the first that was not asked for later. One that was may be
   * behind that: it was stored anew, and is about to be listed so.
   *
   * @param isLater which others were asked for later
   */
  VariantList with(byte[] variant, Predicate<byte[]> isLater) {
    var changed = new ArrayList<>(variants);
    changed.removeIf(other -> Arrays.equals(other, variant));
    int at = 0;
    while (at < changed.size() && isLater.test(changed.get(at))) {
      at++;
    }
    changed.add(at, variant);
    return new VariantList(changed.subList(0, Math.min(MOST, changed.size())));
  }

  boolean beginsWith(byte[] variant) {
    return !variants.isEmpty() && Arrays.equals(variants.getFirst(), variant);
  }
}
