package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.orNil;
import static dev.evergreen.shims.redis.Kind.SORTED;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Sorted sets: a cell for each member. */
final class SortedSets {
  private SortedSets() {}

  private record Scored(Bytes member, double score) {}

  static void define(Commands commands) {
    var c = commands.family("sorted sets");
    c.on("ZADD", SortedSets::touchAdd, SortedSets::add);
    c.on(
        "ZINCRBY",
        call -> call.changes(SORTED, call.key(1), call.word(3), true),
        SortedSets::increment);
    c.on("ZREM", SortedSets::touchRemove, SortedSets::remove);
    c.on(
        "ZSCORE",
        call -> call.reads(SORTED, call.key(1), call.word(2)),
        call -> text(call.scores(call.key(1)).get(call.word(2))));
    c.on(
        "ZMSCORE",
        call -> call.from(2).forEach(member -> call.reads(SORTED, call.key(1), member)),
        SortedSets::scoresOf);
    c.on("ZCARD", SortedSets::touchRead, call -> (long) call.scores(call.key(1)).size());
    c.on("ZRANK ZREVRANK", SortedSets::touchRead, SortedSets::rank);
    c.on("ZCOUNT ZLEXCOUNT", SortedSets::touchRead, call -> (long) selected(call).size());
    c.on(
        "ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX",
        SortedSets::touchRead,
        SortedSets::range,
        SortedSets::flat);
    c.on(
        "ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX",
        SortedSets::touchTake,
        SortedSets::removeRange);
    c.on("ZPOPMIN ZPOPMAX", SortedSets::touchTake, SortedSets::pop, SortedSets::flat);
    c.on("ZMPOP", call -> call.takesFromFirst(SORTED, call.counted(1)), call -> popMany(call, 1));
    c.on("BZMPOP", call -> call.takesFromFirst(SORTED, call.counted(2)), call -> popMany(call, 2));
    c.on(
        "BZPOPMIN BZPOPMAX",
        call -> call.takesFromFirst(SORTED, call.keys(1, call.words() - 1, 1)),
        SortedSets::popFirst);
    c.on(
        "ZUNION ZINTER ZDIFF",
        call -> sources(call, 1).forEach(call::reads),
        call ->
            written(
                ordered(combined(call, 1), false),
                call.has("WITHSCORES", 2 + sources(call, 1).size())),
        SortedSets::flat);
    c.on("ZINTERCARD", call -> sources(call, 1).forEach(call::reads), SortedSets::countCommon);
    c.on(
        "ZUNIONSTORE ZINTERSTORE ZDIFFSTORE",
        call -> touchStore(call, sources(call, 2)),
        call -> store(call, combined(call, 2)));
    c.on("ZRANGESTORE", call -> touchStore(call, List.of(call.key(2))), SortedSets::storeRange);
  }

  private static void touchRead(Call call) {
    call.reads(SORTED, call.key(1));
  }

  private static void touchTake(Call call) {
    boolean taken = !call.replied(0) && !call.replied(List.of());
    call.changes(SORTED, call.key(1), taken);
    call.empties(SORTED, call.key(1), taken);
  }

  private static final Set<String> FLAGS = Set.of("NX", "XX", "GT", "LT", "CH", "INCR");

  /** Where the scores begin among the words of ZADD. */
  private static int scoresFrom(Call call) {
    int at = 2;
    while (FLAGS.contains(call.option(at))) {
      at++;
    }
    return at;
  }

  /** The words before the scores, which begin there. */
  private static List<String> flags(Call call, int scores) {
    return IntStream.range(2, scores).mapToObj(call::option).toList();
  }

