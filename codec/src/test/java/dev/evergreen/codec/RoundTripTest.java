package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Month;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Every type comes back as it went. */
final class RoundTripTest {
  private final Codec codec = Codec.create(Limits.DEFAULT);

  private @Nullable Object again(Type type, @Nullable Object value) {
    ValueType shape = codec.of(type);
    byte[] bytes = shape.encode(value);
    Object back = shape.decode(bytes);
    assertArrayEquals(bytes, shape.encode(back), () -> type + " " + value);
    assertTrue(shape.same(value, back), () -> type + " " + value);
    assertTrue(shape.same(value, shape.freeze(value)), () -> type + " " + value);
    return back;
  }

  private void equalAgain(Type type, @Nullable Object... values) {
    for (Object value : values) {
      assertEquals(value, again(type, value));
    }
  }

  /** The generic type of the component of a holder record. */
  private static Type typeOf(Class<?> holder, String component) {
    return Arrays.stream(holder.getRecordComponents())
        .filter(c -> c.getName().equals(component))
        .findFirst()
        .orElseThrow()
        .getGenericType();
  }

  @Test
  void integersOfEverySizeAtTheirEnds() {
    equalAgain(int.class, 0, -1, 1, 63, 64, -64, -65, Integer.MAX_VALUE, Integer.MIN_VALUE);
    equalAgain(Long.class, 0L, Long.MAX_VALUE, Long.MIN_VALUE, null);
    equalAgain(byte.class, Byte.MIN_VALUE, Byte.MAX_VALUE);
    equalAgain(Short.class, Short.MIN_VALUE, Short.MAX_VALUE);
    equalAgain(char.class, 'a', '\0', Character.MAX_VALUE);
    equalAgain(Boolean.class, true, false, null);
  }

  @Test
  void floatingPointNumbersAsEqualsSeesThem() {
    equalAgain(double.class, 0.0, -0.0, Math.PI, Double.NaN, Double.MIN_VALUE, 1 / 0.0);
    equalAgain(Float.class, 0f, -0f, Float.NaN, Float.MAX_VALUE, null);
    ValueType type = codec.of(double.class);
    double otherNan = Double.longBitsToDouble(0x7ff8_0000_0000_0001L);
    assertArrayEquals(type.encode(Double.NaN), type.encode(otherNan));
    assertTrue(type.same(Double.NaN, otherNan));
    assertFalse(type.same(0.0, -0.0));
  }

  @Test
  void anyStringOfJava() {
    equalAgain(
        String.class, null, "", "plain", "é ÿ", "Ā", "漢字", "😀", "\uD800", "a\uDC00b", "\0", "?");
    equalAgain(String.class, "x".repeat(100_000), "ж".repeat(100_000));
  }

  @Test
  void times() {
    equalAgain(Instant.class, Instant.EPOCH, Instant.MIN, Instant.MAX, Instant.now());
    equalAgain(Duration.class, Duration.ZERO, Duration.ofNanos(-1), Duration.ofDays(-9));
    equalAgain(LocalDate.class, LocalDate.MIN, LocalDate.MAX, LocalDate.of(2024, 2, 29));
    equalAgain(LocalTime.class, LocalTime.MIN, LocalTime.MAX, LocalTime.NOON);
    equalAgain(
        LocalDateTime.class,
        LocalDateTime.MIN,
        LocalDateTime.MAX,
        LocalDateTime.of(2024, 1, 1, 0, 0));
    equalAgain(OffsetTime.class, OffsetTime.MIN, OffsetTime.MAX);
    equalAgain(OffsetDateTime.class, OffsetDateTime.MIN, OffsetDateTime.MAX);
    equalAgain(Year.class, Year.of(-5), Year.of(2024));
    equalAgain(YearMonth.class, YearMonth.of(-999_999_999, 1), YearMonth.of(2024, 12));
    equalAgain(MonthDay.class, MonthDay.of(2, 29));
    equalAgain(Period.class, Period.ZERO, Period.of(-1, 15, Integer.MIN_VALUE));
    equalAgain(Month.class, Month.MAY);
  }

