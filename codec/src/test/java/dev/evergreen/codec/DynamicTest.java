package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Values whose static type nobody knows. */
final class DynamicTest {
  private final Codec codec = Codec.create(Limits.DEFAULT);
  private final ValueType dynamic = codec.dynamic();

  record Mixed(Object any, List<String> list) {}

  @SuppressWarnings("NonApiType") // a component that asks for a certain class is the case
  record Concrete(ArrayList<String> list, int number) {}

  private Object freeze(Object value) {
    return Objects.requireNonNull(dynamic.freeze(value));
  }

  @Test
  void arraysInsideAFrozenCollectionAreCopiedEachTime() {
    var frozen = (List<?>) freeze(new ArrayList<>(List.of(new int[] {1}, "a")));
    var again = (List<?>) freeze(frozen);
    ((int[]) again.get(0))[0] = 99;
    assertEquals(1, ((int[]) frozen.get(0))[0]);
    var plain = freeze(new ArrayList<>(List.of("a")));
    assertSame(plain, freeze(plain));
  }

  @Test
  void recordsThatCanBeChangedAreCopiedEachTimeAndWhatHoldsThemToo() {
    var frozen = (List<?>) freeze(new ArrayList<>(List.of(new Generator.Careful<>(List.of("a")))));
    var again = (Generator.Careful<?>) ((List<?>) freeze(frozen)).getFirst();
    Objects.requireNonNull(again.all()).clear();
    assertEquals(List.of(new Generator.Careful<>(List.of("a"))), frozen);
  }

  @Test
  void collectionsAreFrozenAndWhatIsNoValueStaysAsItIs() {
    var thread = Thread.currentThread();
    var mixed = new Mixed(thread, new ArrayList<>(List.of("a")));
    var frozen = assertInstanceOf(Mixed.class, freeze(mixed));
    assertSame(thread, frozen.any);
    assertNotSame(mixed.list, frozen.list);
    assertThrows(UnsupportedOperationException.class, () -> frozen.list.add("b"));
    assertTrue(dynamic.same(mixed, frozen));
    assertSame(frozen, freeze(frozen));
    assertSame(thread, freeze(thread));
    assertNull(dynamic.freeze(null));
  }

  @Test
  void aComponentThatAsksForAMutableClassKeepsIt() {
    var concrete = new Concrete(new ArrayList<>(List.of("a")), 1);
    assertSame(concrete, freeze(concrete));
    Object[] lists = {new ArrayList<>(List.of(1))};
    Object[] copy = assertInstanceOf(Object[].class, freeze(lists));
    assertNotSame(lists, copy);
    assertThrows(
        UnsupportedOperationException.class, () -> assertInstanceOf(List.class, copy[0]).clear());
  }

  @Test
  void aSortedSetKeepsItsOwnOrder() {
    NavigableSet<String> mine = new TreeSet<>(Comparator.reverseOrder());
    mine.addAll(List.of("a", "b"));
    var frozen = assertInstanceOf(NavigableSet.class, freeze(mine));
    assertEquals("b", frozen.first());
    assertThrows(UnsupportedOperationException.class, frozen::clear);
  }

  @Test
  void equalityLooksThroughClassesAndArrays() {
    assertTrue(
        dynamic.same(
            Map.of("k", List.of(Optional.of(new int[] {1}))),
            new HashMap<>(Map.of("k", new ArrayList<>(List.of(Optional.of(new int[] {1})))))));
    assertFalse(dynamic.same(new int[] {1}, new int[] {2}));
    assertFalse(dynamic.same(List.of(1), List.of(1L)));
    assertFalse(dynamic.same(Set.of(1), List.of(1)));
    assertTrue(dynamic.same(Set.of(1, 2, 3), new LinkedHashSet<>(List.of(3, 1, 2))));
    assertTrue(dynamic.same(new Generator.Strange("a", 0.0), new Generator.Strange("a", 0.0)));
    assertFalse(dynamic.same(new Generator.Strange("a", 0.0), new Generator.Strange("A", 0.0)));
  }

  @Test
  void itHasNoBytes() {
    assertThrows(UnsupportedOperationException.class, () -> dynamic.encode("x"));
    assertThrows(UnsupportedOperationException.class, () -> dynamic.decode(new byte[1]));
    assertThrows(UnsupportedOperationException.class, () -> dynamic.encode(null));
    assertFalse(dynamic.immutable());
  }

  @Test
  void whatItFrozeIsCheckedAgainByAStaticType() {
    Object numbers = freeze(new ArrayList<>(List.of(1, 2)));
    ValueType strings = codec.of(new Generic(List.class, String.class));
    assertThrows(NotAValueException.class, () -> strings.freeze(numbers));
    Object texts = strings.freeze(new ArrayList<>(List.of("a")));
    assertSame(texts, dynamic.freeze(texts));
  }
}
