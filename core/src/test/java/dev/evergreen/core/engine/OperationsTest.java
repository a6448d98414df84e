package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.Grains;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.State;
import java.io.IOException;
import java.io.Serial;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What interfaces, values and exceptions may look like, and that they arrive as they were. */
class OperationsTest {

  private final Node node =
      EmbeddedNode.builder()
          .grain(Shelf.class, ShelfGrain::new)
          .grain(Names.class, NamesGrain::new)
          .grain(Matrix.class, MatrixGrain::new)
          .grain(Thrower.class, ThrowerGrain::new)
          .settings(NodeSettings.DEFAULT.withCallTimeout(Duration.ofSeconds(10)))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  /** Every kind of method that an interface may have. */
  interface Shelf extends Grain {
    static String constant() {
      return "constant";
    }

    @ReadOnly
    int sum(int... numbers);

    @ReadOnly
    String say(String text);

    @ReadOnly
    String say(String text, int times);

    @ReadOnly
    String say(int number);

    @ReadOnly
    default String shout(String text) {
      return loud(say(text));
    }

    private String loud(String text) {
      return text + "!";
    }

    @ReadOnly
    @Nullable String nothing(@Nullable String given);

    @ReadOnly
    Optional<String> perhaps(Optional<String> given);

    @ReadOnly
    OptionalInt number(boolean present);

    @ReadOnly
    char next(char letter, byte one, short two, long three, float four, double five);

    void ping();

    @Override
    String toString();

    @Override
    boolean equals(@Nullable Object other);

    @Override
    int hashCode();
  }

  static final class ShelfGrain implements Shelf {
    ShelfGrain(GrainContext<String> context) {}

    @Override
    public int sum(int... numbers) {
      return Arrays.stream(numbers).sum();
    }

    @Override
    public String say(String text) {
      return text;
    }

    @Override
    public String say(String text, int times) {
      return text.repeat(times);
    }

    @Override
    public String say(int number) {
      return "number " + number;
    }

    @Override
    public @Nullable String nothing(@Nullable String given) {
      return given;
    }

    @Override
    public Optional<String> perhaps(Optional<String> given) {
      return given;
    }

    @Override
    public OptionalInt number(boolean present) {
      return present ? OptionalInt.of(3) : OptionalInt.empty();
    }

    @Override
    public char next(char letter, byte one, short two, long three, float four, double five) {
      return (char) (letter + one + two + three + (long) four + (long) five);
    }

    @Override
    public void ping() {}
  }

  @Test
  void anInterfaceMayHaveEveryKindOfMethod() {
    var shelf = node.grains().get(Shelf.class, "a");
    assertEquals(6, shelf.sum(1, 2, 3));
    assertEquals(0, shelf.sum());
    assertEquals("x", shelf.say("x"));
    assertEquals("xxx", shelf.say("x", 3));
    assertEquals("number 7", shelf.say(7));
    assertEquals("hello!", shelf.shout("hello"));
    assertNull(shelf.nothing(null));
    assertEquals(Optional.empty(), shelf.perhaps(Optional.empty()));
    assertEquals(Optional.of("y"), shelf.perhaps(Optional.of("y")));
    assertEquals(OptionalInt.of(3), shelf.number(true));
    assertEquals('p', shelf.next('a', (byte) 1, (short) 2, 3, 4, 5));
    shelf.ping();
    try (var computation =
        node.reactive(() -> shelf.shout("a") + shelf.sum(1, 2) + shelf.nothing(null))) {
      assertEquals("a!3null", computation.tracker().next(SOON));
    }
  }

  @Test
  void referencesAreKeysOfMaps() {
    var counts = new HashMap<Shelf, Integer>();
    counts.merge(node.grains().get(Shelf.class, "a"), 1, Integer::sum);
    counts.merge(node.grains().get(Shelf.class, "a"), 1, Integer::sum);
    counts.merge(node.grains().get(Shelf.class, "b"), 1, Integer::sum);
    assertEquals(2, counts.get(node.grains().get(Shelf.class, "a")));
    assertEquals(2, counts.size());
    assertNotEquals(node.grains().get(Shelf.class, "a"), "Shelf/a");
  }

  @Test
  void aReferenceIsNoValue() {
    var thrown =
        assertThrows(InvalidGrainException.class, () -> node.grains().get(TakesGrain.class, "a"));
    assertNames(thrown, "befriend");
  }

  interface TakesGrain extends Grain {
    void befriend(Shelf other);
  }

  // Generic interfaces

  /** What several types of grains have in common. */
  interface Holder<K, T> extends KeyedGrain<K> {
    @ReadOnly
    Optional<T> held();