  @Test
  void zonesWithBothSidesOfAnOverlap() {
    ZoneId berlin = ZoneId.of("Europe/Berlin");
    equalAgain(ZoneId.class, berlin, ZoneOffset.UTC, ZoneId.of("UTC"), ZoneId.of("GMT+2"));
    equalAgain(ZoneOffset.class, ZoneOffset.MIN, ZoneOffset.MAX, ZoneOffset.ofTotalSeconds(1));
    var twice = ZonedDateTime.of(2024, 10, 27, 2, 30, 0, 0, berlin);
    equalAgain(
        ZonedDateTime.class, twice.withEarlierOffsetAtOverlap(), twice.withLaterOffsetAtOverlap());
  }

  @Test
  void bigNumbersIdentifiersAndAddresses() {
    equalAgain(
        BigInteger.class, BigInteger.ZERO, BigInteger.ONE.negate(), BigInteger.TWO.pow(3000));
    equalAgain(
        BigDecimal.class,
        new BigDecimal("1.0"),
        new BigDecimal("1.00"),
        new BigDecimal(BigInteger.TWO.pow(2000), Integer.MIN_VALUE));
    equalAgain(UUID.class, UUID.randomUUID(), new UUID(0, 0), new UUID(-1, -1));
    equalAgain(URI.class, URI.create("http://a/b?c#d"), URI.create(""));
  }

  @Test
  void theResultOfAMethodWithoutOne() {
    equalAgain(void.class, (Object) null);
    equalAgain(Void.class, (Object) null);
  }

  @Test
  void arraysOfEveryKind() {
    Object[] arrays = {
      new boolean[] {true, false},
      new byte[] {-128, 127},
      new short[] {-1},
      new char[] {'x', '\uFFFF'},
      new int[] {Integer.MIN_VALUE, 7},
      new long[] {Long.MIN_VALUE},
      new float[] {Float.NaN, -0f},
      new double[] {1e300},
      new String[] {"a", null},
      new int[][] {{1}, null, {}},
      new Integer[0]
    };
    for (Object array : arrays) {
      Object back = again(array.getClass(), array);
      assertEquals(array.getClass(), back == null ? null : back.getClass());
      assertTrue(Arrays.deepEquals(new Object[] {array}, new Object[] {back}));
    }
  }

  record Collections<T>(
      List<@Nullable String> list,
      Collection<Integer> collection,
      Set<List<Integer>> set,
      SequencedSet<String> sequencedSet,
      SortedSet<String> sortedSet,
      Map<String, @Nullable Set<T>> map,
      SequencedMap<Integer, String> sequencedMap,
      NavigableMap<Instant, Optional<T>> navigableMap,
      List<? extends T> wildcard) {}

  record Holder(Collections<UUID> collections) {}

  @Test
  void collectionsOfAllInterfacesInAGenericRecord() {
    UUID id = UUID.randomUUID();
    Map<String, @Nullable Set<UUID>> map = new HashMap<>();
    map.put("some", Set.of(id));
    map.put("none", null);
    equalAgain(
        typeOf(Holder.class, "collections"),
        new Collections<>(
            Arrays.asList("a", null),
            List.of(1, 2),
            Set.of(List.of(1), List.of()),
            new TreeSet<>(Set.of("x", "y")),
            new TreeSet<>(Set.of("b", "a")),
            map,
            new LinkedHashMap<>(Map.of(1, "one", 2, "two")),
            new TreeMap<>(Map.of(Instant.EPOCH, Optional.of(id), Instant.MAX, Optional.empty())),
            List.of(id, id)));
  }

  record Options(Optional<String> o, OptionalInt i, OptionalLong l, OptionalDouble d) {}

  @Test
  void optionalsFullAndEmpty() {
    equalAgain(
        Options.class,
        new Options(
            Optional.of("x"), OptionalInt.of(1), OptionalLong.of(2), OptionalDouble.of(-0.0)),
        new Options(
            Optional.empty(), OptionalInt.empty(), OptionalLong.empty(), OptionalDouble.empty()));
  }

  private record Tree(int value, @Nullable Tree left, @Nullable Tree right) {}

  record Empty() {}

  @Test
  void recordsThatContainThemselvesAndRecordsOfNothing() {
    equalAgain(Tree.class, new Tree(1, new Tree(2, null, new Tree(3, null, null)), null));
    equalAgain(Empty.class, new Empty());
    assertNull(again(Tree.class, null));
  }

