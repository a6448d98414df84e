package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What freezing promises: nothing mutable is shared, and what was frozen stays as it is. */
final class FreezeTest {
  private final Codec codec = Codec.create(Limits.DEFAULT);

  private <T> T freeze(T value, Type type) {
    @SuppressWarnings("unchecked") // freezing keeps the static type
    T frozen = (T) Objects.requireNonNull(codec.of(type).freeze(value));
    return frozen;
  }

  private static final Type STRINGS = new Generic(List.class, String.class);
  private static final Type STRING_SET = new Generic(Set.class, String.class);
  private static final Type MAP = new Generic(Map.class, String.class, STRINGS);

  record Line(String text, int number) {}

  record Page(List<Line> lines, Map<String, List<String>> words, byte[] image) {}

  @Test
  void aFrozenListKeepsOrderAndNullsAndCannotChange() {
    List<@Nullable String> mine = new ArrayList<>(Arrays.asList("b", null, "a"));
    List<@Nullable String> frozen = freeze(mine, STRINGS);
    mine.set(0, "changed");
    assertEquals(Arrays.asList("b", null, "a"), frozen);
    assertThrows(UnsupportedOperationException.class, () -> frozen.set(0, "x"));
    assertThrows(UnsupportedOperationException.class, () -> frozen.add("x"));
    assertThrows(UnsupportedOperationException.class, frozen::clear);
    frozen.toArray()[0] = "changed";
    assertEquals("b", frozen.get(0));
    assertSame(frozen, freeze(frozen, STRINGS));
  }

  record Earlier(String id) {}

  record Hours(String id, int @Nullable [] counts) {
    Hours {
      counts = counts == null ? new int[3] : counts;
    }
  }

  record Tags(List<String> all) {}

  record Cart(String id, @Nullable Tags tags) {
    Cart {
      tags = tags == null ? new Tags(new ArrayList<>(List.of("none"))) : tags;
    }
  }

  record Grid(List<List<String>> rows) {
    Grid {
      rows = rows.stream().map(row -> (List<String>) new ArrayList<>(row)).toList();
    }
  }

  record Board(Map<String, List<String>> columns) {
    Board {
      var copies = new HashMap<String, List<String>>();
      columns.forEach((name, column) -> copies.put(name, new ArrayList<>(column)));
      columns = Map.copyOf(copies);
    }
  }

  record Doc(Tags tags) {
    Doc {
      tags = new Tags(new ArrayList<>(tags.all()));
    }
  }

  /** Whatever a constructor makes of what it is given, or puts where an older value has nothing. */
  @Test
  void whatAConstructorMakesIsNobodyElses() {
    var earlier =
        codec.of(new Generic(List.class, Earlier.class)).encode(List.of(new Earlier("a")));
    isNobodyElses(Hours.class, earlier, hours -> Objects.requireNonNull(hours.counts())[0]++);
    isNobodyElses(Cart.class, earlier, cart -> Objects.requireNonNull(cart.tags()).all().clear());
    var rows = List.of(List.of("a"));
    isNobodyElses(Grid.class, bytes(new Grid(rows)), grid -> grid.rows().getFirst().clear());
    var board = new Board(Map.of("k", List.of("a")));
    isNobodyElses(Board.class, bytes(board), all -> all.columns().values().forEach(List::clear));
    isNobodyElses(
        Doc.class, bytes(new Doc(new Tags(List.of("a")))), doc -> doc.tags().all().clear());
  }

  record Sealed(List<String> all) {
    @Override
    public List<String> all() {
      return List.copyOf(all);
    }
  }

  record Boxes(Optional<List<String>> some, Map<String, Sealed> named) {
    @Override
    public Optional<List<String>> some() {
      return some.map(List::copyOf);
    }

    @Override
    public Map<String, Sealed> named() {
      return Map.copyOf(named);
    }
  }

  record Nested(Sealed inner) {
    @Override
    public Sealed inner() {
      return new Sealed(inner.all());
    }
  }

