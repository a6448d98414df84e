package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Kind.STREAM;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Sized;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Streams, each of which is one cell; what {@link StreamGroups} have read of it belongs to it. */
final class Streams {
  private Streams() {}

  /** The name of an entry: a time and a number. */
  record Id(long time, long number) implements Comparable<Id> {
    static final Id LEAST = new Id(0, 0);
    static final Id MOST = new Id(-1, -1);

    static Id of(Bytes text, long missing) {
      var parts = Call.plain(text).text().split("-", 2);
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

  private static final Map<String, Integer> ARGUMENTS = Map.of("GROUP", 2, "COUNT", 1, "BLOCK", 1);

  record Item(Id id, List<Bytes> fields) implements Sized {
    @Override
    public long bytes() {
      return Sized.of(fields);
    }
  }

  /** The entries, the greatest name that was ever given, and the groups by their names. */
  record Stream(List<Item> items, Id last, SortedMap<Bytes, StreamGroups.Group> groups)
      implements Sized {
    static final Stream NONE = new Stream(List.of(), Id.LEAST, new TreeMap<>());

    @Override
    public long bytes() {
      return Sized.of(items) + Sized.of(groups);
    }

    Stream with(List<Item> others) {
      return new Stream(others, last, groups);
    }

    Stream with(Bytes name, StreamGroups.Group group) {
      var changed = new TreeMap<>(groups);
      changed.put(name, group);
      return new Stream(items, last, changed);
    }

    Stream without(Bytes name) {
      var changed = new TreeMap<>(groups);
      changed.remove(name);
      return new Stream(items, last, changed);
    }
  }

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
        Streams::read,
        Streams::byStream);
    c.on("XSETID", Streams::touchChange, Streams::setLast);
  }

  private static void touchRead(Call call) {
    call.reads(STREAM, call.key(1));
  }

  static void touchChange(Call call) {
    call.changes(STREAM, call.key(1), !call.replied(0));
  }

  static List<Cell> streams(Call call) {
    int from = place(call, "STREAMS") + 1;
    return call.keys(from, from + (call.words() - from) / 2, 1);
  }

  static @Nullable Stream there(Call call, Cell key) {
    return (Stream) call.content(key, STREAM);
  }

  private static @Nullable Stream there(Call call) {
    return there(call, call.key(1));
  }

  private static Stream stream(Call call) {
    var there = there(call);
    return there == null ? Stream.NONE : there;
  }

  private static Object add(Call call) {
    boolean make = true;
    int at = 2;
    var trim = Trim.NONE;
    for (; List.of("NOMKSTREAM", "MAXLEN", "MINID").contains(call.option(at)); at++) {
      if (call.option(at).equals("NOMKSTREAM")) {
        make = false;
      } else {
        trim = Trim.of(call, at);
        at = trim.at;
      }
    }
    var stream = there(call);
    if (stream == null && !make) {
      return Resp.NIL;
    }
    var old = stream == null ? Stream.NONE : stream;
    var id = name(call, at, old.last);
    if (id.compareTo(old.last) <= 0 || call.words() < at + 3 || (call.words() - at) % 2 == 0) {
      throw new Refusal("ERR");
    }
    var items = new ArrayList<>(old.items);
    items.add(new Item(id, List.copyOf(call.from(at + 1))));
    put(call, new Stream(trim.kept(items), id, old.groups));
    Filled.noteMore(call, call.key(1));
    return id.text();
  }

  /**
   * The name of a new entry. Which one the store gave is known from the reply; had it been refused,
   * it would have been the time.
   */
  private static Id name(Call call, int at, Id last) {
    var text = call.plain(at).text();
    if (text.endsWith("-*")) {
      long time = Id.of(Bytes.of(text.substring(0, text.length() - 2)), 0).time;
      return new Id(time, time == last.time ? last.number + 1 : 0);
    }
    if (!text.equals("*")) {
      return Id.of(call.word(at), 0);
    }
    if (call.reply() instanceof Bytes given) {
      return Id.of(given, 0);
    }
    var now = new Id(call.sent().toEpochMilli(), 0);
    return now.compareTo(last) > 0 ? now : new Id(last.time, last.number + 1);
  }