  private static void touchAdd(Call call) {
    int at = scoresFrom(call);
    var flags = flags(call, at);
    boolean plain = at == 2 || (at == 3 && flags.contains("CH"));
    // Without CH the reply counts new members only, and 0 may hide a changed score; with NX there
    // is none to hide.
    boolean sure = flags.contains("CH") || flags.contains("NX");
    boolean effect = !call.repliedNil() && !(sure && call.replied(0));
    for (int i = at + 1; i < call.words(); i += 2) {
      if (plain) {
        call.replaces(SORTED, call.key(1), call.word(i), effect);
      } else {
        call.changes(SORTED, call.key(1), call.word(i), effect);
      }
    }
  }

  private static Object add(Call call) {
    int at = scoresFrom(call);
    var flags = flags(call, at);
    boolean increment = flags.contains("INCR");
    if ((call.words() - at) % 2 != 0
        || call.words() == at
        || (increment && call.words() != at + 2)) {
      throw new Refusal("ERR");
    }
    var scores = call.scores(call.key(1));
    long added = 0;
    long changed = 0;
    Object result = Resp.NIL;
    for (int i = at; i < call.words(); i += 2) {
      var member = call.word(i + 1);
      var old = scores.get(member);
      // What is there already is not looked at further with NX.
      boolean sums = increment && !(old != null && flags.contains("NX"));
      double score = sums ? increased(old, call.word(i)) : number(call.word(i));
      if (allowed(flags, old, score)) {
        scores.put(member, kept(score));
        added += old == null ? 1 : 0;
        changed += old == null || old != score ? 1 : 0;
        result = text(score);
      }
    }
    call.change(call.key(1), SORTED, scores);
    return increment ? result : (Object) (flags.contains("CH") ? changed : added);
  }

  static boolean allowed(List<String> flags, @Nullable Double old, double score) {
    if (old == null) {
      return !flags.contains("XX");
    }
    return !flags.contains("NX")
        && !(flags.contains("GT") && score <= old)
        && !(flags.contains("LT") && score >= old);
  }

  /** A score as it is kept: a zero has no sign there, although a reply may give it one. */
  private static double kept(double score) {
    return 0 + score;
  }

  private static double increased(@Nullable Double score, Bytes by) {
    double sum = score == null ? number(by) : score + number(by);
    if (Double.isNaN(sum)) {
      throw new Refusal("ERR");
    }
    return sum;
  }

  private static Object increment(Call call) {
    var scores = call.scores(call.key(1));
    double sum = increased(scores.get(call.word(3)), call.word(2));
    scores.put(call.word(3), kept(sum));
    call.change(call.key(1), SORTED, scores);
    return text(sum);
  }

  private static void touchRemove(Call call) {
    call.from(2).forEach(member -> call.replaces(SORTED, call.key(1), member, !call.replied(0)));
    call.empties(SORTED, call.key(1), !call.replied(0));
  }

  private static Object remove(Call call) {
    return take(
        call, call.scores(call.key(1)).keySet().stream().filter(call.from(2)::contains).toList());
  }

  private static long take(Call call, List<Bytes> members) {
    return take(call, call.key(1), members);
  }

  private static long take(Call call, Cell key, List<Bytes> members) {
    var scores = call.scores(key);
    members.forEach(scores::remove);
    call.change(key, SORTED, scores);
    return members.size();
  }

  private static Object scoresOf(Call call) {
    var scores = call.scores(call.key(1));
    return call.from(2).stream().map(member -> text(scores.get(member))).toList();
  }

  private static List<Scored> ordered(Map<Bytes, Double> scores, boolean reversed) {
    var order = Comparator.comparingDouble(Scored::score).thenComparing(Scored::member);
    var sorted =
        scores.entrySet().stream()
            .map(entry -> new Scored(entry.getKey(), entry.getValue()))
            .sorted(reversed ? order.reversed() : order)
            .toList();
    for (int i = 1; i < sorted.size(); i++) {
      if (sorted.get(i - 1).score == sorted.get(i).score) {
        // Which of them comes first their names tell.
        var _ = Call.plain(sorted.get(i - 1).member);
        var _ = Call.plain(sorted.get(i).member);
      }
    }
    return sorted;
  }

