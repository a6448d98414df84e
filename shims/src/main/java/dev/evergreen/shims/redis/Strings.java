package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Call.orNil;
import static dev.evergreen.shims.redis.Kind.STRING;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Strings and counters. */
final class Strings {
  private static final Bytes ZERO = Bytes.of("0");
  private static final long MOST_COMPARED = 1 << 20;

  /** Redis lets no string become longer, if it was not told otherwise. */
  private static final int LONGEST = 512 << 20;

  /** Longer strings are not written again and again. */
  private static final int LONGEST_MADE = 16 << 20;

  private Strings() {}

  static void define(Commands commands) {
    var c = commands.family("strings");
    c.on("GET", call -> call.reads(STRING, call.key(1)), call -> orNil(call.string(call.key(1))));
    c.on(
        "MGET",
        call -> call.keysFrom(1).forEach(key -> call.reads(STRING, key)),
        call -> call.keysFrom(1).stream().map(key -> stringOrNil(call, key)).toList());
    c.on(
        "STRLEN",
        call -> call.reads(STRING, call.key(1)),
        call -> (long) bytes(call, call.key(1)).length());
    c.on("GETRANGE SUBSTR", call -> call.reads(STRING, call.key(1)), Strings::range);
    c.on(
        "LCS",
        call -> call.keys(1, 3, 1).forEach(key -> call.reads(STRING, key)),
        Strings::longestCommon);
    c.on("SET", Strings::touchSet, Strings::set);
    c.on("SETEX PSETEX", call -> call.touch(Touch.replaces(call.key(1))), Strings::setWithDeadline);
    c.on(
        "SETNX",
        call -> call.touch(Touch.changes(call.key(1)).from(call.key(1)).effect(call.replied(1))),
        Strings::setIfAbsent);
    c.on(
        "MSET",
        call -> pairs(call).forEach(key -> call.touch(Touch.replaces(key))),
        Strings::setMany);
    c.on("MSETNX", Strings::touchManyIfAbsent, Strings::setManyIfAbsent);
    c.on("GETSET", call -> touchSwap(call, true), Strings::getAndSet);
    c.on("GETDEL", call -> touchSwap(call, !call.repliedNil()), Strings::getAndDelete);
    c.on("APPEND", call -> call.changes(STRING, call.key(1), true), Strings::append);
    c.on("SETRANGE", call -> call.changes(STRING, call.key(1), true), Strings::setRange);
    c.on("INCR", call -> call.changes(STRING, call.key(1), true), call -> add(call, 1));
    c.on("DECR", call -> call.changes(STRING, call.key(1), true), call -> add(call, -1));
    c.on(
        "INCRBY",
        call -> call.changes(STRING, call.key(1), true),
        call -> add(call, call.number(2)));
    c.on(
        "DECRBY",
        call -> call.changes(STRING, call.key(1), true),
        call -> add(call, -call.number(2)));
    c.on("INCRBYFLOAT", call -> call.changes(STRING, call.key(1), true), Strings::addFraction);
  }

  private static Object stringOrNil(Call call, Cell key) {
    var entry = call.entry(key);
    return entry != null && entry.kind() == STRING ? entry.content() : Resp.NIL;
  }

  /** The string of which the bytes matter, empty if there is none. */
  static Bytes bytes(Call call, Cell key) {
    var value = call.string(key);
    return value == null ? Bytes.EMPTY : Call.plain(value);
  }

  private static Object range(Call call) {
    var value = bytes(call, call.key(1));
    long start = call.number(2);
    long end = call.number(3);
    if (start < 0 && end < 0 && start > end) {
      return Bytes.EMPTY;
    }
    int from = Lists.clamp(start, value.length());
    int to = Math.min(Lists.clamp(end, value.length()), value.length() - 1);
    return from > to ? Bytes.EMPTY : value.slice(from, to + 1);
  }

