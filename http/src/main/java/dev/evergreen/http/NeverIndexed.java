package dev.evergreen.http;

import io.netty.handler.codec.http2.Http2HeadersEncoder.SensitivityDetector;
import io.netty.util.AsciiString;
import java.util.BitSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Fields that HPACK keeps out of its tables, as their values are secrets that somebody could guess
 * from the length of what is sent (RFC 7541 §7.1). Who passes on a field that came so sends it so
 * (§6.2.3). Netty's decoder does not tell which ones came so.
 *
 * <p>The values of {@linkplain #CREDENTIALS credentials} are kept out however they came: a
 * connection to an origin carries those of many clients.
 */
final class NeverIndexed implements SensitivityDetector {
  private static final Set<AsciiString> CREDENTIALS =
      all(Set.of("authorization", "proxy-authorization", "cookie", "set-cookie"));

  private Set<AsciiString> names = Set.of();

  private static Set<AsciiString> all(Set<String> names) {
    return names.stream().map(AsciiString::of).collect(Collectors.toUnmodifiableSet());
  }

  /** Has the next head sent with these names, in small letters, kept out of the tables, too. */
  void next(Set<String> others) {
    names = others.isEmpty() ? Set.of() : all(others);
  }

  /** Asked by Netty's encoder of each field, by its name in small letters. */
  @Override
  public boolean isSensitive(CharSequence name, CharSequence value) {
    var text = AsciiString.of(name);
    return CREDENTIALS.contains(text) || names.contains(text);
  }

  /**
   * Which fields of a block came so.
   *
   * @param block one that a decoder has read without an error
   * @return the numbers of the fields, from 0
   */
  static BitSet in(byte[] block, int length) {
    var found = new BitSet();
    var reader = new Reader(block, length);
    for (int field = 0; !reader.isAtEnd(); ) {
      int first = reader.peek();
      if (first >= 0x80) {
        reader.skipInteger(7); // An indexed field.
        field++;
      } else if (first >= 0x40) {
        reader.skipLiteral(6);
        field++;
      } else if (first >= 0x20) {
        reader.skipInteger(5); // The size of the table.
      } else {
        found.set(field, first >= 0x10);
        reader.skipLiteral(4);
        field++;
      }
    }
    return found;
  }

  /** Skips the parts of RFC 7541 §5. It never reads beyond the end. */
  private static final class Reader {
    private final byte[] block;
    private final int length;
    private int at;

    Reader(byte[] block, int length) {
      this.block = block;
      this.length = length;
    }

    boolean isAtEnd() {
      return at >= length;
    }

    int peek() {
      return block[at] & 0xff;
    }

    /** Skips a field with its value, and its name if that is no index. */
    void skipLiteral(int prefix) {
      if (skipInteger(prefix) == 0) {
        skipString();
      }
      skipString();
    }

    private void skipString() {
      long bytes = skipInteger(7);
      at = (int) Math.min(length, at + bytes);
    }

    /** Skips a number that begins in the last bits of a byte. */
    long skipInteger(int prefix) {
      if (isAtEnd()) {
        return 0;
      }
      int most = (1 << prefix) - 1;
      long value = block[at++] & most;
      if (value < most) {
        return value;
      }
      int shift = 0;
      int next;
      do {
        next = isAtEnd() ? 0 : block[at++];
        value += shift < Integer.SIZE ? (long) (next & 0x7f) << shift : 0;
        shift += 7;
      } while (next < 0);
      return value;
    }
  }
}
