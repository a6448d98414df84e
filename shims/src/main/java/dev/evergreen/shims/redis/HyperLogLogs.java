package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.OK;
import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Kind.STRING;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts of distinct elements, which are estimates. The model keeps what the store keeps: of all
 * hashes that end with the same 14 bits the most zeros in a row before these. What it tells is the
 * same number, by the formula of Ertl's <em>New cardinality estimation algorithms for HyperLogLog
 * sketches</em>.
 */
final class HyperLogLogs {
  private static final int INDEX_BITS = 14;
  private static final int REGISTERS = 1 << INDEX_BITS;

  /** So many bits of a hash are left to look for zeros in. */
  private static final int REST_BITS = Long.SIZE - INDEX_BITS;

  private static final double ALPHA = 0.5 / Math.log(2);
  private static final long SEED = 0xadc83b19L;
  private static final long FACTOR = 0xc6a4a7935bd1e995L;
  private static final int SHIFT = 47;

  /** How such a value begins for those who take it for a string. */
  private static final Bytes HEAD = Bytes.of("HYLL");

  private HyperLogLogs() {}

  static void define(Commands commands) {
    var c = commands.family("hyperloglog");
    c.on("PFADD", call -> call.changes(STRING, call.key(1), !call.replied(0)), HyperLogLogs::add);
    c.on("PFCOUNT", HyperLogLogs::touchCount, call -> estimate(union(call, call.keysFrom(1))));
    c.on("PFMERGE", HyperLogLogs::touchMerge, HyperLogLogs::merge);
  }

  /** Of one key, the store keeps in its string what it has counted. */
  private static void touchCount(Call call) {
    var keys = call.keysFrom(1);
    keys.forEach(key -> call.reads(STRING, key));
    if (keys.size() == 1) {
      var key = keys.getFirst();
      call.touch(
          Touch.changes(STRING.of(key))
              .from(Call.guards(STRING, key))
              .effect(Touch.Effect.UNKNOWN));
    }
  }

  /** A copy of the registers that are not zero, by their numbers. */
  private static Map<Integer, Integer> registers(Call call, Cell key) {
    var registers = new TreeMap<Integer, Integer>();
    switch (call.content(key, STRING)) {
      case null -> {}
      case Map<?, ?> there ->
          there.forEach((index, zeros) -> registers.put((Integer) index, (Integer) zeros));
      case Bytes text when text.startsWith(HEAD) ->
          throw new UnsupportedOperationException("one that was written as a string");
      default -> throw new Refusal("WRONGTYPE");
    }
    return registers;
  }

  private static Map<Integer, Integer> union(Call call, List<Cell> keys) {
    var union = new TreeMap<Integer, Integer>();
    keys.forEach(
        key ->
            registers(call, key).forEach((index, zeros) -> union.merge(index, zeros, Math::max)));
    return union;
  }

  private static void put(Call call, Cell key, Map<Integer, Integer> registers) {
    call.change(key, STRING, registers);
  }

  private static Object add(Call call) {
    var before = registers(call, call.key(1));
    var registers = new TreeMap<>(before);
    boolean isNew = !call.exists(call.key(1));
    for (var element : call.from(2)) {
      long hash = hash(Call.plain(element).toArray());
      // At the end of the bits the zeros end, too.
      long rest = hash >>> INDEX_BITS | 1L << REST_BITS;
      int index = (int) (hash & (REGISTERS - 1));
      registers.merge(index, Long.numberOfTrailingZeros(rest) + 1, Math::max);
    }
    put(call, call.key(1), registers);
    return flag(isNew || !registers.equals(before));
  }

  /** The hash that is called MurmurHash64A. */
  private static long hash(byte[] bytes) {
    long hash = SEED ^ bytes.length * FACTOR;
    int whole = bytes.length - bytes.length % Long.BYTES;
    for (int i = 0; i < whole; i += Long.BYTES) {
      long word = little(bytes, i, i + Long.BYTES) * FACTOR;
      hash = (hash ^ (word ^ word >>> SHIFT) * FACTOR) * FACTOR;
    }
    if (whole < bytes.length) {
      hash = (hash ^ little(bytes, whole, bytes.length)) * FACTOR;
    }
    hash = (hash ^ hash >>> SHIFT) * FACTOR;
    return hash ^ hash >>> SHIFT;
  }

  /** A number whose lowest byte comes first. */
  private static long little(byte[] bytes, int from, int to) {
    long number = 0;
    for (int i = to - 1; i >= from; i--) {
      number = number << Byte.SIZE | (bytes[i] & 0xff);
    }
    return number;
  }

  private static Object estimate(Map<Integer, Integer> registers) {
    var counts = new int[REST_BITS + 2];
    counts[0] = REGISTERS - registers.size();
    registers.values().forEach(zeros -> counts[zeros]++);
    double sum = REGISTERS * tau((double) (REGISTERS - counts[REST_BITS + 1]) / REGISTERS);
    for (int zeros = REST_BITS; zeros >= 1; zeros--) {
      sum = (sum + counts[zeros]) * 0.5;
    }
    sum += REGISTERS * sigma((double) counts[0] / REGISTERS);
    return Math.round(ALPHA * REGISTERS * REGISTERS / sum);
  }

  /** What registers tell in which nothing is: x + x² + 2x⁴ + 4x⁸ + … */
  private static double sigma(double x) {
    if (x == 1) {
      return Double.POSITIVE_INFINITY;
    }
    double power = x;
    double sum = x;
    double weight = 1;
    for (double before = Double.NaN; sum != before; weight *= 2) {
      before = sum;
      power *= power;
      sum += power * weight;
    }
    return sum;
  }

  /** What registers tell in which there is no room for more. */
  private static double tau(double x) {
    if (x == 0 || x == 1) {
      return 0;
    }
    double root = x;
    double sum = 1 - x;
    double weight = 1;
    for (double before = Double.NaN; sum != before; ) {
      before = sum;
      root = Math.sqrt(root);
      weight *= 0.5;
      sum -= (1 - root) * (1 - root) * weight;
    }
    return sum / 3;
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
