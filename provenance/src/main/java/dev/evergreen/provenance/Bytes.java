package dev.evergreen.provenance;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A string of bytes that does not change: compared by its content, as unsigned bytes. */
public final class Bytes implements Comparable<Bytes> {
  /** No bytes. */
  public static final Bytes EMPTY = new Bytes(new byte[0]);

  private final byte[] content;

  private Bytes(byte[] content) {
    this.content = content;
  }

  /** These bytes, which are not copied: whoever gives them does not change them any more. */
  public static Bytes of(byte[] content) {
    return content.length == 0 ? EMPTY : new Bytes(content);
  }

  /** The text in UTF-8. */
  public static Bytes of(String text) {
    return of(text.getBytes(StandardCharsets.UTF_8));
  }

  /** The number of bytes. */
  public int length() {
    return content.length;
  }

  /** The byte at a place, from 0 to 255. */
  public int at(int index) {
    return content[index] & 0xFF;
  }

  /** The bytes from a place on up to another, exclusive. */
  public Bytes slice(int from, int to) {
    return of(Arrays.copyOfRange(content, from, to));
  }

  /** Whether the first bytes are those of another string. */
  public boolean startsWith(Bytes prefix) {
    return content.length >= prefix.content.length
        && Arrays.equals(
            content, 0, prefix.content.length, prefix.content, 0, prefix.content.length);
  }

  /** How many bytes they are if each zero is followed by {@code FF}. */
  int escapedLength() {
    int length = content.length;
    for (byte b : content) {
      length += b == 0 ? 1 : 0;
    }
    return length;
  }

  /** Writes them so; answers where they end. */
  int escapeTo(byte[] out, int from) {
    int at = from;
    for (byte b : content) {
      out[at++] = b;
      if (b == 0) {
        out[at++] = (byte) 0xFF;
      }
    }
    return at;
  }

  /** A copy of the bytes. */
  public byte[] toArray() {
    return content.clone();
  }

  /** The bytes as UTF-8; what is none becomes the replacement character. */
  public String text() {
    return new String(content, StandardCharsets.UTF_8);
  }

  /**
   * One character a byte, so that no byte is lost and each string of bytes has a text of its own.
   */
  public String latin1() {
    return new String(content, StandardCharsets.ISO_8859_1);
  }

  @Override
  public int compareTo(Bytes other) {
    // Cells below the same one often share its names.
    return this == other ? 0 : Arrays.compareUnsigned(content, other.content);
  }

  @Override
  public boolean equals(Object other) {
    return this == other || (other instanceof Bytes bytes && Arrays.equals(content, bytes.content));
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(content);
  }

  @Override
  public String toString() {
    return text();
  }
}