  /** Their accessors answer copies of what whoever has made them can change. */
  @Test
  void aRecordThatCopiesInItsAccessorsSharesNothing() {
    var mine = new ArrayList<>(List.of("a"));
    var named = new HashMap<>(Map.of("n", new Sealed(mine)));
    var boxes = new Boxes(Optional.of(mine), named);
    for (var each : List.of(new Sealed(mine), boxes, new Nested(new Sealed(mine)))) {
      var inList = List.of(each);
      sharesNothing(codec.of(each.getClass()), each, mine, named);
      sharesNothing(codec.of(new Generic(List.class, each.getClass())), inList, mine, named);
      sharesNothing(codec.dynamic(), each, mine, named);
      sharesNothing(codec.dynamic(), inList, mine, named);
    }
  }

  private static void sharesNothing(
      ValueType type, Object value, List<String> mine, Map<String, Sealed> named) {
    var before = value.toString();
    var frozen = Objects.requireNonNull(type.freeze(value));
    mine.add("b");
    named.put("m", new Sealed(List.of()));
    assertEquals(before, frozen.toString());
    assertSame(frozen, type.freeze(frozen), "it need not be copied again");
    mine.remove("b");
    named.remove("m");
  }

  record Guarded(List<String> all) {
    Guarded {
      all = new ArrayList<>(all);
    }

    @Override
    public List<String> all() {
      return List.copyOf(all);
    }

    void add(String more) {
      all.add(more);
    }
  }

  /** Only its own methods can change what it has. */
  @Test
  void aRecordThatChangesItselfIsCopiedEachTime() {
    isNobodyElses(Guarded.class, bytes(new Guarded(List.of("a"))), guarded -> guarded.add("b"));
    var kept = codec.dynamic().freeze(List.of(new Guarded(List.of("a"))));
    var copy = (List<?>) Objects.requireNonNull(codec.dynamic().freeze(kept));
    ((Guarded) copy.getFirst()).add("b");
    assertEquals(List.of(new Guarded(List.of("a"))), kept);
  }

  private byte[] bytes(Record value) {
    return codec.of(new Generic(List.class, value.getClass())).encode(List.of(value));
  }

  private <T> void isNobodyElses(Class<T> of, byte[] bytes, Consumer<T> change) {
    var type = codec.of(new Generic(List.class, of));
    var kept = type.decode(bytes);
    for (int i = 0; i < 2; i++) {
      var before = type.encode(kept);
      var copy = (List<?>) Objects.requireNonNull(type.freeze(kept));
      try {
        change.accept(of.cast(copy.getFirst()));
      } catch (UnsupportedOperationException e) {
        // Nobody can change it: as good.
      }
      assertArrayEquals(before, type.encode(kept), of::getSimpleName);
      kept = type.freeze(kept);
    }
  }

  @Test
  void arraysInsideAFrozenCollectionAreCopiedEachTime() {
    Type rows = new Generic(List.class, int[].class);
    List<int[]> mine = List.of(new int[] {1, 2});
    List<int[]> frozen = freeze(mine, rows);
    List<int[]> again = freeze(frozen, rows);
    again.get(0)[0] = 99;
    assertArrayEquals(new int[] {1, 2}, frozen.get(0));
    Type nested = new Generic(Optional.class, rows);
    Optional<List<int[]>> optional = freeze(Optional.of(frozen), nested);
    freeze(optional, nested).orElseThrow().get(0)[0] = 99;
    assertArrayEquals(new int[] {1, 2}, optional.orElseThrow().get(0));
  }

  interface Shelf<K, T> {
    Map<K, T> all();
  }

  interface Texts<T> extends Shelf<String, T> {}

  interface Pages extends Texts<Page> {}

  @Test
  void variablesStandForWhatAnInheritingTypeGivesThem() throws NoSuchMethodException {
    Type all = Shelf.class.getMethod("all").getGenericReturnType();
    assertEquals("Map<String, Page>", codec.of(all, Pages.class).name());
    assertThrows(NotAValueException.class, () -> codec.of(all, Texts.class));
    assertThrows(NotAValueException.class, () -> codec.of(all));
  }

