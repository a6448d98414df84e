package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is refused, and how that is said. */
final class MessageTest {
  private final Codec codec = Codec.create(Limits.DEFAULT);

  record Foo(String name, @Nullable File bar) {}

  record Deep(Map<String, Optional<Foo>> foos) {}

  record Grow<T>(@Nullable Grow<List<T>> next) {}

  interface Open {}

  sealed interface Half permits Mutable, Foo2 {}

  static final class Mutable implements Half {}

  record Foo2() implements Half {}

  sealed interface Lost permits Box {}

  record Box<T>(T content) implements Lost {}

  sealed interface Named permits A.Same, B.Same {}

  interface A {
    record Same() implements Named {}
  }

  interface B {
    record Same() implements Named {}
  }

  record Unordered(int n) {}

  record Moody(int n) implements Comparable<Moody> {
    @Override
    public int compareTo(Moody other) {
      throw new IllegalStateException("no order today");
    }
  }

  @Test
  void whatTheMethodsOfAKeyThrowIsToldWithTheTypeOfTheCollection() {
    ValueType type = codec.of(new Generic(SortedSet.class, Moody.class));
    var set = new TreeSet<Moody>(Comparator.comparing(Moody::n));
    set.addAll(List.of(new Moody(1), new Moody(2)));
    for (Executable use : List.<Executable>of(() -> type.freeze(set), () -> type.encode(set))) {
      var e = assertThrows(NotAValueException.class, use);
      assertTrue(String.valueOf(e.getMessage()).contains("SortedSet<Moody>"), e::toString);
      assertTrue(String.valueOf(e.getMessage()).contains("no order today"), e::toString);
    }
  }

  @Test
  void theMessageOfATypeWithoutEndEnds() {
    var e =
        assertThrows(NotAValueException.class, () -> codec.of(new Generic(Grow.class, Foo.class)));
    assertTrue(String.valueOf(e.getMessage()).length() < 2_500, e::toString);
  }

  /** The types of the cases below, as results of methods of their names. */
  @SuppressWarnings({"rawtypes", "NonApiType", "JavaUtilDate"}) // bad types are the cases
  interface Types {
    List<Foo> listOfFoo();

    List<Deep> deep();

    ArrayList<String> arrayList();

    List raw();

    Object object();

    Map<String, Object> mapOfObject();

    Grow<String> grow();

    Open open();

    Half half();

    Lost lost();

    Named named();

    SortedSet<Unordered> unordered();

    Date[] dates();

    <T> List<T> variable();

    StringBuilder builder();
  }

  private static Type typeOf(String method) {
    Method found =
        Arrays.stream(Types.class.getMethods())
            .filter(m -> m.getName().equals(method))
            .findFirst()
            .orElseThrow();
    return found.getGenericReturnType();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          listOfFoo | List<Foo> -> Foo.bar: java.io.File is no value; use String instead
          deep | List<Deep> -> Deep.foos -> Foo.bar: java.io.File is no value; use String instead
          arrayList | ArrayList<String>: java.util.ArrayList is no value; declare List instead
          raw | List: java.util.List lacks its type arguments; say what it contains
          object | Object: java.lang.Object is no value; name the type, or make it a sealed interface of the records it may be
          mapOfObject | Map<String, Object>: java.lang.Object is no value; name the type, or make it a sealed interface of the records it may be
          open | Open: dev.evergreen.codec.MessageTest$Open is no value; make it sealed and its implementations records or enums
          half | Half: dev.evergreen.codec.MessageTest$Half permits dev.evergreen.codec.MessageTest$Mutable, which is neither a record nor an enum nor sealed
          lost | Lost: the type variable T of class dev.evergreen.codec.MessageTest$Box stands for no certain type; use a type without variables
          named | Named: dev.evergreen.codec.MessageTest$B$Same and dev.evergreen.codec.MessageTest$A$Same have the same simple name; leaves of a sealed type are told apart by it
          unordered | SortedSet<Unordered>: java.util.SortedSet of Unordered has no natural order; let Unordered implement Comparable, or use Set or Map
          dates | Date[]: java.util.Date is no value; use java.time.Instant instead
          builder | StringBuilder: java.lang.StringBuilder is no value; use String instead
          """)
  void aTypeThatIsNoValueIsNamedWithThePathToIt(String method, String message) {
    Type type = typeOf(method);
    var e = assertThrows(NotAValueException.class, () -> codec.of(type));
    assertEquals(message, e.getMessage());
    assertThrows(NotAValueException.class, () -> codec.of(type), "the second time too");
  }

  @Test
  void aTypeVariableAndATypeThatGrowsWithoutEndAreRefused() {
    for (String method : List.of("variable", "grow")) {
      assertThrows(NotAValueException.class, () -> codec.of(typeOf(method)), method);
    }
  }

  @Test
  void aFailureLeavesNoHalfMadeTypesBehind() {
    assertThrows(NotAValueException.class, () -> codec.of(Deep.class));
    assertThrows(NotAValueException.class, () -> codec.of(Foo.class));
  }

  record Positive(int n) {
    Positive {
      if (n <= 0) {
        throw new IllegalStateException("not positive");
      }
    }
  }

  record Any(int n) {}

  record Asserting(int n) {
    Asserting {
      if (n < 0) {
        throw new AssertionError("less than nothing");
      }
    }
  }

  @Test
  void anErrorOfAConstructorEndsTheReadingAndNoMore() {
    byte[] bytes = codec.of(Any.class).encode(new Any(-1));
    var e =
        assertThrows(MalformedValueException.class, () -> codec.of(Asserting.class).decode(bytes));
    assertTrue(String.valueOf(e.getMessage()).contains("less than nothing"), e::toString);
  }

  @Test
  void aConstructorThatRefusesIsTheCause() {
    byte[] bytes = codec.of(Any.class).encode(new Any(-1));
    var e =
        assertThrows(MalformedValueException.class, () -> codec.of(Positive.class).decode(bytes));
    assertInstanceOf(IllegalStateException.class, e.getCause());
  }

  record Broken(String s) {
    @Override
    public String s() {
      throw new IllegalStateException("no");
    }
  }

  @Test
  void anAccessorThatThrowsIsTheCause() {
    var e =
        assertThrows(
            NotAValueException.class, () -> codec.of(Broken.class).encode(new Broken("x")));
    assertInstanceOf(IllegalStateException.class, e.getCause());
  }

  @Test
  void aValueOfTheWrongClassIsNamed() {
    var e = assertThrows(NotAValueException.class, () -> codec.of(Any.class).freeze("text"));
    assertEquals("expected Any, but was given a java.lang.String", e.getMessage());
  }

  @Test
  void theNameIsTheTypeAsInSource() {
    record Holder(Map<String, List<int[]>> map) {}
    Type type = Holder.class.getRecordComponents()[0].getGenericType();
    assertEquals("Map<String, List<int[]>>", codec.of(type).name());
    assertEquals("void", codec.of(void.class).name());
  }
}
