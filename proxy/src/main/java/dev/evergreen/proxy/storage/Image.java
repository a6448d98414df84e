package dev.evergreen.proxy.storage;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * How an object is written, in memory and on disk alike: what it is, then its body.
 *
 * <pre>
 * 0 bytes of the head  4 of the key  6 of the variant  8 number of tags  10 kind  11 renewed, 5 bytes
 * 16 hashes of the tags, 8 bytes each; the key; the variant; the head; the body
 * </pre>
 *
 * Numbers are little-endian, as are all others of the storage. What is written again on disk gets a
 * newer stamp there, so that the marks of former times can be forgotten; <em>renewed</em> is by how
 * much that is greater than the stamp under which the object was stored.
 */
final class Image {
  static final int FIXED = 16;

  /** A response of the proxy. */
  static final byte RESPONSE = 0;

  /** The list of a URI's variants, which is stored under the URI's own hash. */
  static final byte VARIANTS = 1;

  private static final int RENEWED_AT = 8;
  private static final int RENEWED_SHIFT = 24;
  private static final long MOST_RENEWED = (1L << 40) - 1;

  final Bytes bytes;
  final int headLength;
  final int keyLength;
  final int variantLength;
  final int tags;
  final byte kind;

  /**
   * Reads what there is.
   *
   * @throws IndexOutOfBoundsException if that is no image
   */
  Image(Bytes bytes) {
    this.bytes = bytes;
    var fixed = bytes.from(0);
    headLength = fixed.get(JAVA_INT_UNALIGNED, 0);
    keyLength = fixed.get(JAVA_SHORT_UNALIGNED, 4) & 0xffff;
    variantLength = fixed.get(JAVA_SHORT_UNALIGNED, 6) & 0xffff;
    tags = fixed.get(JAVA_SHORT_UNALIGNED, 8) & 0xffff;
    kind = fixed.get(JAVA_BYTE, 10);
    if (headLength < 0 || headLength > bytes.length() - headAt()) {
      throw new IndexOutOfBoundsException("an image of %d bytes".formatted(bytes.length()));
    }
  }

  /** Where the body begins of an image of which only the fixed part is at hand. */
  static int bodyAt(MemorySegment fixed) {
    return FIXED
        + 8 * (fixed.get(JAVA_SHORT_UNALIGNED, 8) & 0xffff)
        + (fixed.get(JAVA_SHORT_UNALIGNED, 4) & 0xffff)
        + (fixed.get(JAVA_SHORT_UNALIGNED, 6) & 0xffff)
        + fixed.get(JAVA_INT_UNALIGNED, 0);
  }

  int keyAt() {
    return FIXED + 8 * tags;
  }

  int variantAt() {
    return keyAt() + keyLength;
  }

  int headAt() {
    return variantAt() + variantLength;
  }

  int bodyAt() {
    return headAt() + headLength;
  }

  int bodyLength() {
    return bytes.length() - bodyAt();
  }

  /**
   * The stamp under which an object was stored.
   *
   * @param stamp the one that it has now
   */
  long asked(long stamp) {
    return stamp - renewed(bytes.from(0).get(JAVA_LONG_UNALIGNED, RENEWED_AT));
  }

  private static long renewed(long word) {
    return word >>> RENEWED_SHIFT;
  }

  /**
   * Notes in an image that its object gets another stamp. What would be too much to be noted, after
   * years, is taken for stored later than it was: by then nothing is on its way any more that was
   * asked for before.
   */
  static void renew(ByteBuffer image, long former, long stamp) {
    var fixed = image.duplicate().order(LITTLE_ENDIAN);
    int at = image.position() + RENEWED_AT;
    long word = fixed.getLong(at);
    long renewed = Math.min(MOST_RENEWED, renewed(word) + stamp - former);
    fixed.putLong(at, (word & ((1L << RENEWED_SHIFT) - 1)) | (renewed << RENEWED_SHIFT));
  }

  /** The hash of a tag. */
  long tag(int number) {
    return bytes.from(FIXED + 8 * number).get(JAVA_LONG_UNALIGNED, 0);
  }

  boolean hasKey(MemorySegment key) {
    return key.byteSize() == keyLength && bytes.equalsAt(keyAt(), key);
  }

  boolean hasVariant(byte[] variant) {
    return variant.length == variantLength
        && (variant.length == 0 || bytes.equalsAt(variantAt(), MemorySegment.ofArray(variant)));
  }

  /** What comes before the body. */
  static byte[] prefix(byte kind, long[] tags, MemorySegment key, byte[] variant, byte[] head) {
    int keyAt = FIXED + 8 * tags.length;
    int keyLength = (int) key.byteSize();
    var prefix = new byte[keyAt + keyLength + variant.length + head.length];
    var to = MemorySegment.ofArray(prefix);
    to.set(JAVA_INT_UNALIGNED, 0, head.length);
    to.set(JAVA_SHORT_UNALIGNED, 4, (short) keyLength);
    to.set(JAVA_SHORT_UNALIGNED, 6, (short) variant.length);
    to.set(JAVA_SHORT_UNALIGNED, 8, (short) tags.length);
    to.set(JAVA_BYTE, 10, kind);
    for (int i = 0; i < tags.length; i++) {
      to.set(JAVA_LONG_UNALIGNED, FIXED + 8L * i, tags[i]);
    }
    MemorySegment.copy(key, 0, to, keyAt, keyLength);
    System.arraycopy(variant, 0, prefix, keyAt + keyLength, variant.length);
    System.arraycopy(head, 0, prefix, keyAt + keyLength + variant.length, head.length);
    return prefix;
  }
}
