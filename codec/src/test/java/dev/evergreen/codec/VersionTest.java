package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Bytes of one version of a record are read by another. */
@SuppressWarnings("SameNameButDifferent") // versions of a class share its name
final class VersionTest {
  private final Codec codec = Codec.create(Limits.DEFAULT);

  private Object reread(Object value, Type type) {
    byte[] bytes = codec.of(value.getClass()).encode(value);
    return Objects.requireNonNull(codec.of(type).decode(bytes));
  }

  interface One {
    enum Kind {
      A,
      B
    }

    sealed interface Event permits Opened, Closed {}

    record Opened(String by) implements Event {}

    record Closed(String by, Kind why) implements Event {}

    record Item(String name, Map<Key, Item> parts, Kind kind, Event event, long price) {}

    record Key(int number, Kind kind) {}

    record Shop(List<Item> items, Item first, Kind kind, Set<Key> keys) {}
  }

  interface Two {
    enum Kind {
      B,
      C,
      A
    }

    record Item(
        long price,
        @Nullable String note,
        String name,
        int count,
        boolean sold,
        char grade,
        double weight,
        Optional<String> tag,
        OptionalInt size,
        List<String> list,
        Set<String> set,
        SortedSet<String> sorted,
        Map<String, String> map,
        byte @Nullable [] image) {}

    record Shop(Kind kind, Item first, List<Item> items) {}
  }

  interface Three {
    sealed interface Event permits Closed {}

    record Closed(String by) implements Event {}

    record Item(Event event) {}
  }

  private static One.Item item(int i, One.Item... parts) {
    var key = new One.Key(i, One.Kind.B);
    Map<One.Key, One.Item> inner = parts.length == 0 ? Map.of() : Map.of(key, parts[0]);
    return new One.Item("i" + i, inner, One.Kind.A, new One.Closed("me", One.Kind.B), i);
  }

  @Test
  void missingComponentsReadAsNothingAndRemovedOnesAreSkipped() {
    var shop =
        new One.Shop(
            List.of(item(1), item(2, item(3)), item(4)),
            item(5, item(6, item(7))),
            One.Kind.B,
            Set.of(new One.Key(1, One.Kind.A), new One.Key(2, One.Kind.B)));
    var read = assertInstanceOf(Two.Shop.class, reread(shop, Two.Shop.class));
    assertEquals(Two.Kind.B, read.kind);
    assertEquals(5, read.first.price);
    assertEquals(List.of("i1", "i2", "i4"), read.items.stream().map(Two.Item::name).toList());
    assertEquals(
        new Two.Item(
            1,
            null,
            "i1",
            0,
            false,
            '\0',
            0,
            Optional.empty(),
            OptionalInt.empty(),
            List.of(),
            Set.of(),
            read.items.getFirst().sorted,
            Map.of(),
            null),
        read.items.getFirst());
    assertTrue(read.items.getFirst().sorted.isEmpty());
  }

  interface Later {
    record Item(String name, Set<Key> keys, String note) {}

    record Key(int number, int shade) {}

    record Shop(Map<String, List<Item>> items, @Nullable Event event) {}

    sealed interface Event permits Sold {}

    record Sold(int count, String to) implements Event {}
  }

  interface Earlier {
    record Item(String name, Set<Key> keys) {}

    record Key(int number) {}

    record Shop(Map<String, List<Item>> items, @Nullable Event event) {}

    sealed interface Event permits Sold {}

    record Sold(int count) implements Event {}
  }

  interface Afterwards {
    @Removed({"note", "price"})
    record Item(String name, Set<Key> keys) {}

    @Removed("shade")
    record Key(int number) {}

    record Shop(Map<String, List<Item>> items) {}
  }

  private static Later.Shop later(Later.@Nullable Event event, Later.Item... items) {
    return new Later.Shop(Map.of("all", List.of(items)), event);
  }

  private @Nullable String unknown(Object value, Type type) {
    return codec.of(type).read(codec.of(value.getClass()).encode(value)).unknown();
  }