  private static Object rank(Call call) {
    if (call.words() > 3) {
      throw new Refusal("ERR");
    }
    var members =
        ordered(call.scores(call.key(1)), call.option(0).equals("ZREVRANK")).stream()
            .map(Scored::member)
            .toList();
    int at = members.indexOf(call.word(2));
    return at < 0 ? Resp.NIL : (Object) (long) at;
  }

  private static Object range(Call call) {
    boolean byScoreOrLex = call.option(0).contains("BY");
    return written(
        selected(call),
        (byScoreOrLex || call.option(0).endsWith("RANGE")) && call.has("WITHSCORES", 4));
  }

  /** The members that a command's range selects, in its order. */
  private static List<Scored> selected(Call call) {
    return selected(call, call.key(1), 2);
  }

  private static List<Scored> selected(Call call, Cell key, int at) {
    var name = call.option(0);
    boolean reversed = name.contains("REVRANGE") || call.has("REV", at + 2);
    boolean byScore =
        name.endsWith("BYSCORE") || name.equals("ZCOUNT") || call.has("BYSCORE", at + 2);
    boolean byLex = name.endsWith("BYLEX") || name.equals("ZLEXCOUNT") || call.has("BYLEX", at + 2);
    if (!byScore && !byLex) {
      long first = call.number(at);
      long last = call.number(at + 1);
      return Lists.range(ordered(call.scores(key), reversed), first, last);
    }
    var low = call.word(reversed ? at + 1 : at);
    var high = call.word(reversed ? at : at + 1);
    for (var bound : List.of(low, high)) {
      check(bound, byLex);
    }
    var all = ordered(call.scores(key), reversed);
    var found =
        byLex
            ? byMember(all, low, high, reversed)
            : all.stream()
                .filter(one -> above(one.score, low) && above(-one.score, negated(high)))
                .toList();
    int limit = call.place("LIMIT", at + 2);
    if (limit < 0) {
      return found;
    }
    long from = call.number(limit + 1);
    long count = call.number(limit + 2);
    if (from < 0) {
      return List.of();
    }
    var rest = found.stream().skip(from);
    return count < 0 ? rest.toList() : rest.limit(count).toList();
  }

  /** Bounds are looked at before the key is. */
  private static void check(Bytes bound, boolean byLex) {
    var _ = Call.plain(bound);
    if (!byLex) {
      limit(bound);
    } else if (!bound.text().equals("-") && !bound.text().equals("+")) {
      exclusive(bound);
    }
  }

  /**
   * From the first that is inside on to the first that is outside: the same as all inside only if
   * all scores are equal, as Redis asks for.
   */
  private static List<Scored> byMember(List<Scored> all, Bytes low, Bytes high, boolean reversed) {
    Predicate<Scored> reached = one -> reversed ? before(one.member, high) : after(one.member, low);
    Predicate<Scored> still = one -> reversed ? after(one.member, low) : before(one.member, high);
    all.forEach(one -> Call.plain(one.member));
    if (all.isEmpty() || !reached.test(all.getLast()) || !still.test(all.getFirst())) {
      return List.of();
    }
    return all.stream().dropWhile(reached.negate()).takeWhile(still).toList();
  }

  /** Whether a score is not below a bound, which a bracket in front excludes. */
  private static boolean above(double score, Bytes bound) {
    double limit = limit(bound);
    return bound.text().startsWith("(") ? score > limit : score >= limit;
  }

  private static Bytes negated(Bytes bound) {
    return Bytes.of((bound.text().startsWith("(") ? "(" : "") + -limit(bound));
  }

  /** Where a range ends; a number may be out of range here. */
  private static double limit(Bytes bound) {
    var text = bound.text().startsWith("(") ? bound.slice(1, bound.length()) : bound;
    return LongDoubles.DECIMAL.matcher(text.text()).matches()
        ? Double.parseDouble(text.text())
        : number(text);
  }

