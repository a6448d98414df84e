package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Kind.HASH;
import static dev.evergreen.shims.redis.Kind.SET;
import static dev.evergreen.shims.redis.Kind.SORTED;

import dev.evergreen.provenance.Bytes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/**
 * Iterations. The model knows what one step replies if it is the only one: of more of them no more
 * is claimed than who has written what they go through.
 */
final class Scans {
  static final String FAMILY = "scans";
  private static final Bytes ZERO = Bytes.of("0");

  private static final Map<String, Integer> ARGUMENTS = Map.of("MATCH", 1, "COUNT", 1, "TYPE", 1);

  private Scans() {}

  static void define(Commands commands) {
    var c = commands.family(FAMILY);
    c.on("SCAN", call -> call.reads(call.database()), Scans::keys, Scans::asSet);
    c.on("HSCAN", call -> call.reads(HASH, call.key(1)), Scans::fields, Scans::asMap);
    c.on("SSCAN", call -> call.reads(SET, call.key(1)), Scans::members, Scans::asSet);
    c.on("ZSCAN", call -> call.reads(SORTED, call.key(1)), Scans::scores, Scans::asMap);
  }

  /**
   * Whether it is, or may be, one of several steps. Which of them has what depends on how the store
   * keeps what is there, and that on all that ever was there.
   */
  static boolean isStep(Call call) {
    int cursor = call.option(0).equals("SCAN") ? 1 : 2;
    boolean refused = call.reply() instanceof Resp.Failure || call.words() <= cursor;
    return !refused
        && !(call.word(cursor).equals(ZERO)
            && call.elements().stream().findFirst().filter(ZERO::equals).isPresent());
  }

  /** All in one step, as it is no other that this is asked of. */
  private static Object whole(Object all) {
    return List.of(ZERO, all);
  }

  private static boolean matches(Call call, int from, Bytes name) {
    int at = call.place("MATCH", from, ARGUMENTS);
    return at < 0 || Glob.matches(call.plain(at + 1), Call.plain(name));
  }

  private static Object keys(Call call) {
    int type = call.place("TYPE", 2, ARGUMENTS);
    var found = new HashSet<>();
    Keys.live(call, call.database())
        .forEach(
            (key, entry) -> {
              boolean fits =
                  type < 0
                      || ((Entry) entry)
                          .kind()
                          .type()
                          .equalsIgnoreCase(call.plain(type + 1).text());
              if (fits && matches(call, 2, key.name())) {
                found.add(key.name());
              }
            });
    return whole(found);
  }

  private static Object fields(Call call) {
    return whole(matching(call, call.hash(call.key(1))));
  }

  private static Object members(Call call) {
    var found = new HashSet<>(call.set(call.key(1)));
    found.removeIf(member -> !matches(call, 3, member));
    return whole(found);
  }

  private static Object scores(Call call) {
    var texts = new HashMap<Bytes, Object>();
    call.scores(call.key(1)).forEach((member, score) -> texts.put(member, SortedSets.text(score)));
    return whole(matching(call, texts));
  }

  private static Map<Bytes, Object> matching(Call call, Map<Bytes, ?> all) {
    var found = new HashMap<Bytes, Object>(all);
    found.keySet().removeIf(name -> !matches(call, 3, name));
    return found;
  }

  private static Object asSet(Object reply) {
    return reply instanceof List<?> list && list.size() == 2 && list.get(1) instanceof List<?> all
        ? List.of(list.getFirst(), new HashSet<>(all))
        : reply;
  }

  private static Object asMap(Object reply) {
    if (!(reply instanceof List<?> list)
        || list.size() != 2
        || !(list.get(1) instanceof List<?> all)) {
      return reply;
    }
    var map = new HashMap<Object, Object>();
    var values = new ArrayList<Object>(all);
    for (int i = 0; i + 1 < values.size(); i += 2) {
      map.put(values.get(i), values.get(i + 1));
    }
    return List.of(list.getFirst(), map);
  }
}
