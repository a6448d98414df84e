package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What holds for every value of every type, tried on random ones. */
final class PropertyTest {
  private static final int TYPES = 250;
  private static final int VALUES = 6;

  private final Codec codec = Codec.create(Limits.DEFAULT);
  private final Generator generator = new Generator(codec);

  private interface Check {
    void check(
        ValueType type, @Nullable Object value, @Nullable Object twin, @Nullable Object other);
  }

  /** Calls the check with values, twins that differ in style only, and values likely different. */
  private void forAll(long seed, Check check) {
    var random = new Random(seed);
    for (int i = 0; i < TYPES; i++) {
      Generator.Kind kind = generator.kind(random, 3);
      ValueType type = codec.of(kind.type());
      for (int j = 0; j < VALUES; j++) {
        long content = random.nextLong();
        Object value = kind.maker().make(new Random(content), random);
        Object twin = kind.maker().make(new Random(content), random);
        Object other = kind.maker().make(new Random(random.nextLong()), random);
        try {
          check.check(type, value, twin, other);
        } catch (RuntimeException | AssertionError e) {
          throw new AssertionError(type.name() + ": " + value + " / " + other, e);
        }
      }
    }
  }

  @Test
  void whatIsDecodedIsTheSameAsWhatWasEncoded() {
    forAll(
        1,
        (type, value, twin, other) -> {
          byte[] bytes = type.encode(value);
          Object back = type.decode(bytes);
          assertTrue(type.same(value, back));
          assertTrue(type.same(back, value));
          assertArrayEquals(bytes, type.encode(back));
          assertArrayEquals(bytes, type.encode(twin), "style leaves a trace");
        });
  }

  @Test
  void sameMeansSameBytes() {
    int[] counts = new int[2];
    forAll(
        2,
        (type, value, twin, other) -> {
          boolean same = Arrays.equals(type.encode(value), type.encode(other));
          counts[same ? 1 : 0]++;
          assertEquals(same, type.same(value, other));
          assertEquals(same, type.same(other, value));
          assertEquals(same, type.same(type.freeze(value), type.freeze(other)));
          assertEquals(same, type.same(type.freeze(value), other));
          assertTrue(type.same(value, twin));
          assertTrue(type.same(type.freeze(value), twin));
          assertTrue(type.same(type.freeze(value), type.freeze(twin)));
        });
    assertTrue(counts[0] > 500 && counts[1] > 50, "both are tried: " + Arrays.toString(counts));
  }

  @Test
  void ofPlainTypesEqualsSaysWhatIsTheSame() {
    int[] counts = new int[2];
    forAll(
        9,
        (type, value, twin, other) -> {
          if (type.plain()) {
            boolean same = type.same(value, other);
            counts[same ? 1 : 0]++;
            assertEquals(same, Objects.equals(value, other));
            assertEquals(Objects.hashCode(value), Objects.hashCode(twin));
          }
        });
    assertTrue(counts[0] > 100 && counts[1] > 10, "both are tried: " + Arrays.toString(counts));
    assertFalse(codec.of(Thread.State.class).plain(), "its hash is another in each process");
    assertFalse(codec.of(URI.class).plain(), "equal ones may differ in case");
  }

  @Test
  void freezingKeepsTheValueAndIsDoneOnce() {
    forAll(
        3,
        (type, value, twin, other) -> {
          Object frozen = type.freeze(value);
          assertTrue(type.same(frozen, value));
          assertArrayEquals(type.encode(value), type.encode(frozen));
          assertTrue(Unmodifiable.is(frozen), () -> "modifiable: " + frozen);
          if (!type.name().contains("[]")) {
            assertSame(frozen, type.freeze(frozen));
          }
          if (type.immutable()) {
            assertSame(value, frozen);
          }
          Object decoded = type.decode(type.encode(value));
          assertTrue(Unmodifiable.is(decoded), () -> "modifiable: " + decoded);
        });
  }

  @Test
  void whoChangesWhatFreezingGaveChangesNothingElse() {
    var random = new Random(7);
    ValueType dynamic = codec.dynamic();
    int spoilt = 0;
    for (int i = 0; i < TYPES; i++) {
      Generator.Kind kind = generator.changeable(random);
      ValueType type = codec.of(kind.type());
      Object frozen = type.freeze(kind.maker().make(random, random));
      byte[] bytes = type.encode(frozen);
      Object decoded = type.decode(bytes);
      Object any = dynamic.freeze(decoded);
      for (Object kept : Arrays.asList(frozen, decoded, any)) {
        spoilt += spoil(type.freeze(kept)) + spoil(dynamic.freeze(kept));
        assertArrayEquals(bytes, type.encode(kept), kind.type()::toString);
      }
    }
    assertTrue(spoilt > 1_000, "changed: " + spoilt);
  }

  /** Empties all that can be; returns how much that was. */
  private static int spoil(@Nullable Object value) {
    return switch (value) {
      case Record record -> spoil(Arrays.asList(RecordAccess.of(record.getClass()).all(record)));
      case Optional<?> optional -> spoil(optional.orElse(null));
      case Map<?, ?> map -> spoil(Arrays.asList(map.keySet().toArray())) + spoil(map.values());
      case ArrayList<?> list when !list.isEmpty() -> {
        list.clear();
        yield 1;
      }
      case Collection<?> all -> all.stream().mapToInt(PropertyTest::spoil).sum();
      case null, default -> 0;
    };
  }

  @Test
  void theEstimateIsNeverLessThanHalfOfTheBytes() {
    var random = new Random(4);
    var compiler = new Compiler(Limits.DEFAULT);
    for (int i = 0; i < TYPES; i++) {
      Generator.Kind kind = generator.kind(random, 3);
      Shape shape = compiler.compile(kind.type());
      Set<Shape> all = shape.reach();
      int names = all.stream().mapToInt(Shape::nameBytes).sum();
      Object value = kind.maker().make(random, random);
      var walk = new Walk(Limits.DEFAULT);
      shape.freeze(value, walk);
      int length = codec.of(kind.type()).encode(value).length;
      assertTrue(2 * (walk.bytes() + names) >= length, () -> shape + ": " + value);
    }
  }

  @Test
  void theDynamicTypeAgreesOnFrozenAndOnTheSame() {
    ValueType dynamic = codec.dynamic();
    forAll(
        5,
        (type, value, twin, other) -> {
          Object frozen = dynamic.freeze(value);
          assertTrue(type.same(frozen, value));
          assertTrue(Unmodifiable.is(frozen), () -> "modifiable: " + frozen);
          if (dynamic.same(value, other)) {
            assertTrue(type.same(value, other));
          }
          assertTrue(dynamic.same(type.freeze(value), frozen) || type.name().contains("[]"));
        });
  }

  record Removed<T>(@Nullable T first, Generator.Dot last, Generator.@Nullable Pair<T, T> rest) {}

  record Kept(Generator.Dot last) {}

  @Test
  void aValueOfAnyTypeCanBeSkipped() {
    ValueType kept = codec.of(Kept.class);
    var random = new Random(6);
    for (int i = 0; i < TYPES; i++) {
      Generator.Kind kind = generator.kind(random, 3);
      ValueType before = codec.of(new Generic(Removed.class, Generator.boxed(kind)));
      Object first = kind.maker().make(random, random);
      Object second = kind.maker().make(random, random);
      var rest = new Generator.Pair<>(first, second);
      byte[] bytes = before.encode(new Removed<>(second, Generator.Dot.LARGE, rest));
      assertEquals(new Kept(Generator.Dot.LARGE), kept.decode(bytes), kind.type()::toString);
    }
  }
}