  @Test
  void readingTellsWhatItDoesNotKnowWhereverThatIs() {
    var item = new Later.Item("i", Set.of(), "note");
    var keyed = new Later.Item("i", Set.of(new Later.Key(1, 2)), "note");
    assertEquals("Item.note", unknown(later(null, item), Earlier.Shop.class));
    assertEquals("Key.shade", unknown(later(null, keyed), Earlier.Shop.class));
    assertEquals("Sold.to", unknown(later(new Later.Sold(1, "me")), Earlier.Shop.class));
    assertEquals(null, unknown(later(null), Earlier.Shop.class), "nothing is lost of no items");
    assertEquals(null, unknown(later(null, keyed), Later.Shop.class));
  }

  @Test
  void whatIsLackingIsNotUnknown() {
    var shop = new Earlier.Shop(Map.of("all", List.of(new Earlier.Item("i", Set.of()))), null);
    assertEquals(null, unknown(shop, Later.Shop.class));
  }

  @Test
  void whatWasRemovedOnPurposeIsNotUnknown() {
    var keyed = new Later.Item("i", Set.of(new Later.Key(1, 2)), "note");
    record Nested(Later.Item item) {}
    record Read(Afterwards.Item item) {}
    assertEquals(null, unknown(new Nested(keyed), Read.class));
    assertEquals("Shop.event", unknown(later(null, keyed), Afterwards.Shop.class));
  }

  @Test
  void aComponentThatIsRemovedAndThereIsRefused() {
    @Removed("name")
    record Both(int name) {}
    var e = assertThrows(NotAValueException.class, () -> codec.of(Both.class));
    assertTrue(String.valueOf(e.getMessage()).contains("name, and still has it"), e::toString);
  }

  @Test
  void namesAndLayoutsFirstSeenInASkippedComponentAreRemembered() {
    record Before(One.Item skipped, List<One.Kind> kinds, One.Key key) {}
    record After(One.Key key, List<One.Kind> kinds) {}
    var before =
        new Before(item(1, item(2)), List.of(One.Kind.A, One.Kind.B), new One.Key(9, One.Kind.A));
    assertEquals(new After(before.key, before.kinds), reread(before, After.class));
  }

  @Test
  void unknownConstantsAndLeavesAreRefusedWithTheirNames() {
    record Old(One.Kind kind) {}
    record New(Two.Kind kind) {}
    var e =
        assertThrows(MalformedValueException.class, () -> reread(new New(Two.Kind.C), Old.class));
    assertTrue(String.valueOf(e.getMessage()).contains("Kind has no constant C"), e::toString);
    record OldEvent(One.Event event) {}
    var opened = new OldEvent(new One.Opened("me"));
    var f = assertThrows(MalformedValueException.class, () -> reread(opened, Three.Item.class));
    assertTrue(String.valueOf(f.getMessage()).contains("Event permits no Opened"), f::toString);
    var closed = new OldEvent(new One.Closed("me", One.Kind.A));
    assertEquals(new Three.Item(new Three.Closed("me")), reread(closed, Three.Item.class));
  }

  @Test
  void aNumberMayBecomeWiderButNotTooNarrow() {
    record Narrow(int n) {}
    record Wide(long n) {}
    assertEquals(new Wide(-7), reread(new Narrow(-7), Wide.class));
    assertEquals(new Narrow(7), reread(new Wide(7), Narrow.class));
    assertThrows(
        MalformedValueException.class, () -> reread(new Wide(Long.MAX_VALUE), Narrow.class));
    record Text(String n) {}
    assertThrows(MalformedValueException.class, () -> reread(new Narrow(1), Text.class));
  }

  @Test
  void aComponentThatBecamePrimitiveIsRefusedIfItWasNull() {
    record Boxed(@Nullable Integer n) {}
    record Plain(int n) {}
    assertEquals(new Plain(3), reread(new Boxed(3), Plain.class));
    assertThrows(MalformedValueException.class, () -> reread(new Boxed(null), Plain.class));
  }
}
