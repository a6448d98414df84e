package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Selector;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chooses among stored variants the one for a request, and remembers by what the last that it saw
 * varies: the next one of this URI will probably vary by the same.
 *
 * <p>A variant is written as the names of the fields, a line of them, and what the request had in
 * these, or its digest if that is long.
 */
final class Variants implements Selector {

  /** What is longer is replaced by its digest. */
  private static final int LONG = 256;

  private final Fields request;
  private @Nullable Vary seen;

  /**
   * What the request has in the fields of {@link #seen}: mostly it is the same for all variants.
   */
  private String selected = "";

  Variants(Fields request) {
    this.request = request;
  }

  /** How a response to a request is stored that varies so. */
  static byte[] write(Vary vary, Fields request) {
    return vary.names().isEmpty()
        ? new byte[0]
        : (String.join(",", vary.names()) + "\n" + shorten(vary.select(request)))
            .getBytes(ISO_8859_1);
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
      seen = Vary.NOTHING;
      return true;
    }
    var text = new String(variant, ISO_8859_1);
    int line = text.indexOf('\n');
    var vary = new Vary(List.of(text.substring(0, line).split(",", -1)));
    if (!vary.equals(seen)) {
      seen = vary;
      selected = shorten(vary.select(request));
    }
    return text.substring(line + 1).equals(selected);
  }

  /** By what the URI's responses vary; null if nothing is stored for it. */
  @Nullable Vary seen() {
    return seen;
  }
}