  @Test
  void aFrozenSetKeepsItsOrderAndLooksUpLikeAnySet() {
    Set<@Nullable String> mine = new LinkedHashSet<>(Arrays.asList("z", null, "a", "m"));
    Set<@Nullable String> frozen = freeze(mine, STRING_SET);
    mine.clear();
    assertEquals(Arrays.asList("z", null, "a", "m"), new ArrayList<>(frozen));
    assertTrue(frozen.contains("m") && frozen.contains(null));
    assertFalse(frozen.contains("b"));
    assertEquals(new HashSet<>(Arrays.asList(null, "a", "m", "z")), frozen);
    assertEquals(frozen.hashCode(), new HashSet<>(frozen).hashCode());
    assertThrows(UnsupportedOperationException.class, () -> frozen.add("x"));
    assertThrows(UnsupportedOperationException.class, () -> frozen.remove("z"));
    assertThrows(UnsupportedOperationException.class, frozen::clear);
    var iterator = frozen.iterator();
    iterator.next();
    assertThrows(UnsupportedOperationException.class, iterator::remove);
    assertSame(frozen, freeze(frozen, STRING_SET));
  }

  @Test
  void aFrozenMapIsFrozenInItsValuesToo() {
    var mine = new LinkedHashMap<String, List<String>>();
    mine.put("b", new ArrayList<>(List.of("x")));
    mine.put("a", new ArrayList<>());
    var before = new LinkedHashMap<String, List<String>>();
    mine.forEach((k, v) -> before.put(k, List.copyOf(v)));
    Map<String, List<String>> frozen = freeze((Map<String, List<String>>) mine, MAP);
    mine.values().forEach(List::clear);
    mine.clear();
    assertEquals(before, frozen);
    assertEquals(List.of("b", "a"), new ArrayList<>(frozen.keySet()));
    assertNull(frozen.get("c"));
    assertEquals(List.of("x"), frozen.getOrDefault("b", List.of()));
    assertThrows(UnsupportedOperationException.class, () -> frozen.put("x", List.of()));
    assertThrows(UnsupportedOperationException.class, () -> frozen.remove("nothing"));
    assertThrows(UnsupportedOperationException.class, frozen::clear);
    var entry = frozen.entrySet().iterator().next();
    assertThrows(UnsupportedOperationException.class, () -> entry.setValue(List.of()));
    assertThrows(UnsupportedOperationException.class, () -> frozen.values().clear());
    assertTrue(frozen.entrySet().contains(Map.entry("b", List.of("x"))));
    assertFalse(frozen.entrySet().contains(Map.entry("a", List.of("x"))));
    assertFalse(frozen.entrySet().contains(Map.entry("c", List.of("x"))));
    assertSame(frozen, freeze(frozen, MAP));
  }

  @Test
  void aRecordIsMadeAnewOnlyIfAComponentChanged() {
    var line = new Line("a", 1);
    assertSame(line, freeze(line, Line.class));
    var page = new Page(new ArrayList<>(List.of(line)), new HashMap<>(), new byte[] {1});
    Page frozen = freeze(page, Page.class);
    assertNotSame(page, frozen);
    assertSame(line, frozen.lines.getFirst());
    Page again = freeze(frozen, Page.class);
    assertSame(frozen.lines, again.lines);
    assertSame(frozen.words, again.words);
    assertNotSame(frozen.image, again.image);
  }

  @Test
  void anArrayIsAlwaysCopied() {
    var mine = new String[] {"a"};
    String[] frozen = freeze(mine, String[].class);
    assertNotSame(mine, frozen);
    assertArrayEquals(mine, frozen);
  }

  @Test
  void anArrayInAFrozenCollectionIsCopiedToo() {
    record Holder(Set<int[]> set) {}
    Map<Type, Object> values =
        Map.of(
            new Generic(List.class, int[].class),
            List.of(new int[] {1}),
            new Generic(Set.class, int[].class),
            Set.of(new int[] {1}),
            new Generic(Map.class, String.class, int[].class),
            Map.of("a", new int[] {1}),
            Holder.class,
            new Holder(Set.of(new int[] {1})));
    values.forEach(
        (type, value) -> {
          for (ValueType each : List.of(codec.of(type), codec.dynamic())) {
            Object frozen = Objects.requireNonNull(each.freeze(value));
            Object again = Objects.requireNonNull(each.freeze(frozen));
            Object decoded = Objects.requireNonNull(codec.of(type).decode(encode(type, value)));
            assertNotSame(arrayIn(value), arrayIn(frozen));
            assertNotSame(arrayIn(frozen), arrayIn(again));
            assertNotSame(arrayIn(decoded), arrayIn(Objects.requireNonNull(each.freeze(decoded))));
            assertTrue(codec.of(type).same(frozen, again), () -> type + " was changed");
          }
        });
  }

