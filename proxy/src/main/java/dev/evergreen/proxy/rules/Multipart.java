package dev.evergreen.proxy.rules;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The frame around several parts of a body in one answer (RFC 9110 §14.6).
 *
 * @param boundary a token that is in none of the parts, with all likelihood
 * @param type the media type of the whole, or null if it has none
 * @param complete the length of the whole
 */
public record Multipart(
    String boundary, @Nullable String type, long complete, List<ByteRange> ranges) {

  public Multipart {
    ranges = List.copyOf(ranges);
  }

  /** The Content-Type of the answer. */
  public String contentType() {
    return "multipart/byteranges; boundary=" + boundary;
  }

  /** What is before a part. */
  public byte[] before(ByteRange range) {
    var head =
        (range.equals(ranges.getFirst()) ? "--" : "\r\n--")
            + boundary
            + "\r\n"
            + (type == null ? "" : "Content-Type: " + type + "\r\n")
            + "Content-Range: "
            + range.contentRange(complete)
            + "\r\n\r\n";
    return head.getBytes(ISO_8859_1);
  }

  /** What is behind the last part. */
  public byte[] end() {
    return ("\r\n--" + boundary + "--\r\n").getBytes(ISO_8859_1);
  }

  /** How many bytes the answer has. */
  public long length() {
    long length = end().length;
    for (var range : ranges) {
      length += before(range).length + range.length();
    }
    return length;
  }
}