  /**
   * What is kept of a stream.
   *
   * @param at where the bound stands
   */
  private record Trim(long most, Id least, int at) {
    static final Trim NONE = new Trim(Long.MAX_VALUE, Id.LEAST, 0);

    static Trim of(Call call, int from) {
      int at = from + 1;
      if (call.option(at).equals("~")) {
        throw new UnsupportedOperationException("how near is the store's business");
      }
      at += call.option(at).equals("=") ? 1 : 0;
      return switch (call.option(from)) {
        case "MAXLEN" -> new Trim(call.number(at), Id.LEAST, at);
        case "MINID" -> new Trim(Long.MAX_VALUE, Id.of(call.word(at), 0), at);
        default -> throw new Refusal("ERR");
      };
    }

    List<Item> kept(List<Item> items) {
      return items.stream()
          .skip(Math.max(0, items.size() - most))
          .dropWhile(item -> item.id.compareTo(least) < 0)
          .toList();
    }
  }

  private static void put(Call call, Stream stream) {
    call.change(call.key(1), STREAM, stream);
  }

  private static Object range(Call call, Bytes from, Bytes to, boolean reversed) {
    var low = bound(from, 0);
    var high = bound(to, -1);
    var found = new ArrayList<Object>();
    for (var item : reversed ? stream(call).items.reversed() : stream(call).items) {
      if (isBehind(item.id, low, from) && isBehind(high, item.id, to)) {
        found.add(shown(item));
      }
    }
    long count = call.words() > 5 ? call.number(5) : found.size();
    if (count <= 0 && call.words() > 5 && there(call) != null) {
      // Who asks for nothing gets nothing, and no list either.
      return Resp.NIL;
    }
    return List.copyOf(found.subList(0, (int) Math.min(count, found.size())));
  }

  static List<Object> shown(Item item) {
    return List.of(item.id.text(), item.fields);
  }

  /** Whether one is not before another, and is not that if the bound that is one says so. */
  static boolean isBehind(Id one, Id other, Bytes bound) {
    int order = one.compareTo(other);
    return bound.text().startsWith("(") ? order > 0 : order >= 0;
  }

  /** A bound of a range; a bracket in front excludes it. */
  static Id bound(Bytes text, long missing) {
    return switch (text.text()) {
      case "-" -> Id.LEAST;
      case "+" -> Id.MOST;
      default -> {
        yield Id.of(text.text().startsWith("(") ? text.slice(1, text.length()) : text, missing);
      }
    };
  }

  private static Object delete(Call call) {
    var stream = there(call);
    if (stream == null) {
      return 0L;
    }
    var ids = call.from(2).stream().map(text -> Id.of(text, 0)).toList();
    var kept = stream.items.stream().filter(item -> !ids.contains(item.id)).toList();
    put(call, stream.with(kept));
    return (long) (stream.items.size() - kept.size());
  }

  private static Object trim(Call call) {
    var stream = stream(call);
    var kept = Trim.of(call, 2).kept(stream.items);
    if (there(call) != null) {
      put(call, stream.with(kept));
    }
    return (long) (stream.items.size() - kept.size());
  }

  private static Object setLast(Call call) {
    var stream = there(call);
    var last = Id.of(call.word(2), 0);
    if (call.words() > 3) {
      throw new UnsupportedOperationException("what was deleted before");
    }
    if (stream == null
        || (!stream.items.isEmpty() && last.compareTo(stream.items.getLast().id) < 0)) {
      throw new Refusal("ERR");
    }
    put(call, new Stream(stream.items, last, stream.groups));
    return Call.OK;
  }