  private byte[] encode(Type type, Object value) {
    return codec.of(type).encode(value);
  }

  private static int[] arrayIn(Object value) {
    return switch (value) {
      case Map<?, ?> map -> arrayIn(map.values());
      case Collection<?> some -> (int[]) Objects.requireNonNull(some.iterator().next());
      case Record holder ->
          arrayIn(Objects.requireNonNull(RecordAccess.of(holder.getClass()).get(holder, 0)));
      default -> throw new IllegalArgumentException(value.toString());
    };
  }

  @Test
  void aRecordWhoseConstructorMakesAModifiableCopyIsCopiedEachTime() {
    record Careful(List<String> list) {
      Careful {
        list = new ArrayList<>(list);
      }
    }
    var mine = new Careful(List.of("a"));
    Careful frozen = freeze(mine, Careful.class);
    Careful again = freeze(frozen, Careful.class);
    again.list().add("b");
    assertEquals(List.of("a"), frozen.list());
    assertEquals(List.of("a"), mine.list());
    Type carefuls = new Generic(List.class, Careful.class);
    List<Careful> some = freeze(List.of(mine), carefuls);
    freeze(some, carefuls).getFirst().list().add("b");
    assertEquals(List.of(mine), some);
    ValueType type = codec.of(carefuls);
    var decoded = (List<?>) Objects.requireNonNull(type.decode(type.encode(some)));
    assertInstanceOf(Careful.class, freeze(decoded, carefuls).getFirst()).list().add("b");
    assertEquals(some, decoded);
  }

  @Test
  void whatNothingCanChangeIsNotCopied() {
    var list = List.of("a", "b", "c");
    assertSame(list, freeze(list, STRINGS));
    var set = Set.of("a");
    assertSame(set, freeze(set, STRING_SET));
    assertSame(Set.of(), freeze(Set.<String>of(), STRING_SET));
    assertSame(List.of(), freeze(List.<String>of(), STRINGS));
    record Copying(List<String> list) {
      Copying {
        list = List.copyOf(list);
      }
    }
    var copying = new Copying(new ArrayList<>(List.of("a", "b")));
    assertSame(copying, freeze(copying, Copying.class));
    ValueType copyings = codec.of(new Generic(List.class, Copying.class));
    Object decoded = copyings.decode(copyings.encode(List.of(copying)));
    assertSame(decoded, copyings.freeze(decoded));
    List<List<String>> holdsMutable = List.of(new ArrayList<>());
    assertNotSame(holdsMutable, freeze(holdsMutable, new Generic(List.class, STRINGS)));
    List<String> view = Collections.unmodifiableList(new ArrayList<>(List.of("a")));
    assertNotSame(view, freeze(view, STRINGS));
  }

  @Test
  void aSortedSetIsSortedNaturallyAndCannotChange() {
    NavigableSet<String> mine = new TreeSet<>(Comparator.reverseOrder());
    mine.addAll(List.of("a", "b", "c"));
    Type type = new Generic(NavigableSet.class, String.class);
    NavigableSet<String> frozen = freeze(mine, type);
    assertEquals(List.of("a", "b", "c"), new ArrayList<>(frozen));
    assertEquals("b", frozen.higher("a"));
    assertThrows(UnsupportedOperationException.class, frozen::pollFirst);
    assertThrows(UnsupportedOperationException.class, () -> frozen.headSet("b").clear());
    assertThrows(UnsupportedOperationException.class, () -> frozen.descendingSet().remove("a"));
    assertSame(frozen, freeze(frozen, type));
    assertArrayEquals(codec.of(type).encode(mine), codec.of(type).encode(frozen));
  }

  @Test
  void aSetOfArraysFindsThemByTheirContent() {
    Type type = new Generic(Set.class, int[].class);
    Set<Object> frozen = freeze(Set.<Object>of(new int[] {1}, new int[] {2}), type);
    assertTrue(frozen.contains(new int[] {2}));
    assertFalse(frozen.contains(new int[] {3}));
    Set<Object> twice = new HashSet<>(List.of(new int[] {1}, new int[] {1}));
    assertThrows(NotAValueException.class, () -> freeze(twice, type));
    assertThrows(NotAValueException.class, () -> codec.of(type).encode(twice));
  }

