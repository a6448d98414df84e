package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Kind.STREAM;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Streams, each of which is one cell; what groups have read of it belongs to it. */
final class Streams {
  private Streams() {}

  /** The name of an entry: a time and a number. */
  private record Id(long time, long number) implements Comparable<Id> {
    static final Id LEAST = new Id(0, 0);
    static final Id MOST = new Id(-1, -1);

    static Id of(Bytes text, long missing) {
      var parts = text.text().split("-", 2);
      try {
        return new Id(
            Long.parseUnsignedLong(parts[0]),
            parts.length > 1 ? Long.parseUnsignedLong(parts[1]) : missing);
      } catch (NumberFormatException e) {
        throw new Refusal("ERR");
      }
    }

    @Override
    public int compareTo(Id other) {
      int order = Long.compareUnsigned(time, other.time);
      return order != 0 ? order : Long.compareUnsigned(number, other.number);
    }

    Bytes text() {
      return Bytes.of(Long.toUnsignedString(time) + "-" + Long.toUnsignedString(number));
    }
  }

  private record Item(Id id, List<Bytes> fields) {}

  /** The entries, and the greatest name that was ever given. */
  private record Stream(List<Item> items, Id last) {}

  static void define(Commands commands) {
    var c = commands.family("streams");
    c.on("XADD", call -> call.changes(STREAM, call.key(1), !call.repliedNil()), Streams::add);
    c.on("XLEN", Streams::touchRead, call -> (long) stream(call).items.size());
    c.on("XRANGE", Streams::touchRead, call -> range(call, call.word(2), call.word(3), false));
    c.on("XREVRANGE", Streams::touchRead, call -> range(call, call.word(3), call.word(2), true));
    c.on("XDEL", Streams::touchChange, Streams::delete);
    c.on("XTRIM", Streams::touchChange, Streams::trim);
    c.on(
        "XREAD",
        call -> streams(call).forEach(key -> call.reads(STREAM, key)),
        Commands.NOT_MODELLED);
    c.on(
        "XPENDING XINFO",
        call -> call.reads(STREAM, call.key(call.option(0).equals("XINFO") ? 2 : 1)),
        Commands.NOT_MODELLED);
    c.on("XACK XCLAIM XAUTOCLAIM XSETID", Streams::touchChange, Commands.NOT_MODELLED);
    c.on(
        "XGROUP",
        call -> call.changes(STREAM, call.key(2), !call.replied(0)),
        Commands.NOT_MODELLED);
    c.on(
        "XREADGROUP",
        call -> streams(call).forEach(key -> call.changes(STREAM, key, !call.repliedNil())),
        Commands.NOT_MODELLED);
  }

  private static void touchRead(Call call) {
    call.reads(STREAM, call.key(1));
  }

  private static void touchChange(Call call) {
    call.changes(STREAM, call.key(1), !call.replied(0));
  }

  private static List<Cell> streams(Call call) {
    int from = call.place("STREAMS", 1) + 1;
    return call.keys(from, from + (call.words() - from) / 2, 1);
  }

  private static @Nullable Stream there(Call call) {
    return (Stream) call.content(call.key(1), STREAM);
  }

  private static Stream stream(Call call) {
    var there = there(call);
    return there == null ? new Stream(List.of(), Id.LEAST) : there;
  }

  private static Object add(Call call) {
    boolean make = !call.has("NOMKSTREAM", 2);
    int at = 2;
    long most = -1;
    for (; List.of("NOMKSTREAM", "MAXLEN", "MINID").contains(call.option(at)); at++) {
      if (call.option(at).equals("MINID") || call.has("~", at)) {
        throw new UnsupportedOperationException("XADD that trims in another way than to a length");
      }
      if (call.option(at).equals("MAXLEN")) {
        at += call.option(at + 1).equals("=") ? 2 : 1;
        most = call.number(at);
      }
    }
    var stream = there(call);
    if (stream == null && !make) {
      return Resp.NIL;
    }
    var old = stream == null ? new Stream(List.of(), Id.LEAST) : stream;
    var id = name(call, at, old.last);
    if (id.compareTo(old.last) <= 0 || call.words() < at + 3 || (call.words() - at) % 2 == 0) {
      throw new Refusal("ERR");
    }
    var items = new ArrayList<>(old.items);
    items.add(new Item(id, List.copyOf(call.from(at + 1))));
    put(call, new Stream(newest(items, most), id));
    return id.text();
  }

  /**
   * The name of a new entry. Which one the store gave is known from the reply; had it been refused,
   * it would have been the time.
   */
  private static Id name(Call call, int at, Id last) {
    if (!call.word(at).text().contains("*")) {
      return Id.of(call.word(at), 0);
    }
    if (call.reply() instanceof Bytes given) {
      return Id.of(given, 0);
    }
    var now = new Id(call.sent().toEpochMilli(), 0);
    return now.compareTo(last) > 0 ? now : new Id(last.time, last.number + 1);
  }

  private static List<Item> newest(List<Item> items, long most) {
    return List.copyOf(
        items.subList(most < 0 ? 0 : (int) Math.max(0, items.size() - most), items.size()));
  }

  private static void put(Call call, Stream stream) {
    call.change(call.key(1), STREAM, stream);
  }

  private static Object range(Call call, Bytes from, Bytes to, boolean reversed) {
    var low = bound(from, 0);
    var high = bound(to, -1);
    var found = new ArrayList<Object>();
    for (var item : reversed ? stream(call).items.reversed() : stream(call).items) {
      if (low.compareTo(item.id) <= 0 && item.id.compareTo(high) <= 0) {
        found.add(List.of(item.id.text(), item.fields));
      }
    }
    long count = call.words() > 5 ? call.number(5) : found.size();
    return List.copyOf(found.subList(0, (int) Math.min(count, found.size())));
  }

  private static Id bound(Bytes text, long missing) {
    return switch (text.text()) {
      case "-" -> Id.LEAST;
      case "+" -> Id.MOST;
      default -> {
        if (text.text().startsWith("(")) {
          throw new UnsupportedOperationException("an exclusive bound");
        }
        yield Id.of(text, missing);
      }
    };
  }

  private static Object delete(Call call) {
    var ids = call.from(2).stream().map(text -> Id.of(text, 0)).toList();
    var stream = stream(call);
    var kept = stream.items.stream().filter(item -> !ids.contains(item.id)).toList();
    if (there(call) != null) {
      put(call, new Stream(kept, stream.last));
    }
    return (long) (stream.items.size() - kept.size());
  }

  private static Object trim(Call call) {
    if (!call.option(2).equals("MAXLEN") || call.has("~", 3)) {
      throw new UnsupportedOperationException("XTRIM in another way than to a length");
    }
    var stream = stream(call);
    var kept = newest(stream.items, call.number(call.option(3).equals("=") ? 4 : 3));
    if (there(call) != null) {
      put(call, new Stream(kept, stream.last));
    }
    return (long) (stream.items.size() - kept.size());
  }
}
