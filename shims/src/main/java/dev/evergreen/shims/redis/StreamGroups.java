package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Kind.STREAM;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Sized;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Groups that read streams together. They belong to the cell of their stream. For how long an entry
 * has been with somebody is the clock's business, and left out of replies.
 */
final class StreamGroups {
  private StreamGroups() {}

  /** With whom an entry is, and how often it was handed out. */
  record Pending(Bytes consumer, long deliveries) {}

  /** How far a group has read, who reads, and what is not done yet. */
  record Group(Streams.Id last, SortedSet<Bytes> consumers, SortedMap<Streams.Id, Pending> pending)
      implements Sized {
    static Group at(Streams.Id last) {
      return new Group(last, new TreeSet<>(), new TreeMap<>());
    }

    @Override
    public long bytes() {
      return Sized.of(consumers) + Sized.of(pending);
    }

    /** A copy that may be changed, of all but how far it has read. */
    Group copy(Streams.Id last) {
      return new Group(last, new TreeSet<>(consumers), new TreeMap<>(pending));
    }

    Group copy() {
      return copy(last);
    }
  }

  static void define(Commands commands) {
    var c = commands.family("groups of streams");
    c.on(
        "XGROUP",
        call ->
            call.changes(STREAM, call.key(2), !call.replied(0) || call.option(1).startsWith("D")),
        StreamGroups::manage);
    c.on("XREADGROUP", StreamGroups::touchRead, StreamGroups::read, Streams::byStream);
    c.on("XACK", Streams::touchChange, StreamGroups::acknowledge);
    c.on(
        "XPENDING",
        call -> call.reads(STREAM, call.key(1)),
        StreamGroups::pending,
        StreamGroups::withoutTimes);
    c.on("XCLAIM", call -> call.changes(STREAM, call.key(1), true), StreamGroups::claim);
    c.on(
        "XAUTOCLAIM",
        call -> call.changes(STREAM, call.key(1), true),
        StreamGroups::claimThoseLeft);
  }

  /** If there is no group with one of the streams, none of them is read. */
  private static void touchRead(Call call) {
    var keys = Streams.streams(call);
    keys.forEach(key -> call.touch(Touch.changes(STREAM.of(key)).from(keys)));
  }

  private static void put(Call call, Cell key, Streams.Stream stream) {
    call.change(key, STREAM, stream);
  }

  private static Streams.Stream stream(Call call, Cell key, String refusal) {
    var stream = Streams.there(call, key);
    if (stream == null) {
      throw new Refusal(refusal);
    }
    return stream;
  }

  private static Group group(Streams.Stream stream, Bytes name) {
    var group = stream.groups().get(name);
    if (group == null) {
      throw new Refusal("NOGROUP");
    }
    return group;
  }

  private static Object manage(Call call) {
    var key = call.key(2);
    var name = call.word(3);
    if (call.option(1).equals("CREATE")) {
      return create(call, key, name);
    }
    var stream = stream(call, key, "ERR");
    if (call.option(1).equals("DESTROY")) {
      boolean there = stream.groups().containsKey(name);
      put(call, key, stream.without(name));
      return flag(there);
    }
    var group = group(stream, name);
    return switch (call.option(1)) {
      case "SETID" -> {
        var start = call.option(4).equals("$") ? stream.last() : Streams.bound(call.word(4), 0);
        put(call, key, stream.with(name, group.copy(start)));
        yield OK;
      }
      case "CREATECONSUMER" -> {
        var changed = group.copy();
        boolean isNew = changed.consumers.add(call.word(4));
        put(call, key, stream.with(name, changed));
        yield flag(isNew);
      }
      case "DELCONSUMER" -> {
        var changed = group.copy();
        changed.consumers.remove(call.word(4));
        changed.pending.values().removeIf(one -> one.consumer.equals(call.word(4)));
        put(call, key, stream.with(name, changed));
        yield (long) (group.pending.size() - changed.pending.size());
      }
      default -> throw new Refusal("ERR");
    };
  }

  private static Streams.Id start(Call call, Streams.@Nullable Stream stream) {
    return call.option(4).equals("$")
        ? stream == null ? Streams.Id.LEAST : stream.last()
        : Streams.Id.of(call.word(4), 0);
  }

  private static Object create(Call call, Cell key, Bytes name) {
    var there = Streams.there(call, key);
    if (there == null && !call.has("MKSTREAM", 5)) {
      throw new Refusal("ERR");
    }
    var stream = there == null ? Streams.Stream.NONE : there;
    var start = start(call, there);
    if (stream.groups().containsKey(name)) {
      throw new Refusal("BUSYGROUP");
    }
    put(call, key, stream.with(name, Group.at(start)));
    return OK;
  }