    @ReadOnly
    List<T> twice();

    void hold(T value);
  }

  interface Texts<T> extends Holder<Long, T> {
    @Override
    @ReadOnly
    List<T> twice();
  }

  interface Names extends Texts<Name> {
    @Override
    void hold(Name name);
  }

  record Name(String text) {}

  static final class NamesGrain implements Names {
    private Optional<Name> held = Optional.empty();

    NamesGrain(GrainContext<Long> context) {}

    @Override
    public Optional<Name> held() {
      return held;
    }

    @Override
    public List<Name> twice() {
      return held.map(name -> List.of(name, name)).orElse(List.of());
    }

    @Override
    public void hold(Name name) {
      held = Optional.of(name);
    }
  }

  private static <T> List<T> holdTwice(Holder<Long, T> holder, T value) {
    holder.hold(value);
    return holder.twice();
  }

  @Test
  void anInterfaceMayExtendAGenericOne() {
    var names = node.grains().get(Names.class, 1L);
    names.hold(new Name("a"));
    assertEquals(Optional.of(new Name("a")), names.held());
    assertEquals(List.of(new Name("b"), new Name("b")), holdTwice(names, new Name("b")));
  }

  // Arrays

  record Rows(List<int[]> rows) {}

  interface Matrix extends Grain {
    void store(int[]... rows);

    @ReadOnly
    List<int[]> rows();

    @ReadOnly
    int[] first();

    /** Sorts what it was given, in place. */
    @ReadOnly
    int smallest(int[] numbers, String why);

    void touch();
  }

  static final class MatrixGrain implements Matrix {
    private final State<Rows> state;

    MatrixGrain(GrainContext<String> context) {
      state = context.state(Rows.class, new Rows(List.of()));
    }

    @Override
    public void store(int[]... rows) {
      state.set(new Rows(List.of(rows)));
    }

    @Override
    public List<int[]> rows() {
      return state.get().rows();
    }

    @Override
    public int[] first() {
      return state.get().rows().getFirst();
    }

    @Override
    public int smallest(int[] numbers, String why) {
      int first = numbers[0];
      Arrays.sort(numbers);
      return first * 1000 + numbers[0] + state.get().rows().size();
    }

    @Override
    public void touch() {}
  }

  @Test
  void arraysInsideCollectionsAreNotShared() {
    var matrix = node.grains().get(Matrix.class, "a");
    var given = new int[] {1, 2};
    matrix.store(given);
    given[0] = 99;
    assertEquals(1, matrix.rows().getFirst()[0]);
    matrix.rows().getFirst()[0] = 98;
    assertEquals(1, matrix.rows().getFirst()[0]);
    matrix.first()[0] = 97;
    assertEquals(1, matrix.first()[0]);
    try (var computation = node.reactive(() -> spoiled(matrix.rows()) + spoiled(matrix.rows()))) {
      assertEquals(2, computation.tracker().next(SOON));
    }
  }

  private static int spoiled(List<int[]> rows) {
    int first = rows.getFirst()[0];
    rows.getFirst()[0] = 50;
    return first;
  }

  @Test
  void eachTrackerHasArraysOfItsOwn() {
    var matrix = node.grains().get(Matrix.class, "a");
    matrix.store(new int[] {1, 2}, new int[] {3});
    try (var arrays = node.reactive(matrix::first);
        var lists = node.reactive(matrix::rows)) {
      arrays.tracker().next(SOON)[0] = 77;
      assertArrayEquals(new int[] {1, 2}, arrays.tracker().next(SOON));
      lists.tracker().next(SOON).getFirst()[0] = 77;
      assertArrayEquals(new int[] {1, 2}, lists.tracker().next(SOON).getFirst());
    }
  }

  @Test
  void anOperationThatSpoilsItsArgumentSpoilsNoLaterRun() {
    var matrix = node.grains().get(Matrix.class, "a");
    try (var computation = node.reactive(() -> matrix.smallest(new int[] {3, 1, 2}, "test"))) {
      var results = computation.tracker();
      assertEquals(3001, results.next(SOON));
      matrix.store(new int[] {1});
      assertEquals(3002, results.next(SOON));
    }
  }

  // Exceptions

  /** Makes its message of what it is given. */
  static final class NotFoundException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1;