  /** The number behind an option before the streams' names, or this one if it is not there. */
  static long option(Call call, String name, long otherwise) {
    int at = place(call, name);
    return at < 0 ? otherwise : call.number(at + 1);
  }

  /** Where an option before the streams' names is, or -1. */
  static int place(Call call, String option) {
    int streams = call.firstPlace("STREAMS", 1, ARGUMENTS);
    return option.equals("STREAMS") ? streams : call.place(option, 1, streams, ARGUMENTS);
  }

  private static Object read(Call call) {
    var keys = streams(call);
    int ids = call.words() - keys.size();
    long count = option(call, "COUNT", 0);
    var holding = new ArrayList<Cell>();
    var found = new ArrayList<List<Object>>();
    for (int i = 0; i < keys.size(); i++) {
      var stream = there(call, keys.get(i));
      if (stream != null) {
        var items =
            stream.items.stream()
                .filter(unread(call, keys.get(i), ids + i))
                .limit(count > 0 ? count : Long.MAX_VALUE)
                .map(Streams::shown)
                .toList();
        if (!items.isEmpty()) {
          holding.add(keys.get(i));
          found.add(List.of(keys.get(i).name(), items));
        }
      }
    }
    var serving = serving(call, holding).stream().map(Cell::name).toList();
    found.removeIf(stream -> !serving.contains(name(stream)));
    return found.isEmpty() ? Resp.NIL : found;
  }

  /** What of a stream is new to who has read it up to the name that stands there. */
  private static Predicate<Item> unread(Call call, Cell key, int at) {
    if (!call.option(at).equals("$")) {
      var after = Id.of(call.word(at), 0);
      return item -> item.id.compareTo(after) > 0;
    }
    // Where the stream ended nobody has said, but what came behind that.
    var first = mayHaveWaited(call) ? firstTold(call, key) : Optional.<Id>empty();
    return item -> first.isPresent() && item.id.compareTo(first.get()) >= 0;
  }

  /** The first entry of a stream in the reply. */
  private static Optional<Id> firstTold(Call call, Cell key) {
    return told(call).stream()
        .filter(stream -> name(stream).equals(key.name()))
        .flatMap(
            stream ->
                stream.getLast() instanceof List<?> items
                    ? items.stream()
                    : java.util.stream.Stream.of())
        .findFirst()
        .map(item -> Id.of((Bytes) name(item), 0));
  }

  /**
   * Of the streams that have something new those of which the reader is told: all of them, or, if
   * it has waited, the one that was first to have something.
   */
  static List<Cell> serving(Call call, List<Cell> holding) {
    var told = told(call);
    if (!mayHaveWaited(call) || holding.size() < 2 || told.size() != 1) {
      return holding;
    }
    return holding.stream()
        .filter(key -> key.name().equals(name(told.getFirst())))
        .findFirst()
        .flatMap(key -> Filled.served(call, holding, key))
        .map(List::of)
        .orElse(holding);
  }

  private static boolean mayHaveWaited(Call call) {
    return place(call, "BLOCK") > 0 && !call.isPart();
  }

  /** The streams of the reply, each with its name first. */
  private static List<List<?>> told(Call call) {
    var told = new ArrayList<List<?>>();
    if (byStream(call.elements()) instanceof List<?> all) {
      for (var one : all) {
        if (one instanceof List<?> stream && stream.size() == 2) {
          told.add(stream);
        }
      }
    }
    return told;
  }

  private static Object name(Object stream) {
    return ((List<?>) stream).getFirst();
  }

  /** Version 3 of the protocol has a map there. */
  static Object byStream(Object reply) {
    if (!(reply instanceof List<?> list) || list.isEmpty() || !(list.getFirst() instanceof Bytes)) {
      return reply;
    }
    var pairs = new ArrayList<Object>();
    for (int i = 0; i + 1 < list.size(); i += 2) {
      pairs.add(List.of(list.get(i), list.get(i + 1)));
    }
    return pairs;
  }
}
