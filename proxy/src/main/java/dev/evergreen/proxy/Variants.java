package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Selector;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chooses among stored variants the one for a request, and remembers by what the first that it saw
 * varies, which was asked for last: the next one of this URI will probably vary by the same.
 *
 * <p>A variant is written as the names of the fields, a line of them, and what the request had in
 * these, or its digest if that is long.
 */
final class Variants implements Selector {

  /** What is longer is replaced by its digest. */
  private static final int LONG = 256;

  private static final byte[] ALL = {};

  private final Fields request;
  private @Nullable Vary seen;

  /**
   * The names of the fields of the variant that was looked at last, with the end of their line, and
   * what the request has in these: mostly they are the same for all variants.
   */
  private byte[] names = ALL;

  private byte[] selected = ALL;

  Variants(Fields request) {
    this.request = request;
  }

  /** How a response to a request is stored that varies so. */
  static byte[] write(Vary vary, Fields request) {
    return vary.names().isEmpty()
        ? ALL
        : (String.join(",", vary.names()) + "\n" + shorten(vary.select(request)))
            .getBytes(ISO_8859_1);
  }

  /** By what a response varies that is stored so. */
  static Vary vary(byte[] variant) {
    if (variant.length == 0) {
      return Vary.NOTHING;
    }
    return new Vary(List.of(new String(variant, 0, end(variant) - 1, ISO_8859_1).split(",", -1)));
  }

  /** Where the line of the names ends. */
  private static int end(byte[] variant) {
    int end = 0;
    while (variant[end++] != '\n') {}
    return end;
  }

  private static String shorten(String selected) {
    if (selected.length() <= LONG) {
      return selected;
    }
    try {
      var digest = MessageDigest.getInstance("SHA-256").digest(selected.getBytes(ISO_8859_1));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  @Override
  public boolean takes(byte[] variant) {
    if (variant.length == 0) {
      seen = seen == null ? Vary.NOTHING : seen;
      return true;
    }
    if (names.length == 0 || Arrays.mismatch(names, variant) < names.length) {
      read(variant);
    }
    return Arrays.equals(variant, names.length, variant.length, selected, 0, selected.length);
  }

  private void read(byte[] variant) {
    var vary = vary(variant);
    names = Arrays.copyOf(variant, end(variant));
    selected = shorten(vary.select(request)).getBytes(ISO_8859_1);
    seen = seen == null ? vary : seen;
  }

  /** RFC 9111 §4: of several that match the one with the newest Date. */
  @Override
  public boolean prefers(ByteBuffer earlier, ByteBuffer last) {
    try {
      var before = StoredHead.of(earlier);
      // Else what was stored in its place would never be used.
      return !before.life().isRetired() && before.date() > StoredHead.of(last).date();
    } catch (IOException e) {
      return false; // Another version of this program wrote one of them.
    }
  }

  /** By what the URI's responses vary, as that asked for last says; null if nothing is stored. */
  @Nullable Vary seen() {
    return seen;
  }
}
