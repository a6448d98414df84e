package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.Conditions;
import dev.evergreen.proxy.rules.Ranges;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What of a response an origin is asked for.
 *
 * @param parts what is stored of it in parts, or null
 * @param kind what of it
 * @param range the value of Range, or null
 * @param ifRange that of If-Range, or null
 * @param validates whether it is asked if the parts are right, as all that is wanted is there
 */
record Wish(
    @Nullable Incomplete parts,
    Kind kind,
    @Nullable String range,
    @Nullable String ifRange,
    boolean validates) {

  /** What may be asked for. */
  enum Kind {
    WHOLE,
    /** What the client asks for: so it may get the answer as it is. */
    CLIENTS_RANGE,
    /** What is missing in the parts: together with them it is the answer, and not alone. */
    REST
  }

  /** All of it. */
  static Wish whole(@Nullable Incomplete parts) {
    return new Wish(parts, Kind.WHOLE, null, null, false);
  }

  /** What the client wants, if that is one part; else the whole. */
  static Wish clients(@Nullable Incomplete parts, RequestHead request, boolean validates) {
    return Ranges.isPart(request.fields().all("range"))
        ? new Wish(
            parts,
            Kind.CLIENTS_RANGE,
            request.fields().get("range"),
            request.fields().get("if-range"),
            validates)
        : new Wish(parts, Kind.WHOLE, null, null, validates);
  }

  /**
   * What is missing, if the parts have a strong tag, by which the origin can say that it is of the
   * same response; and if it is one piece, which is less than the whole. Else the whole: for the
   * next one that, too, will be there.
   *
   * @param gaps what is missing of what is wanted
   */
  static Wish rest(Incomplete parts, List<ByteRange> gaps) throws IOException {
    var tag = Parts.strongTag(parts.newest().head().fields());
    var gap = gaps.getFirst();
    if (tag.isEmpty() || gaps.size() > 1 || gap.length() == parts.complete()) {
      return whole(parts);
    }
    var last = gap.last() == parts.complete() - 1 ? "" : Long.toString(gap.last());
    var range = "bytes=" + gap.first() + "-" + last;
    return new Wish(parts, Kind.REST, range, tag.get().toString(), false);
  }

  /**
   * What is asked for after a question in vain: all, or, if it was about parts, the one that the
   * client wants. Those that are there have no use then.
   */
  Wish anew(RequestHead request) {
    return !isPlain() && Ranges.isPart(request.fields().all("range"))
        ? clients(null, request, false)
        : whole(parts);
  }

  /**
   * What has all that is wanted, but may not be used as it is; or null.
   *
   * @param whole what is stored whole, or null
   */
  @Nullable Found kept(@Nullable Found whole) {
    return parts != null && validates ? parts.asWhole() : whole;
  }

  /** Whether what is asked has nothing to do with parts. */
  boolean isPlain() {
    return kind == Kind.WHOLE && !validates;
  }

  /**
   * Whether an answer with such a status, which is not stored, is none for the client, so that the
   * origin is to be asked anew: it is about a range that the client has not asked for.
   */
  boolean isInVain(int status) {
    return kind == Kind.REST && (status == 206 || status == 416);
  }

  /** The name of the fetch, by that of a fetch of the whole. */
  String name(String whole) {
    return range == null ? whole : Fetches.name(whole, "/" + range + "\n" + ifRange);
  }

  /**
   * Whether it is a part, or the rest of one, that is better passed on: what is stored is received
   * to its end, though its client leaves. The rest for who wants the whole can be of few names.
   */
  boolean isOneOfMany(RequestHead request, Fetches fetches, String key, String name) {
    return kind != Kind.WHOLE && request.fields().has("range") && fetches.isCrowded(key, name);
  }

  /** Replaces a request's conditions and range. */
  void ask(Fields request) throws IOException {
    if (validates && parts != null) {
      var validators = parts.newest().validators();
      Conditions.validate(request, List.of(validators), validators);
    } else {
      Conditions.clear(request);
    }
    if (range != null) {
      request.set("Range", range);
    }
    if (ifRange != null) {
      request.set("If-Range", ifRange);
    }
  }
}