  @Test
  void whatTheStaticTypeDoesNotAllowIsRefusedEvenIfFrozen() {
    List<?> numbers = freeze(List.of(1, 2), new Generic(List.class, Integer.class));
    assertThrows(NotAValueException.class, () -> codec.of(STRINGS).freeze(numbers));
    assertThrows(NotAValueException.class, () -> codec.of(STRINGS).encode(numbers));
    assertThrows(NotAValueException.class, () -> codec.of(int.class).freeze(null));
    assertThrows(NotAValueException.class, () -> codec.of(int.class).encode("1"));
  }

  @Test
  void freezingWhatIsFrozenStillCountsItsSizeAndDepth() {
    var small = Codec.create(new Limits(1000, 5));
    ValueType strings = small.of(STRINGS);
    Object long_ = strings.freeze(new ArrayList<>(Collections.nCopies(50, "0123456789")));
    assertSame(long_, strings.freeze(long_));
    ValueType lists = small.of(new Generic(List.class, STRINGS));
    assertThrows(ValueLimitException.class, () -> lists.freeze(Arrays.asList(long_, long_)));
    assertThrows(ValueLimitException.class, () -> small.of(String.class).freeze("x".repeat(2000)));
  }

  record LongNames(int aVeryLongNameThatCounts, int anotherVeryLongNameThatCounts) {}

  @Test
  void aFrozenListThatBecomesAKeyIsCountedWithItsNames() {
    Type list = new Generic(List.class, LongNames.class);
    var keys = new HashSet<List<LongNames>>();
    for (int i = 0; i < 20; i++) {
      keys.add(freeze((List<LongNames>) new ArrayList<>(List.of(new LongNames(i, i))), list));
    }
    Type type = new Generic(Set.class, list);
    int length = codec.of(type).encode(keys).length;
    ValueType tight = Codec.create(new Limits(length / 2, 10)).of(type);
    assertThrows(ValueLimitException.class, () -> tight.freeze(keys));
    var compiler = new Compiler(Limits.DEFAULT);
    Object frozen = compiler.compile(list).freeze(keys.iterator().next(), new Walk(Limits.DEFAULT));
    var walk = new Walk(Limits.DEFAULT);
    compiler.compile(type).freeze(Set.of(Objects.requireNonNull(frozen)), walk);
    assertTrue(2 * walk.bytes() >= length / 20, () -> walk.bytes() + " of " + length / 20);
  }

  @Test
  void immutableTypesAreKnownByTheirStaticType() {
    record Deep(Optional<Line> line, @Nullable Deep deep) {}
    record Listed(List<String> list) {}
    record Boxed<T>(T content) {}
    for (Type type :
        List.of(
            String.class,
            int.class,
            Line.class,
            Deep.class,
            new Generic(Boxed.class, Line.class))) {
      assertTrue(codec.of(type).immutable(), type::getTypeName);
    }
    for (Type type :
        List.of(
            STRINGS, int[].class, Listed.class, Page.class, new Generic(Boxed.class, STRINGS))) {
      assertFalse(codec.of(type).immutable(), type::getTypeName);
    }
  }

  @Test
  void keysOfOneHashCodeAreStillFoundQuickly() {
    record Bad(int number) {
      @Override
      public int hashCode() {
        return 1;
      }
    }
    Type type = new Generic(Set.class, Bad.class);
    var index = IntStream.range(0, 200_000).mapToObj(Bad::new).toArray();
    var places = new Index(index, new Compiler(Limits.DEFAULT).compile(Bad.class), Limits.DEFAULT);
    assertEquals(199_999, places.find(new Bad(199_999)));
    assertEquals(-1, places.find(new Bad(-1)));
    assertEquals(-1, places.find("no such type"));
    Object set = codec.of(type).freeze(Set.of(new Bad(1)));
    assertInstanceOf(Set.class, set);
  }

  @Test
  void iteratorsEndAsTheyShould() {
    Set<String> mine = new HashSet<>(Set.of("a"));
    var each = freeze(mine, STRING_SET).iterator();
    each.next();
    assertThrows(NoSuchElementException.class, each::next);
  }
}
