package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Kind.STRING;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;

/** Bits of strings: a cell for each that is set or asked for alone. */
final class Bitmaps {
  private Bitmaps() {}

  static void define(Commands commands) {
    var c = commands.family("bitmaps");
    c.on("SETBIT", call -> call.replaces(STRING, call.key(1), call.plain(2), true), Bitmaps::set);
    c.on(
        "GETBIT",
        call -> call.reads(STRING, call.key(1), call.plain(2)),
        call -> (long) bit(Strings.bytes(call, call.key(1)), call.number(2)));
    c.on("BITCOUNT", call -> call.reads(STRING, call.key(1)), Bitmaps::count);
    c.on("BITPOS", call -> call.reads(STRING, call.key(1)), Bitmaps::position);
    c.on("BITOP", Bitmaps::touchCombine, Bitmaps::combine);
  }

  private static int bit(Bytes bytes, long index) {
    if (index < 0) {
      throw new Refusal("ERR");
    }
    return index / 8 >= bytes.length() ? 0 : bytes.at((int) (index / 8)) >> (7 - index % 8) & 1;
  }

  private static Object set(Call call) {
    var bytes = Strings.bytes(call, call.key(1));
    long index = call.number(2);
    long value = call.number(3);
    long old = bit(bytes, index);
    if (value != 0 && value != 1) {
      throw new Refusal("ERR");
    }
    var written = Strings.grown(bytes, index / 8 + 1);
    int mask = 0x80 >> index % 8;
    written[(int) (index / 8)] =
        (byte)
            (value == 1 ? written[(int) (index / 8)] | mask : written[(int) (index / 8)] & ~mask);
    call.change(call.key(1), STRING, Bytes.of(written));
    return old;
  }

  /** The first bit and the one behind the last of a range whose words begin here. */
  private static long[] range(Call call, int at, Bytes bytes) {
    long unit = call.words() > at + 2 && call.option(at + 2).equals("BIT") ? 1 : 8;
    long size = bytes.length() * 8L / unit;
    long from = call.words() > at ? call.number(at) : 0;
    long to = call.words() > at + 1 ? call.number(at + 1) : -1;
    from = Math.max(from < 0 ? from + size : from, 0);
    // What ends before the front ends at the first.
    to = Math.min(Math.max(to < 0 ? to + size : to, 0), size - 1);
    return new long[] {from * unit, (to + 1) * unit};
  }

  private static Object count(Call call) {
    var bytes = Strings.bytes(call, call.key(1));
    if (isBackwards(call)) {
      return 0L;
    }
    var range = range(call, 2, bytes);
    long count = 0;
    for (long i = range[0]; i < range[1]; i++) {
      count += bit(bytes, i);
    }
    return count;
  }

  /** Whether both ends count from the back, and the first lies behind the second. */
  private static boolean isBackwards(Call call) {
    return call.words() > 3
        && call.number(2) < 0
        && call.number(3) < 0
        && call.number(2) > call.number(3);
  }

  private static Object position(Call call) {
    long wanted = call.number(2);
    if (wanted != 0 && wanted != 1) {
      throw new Refusal("ERR");
    }
    var bytes = Strings.bytes(call, call.key(1));
    if (bytes.length() == 0) {
      return call.exists(call.key(1)) || wanted == 1 ? -1L : 0L;
    }
    var range = range(call, 3, bytes);
    for (long i = range[0]; i < range[1]; i++) {
      if (bit(bytes, i) == wanted) {
        return i;
      }
    }
    return wanted == 0 && call.words() < 5 && range[0] < range[1] ? (Object) range[1] : -1L;
  }

  private static void touchCombine(Call call) {
    var from = new ArrayList<Cell>();
    for (var key : call.keysFrom(3)) {
      from.add(STRING.of(key));
      from.addAll(Call.guards(STRING, key));
    }
    from.forEach(call::reads);
    call.touch(Touch.replaces(call.key(2)).from(from));
  }

  private static Object combine(Call call) {
    var sources = call.keysFrom(3).stream().map(key -> Strings.bytes(call, key)).toList();
    var result = new byte[sources.stream().mapToInt(Bytes::length).max().orElse(0)];
    for (int i = 0; i < result.length; i++) {
      int value = at(sources.getFirst(), i);
      for (var source : sources.subList(1, sources.size())) {
        value =
            switch (call.option(1)) {
              case "AND" -> value & at(source, i);
              case "OR" -> value | at(source, i);
              default -> value ^ at(source, i);
            };
      }
      result[i] = (byte) (call.option(1).equals("NOT") ? ~value : value);
    }
    if (result.length == 0) {
      call.remove(call.key(2));
    } else {
      call.set(call.key(2), STRING, Bytes.of(result));
    }
    return (long) result.length;
  }

  private static int at(Bytes bytes, int index) {
    return index < bytes.length() ? bytes.at(index) : 0;
  }
}
