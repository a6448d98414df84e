package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.http.Fields;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.EntityTag;
import dev.evergreen.proxy.rules.Validators;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How a part of a response is stored (RFC 9111 §3.3): as a response of its own, with the head of
 * the whole, under a key of its own beside that of the URI. So it takes no place of what is whole.
 * Its variant has a line before what it varies by, which tells what part it is.
 */
final class Parts {

  /** It is in no URI, and in no name of a fetch. */
  private static final String BESIDE = "\n/";

  private static final List<String> OF_A_PART =
      List.of("content-range", "content-digest", "content-md5");

  private Parts() {}

  /** The key of the parts of a URI's responses. */
  static String key(String key) {
    return key + BESIDE;
  }

  /** The same of its bytes. */
  static MemorySegment key(MemorySegment key) {
    return Proxy.segment(key(new String(key.toArray(ValueLayout.JAVA_BYTE), ISO_8859_1)));
  }

  /** How a part is stored of what is stored so. */
  static byte[] variant(ContentRange part, byte[] variant) {
    var line = (part + "\n").getBytes(ISO_8859_1);
    var both = Arrays.copyOf(line, line.length + variant.length);
    System.arraycopy(variant, 0, both, line.length, variant.length);
    return both;
  }

  /** How that is stored of which something is a part. */
  static byte[] variant(byte[] ofPart) {
    return Arrays.copyOfRange(ofPart, end(ofPart) + 1, ofPart.length);
  }

  /** What part it is. */
  static Optional<ContentRange> range(byte[] ofPart) {
    return ContentRange.parse(new String(ofPart, 0, end(ofPart), ISO_8859_1));
  }

  private static int end(byte[] ofPart) {
    int end = 0;
    while (ofPart[end] != '\n') {
      end++;
    }
    return end;
  }

  /** What an origin's answer has, if it is one part that is as long as it tells; else null. */
  static @Nullable ContentRange of(OriginAnswer answer) {
    if (answer.head().status() != 206) {
      return null;
    }
    var body = answer.exchange().body();
    long told = body.ended() ? 0 : body.length();
    return ContentRange.of(answer.head().fields())
        .filter(part -> told < 0 || told == part.range().length())
        .orElse(null);
  }

  /** The fields of the whole, of which a partial response may tell more than one of the whole. */
  static Fields fields(ResponseHead response) {
    var fields = response.fields().copy();
    if (response.status() == 206) {
      OF_A_PART.forEach(fields::remove);
    }
    return fields;
  }

  /**
   * Whether parts of two responses are parts of one (RFC 9110 §15.3.7.3): they have the same strong
   * tag, and, as some origins have one tag for what they have coded in different ways, the same
   * coding.
   */
  static boolean areOfOne(Fields response, Fields other) {
    var tag = strongTag(response);
    return tag.isPresent()
        && strongTag(other).filter(tag.get()::equalsStrongly).isPresent()
        && codings(response).equals(codings(other));
  }

  static Optional<EntityTag> strongTag(Fields response) {
    return Validators.of(response).tag().filter(tag -> !tag.weak());
  }

  private static List<String> codings(Fields fields) {
    return fields.members("content-encoding").stream()
        .map(coding -> coding.toLowerCase(Locale.ROOT))
        .toList();
  }
}
