package dev.evergreen.core.sim;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grains;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which members read which, and what each must show by that. Who reads itself, directly or through
 * others, is in a circle: it shows that, and nothing that it has caught. That circle is its
 * strongly connected component. Who reads a member of a circle fails as well, unless it catches
 * that. All others show a number.
 *
 * <p>Where all members read in a {@linkplain Member.Way#thorough thorough} way, the circle that is
 * told is the component. Where they stop at the first that fails, the list says what a member would
 * read: it is in a circle by that, or leads into one, if and only if it does by what it does read,
 * but the circles may be others.
 */
final class Mesh {

  private static final Pattern NAME = Pattern.compile("Member/(\\w+)\\.");

  private final Map<String, Member.Reads> members;
  private final Map<String, Set<String>> read = new HashMap<>();
  private final Map<String, String> known = new HashMap<>();

  Mesh(Map<String, Member.Reads> members) {
    this.members = members;
    members.forEach((key, reads) -> read.put(key, Set.copyOf(reads.others())));
  }

  /** What a reader of all these must see. */
  Map<String, String> shown(Set<String> keys) {
    return by(keys, this::shown);
  }

  /** What a reader of all these sees. */
  static Map<String, String> seen(
      Grains grains, Set<String> keys, Member.Operation how, boolean thorough) {
    return by(keys, key -> seen(grains.get(Member.class, key), how, thorough));
  }

  private static Map<String, String> by(Set<String> keys, Function<String, String> what) {
    var all = new LinkedHashMap<String, String>();
    keys.forEach(key -> all.put(key, what.apply(key)));
    return all;
  }

  private static String seen(Member member, Member.Operation how, boolean thorough) {
    try {
      return Integer.toString(how.applyAsInt(member));
    } catch (CycleException e) {
      return thorough ? circle(names(e)) : "circle";
    }
  }

  private static Set<String> names(CycleException told) {
    var names = new TreeSet<String>();
    for (var name = NAME.matcher(String.valueOf(told.getMessage())); name.find(); ) {
      names.add(name.group(1));
    }
    return names;
  }

  private static String circle(Set<String> members) {
    return "circle " + members;
  }

  private String shown(String key) {
    var before = known.get(key);
    if (before != null) {
      return before;
    }
    var circle = circleOf(key);
    var reads = reads(key);
    var shown =
        circle.isEmpty() ? computed(reads) : reads.way().thorough() ? circle(circle) : "circle";
    known.put(key, shown);
    return shown;
  }

  private Member.Reads reads(String key) {
    return members.getOrDefault(key, Member.Reads.NOTHING);
  }

  /** All that read it and that it reads. */
  private Set<String> circleOf(String key) {
    var circle = new TreeSet<>(Circles.reached(key, read));
    circle.removeIf(other -> !Circles.reached(other, read).contains(key));
    return circle;
  }

  /** A member's list the other way round; null if the member would show something else by it. */
  Member.@Nullable Reads reversed(String key) {
    var reads = reads(key);
    var reversed = new Member.Reads(reads.own(), reads.others().reversed(), reads.way());
    boolean same =
        reads.way().thorough()
            && (!circleOf(key).isEmpty() || computed(reads).equals(computed(reversed)));
    return same ? reversed : null;
  }

  private String computed(Member.Reads reads) {
    int sum = reads.own();
    for (var other : reads.others()) {
      var shown = shown(other);
      if (!shown.startsWith("circle")) {
        sum += Integer.parseInt(shown);
      } else if (reads.way() == Member.Way.CATCHING) {
        sum += Member.CAUGHT;
      } else {
        return shown;
      }
    }
    return Integer.toString(sum % Member.LIMIT);
  }

  @Override
  public String toString() {
    return new TreeMap<>(members).toString();
  }
}
