package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Kind.SET;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Sets: a cell for each member. */
final class Sets {
  static final String FAMILY = "sets";

  private Sets() {}

  static void define(Commands commands) {
    var c = commands.family(FAMILY);
    c.on("SADD", call -> touchMembers(call, call.from(2), !call.replied(0)), Sets::add);
    c.on(
        "SREM",
        call -> touchRemoved(call, call.from(2), !call.replied(0)),
        call -> (long) removed(call, call.from(2)));
    c.on("SPOP", Sets::touchTaken, Sets::pop, Sets::asSet);
    c.on(
        "SISMEMBER",
        call -> call.reads(SET, call.key(1), call.word(2)),
        call -> flag(call.set(call.key(1)).contains(call.word(2))));
    c.on(
        "SMISMEMBER",
        call -> call.from(2).forEach(member -> call.reads(SET, call.key(1), member)),
        Sets::areMembers);
    c.unordered(
        "SMEMBERS",
        call -> call.reads(SET, call.key(1)),
        call -> new HashSet<>(call.set(call.key(1))));
    c.on(
        "SCARD", call -> call.reads(SET, call.key(1)), call -> (long) call.set(call.key(1)).size());
    c.on("SMOVE", Sets::touchMove, Sets::move);
    c.unordered(
        "SUNION SINTER SDIFF",
        call -> call.keysFrom(1).forEach(key -> call.reads(SET, key)),
        call -> new HashSet<>(combined(call, call.keysFrom(1))));
    c.on(
        "SINTERCARD",
        call -> counted(call).forEach(key -> call.reads(SET, key)),
        Sets::countCommon);
    c.on("SUNIONSTORE SINTERSTORE SDIFFSTORE", Sets::touchStore, Sets::store);
  }

  private static void touchMembers(Call call, List<Bytes> members, boolean effect) {
    members.forEach(member -> call.replaces(SET, call.key(1), member, effect));
  }

  private static void touchRemoved(Call call, List<Bytes> members, boolean effect) {
    touchMembers(call, members, effect);
    call.empties(SET, call.key(1), effect);
  }

  private static Object add(Call call) {
    var set = call.set(call.key(1));
    int before = set.size();
    set.addAll(call.from(2));
    call.change(call.key(1), SET, set);
    return (long) (set.size() - before);
  }

  private static int removed(Call call, List<Bytes> members) {
    var set = call.set(call.key(1));
    int before = set.size();
    members.forEach(set::remove);
    call.change(call.key(1), SET, set);
    return before - set.size();
  }

  /** The reply alone tells which members they are; without one they may be any. */
  private static void touchTaken(Call call) {
    if (isDraw(call)) {
      call.changes(SET, call.key(1), true);
    } else if (isShort(call) || taken(call).isEmpty()) {
      call.reads(SET, call.key(1));
    }
    touchRemoved(call, taken(call), true);
  }

  /** Whether it has got less than it asked for: then its reply tells all that there was. */
  private static boolean isShort(Call call) {
    return taken(call).size() < (call.words() > 2 ? call.count(2) : 1);
  }

  /** Whether it draws at random, and nobody knows what. */
  static boolean isDraw(Call call) {
    return call.option(0).equals("SPOP") && call.reply() == null;
  }

  /** What a command that draws at random has replied. */
  private static List<Bytes> taken(Call call) {
    if (call.reply() instanceof Bytes member) {
      return List.of(member);
    }
    return call.elements().stream().map(Bytes.class::cast).toList();
  }

  /**
   * Takes out what was recorded as taken, and replies those that are there; or all that there is,
   * if that was what it had got.
   */
  private static Object pop(Call call) {
    if (isDraw(call)) {
      throw new UnsupportedOperationException("nobody knows what was taken");
    }
    var there = call.set(call.key(1));
    removed(call, taken(call));
    if (!isShort(call)) {
      there.retainAll(taken(call));
    }
    return call.words() > 2
        ? new HashSet<>(there)
        : there.stream().findFirst().<Object>map(member -> member).orElse(Resp.NIL);
  }

  private static Object asSet(Object reply) {
    return reply instanceof List<?> list ? new HashSet<>(list) : reply;
  }

  private static Object areMembers(Call call) {
    var set = call.set(call.key(1));
    return call.from(2).stream().map(member -> flag(set.contains(member))).toList();
  }

  /** Afterwards the source lacks the member; the target has it if the source had. */
  private static void touchMove(Call call) {
    var source = SET.of(call.key(1)).child(call.word(3));
    var target = SET.of(call.key(2)).child(call.word(3));
    boolean moved = call.replied(1);
    var from = new ArrayList<Cell>(List.of(source));
    from.addAll(Call.guards(SET, call.key(1)));
    from.addAll(Call.guards(SET, call.key(2)));
    call.touch(Touch.changes(source).from(from).effect(moved));
    call.touch((moved ? Touch.replaces(target) : Touch.changes(target)).from(from).effect(moved));
    call.empties(SET, call.key(1), moved);
  }

  private static Object move(Call call) {
    var source = call.set(call.key(1));
    if (source.isEmpty()) {
      return 0L;
    }
    call.set(call.key(2));
    if (!source.remove(call.word(3))) {
      return 0L;
    }
    if (!call.key(1).equals(call.key(2))) {
      call.change(call.key(1), SET, source);
      var target = call.set(call.key(2));
      target.add(call.word(3));
      call.change(call.key(2), SET, target);
    }
    return 1L;
  }

  private static List<Cell> counted(Call call) {
    return call.keys(2, 2 + call.index(1), 1);
  }

  private static Object countCommon(Call call) {
    var keys = counted(call);
    int at = call.place("LIMIT", 2 + keys.size());
    long limit = at < 0 ? 0 : call.count(at + 1);
    Set<Bytes> common = new HashSet<>(call.set(keys.getFirst()));
    keys.forEach(key -> common.retainAll(call.set(key)));
    return limit == 0 ? common.size() : Math.min(limit, common.size());
  }

  private static Set<Bytes> combined(Call call, List<Cell> keys) {
    var sets = keys.stream().map(call::set).toList();
    var result = sets.getFirst();
    for (var set : sets.subList(1, sets.size())) {
      switch (call.option(0).substring(0, 4)) {
        case "SUNI" -> result.addAll(set);
        case "SINT" -> result.retainAll(set);
        default -> result.removeAll(set);
      }
    }
    return result;
  }

  private static void touchStore(Call call) {
    var from = new ArrayList<Cell>();
    for (var key : call.keysFrom(2)) {
      from.add(SET.of(key));
      from.addAll(Call.guards(SET, key));
    }
    from.forEach(call::reads);
    call.touch(Touch.replaces(call.key(1)).from(from));
  }

  private static Object store(Call call) {
    var result = combined(call, call.keysFrom(2));
    call.set(call.key(1), SET, result);
    return (long) result.size();
  }
}