    NotFoundException(String key) {
      super("there is no " + key + ", sorry");
    }
  }

  static final class SoldOutException extends Exception {
    @Serial private static final long serialVersionUID = 1;

    SoldOutException() {
      super("sold out");
    }
  }

  static final class CausedException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1;

    CausedException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** Cannot even be looked at. */
  static final class VileException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new StackOverflowError();
    }

    @Override
    public synchronized Throwable getCause() {
      throw new IllegalStateException("no cause");
    }

    @Override
    public StackTraceElement @Nullable [] getStackTrace() {
      return null;
    }
  }

  interface Thrower extends Grain {
    @ReadOnly
    String raise(String what) throws SoldOutException, IOException;

    @ReadOnly
    String raiseAt(String other, String what) throws SoldOutException, IOException;

    @ReadOnly
    String fine();
  }

  static final class ThrowerGrain implements Thrower {
    private final Grains grains;

    ThrowerGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    @Override
    public String raise(String what) throws SoldOutException, IOException {
      return thrown(what);
    }

    static String thrown(String what) throws SoldOutException, IOException {
      switch (what) {
        case "not found" -> throw new NotFoundException("spoon");
        case "sold out" -> throw new SoldOutException();
        case "unchecked" -> throw new UncheckedIOException("wrapped", new IOException("inside"));
        case "caused" -> throw new CausedException("outer", new IOException("inner"));
        case "checked" -> throw new IOException("checked");
        case "vile" -> throw new VileException();
        case "stack" -> deepen(0);
        case "memory" -> throw new OutOfMemoryError("pretended");
        case "assertion" -> throw new AssertionError("wrong");
        case "suppressed" -> {
          var thrown = new IllegalStateException("main");
          thrown.addSuppressed(thrown.initCause(new IOException("cause")).getCause());
          throw thrown;
        }
        case "circle" -> {
          var a = new IllegalStateException("a");
          a.initCause(new IllegalArgumentException("b", a));
          throw a;
        }
        default -> throw new IllegalArgumentException(what);
      }
      return "not reached";
    }

    private static int deepen(int depth) {
      return depth == Integer.MAX_VALUE ? 0 : deepen(depth + 1) + 1;
    }

    @Override
    public String raiseAt(String other, String what) throws SoldOutException, IOException {
      return grains.get(Thrower.class, other).raise(what);
    }

    @Override
    public String fine() {
      return "fine";
    }
  }

  @Test
  void anExceptionKeepsItsClassMessageAndCauseOverEveryCall() {
    var thrower = node.grains().get(Thrower.class, "a");
    var notFound = assertThrows(NotFoundException.class, () -> thrower.raiseAt("b", "not found"));
    assertEquals("there is no spoon, sorry", notFound.getMessage());
    assertEquals(
        "sold out",
        assertThrows(SoldOutException.class, () -> thrower.raiseAt("b", "sold out")).getMessage());
    var unchecked =
        assertThrows(UncheckedIOException.class, () -> thrower.raiseAt("b", "unchecked"));
    assertEquals("wrapped", unchecked.getMessage());
    assertNames(Objects.requireNonNull(unchecked.getCause()), "inside");
    var caused = assertThrows(CausedException.class, () -> thrower.raise("caused"));
    assertEquals("outer", caused.getMessage());
    assertInstanceOf(IOException.class, caused.getCause());
    assertThrows(IOException.class, () -> thrower.raise("checked"));
    assertThrows(IllegalStateException.class, () -> thrower.raise("suppressed"));
    assertThrows(IllegalStateException.class, () -> thrower.raise("circle"));
    assertEquals("fine", thrower.fine());
  }

  @Test
  void errorsOfUserCodeEndTheirOperationOnly() {
    var thrower = node.grains().get(Thrower.class, "a");
    for (var what : List.of("stack", "memory", "assertion")) {
      var thrown = assertThrows(GrainException.class, () -> thrower.raise(what), what);
      assertTrue(!(thrown instanceof GrainTimeoutException), () -> what + ": " + thrown);
      assertEquals("fine", thrower.fine());
    }
  }

  @Test
  void anExceptionThatCannotBeLookedAtEndsItsOperationOnly() {
    var thrower = node.grains().get(Thrower.class, "a");
    assertThrows(VileException.class, () -> thrower.raise("vile"));
    assertEquals("fine", thrower.fine());
  }

  @Test
  void errorsOfUserCodeAreResultsOfComputations() {
    var thrower = node.grains().get(Thrower.class, "a");
    for (var what : List.of("stack", "memory", "assertion", "vile")) {
      try (var computation = node.reactive(() -> thrower.raise(what));
          var own = node.reactive(() -> ThrowerGrain.thrown(what))) {
        assertInstanceOf(
            Result.Failure.class, computation.tracker().poll(SOON).orElseThrow(), what);
        assertInstanceOf(Result.Failure.class, own.tracker().poll(SOON).orElseThrow(), what);
      }
    }
    assertEquals("fine", thrower.fine());
  }
}