  private static boolean after(Bytes member, Bytes bound) {
    if (bound.text().equals("-")) {
      return true;
    }
    return !bound.text().equals("+")
        && member.compareTo(bound.slice(1, bound.length())) >= (exclusive(bound) ? 1 : 0);
  }

  private static boolean before(Bytes member, Bytes bound) {
    if (bound.text().equals("+")) {
      return true;
    }
    return !bound.text().equals("-")
        && member.compareTo(bound.slice(1, bound.length())) <= (exclusive(bound) ? -1 : 0);
  }

  private static boolean exclusive(Bytes bound) {
    if (!bound.text().startsWith("(") && !bound.text().startsWith("[")) {
      throw new Refusal("ERR");
    }
    return bound.text().startsWith("(");
  }

  private static Object removeRange(Call call) {
    return take(call, selected(call).stream().map(Scored::member).toList());
  }

  private static Object pop(Call call) {
    long count = call.words() > 2 ? call.count(2) : 1;
    return written(taken(call, call.key(1), call.option(0).equals("ZPOPMAX"), count), true);
  }

  private static List<Scored> taken(Call call, Cell key, boolean greatest, long count) {
    var taken = ordered(call.scores(key), greatest).stream().limit(count).toList();
    take(call, key, taken.stream().map(Scored::member).toList());
    return taken;
  }

  private static Object popMany(Call call, int at) {
    var keys = call.counted(at);
    int side = at + 1 + keys.size();
    long count = call.words() > side + 2 ? call.number(side + 2) : 1;
    var key = call.serving(SORTED, keys);
    return key == null
        ? Resp.NIL
        : List.of(
            key.name(),
            taken(call, key, call.option(side).equals("MAX"), count).stream()
                .<Object>map(one -> List.of(one.member, text(one.score)))
                .toList());
  }

  private static Object popFirst(Call call) {
    var key = call.serving(SORTED, call.keys(1, call.words() - 1, 1));
    if (key == null) {
      return Resp.NIL;
    }
    var taken = taken(call, key, call.option(0).endsWith("MAX"), 1).getFirst();
    return List.of(key.name(), taken.member, text(taken.score));
  }

  /** The members in the order of their scores. */
  static List<Bytes> members(Call call, Cell key, boolean reversed) {
    return new ArrayList<>(
        ordered(call.scores(key), reversed).stream().map(Scored::member).toList());
  }

  private static List<Cell> sources(Call call, int at) {
    return call.keys(at + 1, at + 1 + call.index(at), 1);
  }

  /** A set that is combined with others, and what its scores are multiplied by. */
  private record Source(Map<Bytes, Double> scores, double weight) {
    int size() {
      return scores.size();
    }
  }

  /**
   * The union, intersection or difference of the sets whose number stands here. But for a
   * difference, Redis takes the smallest set first; and on the order it may depend how a sum is
   * rounded, or whether it is a number.
   */
  private static Map<Bytes, Double> combined(Call call, int at) {
    var keys = sources(call, at);
    int weights = call.place("WEIGHTS", at + 1 + keys.size());
    var name = call.option(0);
    var how = name.equals("ZINTERCARD") ? "MAX" : aggregate(call, at + 1 + keys.size());
    var sources = new ArrayList<Source>();
    for (int i = 0; i < keys.size(); i++) {
      double weight = weights < 0 ? 1 : number(call.word(weights + 1 + i));
      sources.add(new Source(members(call, keys.get(i)), weight));
    }
    if (name.startsWith("ZDIFF")) {
      return difference(sources);
    }
    return combined(sources, name.startsWith("ZUNION"), how);
  }

  private static String aggregate(Call call, int from) {
    int at = call.place("AGGREGATE", from);
    return at < 0 ? "SUM" : call.option(at + 1);
  }

  private static Map<Bytes, Double> difference(List<Source> sources) {
    var result = new TreeMap<Bytes, Double>(sources.getFirst().scores);
    sources.stream().skip(1).forEach(other -> result.keySet().removeAll(other.scores.keySet()));
    return result;
  }

