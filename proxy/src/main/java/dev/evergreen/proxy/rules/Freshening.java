package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import dev.evergreen.http.ResponseHead;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * What a 304, or the answer to a HEAD, changes of what is stored (RFC 9111 §3.2, §4.3.4, §4.3.5).
 */
public final class Freshening {

  /** What tells of the bytes of the body, which stay. */
  private static final Set<String> KEPT =
      Set.of(
          "content-length",
          "content-encoding",
          "content-range",
          "content-digest",
          "content-md5",
          "etag");

  private Freshening() {}

  /**
   * Which stored responses a 304 is about: all with its strong tag; else of those with its weak tag
   * or date the newest; and if it has neither, the only one there is. §4.3.4 says so of one that
   * has no validator itself. But many origins leave out what they should repeat (RFC 9110 §15.4.5),
   * and who was asked about one response alone can have meant no other.
   *
   * @param stored the validators of what is stored, the newest first
   * @return their places in that list; none if the 304 tells of something else
   */
  public static List<Integer> chosen(ResponseHead notModified, List<Validators> stored) {
    var its = Validators.of(notModified.fields());
    if (its.isEmpty()) {
      return stored.size() == 1 ? List.of(0) : List.of();
    }
    var same =
        IntStream.range(0, stored.size()).filter(i -> matches(its, stored.get(i))).boxed().toList();
    boolean strong = its.tag().isPresent() && !its.tag().get().weak();
    return strong || same.isEmpty() ? same : List.of(same.getFirst());
  }

  private static boolean matches(Validators its, Validators stored) {
    if (its.tag().isPresent() && !its.tag().get().weak()) {
      return stored.tag().isPresent() && stored.tag().get().equalsStrongly(its.tag().get());
    }
    return its.same(stored);
  }

  /**
   * Whether the answer to a HEAD tells that the stored answer to a GET is still right (§4.3.5).
   * Else that is stale.
   */
  public static boolean confirms(ResponseHead head, Fields stored, long length) {
    var its = Validators.of(head.fields());
    var own = Validators.of(stored);
    var told = head.fields().get("content-length");
    boolean sameTag = its.tag().isEmpty() || its.tag().equals(own.tag());
    boolean sameDate = its.lastModified() == null || its.lastModified().equals(own.lastModified());
    return sameTag && sameDate && (told == null || told.equals(Long.toString(length)));
  }

  /**
   * The stored fields with those that are newer (§3.2), as far as the directives of both together
   * let them be stored. A newer cookie is not if it is {@linkplain Storing#COOKIE for who has asked
   * alone}.
   *
   * @param received when the newer ones were received, in milliseconds since 1970
   */
  public static Fields update(Fields stored, ResponseHead newer, long received, CacheRules rules) {
    var fields = Storing.fields(newer, rules);
    if (Storing.setsCookieForOne(newer, received, rules)) {
      fields.remove("set-cookie");
    }
    var updated = merge(stored, fields);
    return Storing.fields(ResponseHead.of(newer.status(), updated), rules);
  }

  /**
   * The same for who has asked, with what is for it alone (§5.2.2.4, §5.2.2.7).
   *
   * @param stored what is stored, so without what was for others alone
   */
  public static Fields forAsker(Fields stored, ResponseHead newer) {
    return merge(stored, Storing.endToEnd(newer));
  }

  private static Fields merge(Fields stored, Fields fields) {
    var updated = stored.copy();
    for (int i = 0; i < fields.count(); i++) {
      if (!KEPT.contains(fields.name(i).toLowerCase(Locale.ROOT))) {
        updated.remove(fields.name(i));
      }
    }
    for (int i = 0; i < fields.count(); i++) {
      if (!KEPT.contains(fields.name(i).toLowerCase(Locale.ROOT))) {
        updated.add(fields.name(i), fields.value(i));
      }
    }
    return updated;
  }
}
