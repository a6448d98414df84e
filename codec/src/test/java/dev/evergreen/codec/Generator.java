package dev.evergreen.codec;

import java.lang.reflect.Array;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Random types and values of them. Values come from small ranges, so that two of them are often
 * nearly or wholly the same.
 */
final class Generator {

  /**
   * Makes the same value for the same state of {@code content}; {@code style} decides over what
   * must not matter: classes of collections, their order, and whether they were frozen before.
   */
  interface Maker {
    @Nullable Object make(Random content, Random style);
  }

  record Kind(Type type, Maker maker) {}

  record Pair<A, B>(@Nullable A first, @Nullable B second) {}

  record Node<T>(@Nullable T value, int weight, @Nullable List<Node<T>> children) {}

  /** Makes a list that can be changed of one that cannot. */
  record Careful<T>(@Nullable List<T> all) {
    Careful {
      all = all == null ? null : new ArrayList<>(all);
    }
  }

  record Strange(String text, double number) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Strange s && s.text.equalsIgnoreCase(text);
    }

    @Override
    public int hashCode() {
      return text.length();
    }
  }

  sealed interface Form<T> permits Dot, Box, Both {}

  enum Dot implements Form<Object> {
    SMALL,
    LARGE {}
  }

  record Box<T>(@Nullable T content) implements Form<T> {}

  record Both<T>(@Nullable Form<T> left, @Nullable Form<T> right) implements Form<T> {}

  private final Codec codec;

  Generator(Codec codec) {
    this.codec = codec;
  }

  Kind kind(Random random, int depth) {
    if (depth == 0 || random.nextInt(6) == 0) {
      return scalar(random);
    }
    Kind inner = kind(random, depth - 1);
    return switch (random.nextInt(11)) {
      case 0 -> list(inner);
      case 1 -> set(inner);
      case 2, 3 -> map(inner, kind(random, depth - 1));
      case 4 -> optional(inner);
      case 5 -> array(inner);
      case 6, 7 -> pair(inner, kind(random, depth - 1));
      case 8 -> node(inner);
      case 9 -> form(inner);
      default -> sorted(inner);
    };
  }

  /** What holds records that can be changed, however often they are frozen. */
  Kind changeable(Random random) {
    Kind inner = kind(random, 1);
    Kind careful =
        new Kind(
            new Generic(Careful.class, boxed(inner)),
            (content, style) -> new Careful<>(some(inner, content, style)));
    Kind held =
        switch (random.nextInt(4)) {
          case 0 -> set(careful);
          case 1 -> map(of(String.class, "a", "b"), careful);
          case 2 -> optional(careful);
          default -> careful;
        };
    return random.nextBoolean() ? list(held) : pair(sorted(held), list(held));
  }

  private static Kind of(Type type, Object... values) {
    return new Kind(type, (content, style) -> values[content.nextInt(values.length)]);
  }

  private static Kind scalar(Random random) {
    return switch (random.nextInt(18)) {
      case 0 -> of(int.class, 0, 1, -1, 300, Integer.MIN_VALUE);
      case 1 -> of(Long.class, 0L, 1L, Long.MAX_VALUE, 1L << 33);
      case 2 -> of(double.class, 0.0, -0.0, Double.NaN, 1.5);
      case 3 -> of(Float.class, 0f, -0f, Float.NaN);
      case 4 -> of(boolean.class, true, false);
      case 5 -> of(char.class, 'a', 'b', '\uFFFF');
      case 6 -> of(UUID.class, new UUID(0, 0), new UUID(0, 1));
      case 7 -> of(Instant.class, Instant.EPOCH, Instant.MAX, Instant.MIN);
      case 8 -> of(LocalDate.class, LocalDate.EPOCH, LocalDate.MAX);
      case 9 -> of(Duration.class, Duration.ZERO, Duration.ofMillis(-1));
      case 10 -> of(BigDecimal.class, new BigDecimal("1.0"), new BigDecimal("1.00"));
      case 11 -> of(BigInteger.class, BigInteger.ONE, BigInteger.TEN.pow(80));
      case 12 -> of(URI.class, URI.create("a:b"), URI.create("A:b"), URI.create("a:c"));
      case 13 -> of(ZoneId.class, ZoneId.of("UTC"), ZoneOffset.UTC);
      case 14 -> of(byte[].class, new byte[0], new byte[] {1}, new byte[] {-1, 3});
      case 15 -> of(Dot.class, Dot.SMALL, Dot.LARGE);
      case 16 ->
          of(
              Strange.class,
              new Strange("a", 1),
              new Strange("A", 1),
              new Strange("a", 2),
              new Strange("bb", -0.0));
      default -> of(String.class, "", "a", "b", "é", "漢", "\uD800", "Aa", "BB", "longer text");
    };
  }

  private static boolean primitive(Kind kind) {
    return kind.type instanceof Class<?> c && c.isPrimitive();
  }

  /** The type as it can be a type argument. */
  static Type boxed(Kind kind) {
    return primitive(kind)
        ? Array.get(Array.newInstance((Class<?>) kind.type, 1), 0).getClass()
        : kind.type;
  }

  private static Class<?> raw(Type type) {
    return type instanceof Generic g ? g.raw() : (Class<?>) type;
  }

  private static List<@Nullable Object> some(Kind kind, Random content, Random style) {
    return IntStream.range(0, content.nextInt(4))
        .mapToObj(i -> content.nextInt(9) == 0 ? null : kind.maker.make(content, style))
        .collect(ArrayList::new, ArrayList::add, ArrayList::addAll);
  }

  private @Nullable Object styled(Type type, Object value, Random style) {
    return style.nextInt(4) == 0 ? codec.of(type).freeze(value) : value;
  }

  private Kind list(Kind inner) {
    var type = new Generic(List.class, boxed(inner));
    return new Kind(
        type,
        (content, style) -> {
          var some = some(inner, content, style);
          return styled(
              type, style.nextBoolean() ? some : Collections.unmodifiableList(some), style);
        });
  }

  /** Different elements by their encodings, with no two that {@code equals} takes for one. */
  private List<@Nullable Object> distinct(Kind inner, Random content, Random style) {
    ValueType element = codec.of(boxed(inner));
    var byBytes = new TreeMap<byte[], @Nullable Object>(Arrays::compareUnsigned);
    for (Object each : some(inner, content, style)) {
      byBytes.putIfAbsent(element.encode(each), each);
    }
    var distinct = new LinkedHashSet<@Nullable Object>();
    for (Object each : byBytes.values()) {
      if (distinct.stream().map(element::freeze).noneMatch(f -> equal(f, element.freeze(each)))) {
        distinct.add(each);
      }
    }
    var all = new ArrayList<>(distinct);
    Collections.shuffle(all, style);
    return all;
  }

  private static boolean equal(@Nullable Object a, @Nullable Object b) {
    return Objects.equals(a, b);
  }

  private Kind set(Kind inner) {
    var type = new Generic(Set.class, boxed(inner));
    return new Kind(
        type,
        (content, style) -> {
          var some = distinct(inner, content, style);
          return styled(
              type, style.nextBoolean() ? new HashSet<>(some) : new LinkedHashSet<>(some), style);
        });
  }

  private Kind map(Kind key, Kind value) {
    var type = new Generic(Map.class, boxed(key), boxed(value));
    return new Kind(
        type,
        (content, style) -> {
          long seed = content.nextLong();
          var map = new LinkedHashMap<@Nullable Object, @Nullable Object>();
          for (Object each : distinct(key, content, style)) {
            byte[] bytes = codec.of(boxed(key)).encode(each);
            var random = new Random(seed + Arrays.hashCode(bytes));
            map.put(each, value.maker.make(random, style));
          }
          return styled(type, style.nextBoolean() ? map : new HashMap<>(map), style);
        });
  }

  private Kind sorted(Kind inner) {
    Kind key =
        Comparable.class.isAssignableFrom(raw(boxed(inner)))
                && raw(inner.type) != BigDecimal.class
                && raw(inner.type) != URI.class
            ? inner
            : of(String.class, "x", "y", "z");
    var type = new Generic(SortedMap.class, boxed(key), boxed(inner));
    return new Kind(
        type,
        (content, style) -> {
          var map = new TreeMap<@Nullable Object, @Nullable Object>();
          for (int i = content.nextInt(3); i > 0; i--) {
            Object k = key.maker.make(content, style);
            map.put(k, inner.maker.make(content, style));
          }
          return styled(type, map, style);
        });
  }

  private static Kind optional(Kind inner) {
    if (inner.type == int.class) {
      return of(OptionalInt.class, OptionalInt.empty(), OptionalInt.of(4));
    }
    return new Kind(
        new Generic(Optional.class, boxed(inner)),
        (content, style) ->
            content.nextInt(3) == 0
                ? Optional.empty()
                : Optional.ofNullable(inner.maker.make(content, style)));
  }

  private static Kind array(Kind inner) {
    if (inner.type instanceof Generic) {
      return inner;
    }
    Class<?> component = (Class<?>) inner.type;
    return new Kind(
        component.arrayType(),
        (content, style) -> {
          Object array = Array.newInstance(component, content.nextInt(4));
          for (int i = 0; i < Array.getLength(array); i++) {
            Array.set(array, i, inner.maker.make(content, style));
          }
          return array;
        });
  }

  private static Kind pair(Kind a, Kind b) {
    return new Kind(
        new Generic(Pair.class, boxed(a), boxed(b)),
        (content, style) -> new Pair<>(a.maker.make(content, style), b.maker.make(content, style)));
  }

  private static Kind node(Kind inner) {
    return new Kind(
        new Generic(Node.class, boxed(inner)), (content, style) -> node(inner, content, style, 3));
  }

  private static Node<Object> node(Kind inner, Random content, Random style, int depth) {
    List<Node<Object>> children = depth == 0 || content.nextInt(3) == 0 ? null : new ArrayList<>();
    for (int i = content.nextInt(3); children != null && i > 0; i--) {
      children.add(node(inner, content, style, depth - 1));
    }
    return new Node<>(inner.maker.make(content, style), content.nextInt(3), children);
  }

  private static Kind form(Kind inner) {
    return new Kind(
        new Generic(Form.class, boxed(inner)), (content, style) -> form(inner, content, style, 3));
  }

  private static @Nullable Object form(Kind inner, Random content, Random style, int depth) {
    return switch (content.nextInt(depth == 0 ? 2 : 4)) {
      case 0 -> null;
      case 1 -> new Box<>(inner.maker.make(content, style));
      default -> both(inner, content, style, depth - 1);
    };
  }

  @SuppressWarnings("unchecked") // forms of the one inner type
  private static Both<Object> both(Kind inner, Random content, Random style, int depth) {
    return new Both<>(
        (Form<Object>) form(inner, content, style, depth),
        (Form<Object>) form(inner, content, style, depth));
  }
}