  private static Map<Bytes, Double> combined(List<Source> sources, boolean union, String how) {
    var members = new TreeMap<Bytes, SortedMap<Integer, List<Double>>>();
    for (var source : sources) {
      for (var one : source.scores.entrySet()) {
        double score = one.getValue() * source.weight;
        members
            .computeIfAbsent(one.getKey(), _ -> new TreeMap<>())
            .computeIfAbsent(source.size(), _ -> new ArrayList<>())
            .add(union ? orZero(score) : score);
      }
    }
    var aggregate = new Aggregate(how);
    var result = new TreeMap<Bytes, Double>();
    members.forEach(
        (member, scores) -> {
          if (union || scores.values().stream().mapToInt(List::size).sum() == sources.size()) {
            result.put(member, aggregate.of(List.copyOf(scores.values())));
          }
        });
    return result;
  }

  /** Of what is no number, such as the sum of all and less than all, Redis makes nothing here. */
  private static double orZero(double score) {
    return Double.isNaN(score) ? 0 : score;
  }

  /**
   * Makes one score of several. Those of sets of one size come in the order in which the store's
   * own sorting leaves these, which nobody tells: where it matters, so many orders are tried.
   */
  private static final class Aggregate {
    private static final int MOST_ORDERS = 1_000;
    private static final int MOST_SCORES = 100;

    /** Up to here whole numbers are exact. */
    private static final double MOST_EXACT = 1L << 53;

    private final String how;
    private int orders;

    Aggregate(String how) {
      this.how = how;
    }

    /**
     * The score that comes of these.
     *
     * @param groups in the order of the sizes of their sets
     * @throws UnsupportedOperationException if it may be another in another order
     */
    double of(List<List<Double>> groups) {
      boolean free =
          groups.stream().allMatch(group -> group.size() == 1)
              || isExact(groups)
              || isSumOfTwo(groups);
      return free ? inOrder(groups) : inEachOrder(groups);
    }

    /** Whether the order cannot matter: nothing is rounded, and no zero has a sign. */
    private boolean isExact(List<List<Double>> groups) {
      double sum = 0;
      for (var group : groups) {
        for (double score : group) {
          sum += Math.abs(score);
          if (score != Math.rint(score) || (score == 0 && 1 / score < 0)) {
            return false;
          }
        }
      }
      return sum <= MOST_EXACT;
    }

    /** Which comes first does not matter, unless one is no number: then it may count as none. */
    private boolean isSumOfTwo(List<List<Double>> groups) {
      var scores = groups.stream().flatMap(List::stream).toList();
      return how.equals("SUM")
          && scores.size() == 2
          && scores.stream().noneMatch(score -> Double.isNaN(score));
    }

    private double inOrder(List<List<Double>> groups) {
      var scores = groups.stream().flatMap(List::stream).iterator();
      double result = orZero(scores.next());
      while (scores.hasNext()) {
        result = joined(result, scores.next());
      }
      return result;
    }

    private double inEachOrder(List<List<Double>> groups) {
      if (groups.stream().mapToInt(List::size).sum() > MOST_SCORES) {
        throw new UnsupportedOperationException("not every order of so many sets is tried");
      }
      var results = new HashSet<Double>();
      collect(null, groups, results);
      return results.iterator().next();
    }

    private void collect(@Nullable Double before, List<List<Double>> groups, Set<Double> results) {
      if (groups.isEmpty()) {
        results.add(Objects.requireNonNull(before));
        if (++orders > MOST_ORDERS || results.size() > 1) {
          throw new UnsupportedOperationException("which set comes first is not known");
        }
        return;
      }
      var group = groups.getFirst();
      for (var score : new LinkedHashSet<>(group)) {
        var others = new ArrayList<>(group);
        others.remove(score);
        var rest = new ArrayList<>(groups.subList(1, groups.size()));
        if (!others.isEmpty()) {
          rest.addFirst(others);
        }
        collect(before == null ? orZero(score) : joined(before, score), rest, results);
      }
    }