  private static void touchSet(Call call) {
    var key = call.key(1);
    boolean get = call.has("GET", 3);
    boolean conditional = call.has("NX", 3) || call.has("XX", 3);
    if (get) {
      call.reads(STRING, key);
    }
    if (conditional || call.has("KEEPTTL", 3)) {
      boolean done =
          !conditional || (get ? call.has("NX", 3) == call.repliedNil() : call.replied("OK"));
      call.touch(Touch.changes(key).from(key).effect(done));
    } else {
      call.touch(Touch.replaces(key).from(get ? Call.guards(STRING, key) : List.of()));
    }
  }

  private static Object set(Call call) {
    var key = call.key(1);
    boolean get = call.has("GET", 3);
    var deadline = deadline(call, 3);
    var old = get ? call.string(key) : null;
    // A plain SET looks at nothing, so that it is understood also where nothing is known of the
    // key.
    if ((call.has("NX", 3) && call.exists(key)) || (call.has("XX", 3) && !call.exists(key))) {
      return orNil(old);
    }
    var kept = call.has("KEEPTTL", 3) ? call.entry(key) : null;
    if (kept == null) {
      put(call, key, call.word(2), deadline);
    } else {
      call.put(key, new Entry(STRING, call.word(2), kept.deadline()));
    }
    return get ? orNil(old) : OK;
  }

  private static Object setWithDeadline(Call call) {
    put(call, call.key(1), call.word(3), deadline(call, call.option(0).equals("SETEX"), 2));
    return OK;
  }

  private static void put(Call call, Cell key, Bytes value, @Nullable Deadline deadline) {
    boolean over = deadline != null && deadline.latest() < Deadline.from(call.operation());
    // Redis keeps it until it comes by it, and counts it until then.
    call.put(key, new Entry(STRING, value, over ? Deadline.OVER : deadline));
  }

  /** The deadline among the options, or null. The last one counts. */
  static @Nullable Deadline deadline(Call call, int from) {
    for (int i = call.words() - 2; i >= from; i--) {
      var option = call.option(i);
      switch (option) {
        case "EX", "PX" -> {
          return deadline(call, option.equals("EX"), i + 1);
        }
        case "EXAT", "PXAT" -> {
          return Deadline.at(call.operation(), time(call, option.equals("EXAT"), i + 1));
        }
        default -> {}
      }
    }
    return null;
  }

  /** The deadline that is so far ahead as this word says. */
  static Deadline deadline(Call call, boolean seconds, int at) {
    return Deadline.after(call.operation(), time(call, seconds, at));
  }

  /** The milliseconds that a word says, of which there must be some. */
  private static long time(Call call, boolean seconds, int at) {
    long number = call.number(at);
    if (number <= 0 || (seconds && number > Long.MAX_VALUE / 1000)) {
      throw new Refusal("ERR");
    }
    return seconds ? number * 1000 : number;
  }

  private static Object setIfAbsent(Call call) {
    boolean absent = !call.exists(call.key(1));
    if (absent) {
      call.set(call.key(1), STRING, call.word(2));
    }
    return flag(absent);
  }

  private static List<Cell> pairs(Call call) {
    return call.keys(1, call.words(), 2);
  }

  private static Object setMany(Call call) {
    for (int i = 1; i + 1 < call.words(); i += 2) {
      call.set(call.key(i), STRING, call.word(i + 1));
    }
    return OK;
  }

  private static void touchManyIfAbsent(Call call) {
    var keys = pairs(call);
    var all = call.together(keys);
    keys.forEach(key -> call.touch(Touch.changes(key).from(all).effect(call.replied(1))));
  }

  private static Object setManyIfAbsent(Call call) {
    if (pairs(call).stream().anyMatch(call::exists)) {
      return 0L;
    }
    setMany(call);
    return 1L;
  }

  /** The key is replaced if it holds no other kind, and the reply is what was there. */
  private static void touchSwap(Call call, boolean effect) {
    call.reads(STRING, call.key(1));
    call.touch(Touch.replaces(call.key(1)).from(Call.guards(STRING, call.key(1))).effect(effect));
  }