  private static Object read(Call call) {
    var keys = Streams.streams(call);
    int ids = call.words() - keys.size();
    int named = Streams.place(call, "GROUP");
    var groupName = call.word(named + 1);
    var consumer = call.word(named + 2);
    for (var key : keys) {
      group(stream(call, key, "NOGROUP"), groupName);
    }
    long count = Streams.option(call, "COUNT", 0);
    var serving = Streams.serving(call, holding(call, keys, groupName, count));
    var found = new ArrayList<Object>();
    for (int i = 0; i < keys.size(); i++) {
      var stream = stream(call, keys.get(i), "NOGROUP");
      var group = group(stream, groupName).copy();
      boolean fresh = call.option(ids + i).equals(">");
      if (!serving.contains(keys.get(i))) {
        continue;
      }
      // Before Redis 7.2 who is given nothing new does not become a consumer.
      if (!fresh || !unread(stream, group, count).isEmpty()) {
        group.consumers.add(consumer);
      }
      List<Object> entries =
          fresh
              ? next(call, stream, group, consumer, count)
              : again(stream, group, consumer, Streams.Id.of(call.word(ids + i), 0), count);
      var last =
          fresh && !entries.isEmpty() ? unread(stream, group, count).getLast().id() : group.last;
      put(call, keys.get(i), stream.with(groupName, group.copy(last)));
      if (!fresh || !entries.isEmpty()) {
        found.add(List.of(keys.get(i).name(), entries));
      }
    }
    return found.isEmpty() ? Resp.NIL : found;
  }

  /** The streams of which the reader would be told if it asked now. */
  private static List<Cell> holding(Call call, List<Cell> keys, Bytes groupName, long count) {
    int ids = call.words() - keys.size();
    return IntStream.range(0, keys.size())
        .filter(
            i -> {
              var stream = stream(call, keys.get(i), "NOGROUP");
              return !call.option(ids + i).equals(">")
                  || !unread(stream, group(stream, groupName), count).isEmpty();
            })
        .mapToObj(keys::get)
        .toList();
  }

  private static List<Streams.Item> unread(Streams.Stream stream, Group group, long count) {
    return stream.items().stream()
        .filter(item -> item.id().compareTo(group.last) > 0)
        .limit(count > 0 ? count : Long.MAX_VALUE)
        .toList();
  }

  private static List<Object> next(
      Call call, Streams.Stream stream, Group group, Bytes consumer, long count) {
    var items = unread(stream, group, count);
    if (Streams.place(call, "NOACK") < 0) {
      items.forEach(item -> group.pending.put(item.id(), new Pending(consumer, 1)));
    }
    return items.stream().<Object>map(Streams::shown).toList();
  }

  /** What a consumer was given before and has not done. */
  private static List<Object> again(
      Streams.Stream stream, Group group, Bytes consumer, Streams.Id after, long count) {
    var entries = new ArrayList<Object>();
    for (var one : List.copyOf(group.pending.entrySet())) {
      boolean wanted =
          one.getValue().consumer.equals(consumer) && one.getKey().compareTo(after) > 0;
      if (wanted && (count <= 0 || entries.size() < count)) {
        var item = item(stream, one.getKey());
        entries.add(item == null ? List.of(one.getKey().text(), Resp.NIL) : Streams.shown(item));
        if (item != null) {
          group.pending.put(one.getKey(), new Pending(consumer, one.getValue().deliveries + 1));
        }
      }
    }
    return entries;
  }

  private static Streams.@Nullable Item item(Streams.Stream stream, Streams.Id id) {
    return stream.items().stream().filter(item -> item.id().equals(id)).findFirst().orElse(null);
  }

  private static Object acknowledge(Call call) {
    var stream = Streams.there(call, call.key(1));
    var group = stream == null ? null : stream.groups().get(call.word(2));
    if (stream == null || group == null) {
      return 0L;
    }
    var ids = call.from(3).stream().map(text -> Streams.Id.of(text, 0)).toList();
    var changed = group.copy();
    long done = ids.stream().filter(id -> changed.pending.remove(id) != null).count();
    put(call, call.key(1), stream.with(call.word(2), changed));
    return done;
  }

  private static Object pending(Call call) {
    var pending = group(stream(call, call.key(1), "NOGROUP"), call.word(2)).pending;
    return call.words() > 3 ? pendingOnes(call, pending) : pendingInAll(pending);
  }

