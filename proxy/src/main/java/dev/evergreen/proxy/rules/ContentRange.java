package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which part of a body there is, and how long the whole is (RFC 9110 §14.4).
 *
 * @param complete the length of the whole
 */
public record ContentRange(ByteRange range, long complete) {

  /** The unit ignores case. Longer numbers are no lengths. */
  private static final Pattern WRITTEN =
      Pattern.compile("(?i:bytes) (\\d{1,18})-(\\d{1,18})/(\\d{1,18})");

  /**
   * That of a partial response. Empty if it has several parts, does not tell the length of the
   * whole, or tells what cannot be.
   */
  public static Optional<ContentRange> of(Fields response) {
    var lines = response.all("content-range");
    boolean several =
        response.all("content-type").stream()
            .anyMatch(type -> type.regionMatches(true, 0, "multipart/byteranges", 0, 20));
    return lines.size() == 1 && !several ? parse(lines.getFirst()) : Optional.empty();
  }

  /** Reads what {@link #toString} writes. */
  public static Optional<ContentRange> parse(String text) {
    var match = WRITTEN.matcher(text);
    if (!match.matches()) {
      return Optional.empty();
    }
    long first = Long.parseLong(match.group(1));
    long last = Long.parseLong(match.group(2));
    long complete = Long.parseLong(match.group(3));
    return first <= last && last < complete
        ? Optional.of(new ContentRange(new ByteRange(first, last), complete))
        : Optional.empty();
  }

  /** Whether it is all there is. */
  public boolean isWhole() {
    return range.length() == complete;
  }

  /** The value of the field. */
  @Override
  public String toString() {
    return range.contentRange(complete);
  }
}
