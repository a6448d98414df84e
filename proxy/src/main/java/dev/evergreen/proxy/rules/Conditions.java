package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.RequestHead;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/** The conditions of requests: a client's on what is stored, and ours on what the origin has. */
public final class Conditions {

  private static final List<String> ALL =
      List.of("if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range");

  /** In bytes: many servers take no longer lines than 8 KiB, and each variant may have a tag. */
  private static final int MOST_TAGS = 4 << 10;

  private Conditions() {}

  /**
   * Whether a request has conditions that only the origin can judge: those that are to keep a
   * client from changing what it has not seen (RFC 9111 §4.3.2).
   */
  public static boolean forOrigin(Fields request) {
    return request.has("if-match") || request.has("if-unmodified-since");
  }

  /** Whether a request says that the client may have it already. */
  public static boolean has(Fields request) {
    return request.has("if-none-match") || request.has("if-modified-since");
  }

  /**
   * Whether a stored response that may be used is what the client has already, so that it gets 304
   * (RFC 9111 §4.3.2, RFC 9110 §13.2.2).
   *
   * @param status of the stored response
   * @param received when that was received, in milliseconds since 1970
   */
  public static boolean notModified(RequestHead request, int status, Fields stored, long received) {
    var fields = request.fields();
    // RFC 9110 §13.2.1: what would be no success is told, whatever the conditions.
    if (status / 100 != 2 || !(request.is("GET") || request.is("HEAD"))) {
      return false;
    }
    if (fields.has("if-none-match")) {
      return matchesAny(fields.all("if-none-match"), stored);
    }
    var since = single(fields, "if-modified-since");
    if (since == null) {
      return false;
    }
    var changed = stored.get("last-modified");
    // What does not say when it changed did so when it was made at the latest.
    var last =
        changed == null
            ? OptionalLong.of(Life.date(stored, received))
            : HttpDate.parse(changed, received);
    var had = HttpDate.parse(since, received);
    return last.isPresent() && had.isPresent() && last.getAsLong() <= had.getAsLong();
  }

  /** The value of a field that is no list; null if it is not there, or is on several lines. */
  private static @Nullable String single(Fields fields, String name) {
    var lines = fields.all(name);
    return lines.size() == 1 ? lines.getFirst() : null;
  }

  private static boolean matchesAny(List<String> lines, Fields stored) {
    if (lines.size() == 1 && lines.getFirst().equals("*")) {
      return true;
    }
    var own = Validators.of(stored).tag();
    return own.isPresent() && EntityTag.parseList(lines).stream().anyMatch(own.get()::equalsWeakly);
  }

  /**
   * Whether a Range counts for a stored response: if it has a condition, that must hold, strongly
   * (RFC 9110 §13.1.5).
   */
  public static boolean rangeCounts(Fields request, Fields stored) {
    if (!request.has("if-range")) {
      return true;
    }
    var condition = single(request, "if-range");
    if (condition == null) {
      return false;
    }
    var tag = EntityTag.parse(condition);
    if (tag.isPresent()) {
      var own = Validators.of(stored).tag();
      return own.isPresent() && own.get().equalsStrongly(tag.get());
    }
    return strongDate(stored) && condition.equals(stored.get("last-modified"));
  }

  /** A date is strong if the response was made a second later at least (RFC 9110 §8.8.2.2). */
  private static boolean strongDate(Fields stored) {
    var changed = stored.get("last-modified");
    var made = stored.get("date");
    if (changed == null || made == null) {
      return false;
    }
    var last = HttpDate.parse(changed, 0);
    var date = HttpDate.parse(made, 0);
    return last.isPresent() && date.isPresent() && date.getAsLong() - last.getAsLong() >= 1000;
  }

  /** Takes a client's conditions and range away, as the whole is wanted, whatever it has. */
  public static void clear(Fields request) {
    ALL.forEach(request::remove);
    request.remove("range");
  }

  /**
   * Asks the origin whether what is stored is still right (RFC 9111 §4.3.1).
   *
   * @param request what is sent; its own conditions are replaced
   * @param stored the validators of all that is stored for its URI, the chosen ones first
   * @param chosen those of the response that it would be answered with
   */
  public static void validate(Fields request, Collection<Validators> stored, Validators chosen) {
    clear(request);
    var list = tags(stored);
    if (!list.isEmpty()) {
      request.set("If-None-Match", list);
    }
    if (chosen.lastModified() != null) {
      request.set("If-Modified-Since", chosen.lastModified());
    }
  }

  /** The first tag, and of the others those that do not make the list longer than it may be. */
  private static String tags(Collection<Validators> stored) {
    var tags = new LinkedHashSet<String>();
    for (var each : stored) {
      each.tag().ifPresent(tag -> tags.add(tag.toString()));
    }
    var list = new StringJoiner(", ");
    for (var tag : tags) {
      if (list.length() == 0 || list.length() + tag.length() <= MOST_TAGS) {
        list.add(tag);
      }
    }
    return list.toString();
  }
}
