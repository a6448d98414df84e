package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Call.orNil;
import static dev.evergreen.shims.redis.Kind.HASH;

import dev.evergreen.provenance.Bytes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.function.UnaryOperator;

/** Hashes: a cell for each field. */
final class Hashes {
  private Hashes() {}

  static void define(Commands commands) {
    var c = commands.family("hashes");
    c.on(
        "HSET HMSET",
        call -> fields(call, 2, 2).forEach(field -> call.replaces(HASH, call.key(1), field, true)),
        Hashes::set);
    c.on(
        "HSETNX",
        call -> call.changes(HASH, call.key(1), call.word(2), call.replied(1)),
        Hashes::setIfAbsent);
    c.on("HGET", Hashes::touchField, call -> orNil(call.hash(call.key(1)).get(call.word(2))));
    c.on(
        "HMGET",
        call -> fields(call, 2, 1).forEach(field -> call.reads(HASH, call.key(1), field)),
        Hashes::getMany);
    c.on(
        "HEXISTS",
        Hashes::touchField,
        call -> flag(call.hash(call.key(1)).containsKey(call.word(2))));
    c.on(
        "HSTRLEN",
        Hashes::touchField,
        call ->
            (long)
                Call.plain(call.hash(call.key(1)).getOrDefault(call.word(2), Bytes.EMPTY))
                    .length());
    c.on("HDEL", Hashes::touchDelete, Hashes::delete);
    c.on("HLEN", Hashes::touchAll, call -> (long) call.hash(call.key(1)).size());
    c.unordered("HKEYS", Hashes::touchAll, call -> new HashSet<>(call.hash(call.key(1)).keySet()));
    c.on(
        "HVALS",
        Hashes::touchAll,
        call -> call.hash(call.key(1)).values().stream().sorted().toList(),
        Hashes::sorted);
    c.on("HGETALL", Hashes::touchAll, call -> new HashMap<>(call.hash(call.key(1))), pairs());
    c.on("HINCRBY", call -> call.changes(HASH, call.key(1), call.word(2), true), Hashes::add);
    c.on(
        "HINCRBYFLOAT",
        call -> call.changes(HASH, call.key(1), call.word(2), true),
        Hashes::addFraction);
  }

  private static List<Bytes> fields(Call call, int from, int step) {
    return call.keys(from, call.words(), step).stream()
        .map(dev.evergreen.provenance.Cell::name)
        .toList();
  }

  private static void touchField(Call call) {
    call.reads(HASH, call.key(1), call.word(2));
  }

  private static void touchAll(Call call) {
    call.reads(HASH, call.key(1));
  }

  private static void touchDelete(Call call) {
    var fields = fields(call, 2, 1);
    for (var field : fields) {
      call.replaces(HASH, call.key(1), field, !call.replied(0));
    }
    call.empties(HASH, call.key(1), !call.replied(0));
  }

  static UnaryOperator<Object> pairs() {
    return reply -> {
      if (!(reply instanceof List<?> list)) {
        return reply;
      }
      var pairs = new HashMap<>();
      for (int i = 0; i + 1 < list.size(); i += 2) {
        pairs.put(list.get(i), list.get(i + 1));
      }
      return pairs;
    };
  }

  private static Object sorted(Object reply) {
    return reply instanceof List<?> list
        ? list.stream().map(Bytes.class::cast).sorted().toList()
        : reply;
  }

  private static Object set(Call call) {
    if (call.words() < 4 || call.words() % 2 != 0) {
      throw new Refusal("ERR");
    }
    var hash = call.hash(call.key(1));
    int before = hash.size();
    for (int i = 2; i < call.words(); i += 2) {
      hash.put(call.word(i), call.word(i + 1));
    }
    call.change(call.key(1), HASH, hash);
    return call.option(0).equals("HMSET") ? OK : (Object) (long) (hash.size() - before);
  }

  private static Object setIfAbsent(Call call) {
    var hash = call.hash(call.key(1));
    boolean absent = hash.putIfAbsent(call.word(2), call.word(3)) == null;
    call.change(call.key(1), HASH, hash);
    return flag(absent);
  }

  private static Object getMany(Call call) {
    var hash = call.hash(call.key(1));
    return call.from(2).stream().map(field -> orNil(hash.get(field))).toList();
  }

  private static Object delete(Call call) {
    var hash = call.hash(call.key(1));
    int before = hash.size();
    call.from(2).forEach(hash::remove);
    call.change(call.key(1), HASH, hash);
    return (long) (before - hash.size());
  }

  private static Object add(Call call) {
    var hash = call.hash(call.key(1));
    var old = hash.get(call.word(2));
    long sum;
    try {
      sum = Math.addExact(old == null ? 0 : Call.number(old), call.number(3));
    } catch (ArithmeticException e) {
      throw new Refusal("ERR");
    }
    hash.put(call.word(2), Bytes.of(Long.toString(sum)));
    call.change(call.key(1), HASH, hash);
    return sum;
  }

  private static Object addFraction(Call call) {
    var hash = call.hash(call.key(1));
    var sum = Strings.plus(hash.get(call.word(2)), call.word(3));
    hash.put(call.word(2), sum);
    call.change(call.key(1), HASH, hash);
    return sum;
  }
}
