package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Kind.LIST;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import java.util.ArrayList;
import java.util.List;

/** Lists, each of which is one cell: where an element stands depends on all others. */
final class Lists {
  private Lists() {}

  static void define(Commands commands) {
    var c = commands.family("lists");
    c.on("LPUSH RPUSH", call -> call.changes(LIST, call.key(1), true), call -> push(call, false));
    c.on(
        "LPUSHX RPUSHX",
        call -> call.changes(LIST, call.key(1), !call.replied(0)),
        call -> push(call, true));
    c.on("LPOP RPOP", Lists::touchTake, Lists::pop);
    c.on("LLEN", Lists::touchRead, call -> (long) call.list(call.key(1)).size());
    c.on(
        "LRANGE",
        Lists::touchRead,
        call -> List.copyOf(range(call.list(call.key(1)), call.number(2), call.number(3))));
    c.on("LINDEX", Lists::touchRead, Lists::element);
    c.on("LPOS", Lists::touchRead, Lists::position);
    c.on("LSET", call -> call.changes(LIST, call.key(1), true), Lists::setElement);
    c.on(
        "LINSERT",
        call -> call.changes(LIST, call.key(1), !call.replied(0) && !call.replied(-1)),
        Lists::insert);
    c.on("LREM", Lists::touchTake, Lists::removeEqual);
    c.on("LTRIM", Lists::touchTake, Lists::trim);
    c.on("LMOVE RPOPLPUSH", Lists::touchMove, Lists::move);
    c.on("BLMOVE BRPOPLPUSH", Lists::touchMove, Lists::move);
    c.on(
        "BLPOP BRPOP",
        call -> call.changesFirst(LIST, call.keys(1, call.words() - 1, 1)),
        Lists::popFirst);
    c.on("LMPOP", call -> call.takesFromFirst(LIST, call.counted(1)), call -> popMany(call, 1));
    c.on("BLMPOP", call -> call.takesFromFirst(LIST, call.counted(2)), call -> popMany(call, 2));
  }

  private static void touchRead(Call call) {
    call.reads(LIST, call.key(1));
  }

  private static void touchTake(Call call) {
    boolean taken = !call.repliedNil() && !call.replied(0);
    call.changes(LIST, call.key(1), taken);
    call.empties(LIST, call.key(1), taken);
  }

  /**
   * Where an index from the front or, if it is negative, from the back is; 0 if it lies before the
   * front.
   */
  static int clamp(long index, int size) {
    return (int) Math.min(Math.max(index < 0 ? index + size : index, 0), Integer.MAX_VALUE);
  }

  static <T> List<T> range(List<T> list, long start, long stop) {
    int from = clamp(start, list.size());
    long to = Math.min(stop < 0 ? stop + list.size() : stop, list.size() - 1);
    return from > to ? List.of() : list.subList(from, (int) to + 1);
  }

  private static Object push(Call call, boolean onlyIfThere) {
    var list = call.list(call.key(1));
    if (onlyIfThere && list.isEmpty()) {
      return 0L;
    }
    for (var element : call.from(2)) {
      list.add(call.option(0).startsWith("L") ? 0 : list.size(), element);
    }
    call.change(call.key(1), LIST, list);
    return (long) list.size();
  }

  private static Object pop(Call call) {
    boolean left = call.option(0).startsWith("L");
    long count = call.words() > 2 ? call.count(2) : 1;
    if (!call.exists(call.key(1))) {
      return Resp.NIL;
    }
    var taken = taken(call, call.key(1), left, count);
    return call.words() > 2 ? taken : taken.getFirst();
  }

  private static List<Bytes> taken(Call call, Cell key, boolean left, long count) {
    var list = call.list(key);
    var taken = new ArrayList<Bytes>();
    while (taken.size() < count && !list.isEmpty()) {
      taken.add(left ? list.removeFirst() : list.removeLast());
    }
    call.change(key, LIST, list);
    return List.copyOf(taken);
  }

  private static Object popMany(Call call, int at) {
    var keys = call.counted(at);
    int side = at + 1 + keys.size();
    long count = call.words() > side + 2 ? call.number(side + 2) : 1;
    var key = call.serving(LIST, keys);
    return key == null
        ? Resp.NIL
        : List.of(key.name(), taken(call, key, call.option(side).equals("LEFT"), count));
  }