    private double joined(double one, double other) {
      return switch (how) {
        case "MIN" -> other < one ? other : one;
        case "MAX" -> other > one ? other : one;
        default -> orZero(one + other);
      };
    }
  }

  /** The scores of a sorted set, or of a set, whose members all have 1. */
  private static Map<Bytes, Double> members(Call call, Cell key) {
    var entry = call.entry(key);
    if (entry == null || entry.kind() != Kind.SET) {
      return call.scores(key);
    }
    var scores = new TreeMap<Bytes, Double>();
    call.set(key).forEach(member -> scores.put(member, 1.0));
    return scores;
  }

  private static Object countCommon(Call call) {
    long count = combined(call, 1).size();
    int at = call.place("LIMIT", 2 + sources(call, 1).size());
    long limit = at < 0 ? 0 : call.count(at + 1);
    return limit == 0 ? count : Math.min(limit, count);
  }

  private static void touchStore(Call call, List<Cell> from) {
    from.forEach(call::reads);
    call.touch(Touch.replaces(call.key(1)).from(from));
  }

  private static Object store(Call call, Map<Bytes, Double> scores) {
    call.set(call.key(1), SORTED, scores);
    return (long) scores.size();
  }

  private static Object storeRange(Call call) {
    var scores = new TreeMap<Bytes, Double>();
    selected(call, call.key(2), 3).forEach(one -> scores.put(one.member, one.score));
    return store(call, scores);
  }

  private static List<Object> written(List<Scored> all, boolean withScores) {
    var list = new ArrayList<>();
    for (var one : all) {
      list.add(one.member);
      if (withScores) {
        list.add(text(one.score));
      }
    }
    return list;
  }

  /** Version 3 of the protocol puts each member and its score into a list of their own. */
  private static Object flat(Object reply) {
    if (!(reply instanceof List<?> list)) {
      return reply;
    }
    var flat = new ArrayList<>();
    list.forEach(element -> flat.addAll(element instanceof List<?> pair ? pair : List.of(element)));
    return flat;
  }

  static double number(Bytes text) {
    LongDoubles.refuseHexadecimal(Call.plain(text));
    if (LongDoubles.DECIMAL.matcher(text.text()).matches()) {
      double number = Double.parseDouble(text.text());
      if (Double.isInfinite(number) || (number == 0 && !isZero(text))) {
        throw new Refusal("ERR");
      }
      return number;
    }
    return switch (text.text().toLowerCase(Locale.ROOT)) {
      case "inf", "+inf", "infinity", "+infinity" -> Double.POSITIVE_INFINITY;
      case "-inf", "-infinity" -> Double.NEGATIVE_INFINITY;
      default -> throw new Refusal("ERR");
    };
  }

  /** Whether all digits are zeros, and it is no number that is too small to be told from zero. */
  private static boolean isZero(Bytes text) {
    return text.text().split("[eE]", 2)[0].chars().noneMatch(c -> c > '0');
  }

  private static final int DIGITS = 17;

  /** A score as Redis writes it, which is C's {@code %.17g}. */
  static Object text(@Nullable Double score) {
    if (score == null) {
      return orNil(null);
    }
    if (score.isInfinite()) {
      return Bytes.of(score > 0 ? "inf" : "-inf");
    }
    if (score == 0) {
      return Bytes.of(1 / score < 0 ? "-0" : "0");
    }
    var rounded =
        new BigDecimal(score, new MathContext(DIGITS, RoundingMode.HALF_EVEN)).stripTrailingZeros();
    int exponent = rounded.precision() - rounded.scale() - 1;
    if (exponent >= -4 && exponent < DIGITS) {
      return Bytes.of(rounded.toPlainString());
    }
    var mantissa = rounded.movePointLeft(exponent).stripTrailingZeros().toPlainString();
    return Bytes.of(String.format(Locale.ROOT, "%se%+03d", mantissa, exponent));
  }
}
