package dev.evergreen.proxy.rules;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.greenbytes.http.sfv.BooleanItem;
import org.greenbytes.http.sfv.IntegerItem;
import org.greenbytes.http.sfv.ListElement;
import org.greenbytes.http.sfv.ParseException;
import org.greenbytes.http.sfv.Parser;
import org.greenbytes.http.sfv.StringItem;
import org.jspecify.annotations.Nullable;

/**
 * The directives of a message's Cache-Control (RFC 9111 §5.2), or of a field that replaces it for
 * caches of one kind (RFC 9213).
 *
 * <p>Names are compared without case. Of a directive that is there more than once the first counts;
 * {@code private} and {@code no-cache} without field names win over those with names, as they are
 * stricter; and what names something else than fields counts as without. A number that is none
 * counts as 0, which is the strictest for each directive that has one (§4.2.1). So does a number
 * behind blanks, or behind a semicolon that should be a comma.
 */
public final class CacheControl {

  /** A message without directives. */
  public static final CacheControl NONE = new CacheControl(Map.of());

  /** What a directive of time answers that is not there. */
  public static final long ABSENT = -1;

  /** The longest time (RFC 9111 §1.2.2). */
  public static final long LONGEST = 1L << 31;

  private static final Set<String> TIMES =
      Set.of("max-age", "s-maxage", "stale-while-revalidate", "stale-if-error");
  private static final Set<String> NAMING = Set.of("private", "no-cache");

  /** What counts also where what follows it is not as it must be: it forbids, or sets a limit. */
  private static final Set<String> STRICT =
      Set.of("no-store", "private", "no-cache", "max-age", "s-maxage");

  /** It is no time, and names no fields. */
  private static final String NO_ARGUMENT = ";";

  /** What was read last: what becomes of one response is asked by several in turn. */
  private record Read(List<String> lines, CacheControl control) {}

  private static volatile Read last = new Read(List.of(), NONE);

  /** Of each directive its argument, empty for none; never both for one that names fields. */
  private final Map<String, String> directives;

  private CacheControl(Map<String, String> directives) {
    this.directives = directives;
  }

  /** Reads the lines of a Cache-Control; what is not understood is passed over. */
  public static CacheControl of(List<String> lines) {
    if (lines.isEmpty()) {
      return NONE;
    }
    var before = last;
    if (before.lines.equals(lines)) {
      return before.control;
    }
    var control = read(lines);
    last = new Read(List.copyOf(lines), control);
    return control;
  }

  private static CacheControl read(List<String> lines) {
    var directives = new HashMap<String, String>();
    for (var member : Members.of(lines)) {
      int end = Members.tokenEnd(member);
      var name = member.substring(0, end).toLowerCase(Locale.ROOT);
      var rest = member.substring(end);
      if (!name.isEmpty() && (rest.isEmpty() || rest.startsWith("="))) {
        add(directives, name, rest.isEmpty() ? "" : Members.unquote(rest.substring(1)));
      } else if (STRICT.contains(name)) {
        add(directives, name, NO_ARGUMENT);
      }
    }
    return new CacheControl(directives);
  }

  /**
   * Reads the lines of a field like CDN-Cache-Control, which is a dictionary of structured fields.
   * A directive whose argument is of another type than it must be is passed over (RFC 9213 §2.1);
   * but a time that is none counts as 0, as elsewhere: who says something of freshness that nobody
   * understands leaves nothing to guess (RFC 9111 §4.2.1).
   *
   * @return null if that is no dictionary or an empty one, so that the field does not count
   */
  public static @Nullable CacheControl targeted(List<String> lines) {
    try {
      var members = new Parser(lines).parseDictionary().get();
      if (members.isEmpty()) {
        return null;
      }
      var directives = new HashMap<String, String>();
      members.forEach((name, value) -> addTyped(directives, name, value));
      return new CacheControl(directives);
    } catch (ParseException e) {
      return null;
    }
  }

  private static void addTyped(Map<String, String> directives, String name, ListElement<?> value) {
    boolean timed = TIMES.contains(name);
    switch (value) {
      case IntegerItem number when timed && number.getAsLong() >= 0 ->
          add(directives, name, number.get().toString());
      case ListElement<?> _ when timed -> add(directives, name, "0");
      case BooleanItem flag when !timed && flag.get() -> add(directives, name, "");
      case StringItem fields when NAMING.contains(name) -> add(directives, name, fields.get());
      default -> {}
    }
  }

  private static void add(Map<String, String> directives, String name, String argument) {
    if (NAMING.contains(name)) {
      var members = Members.of(List.of(argument));
      boolean named = !members.isEmpty() && members.stream().allMatch(Members::isToken);
      directives.merge(
          name, named ? argument : "", (a, b) -> a.isEmpty() || b.isEmpty() ? "" : a + "," + b);
    } else {
      directives.putIfAbsent(name, argument);
    }
  }

  /** Whether there is none. */
  public boolean isEmpty() {
    return directives.isEmpty();
  }

  /** Whether a directive is there, with whatever argument. */
  public boolean has(String name) {
    return directives.containsKey(name);
  }

  /**
   * Whether a directive is there without an argument: {@code private} and {@code no-cache} are for
   * the whole response then.
   */
  public boolean hasBare(String name) {
    return "".equals(directives.get(name));
  }

  /** The fields, in lower case, that {@code private="…"} and {@code no-cache="…"} name. */
  public Set<String> namedFields() {
    var names = new HashSet<String>();
    for (var directive : NAMING) {
      var argument = directives.getOrDefault(directive, "");
      for (var name : Members.of(List.of(argument))) {
        names.add(name.toLowerCase(Locale.ROOT));
      }
    }
    return names;
  }

  /** The argument of a directive in seconds, at most {@link #LONGEST}; or {@link #ABSENT}. */
  public long seconds(String name) {
    var argument = directives.get(name);
    return argument == null ? ABSENT : Members.seconds(argument, 0);
  }
}