  record Names(String first, @Nullable String... others) {}

  record Numbers(int... all) {}

  @Test
  void recordsWhoseLastComponentIsOfVariableArity() {
    var names = (Names) again(Names.class, new Names("a", "b", null));
    assertArrayEquals(new String[] {"b", null}, names == null ? null : names.others);
    var none = (Names) again(Names.class, new Names("a"));
    assertArrayEquals(new String[0], none == null ? null : none.others);
    var numbers = (Numbers) again(Numbers.class, new Numbers(1, 2));
    assertArrayEquals(new int[] {1, 2}, numbers == null ? null : numbers.all);
  }

  record Sequences(SequencedSet<String> set, SequencedMap<String, List<String>> map) {}

  @Test
  void theOrderOfSequencedSetsAndMapsIsPartOfThem() {
    var set = new LinkedHashSet<>(List.of("z", "a", "m"));
    var map = new LinkedHashMap<String, List<String>>();
    set.forEach(key -> map.put(key, List.of(key)));
    var value = new Sequences(set, map);
    var back = (Sequences) Objects.requireNonNull(again(Sequences.class, value));
    assertEquals(List.copyOf(set), List.copyOf(back.set));
    assertEquals(List.copyOf(set), List.copyOf(back.map.keySet()));
    assertEquals(map, back.map);
    ValueType type = codec.of(Sequences.class);
    assertFalse(type.same(value, new Sequences(set.reversed(), map)));
    assertFalse(type.same(type.freeze(value), type.freeze(new Sequences(set, map.reversed()))));
    assertTrue(type.same(value, new Sequences(new LinkedHashSet<>(set), back.map)));
    ValueType dynamic = codec.dynamic();
    Object reversed = type.freeze(new Sequences(set.reversed(), map));
    assertFalse(dynamic.same(dynamic.freeze(type.freeze(value)), dynamic.freeze(reversed)));
    assertTrue(dynamic.same(dynamic.freeze(type.freeze(value)), dynamic.freeze(back)));
  }

  sealed interface Expr<T> permits Lit, Add, Named, Group {}

  record Lit<T>(T value) implements Expr<T> {}

  record Add<T>(Expr<T> left, Expr<T> right) implements Expr<T> {}

  enum Named implements Expr<String> {
    THIS,
    THAT {
      @Override
      public String toString() {
        return "that one";
      }
    }
  }

  sealed interface Group<U> extends Expr<U> {}

  record Many<V>(List<Expr<V>> all) implements Group<V> {}

  record Exprs(Expr<String> strings, Expr<Integer> integers) {}

  @Test
  void sealedTypesNestedAndGeneric() {
    var strings = new Add<>(new Lit<>("a"), new Many<>(List.of(Named.THIS, Named.THAT)));
    equalAgain(Exprs.class, new Exprs(strings, new Lit<>(5)));
    @SuppressWarnings("unchecked") // what a careless caller could do
    var polluted = (Expr<Integer>) (Object) Named.THIS;
    ValueType type = codec.of(Exprs.class);
    assertThrows(NotAValueException.class, () -> type.encode(new Exprs(strings, polluted)));
  }

  @Test
  void theOrderOfSetsAndMapsLeavesNoTrace() {
    record Key(String name, Named named) {}
    record Sets(Set<Key> keys, Map<Key, List<Key>> map) {}
    var one = new HashSet<Key>();
    var map = new LinkedHashMap<Key, List<Key>>();
    for (int i = 0; i < 100; i++) {
      one.add(new Key("k" + i, Named.THIS));
      map.put(new Key("k" + i, Named.THAT), List.of(new Key("v" + i, Named.THIS)));
    }
    var reversed = new LinkedHashMap<Key, List<Key>>(map.reversed());
    var other = new LinkedHashMap<Key, Boolean>();
    one.stream().sorted((a, b) -> b.name.compareTo(a.name)).forEach(k -> other.put(k, true));
    ValueType type = codec.of(Sets.class);
    var a = new Sets(one, map);
    var b = new Sets(other.keySet(), reversed);
    assertArrayEquals(type.encode(a), type.encode(b));
    assertTrue(type.same(a, b));
    assertTrue(type.same(type.freeze(a), type.freeze(b)));
    assertEquals(a, again(Sets.class, b));
  }
}