  private static Object pendingInAll(SortedMap<Streams.Id, Pending> pending) {
    if (pending.isEmpty()) {
      return List.of(0L, Resp.NIL, Resp.NIL, Resp.NIL);
    }
    var counts = new TreeMap<Bytes, Integer>();
    pending.values().forEach(one -> counts.merge(one.consumer, 1, Integer::sum));
    var consumers = new ArrayList<Object>();
    counts.forEach((consumer, count) -> consumers.add(List.of(consumer, Bytes.of("" + count))));
    return List.of(
        (long) pending.size(), pending.firstKey().text(), pending.lastKey().text(), consumers);
  }

  private static Object pendingOnes(Call call, SortedMap<Streams.Id, Pending> pending) {
    if (call.option(3).equals("IDLE")) {
      throw new UnsupportedOperationException("for how long is the clock's business");
    }
    var from = Streams.bound(call.word(3), 0);
    var to = Streams.bound(call.word(4), -1);
    var found = new ArrayList<Object>();
    for (Map.Entry<Streams.Id, Pending> one : pending.entrySet()) {
      boolean fits =
          Streams.isBehind(one.getKey(), from, call.word(3))
              && Streams.isBehind(to, one.getKey(), call.word(4))
              && (call.words() <= 6 || one.getValue().consumer.equals(call.word(6)));
      if (fits && found.size() < call.number(5)) {
        found.add(
            List.of(one.getKey().text(), one.getValue().consumer, 0L, one.getValue().deliveries));
      }
    }
    return found;
  }

  private static Object withoutTimes(Object reply) {
    if (!(reply instanceof List<?> list) || list.isEmpty() || !(list.getFirst() instanceof List)) {
      return reply;
    }
    return list.stream()
        .<Object>map(
            one ->
                one instanceof List<?> row && row.size() == 4
                    ? List.of(row.get(0), row.get(1), 0L, row.get(3))
                    : one)
        .toList();
  }

  private static void needsNoTime(Call call) {
    if (call.number(4) != 0) {
      throw new UnsupportedOperationException("for how long is the clock's business");
    }
  }

  private static Object claim(Call call) {
    var stream = stream(call, call.key(1), "NOGROUP");
    var group = group(stream, call.word(2)).copy();
    needsNoTime(call);
    boolean idsOnly = call.option(call.words() - 1).equals("JUSTID");
    var claimed = new ArrayList<Object>();
    for (int i = 5; i < call.words() - (idsOnly ? 1 : 0); i++) {
      if (!call.plain(i).text().matches("[0-9-]+")) {
        throw new UnsupportedOperationException("a claim with options");
      }
      claim(stream, group, Streams.Id.of(call.word(i), 0), call.word(3), idsOnly, claimed);
    }
    put(call, call.key(1), stream.with(call.word(2), group));
    return claimed;
  }

  /** Tells whether the entry is there; one that is not is pending no more. */
  private static boolean claim(
      Streams.Stream stream,
      Group group,
      Streams.Id id,
      Bytes consumer,
      boolean idsOnly,
      List<Object> claimed) {
    var pending = group.pending.get(id);
    if (pending == null) {
      return true;
    }
    var item = item(stream, id);
    if (item == null) {
      group.pending.remove(id);
      return false;
    }
    group.consumers.add(consumer);
    group.pending.put(id, new Pending(consumer, pending.deliveries + (idsOnly ? 0 : 1)));
    claimed.add(idsOnly ? id.text() : Streams.shown(item));
    return true;
  }

  private static Object claimThoseLeft(Call call) {
    var stream = stream(call, call.key(1), "NOGROUP");
    var group = group(stream, call.word(2)).copy();
    needsNoTime(call);
    int at = call.place("COUNT", 6);
    long count = at < 0 ? 100 : call.number(at + 1);
    boolean idsOnly = call.has("JUSTID", 6);
    var from = Streams.bound(call.word(5), 0);
    var claimed = new ArrayList<Object>();
    var gone = new ArrayList<Object>();
    var rest =
        group.pending.tailMap(from).keySet().stream()
            .filter(id -> Streams.isBehind(id, from, call.word(5)))
            .toList();
    int next = 0;
    for (; next < rest.size() && claimed.size() + gone.size() < count; next++) {
      if (!claim(stream, group, rest.get(next), call.word(3), idsOnly, claimed)) {
        gone.add(rest.get(next).text());
      }
    }
    put(call, call.key(1), stream.with(call.word(2), group));
    return List.of(
        next < rest.size() ? rest.get(next).text() : Streams.Id.LEAST.text(), claimed, gone);
  }
}
