package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Kind.STRING;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Counts of distinct elements. The model keeps the elements themselves while they are few: the
 * store's estimate is exact then, but for rare collisions.
 */
final class HyperLogLogs {
  private static final int FEW = 100;

  private HyperLogLogs() {}

  static void define(Commands commands) {
    var c = commands.family("hyperloglog");
    c.on("PFADD", call -> call.changes(STRING, call.key(1), !call.replied(0)), HyperLogLogs::add);
    c.on(
        "PFCOUNT",
        call -> call.keysFrom(1).forEach(key -> call.reads(STRING, key)),
        call -> (long) union(call, call.keysFrom(1)).size());
    c.on("PFMERGE", HyperLogLogs::touchMerge, HyperLogLogs::merge);
  }

  private static Set<Bytes> elements(Call call, Cell key) {
    var elements = new TreeSet<Bytes>();
    var content = call.content(key, STRING);
    if (content != null) {
      if (!(content instanceof Set<?> there)) {
        throw new Refusal("WRONGTYPE");
      }
      there.forEach(element -> elements.add((Bytes) element));
    }
    return elements;
  }

  private static Set<Bytes> union(Call call, List<Cell> keys) {
    var union = new TreeSet<Bytes>();
    keys.forEach(key -> union.addAll(elements(call, key)));
    if (union.size() > FEW) {
      throw new UnsupportedOperationException("an estimate of many elements");
    }
    return union;
  }

  private static void put(Call call, Cell key, Set<Bytes> elements) {
    call.change(key, STRING, elements);
  }

  private static Object add(Call call) {
    var elements = elements(call, call.key(1));
    boolean changed = elements.addAll(call.from(2)) || !call.exists(call.key(1));
    put(call, call.key(1), elements);
    return flag(changed);
  }

  private static void touchMerge(Call call) {
    var from = new ArrayList<Cell>();
    for (var key : call.keysFrom(1)) {
      from.add(STRING.of(key));
      from.addAll(Call.guards(STRING, key));
    }
    call.touch(Touch.changes(STRING.of(call.key(1))).from(from));
  }

  private static Object merge(Call call) {
    put(call, call.key(1), union(call, call.keysFrom(1)));
    return OK;
  }
}
