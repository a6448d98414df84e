package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Call.flag;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import dev.evergreen.provenance.Touch.Effect;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** Keys as such, whatever they hold, and databases. */
final class Keys {
  private Keys() {}

  static void define(Commands commands) {
    var c = commands.family("keys");
    c.on("DEL UNLINK", Keys::touchDelete, Keys::delete);
    c.on(
        "EXISTS TOUCH",
        call -> call.reads(call.keysFrom(1)),
        call -> call.keysFrom(1).stream().filter(call::exists).count());
    c.on("TYPE", call -> call.reads(call.key(1)), Keys::type);
    c.on("RENAME", Keys::touchRename, Keys::rename);
    c.on("RENAMENX", call -> exchange(call, call.key(1), call.key(2)), Keys::renameIfAbsent);
    c.on("COPY", Keys::touchCopy, Keys::copy);
    c.on(
        "MOVE",
        call -> exchange(call, call.key(1), elsewhere(call, call.word(2), call.word(1))),
        Keys::move);
    c.unordered("KEYS", call -> call.reads(call.database()), Keys::matching);
    c.on("DBSIZE", call -> call.reads(call.database()), Keys::count);
    c.on("RANDOMKEY", call -> call.reads(call.database()), Commands.NO_FUNCTION);
    c.on(
        "FLUSHDB",
        call -> call.touch(Touch.replaces(call.database())),
        call -> clear(call, call.database()));
    c.on(
        "FLUSHALL",
        call -> call.touch(Touch.replaces(Call.DATABASES)),
        call -> clear(call, Call.DATABASES));
    c.on("SWAPDB", Keys::touchSwap, Keys::swap);
  }

  private static void touchDelete(Call call) {
    var keys = call.keysFrom(1);
    // If it removed any, all are gone afterwards.
    var effect = call.replied(0) ? Effect.NO : call.reply() == null ? Effect.UNKNOWN : Effect.YES;
    for (var key : keys) {
      call.reads(key);
      call.touch(Touch.replaces(key).effect(effect));
    }
  }

  private static Object delete(Call call) {
    long removed = 0;
    for (var key : call.keysFrom(1)) {
      removed += flag(call.exists(key));
      call.remove(key);
    }
    return removed;
  }

  private static Object type(Call call) {
    var entry = call.entry(call.key(1));
    return Bytes.of(entry == null ? "none" : entry.kind().type());
  }

  /**
   * The target takes what the source holds; the source holds nothing, whether it was there or not.
   */
  private static void touchRename(Call call) {
    var source = call.key(1);
    var target = call.key(2);
    if (source.equals(target)) {
      call.reads(source);
      return;
    }
    call.reads(source);
    call.touch(Touch.replaces(source));
    call.touch(Touch.replaces(target).from(source));
  }

  private static Object rename(Call call) {
    var entry = call.entry(call.key(1));
    if (entry == null) {
      throw new Refusal("ERR");
    }
    call.remove(call.key(1));
    call.put(call.key(2), entry);
    return OK;
  }

  /** One key goes where another is not. */
  private static void exchange(Call call, Cell source, Cell target) {
    call.touch(Touch.changes(source).from(source, target).effect(call.replied(1)));
    call.touch(Touch.changes(target).from(source, target).effect(call.replied(1)));
  }

  private static Object renameIfAbsent(Call call) {
    if (!call.exists(call.key(1))) {
      throw new Refusal("ERR");
    }
    return transfer(call, call.key(1), call.key(2));
  }

  private static Object transfer(Call call, Cell source, Cell target) {
    var entry = call.entry(source);
    if (entry == null || call.exists(target)) {
      return 0L;
    }
    call.remove(source);
    call.put(target, entry);
    return 1L;
  }

  private static Cell elsewhere(Call call, Bytes database, Bytes key) {
    if (call.words() < 2) {
      throw new Refusal("ERR");
    }
    return Call.database(Long.toString(Call.number(database))).child(key);
  }

  private static Cell copyTarget(Call call) {
    int at = call.place("DB", 3);
    return at < 0 ? call.key(2) : elsewhere(call, call.word(at + 1), call.word(2));
  }

  private static void touchCopy(Call call) {
    var source = call.key(1);
    var target = copyTarget(call);
    boolean done = call.replied(1);
    call.reads(source);
    if (done && call.has("REPLACE", 3)) {
      call.touch(Touch.replaces(target).from(source));
    } else {
      call.touch(Touch.changes(target).from(source, target).effect(done));
    }
  }

  private static Object copy(Call call) {
    var entry = call.entry(call.key(1));
    var target = copyTarget(call);
    if (call.key(1).equals(target)) {
      throw new Refusal("ERR");
    }
    if (entry == null || (call.exists(target) && !call.has("REPLACE", 3))) {
      return 0L;
    }
    call.put(target, entry);
    return 1L;
  }

  private static Object move(Call call) {
    var target = elsewhere(call, call.word(2), call.word(1));
    if (target.equals(call.key(1))) {
      throw new Refusal("ERR");
    }
    return transfer(call, call.key(1), target);
  }

  private static Object matching(Call call) {
    var found = new HashSet<>();
    for (var key : live(call, call.database()).keySet()) {
      if (Glob.matches(call.plain(1), Call.plain(key.name()))) {
        found.add(key.name());
      }
    }
    return found;
  }

  /** Redis counts what has expired until it comes by it, so that a number may be larger. */
  private static Object count(Call call) {
    long live = live(call, call.database()).size();
    long all = call.state().below(call.database()).size();
    if (call.reply() == null && live < all) {
      return new Expiry.Between(live, all, false);
    }
    if (call.reply() instanceof Long counted && live < counted && counted <= all) {
      throw new UnsupportedOperationException("which of the expired keys are counted is not known");
    }
    return live;
  }

  static Map<Cell, Object> live(Call call, Cell database) {
    var live = new java.util.TreeMap<>(call.state().below(database));
    live.values().removeIf(entry -> call.expired((Entry) entry));
    return live;
  }

  private static Object clear(Call call, Cell cell) {
    call.state().clear(cell);
    return OK;
  }

  private static void touchSwap(Call call) {
    var one = Call.database(call.plain(1).text());
    var other = Call.database(call.plain(2).text());
    call.touch(Touch.replaces(one).from(other));
    call.touch(Touch.replaces(other).from(one));
  }

  private static Object swap(Call call) {
    var one = Call.database(call.plain(1).text());
    var other = Call.database(call.plain(2).text());
    var ones = new ArrayList<>(call.state().below(one).entrySet());
    var others = new ArrayList<>(call.state().below(other).entrySet());
    clear(call, one);
    clear(call, other);
    putAll(call, other, ones);
    putAll(call, one, others);
    Filled.noteMany(call);
    return OK;
  }

  private static void putAll(Call call, Cell database, List<Map.Entry<Cell, Object>> entries) {
    entries.forEach(
        entry -> call.state().put(database.child(entry.getKey().name()), entry.getValue()));
  }
}