  private static Object popFirst(Call call) {
    var keys = call.keys(1, call.words() - 1, 1);
    var key = call.serving(LIST, keys);
    return key == null
        ? Resp.NIL
        : List.of(key.name(), taken(call, key, call.option(0).equals("BLPOP"), 1).getFirst());
  }

  private static int at(Call call, List<Bytes> list) {
    long index = call.number(2);
    long place = index < 0 ? index + list.size() : index;
    return place < 0 || place >= list.size() ? -1 : (int) place;
  }

  private static Object element(Call call) {
    var list = call.list(call.key(1));
    if (list.isEmpty()) {
      // Where there is nothing the index is not looked at.
      return Resp.NIL;
    }
    int at = at(call, list);
    return at < 0 ? Resp.NIL : list.get(at);
  }

  private static Object position(Call call) {
    var list = call.list(call.key(1));
    long rank = option(call, "RANK", 1);
    long count = option(call, "COUNT", 1);
    long most = option(call, "MAXLEN", 0);
    if (rank == 0 || count < 0 || most < 0) {
      throw new Refusal("ERR");
    }
    var found = new ArrayList<Long>();
    long left = Math.abs(rank);
    for (int i = 0; i < list.size() && (most == 0 || i < most); i++) {
      int at = rank > 0 ? i : list.size() - 1 - i;
      boolean equal = list.get(at).equals(call.word(2));
      left -= equal ? 1 : 0;
      if (equal && left <= 0 && (count == 0 || found.size() < count)) {
        found.add((long) at);
      }
    }
    if (call.has("COUNT", 3)) {
      return List.copyOf(found);
    }
    return found.isEmpty() ? Resp.NIL : found.getFirst();
  }

  private static long option(Call call, String name, long otherwise) {
    int at = call.place(name, 3);
    return at < 0 ? otherwise : call.number(at + 1);
  }

  private static Object setElement(Call call) {
    var list = call.list(call.key(1));
    int at = at(call, list);
    if (at < 0) {
      throw new Refusal("ERR");
    }
    list.set(at, call.word(3));
    call.change(call.key(1), LIST, list);
    return OK;
  }

  private static Object insert(Call call) {
    var list = call.list(call.key(1));
    int at = list.indexOf(call.word(3));
    if (at < 0) {
      return list.isEmpty() ? 0L : -1L;
    }
    list.add(call.option(2).equals("BEFORE") ? at : at + 1, call.word(4));
    call.change(call.key(1), LIST, list);
    return (long) list.size();
  }

  private static Object removeEqual(Call call) {
    var list = call.list(call.key(1));
    long count = call.number(2);
    long most = count == 0 ? Long.MAX_VALUE : Math.abs(count);
    var kept = new ArrayList<Bytes>();
    long removed = 0;
    for (var element : count < 0 ? list.reversed() : list) {
      if (removed < most && element.equals(call.word(3))) {
        removed++;
      } else {
        kept.add(element);
      }
    }
    call.change(call.key(1), LIST, count < 0 ? new ArrayList<>(kept.reversed()) : kept);
    return removed;
  }

  private static Object trim(Call call) {
    var list = call.list(call.key(1));
    call.change(call.key(1), LIST, new ArrayList<>(range(list, call.number(2), call.number(3))));
    return OK;
  }

  private static boolean plain(Call call) {
    return call.option(0).endsWith("RPOPLPUSH");
  }

  private static void touchMove(Call call) {
    var source = call.key(1);
    var target = call.key(2);
    boolean moved = !call.repliedNil();
    for (var key : List.of(source, target)) {
      var from = new ArrayList<Cell>(Call.guards(LIST, source));
      from.addAll(Call.guards(LIST, target));
      from.add(LIST.of(source));
      call.touch(dev.evergreen.provenance.Touch.changes(LIST.of(key)).from(from).effect(moved));
    }
    call.empties(LIST, source, moved && !source.equals(target));
  }

  private static Object move(Call call) {
    var source = call.key(1);
    var target = call.key(2);
    var list = call.list(source);
    if (list.isEmpty()) {
      return Resp.NIL;
    }
    var others = source.equals(target) ? list : call.list(target);
    var moved =
        !plain(call) && call.option(3).equals("LEFT") ? list.removeFirst() : list.removeLast();
    others.add(plain(call) || call.option(4).equals("LEFT") ? 0 : others.size(), moved);
    // A list that is its own target is never empty in between, and keeps its deadline.
    call.change(source, LIST, list);
    call.change(target, LIST, others);
    return moved;
  }
}