  private static Object getAndSet(Call call) {
    var old = orNil(call.string(call.key(1)));
    call.set(call.key(1), STRING, call.word(2));
    return old;
  }

  private static Object getAndDelete(Call call) {
    var old = orNil(call.string(call.key(1)));
    call.remove(call.key(1));
    return old;
  }

  private static Object append(Call call) {
    var value = join(bytes(call, call.key(1)), call.plain(2));
    call.change(call.key(1), STRING, value);
    return (long) value.length();
  }

  private static Bytes join(Bytes one, Bytes other) {
    var joined = Arrays.copyOf(one.toArray(), one.length() + other.length());
    System.arraycopy(other.toArray(), 0, joined, one.length(), other.length());
    return Bytes.of(joined);
  }

  private static Object setRange(Call call) {
    var value = bytes(call, call.key(1));
    int at = call.index(2);
    var part = call.plain(3);
    if (at < 0) {
      throw new Refusal("ERR");
    }
    if (part.length() == 0) {
      return (long) value.length();
    }
    var written = grown(value, (long) at + part.length());
    System.arraycopy(part.toArray(), 0, written, at, part.length());
    call.change(call.key(1), STRING, Bytes.of(written));
    return (long) written.length;
  }

  /** The bytes of a string that is at least so long, if need be with zeros behind. */
  static byte[] grown(Bytes value, long length) {
    if (length > LONGEST) {
      throw new Refusal("ERR");
    }
    if (length > LONGEST_MADE) {
      throw new UnsupportedOperationException("a string of " + length + " bytes");
    }
    return Arrays.copyOf(value.toArray(), (int) Math.max(value.length(), length));
  }

  private static Object add(Call call, long delta) {
    var value = call.string(call.key(1));
    long sum;
    try {
      sum = Math.addExact(value == null ? 0 : Call.number(value), delta);
    } catch (ArithmeticException e) {
      throw new Refusal("ERR");
    }
    call.change(call.key(1), STRING, Bytes.of(Long.toString(sum)));
    return sum;
  }

  /** The longest that two strings have in common; of several the one that Redis chooses. */
  private static Object longestCommon(Call call) {
    boolean counts = call.words() == 4 && call.option(3).equals("LEN");
    if (call.words() != 3 && !counts) {
      throw new UnsupportedOperationException("where it is in them");
    }
    var one = stringOnly(call, call.key(1));
    var other = stringOnly(call, call.key(2));
    if ((long) one.length() * other.length() > MOST_COMPARED) {
      throw new UnsupportedOperationException("too long to be compared");
    }
    var longest = new int[one.length() + 1][other.length() + 1];
    for (int i = 1; i <= one.length(); i++) {
      for (int j = 1; j <= other.length(); j++) {
        longest[i][j] =
            one.at(i - 1) == other.at(j - 1)
                ? longest[i - 1][j - 1] + 1
                : Math.max(longest[i - 1][j], longest[i][j - 1]);
      }
    }
    int left = longest[one.length()][other.length()];
    var common = new byte[left];
    for (int i = one.length(), j = other.length(); left > 0; ) {
      if (one.at(i - 1) == other.at(j - 1)) {
        common[--left] = (byte) one.at(--i);
        j--;
      } else if (longest[i - 1][j] > longest[i][j - 1]) {
        i--;
      } else {
        j--;
      }
    }
    return counts ? (Object) (long) common.length : Bytes.of(common);
  }

  /** To this command, what is no string is an error of another kind than to others. */
  private static Bytes stringOnly(Call call, Cell key) {
    try {
      return bytes(call, key);
    } catch (Refusal otherKind) {
      throw new Refusal("ERR");
    }
  }

  private static Object addFraction(Call call) {
    var sum = plus(call.string(call.key(1)), call.word(2));
    call.change(call.key(1), STRING, sum);
    return sum;
  }

  /** The sum of two numbers with fractions, as Redis writes it. */
  static Bytes plus(@Nullable Bytes value, Bytes delta) {
    return LongDoubles.sum(value == null ? ZERO : value, delta);
  }
}
