package dev.evergreen.live;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.evergreen.core.Computation;
import dev.evergreen.core.Freshness;
import dev.evergreen.live.RefusedException.Reason;
import java.io.FileNotFoundException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;

final class LiveResultsTest {

  private static final int LENGTH = 1_000;
  private static final int MOST = 100 * LENGTH;
  private static final LiveLimits WIDE =
      new LiveLimits(100, 100, 100, 10_000, MOST, MOST, Duration.ofHours(1));

  /** A value that JSON cannot show. */
  public record Unwritable() {
    /** Fails. */
    public String getText() {
      throw new IllegalStateException("no text");
    }
  }

  /** A value whose own method fails by an Error. */
  public record Endless() {
    /** Fails. */
    public String getText() {
      throw new StackOverflowError();
    }
  }

  private final HandNode node = new HandNode();
  private final AtomicInteger shortened = new AtomicInteger();
  private LiveResults<Watched> results = new LiveResults<>(node, WIDE, new Plain());

  @AfterEach
  void close() {
    results.close();
  }

  private final class Plain implements Rendering {

    @Override
    public byte[] tail() {
      return "!\n".getBytes(UTF_8);
    }

    @Override
    public Exception told(String name, Exception failure) {
      return new Exception(name + ": " + failure);
    }

    @Override
    public byte[] bytes(Exception told) {
      return String.valueOf(told.getMessage()).getBytes(UTF_8);
    }

    @Override
    public byte[] shorter(Present result) {
      shortened.incrementAndGet();
      return new byte[] {1};
    }
  }

  /** What a result tells its edge, in order. */
  private class Watched extends LiveResult {
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
    private final Computation<?> computation;
    private final @Nullable Duration every;

    Watched(String key, List<?> payers, Computation<?> computation, @Nullable Duration every) {
      super(results, key, payers);
      this.computation = computation;
      this.every = every;
    }

    @Override
    protected String name() {
      return "it";
    }

    @Override
    protected Computation<?> computation() {
      return computation;
    }

    @Override
    protected int maxBytes() {
      return MOST;
    }

    @Override
    protected @Nullable Duration every() {
      return every;
    }

    @Override
    protected void changed(@Nullable Present last, Present present) {
      assertSame(present, present());
      told.add(text(present.withTail(1)) + " " + present.freshness());
    }

    @Override
    protected void ended(@Nullable RuntimeException why) {
      told.add("ended " + why);
    }

    String next() throws InterruptedException {
      return Objects.requireNonNull(told.poll(20, TimeUnit.SECONDS), "nothing was told");
    }

    Present result() throws InterruptedException {
      assertTrue(awaitFirst(Duration.ofSeconds(20)), "there is no result");
      return Objects.requireNonNull(present());
    }
  }

  private static String text(ByteBuffer bytes) {
    return UTF_8.decode(bytes).toString();
  }

  private Watched acquire(String key, String payer, Computation<?> computation) {
    return results.acquire(
        key, List.of(payer), () -> new Watched(key, List.of(payer), computation, null));
  }

  private void release(Watched result, String payer) {
    results.release(result, List.of(payer));
  }

  /** One of a value of its own and of this length; its result is there. */
  private Watched ofLength(String key, String payer, int length) throws InterruptedException {
    var made = acquire(key, payer, () -> key + "x".repeat(length - key.length() - 4));
    if (!made.isOver()) {
      made.result();
    }
    return made;
  }

  private void limits(LiveLimits limits) {
    results.close();
    results = new LiveResults<>(node, limits, new Plain());
  }

  private static Reason refused(org.junit.jupiter.api.function.Executable what) {
    return assertThrows(RefusedException.class, what).reason();
  }

  private static void until(String what, java.util.function.BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - deadline < 0, what);
      Thread.onSpinWait();
    }
  }

  @Test
  void aValueIsWrittenOnceHoweverManyLook() throws Exception {
    var value = new AtomicInteger(1);
    var one = acquire("a", "p", value::get);
    assertSame(one, acquire("a", "q", value::get));
    assertSame(one, results.find("a"));
    assertEquals("1! CURRENT", one.next());
    value.set(2);
    node.changed();
    assertEquals("2! CURRENT", one.next());
    assertEquals("2", text(one.result().json()));
    node.changed();
    assertEquals(2, results.written(), "the same value is no other result");
    assertEquals(1, node.running());
  }

  @Test
  void equalResultsAreHeldOnceAndCountedForEachWhoHadThemMade() throws Exception {
    var one = acquire("a", "p", () -> "x".repeat(LENGTH));
    var two = acquire("b", "p", () -> "x".repeat(LENGTH));
    assertEquals(one.result().tag(), two.result().tag());
    assertSame(one.result().json().array(), two.result().json().array());
    assertEquals(LENGTH + 4, results.heldBytes());
    results.end(one);
    assertEquals(LENGTH + 4, results.heldBytes());
    results.end(two);
    assertEquals(0, results.heldBytes());
  }

  @Test
  void failuresAreResultsToo() throws Exception {
    var fails = new AtomicInteger(1);
    Computation<?> computation =
        () -> {
          if (fails.get() > 0) {
            throw new FileNotFoundException("gone " + fails);
          }
          return new Unwritable();
        };
    var one = acquire("a", "p", computation);
    var first = one.result();
    assertEquals("it: java.io.FileNotFoundException: gone 1", text(first.json()));
    assertTrue(first.error() != null, "an error");
    fails.set(2);
    node.changed();
    until("another failure is another result", () -> !first.tag().equals(tag(one)));
    fails.set(0);
    node.changed();
    until("unwritable", () -> text(present(one).json()).contains("UnwritableException"));
    assertFalse(one.isOver());
  }

  @Test
  void whatCannotBeBegunIsNotWaitedForByTheNext() throws Exception {
    var payers = List.of("p");
    assertThrows(
        OutOfMemoryError.class,
        () ->
            results.acquire(
                "a",
                payers,
                () ->
                    new Watched("a", payers, () -> 1, null) {
                      @Override
                      protected String name() {
                        throw new OutOfMemoryError("of the test");
                      }
                    }));
    assertEquals("2! CURRENT", acquire("a", "p", () -> 2).next());
  }

  /** Seen: the last result stayed for ever, labelled as current. */
  @Test
  void anErrorOfAValueIsAFailureAndTheNextResultIsShown() throws Exception {
    var fails = new AtomicInteger();
    var one = acquire("a", "p", () -> fails.get() == 1 ? new Endless() : fails.get());
    assertEquals("0! CURRENT", one.next());
    fails.set(1);
    node.changed();
    assertTrue(one.next().contains("StackOverflowError"));
    fails.set(2);
    node.changed();
    assertEquals("2! CURRENT", one.next());
    assertFalse(one.isOver());
  }

  @Test
  void anErrorOfWhatIsAskedAtIntervalsIsAFailureAndItIsAskedAgain() throws Exception {
    var asked = new AtomicInteger();
    Computation<?> computation =
        () -> {
          if (asked.incrementAndGet() == 1) {
            throw new StackOverflowError();
          }
          return "fine";
        };
    var one =
        results.acquire(
            "a",
            List.of("p"),
            () -> new Watched("a", List.of("p"), computation, Duration.ofMillis(1)));
    assertTrue(one.next().contains("StackOverflowError"));
    assertEquals("\"fine\"! CURRENT", one.next());
  }

  /** Whatever the edge does with it: nobody waits for what cannot come. */
  @Test
  void whoWaitsIsWokenWhenAnEdgeFails() throws Exception {
    Computation<?> computation = () -> 1;
    var one =
        results.acquire(
            "a",
            List.of("p"),
            () ->
                new Watched("a", List.of("p"), computation, null) {
                  @Override
                  protected void changed(@Nullable Present last, Present present) {
                    throw new StackOverflowError();
                  }

                  @Override
                  protected void ended(@Nullable RuntimeException why) {
                    super.ended(why);
                    throw new StackOverflowError();
                  }
                });
    assertTrue(one.next().contains("StackOverflowError"));
    until("over", () -> one.isOver() && one.isReady());
  }

  private static Present present(LiveResult result) {
    return Objects.requireNonNull(result.present());
  }

  private static String tag(LiveResult result) {
    return present(result).tag();
  }

  @Test
  void anErrorAndAValueOfTheSameBytesAreTwoResults() {
    var value = Present.value("\"it\"".getBytes(UTF_8), new Plain(), Freshness.CURRENT);
    var error = Present.failure(new Exception("\"it\""), new Plain(), Freshness.CURRENT);
    assertEquals(text(value.json()), text(error.json()));
    assertNotEquals(value.tag(), error.tag());
  }

  @Test
  void whatTheComputationThrowsWhenItIsMadeIsTheResult() throws Exception {
    var made = new AtomicInteger();
    var one =
        results.acquire(
            "a",
            List.of(),
            () ->
                new Watched("a", List.of(), () -> 1, null) {
                  @Override
                  protected Computation<?> computation() {
                    made.incrementAndGet();
                    throw new IllegalStateException("none");
                  }
                });
    assertEquals("it: java.lang.IllegalStateException: none", text(one.result().json()));
  }

  @Test
  void doubtIsToldWithoutAnotherResultWhenLookedAt() throws Exception {
    var one = acquire("a", "p", () -> 1);
    assertEquals("1! CURRENT", one.next());
    var before = one.result();
    node.freshness(Freshness.IN_DOUBT);
    assertEquals(Freshness.IN_DOUBT, one.freshness());
    results.sweep();
    assertEquals("1! IN_DOUBT", one.next());
    assertSame(before.json().array(), one.result().json().array());
    results.sweep();
    node.freshness(Freshness.CURRENT);
    results.sweep();
    assertEquals("1! CURRENT", one.next());
  }

  /** Seen: an edge that was busy with one result held up the watchdog, and all heartbeats. */
  @Test
  void whoLooksAtFreshnessThatIsTheSameWaitsForNobody() throws Exception {
    var busy = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    var value = new AtomicInteger(1);
    var one =
        results.acquire(
            "a",
            List.of("p"),
            () ->
                new Watched("a", List.of("p"), value::get, null) {
                  @Override
                  protected void changed(@Nullable Present last, Present present) {
                    super.changed(last, present);
                    if (last != null) {
                      busy.countDown();
                      awaitQuietly(goOn);
                    }
                  }
                });
    one.next();
    value.set(2);
    node.changed();
    assertTrue(busy.await(20, TimeUnit.SECONDS));
    var sweeps = Thread.startVirtualThread(results::sweep);
    boolean swept = sweeps.join(Duration.ofSeconds(5));
    goOn.countDown();
    assertTrue(swept, "held up");
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void whoLeavesFindsItWarmForAWhile() throws Exception {
    var one = acquire("a", "p", () -> 1);
    one.result();
    release(one, "p");
    results.sweep();
    assertSame(one, acquire("a", "p", () -> 1));
    limits(new LiveLimits(9, 9, 9, 10_000, MOST, MOST, Duration.ofNanos(1)));
    var used = acquire("b", "p", () -> 1);
    var left = acquire("c", "p", () -> 1);
    used.result();
    left.result();
    release(left, "p");
    results.sweep();
    assertNull(results.find("c"));
    assertSame(used, results.find("b"));
    assertEquals("ended null", last(left));
    assertEquals(used.result().length(), results.heldBytes());
    assertNotSame(left, acquire("c", "p", () -> 1));
  }

  private static String last(Watched result) throws InterruptedException {
    var said = result.next();
    while (!said.startsWith("ended")) {
      said = result.next();
    }
    return said;
  }

  @Test
  void whatIsNotUsedMakesRoomTheLongestFirst() throws Exception {
    limits(new LiveLimits(3, 2, 100, 10_000, MOST, MOST, Duration.ofHours(1)));
    var a = acquire("a", "p", () -> 1);
    var b = acquire("b", "p", () -> 1);
    assertEquals(Reason.TOO_MANY_OF_PAYER, refused(() -> acquire("c", "p", () -> 1)));
    release(b, "p");
    release(a, "p");
    acquire("c", "p", () -> 1);
    assertNull(results.find("b"));
    acquire("d", "q", () -> 1);
    acquire("e", "q", () -> 1);
    assertNull(results.find("a"));
    assertEquals(3, results.size());
    assertEquals(Reason.TOO_MANY, refused(() -> acquire("f", "r", () -> 1)));
  }

  /** Seen: everybody waited for the end of what made room for one. */
  @Test
  void nobodyWaitsForTheEndOfWhatMakesRoom() throws Exception {
    limits(new LiveLimits(1, 100, 100, 10_000, MOST, MOST, Duration.ofHours(1)));
    var release = new CountDownLatch(1);
    node.beforeClosing(() -> awaitAtMost(release, 5));
    var first = acquire("first", "p", () -> 1);
    first.result();
    release(first, "p");
    acquire("second", "p", () -> 2).result();
    assertEquals(2, node.running(), "the first is still being closed");
    release.countDown();
    until("the first is closed", () -> node.running() == 1);
  }

  private static void awaitAtMost(CountDownLatch latch, int seconds) {
    try {
      var _ = latch.await(seconds, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void whatIsUsedAgainMakesNoRoom() {
    limits(new LiveLimits(2, 2, 100, 10_000, MOST, MOST, Duration.ofNanos(1)));
    var back = acquire("a", "p", () -> 1);
    release(back, "p");
    assertSame(back, acquire("a", "p", () -> 1));
    acquire("b", "p", () -> 1);
    assertEquals(Reason.TOO_MANY_OF_PAYER, refused(() -> acquire("c", "p", () -> 1)));
    assertEquals(Reason.TOO_MANY, refused(() -> acquire("c", "q", () -> 1)));
    results.sweep();
    assertSame(back, results.find("a"));
  }

  @Test
  void whatIsGoneCountsForNobody() {
    limits(new LiveLimits(2, 2, 100, 10_000, MOST, MOST, Duration.ofNanos(1)));
    for (int i = 0; i < 3; i++) {
      release(acquire("swept" + i, "p", () -> 1), "p");
      results.end(acquire("ended" + i, "p", () -> 1));
      results.sweep();
      assertEquals(0, results.size());
    }
  }

  @Test
  void onePayerHasOnlySoManyMadeInAWhile() {
    limits(new LiveLimits(1_000, 1_000, 1, 10_000, MOST, MOST, Duration.ofHours(1)));
    for (int i = 0; i < 60; i++) {
      acquire("a" + i, "p", () -> 1);
    }
    assertEquals(Reason.TOO_MANY_NEW, refused(() -> acquire("b", "p", () -> 1)));
    acquire("a1", "p", () -> 1);
    acquire("b", "q", () -> 1);
  }

  @Test
  void aPayersBytesAreBoundedAndWhatItDoesNotUseMakesRoom() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 10 * LENGTH, 3 * LENGTH, Duration.ofHours(1)));
    var a = ofLength("a", "p", LENGTH);
    ofLength("b", "p", LENGTH);
    release(a, "p");
    var c = ofLength("c", "p", LENGTH);
    assertSame(a, results.find("a"));
    var long1 = ofLength("d", "p", LENGTH);
    assertNull(results.find("a"));
    release(long1, "p");
    release(c, "p");
    var tooLong = acquire("e", "p", () -> "x".repeat(3 * LENGTH));
    assertTrue(last(tooLong).endsWith("TOO_LONG_OF_PAYER"));
    assertTrue(tooLong.isOver());
    assertTrue(tooLong.awaitFirst(Duration.ofSeconds(20)));
    assertNull(tooLong.present());
    assertEquals(3 * LENGTH, results.heldBytes(), "what makes no room stays");
    ofLength("f", "p", 2 * LENGTH);
    assertEquals(3 * LENGTH, results.heldBytes(), "what is used stays");
    assertEquals("ended null", last(c));
  }

  /** Seen: it was refused to all who used it, though only one of them had no room. */
  @Test
  void anotherUserPaysWhenTheShareOfWhoDoesIsFull() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 100 * LENGTH, 3 * LENGTH, Duration.ofHours(1)));
    var length = new AtomicInteger(LENGTH);
    var shared = acquire("a", "p", () -> "x".repeat(length.get() - 4));
    shared.next();
    acquire("a", "q", () -> 1);
    ofLength("b", "p", LENGTH);
    ofLength("c", "p", LENGTH);
    length.set(2 * LENGTH);
    node.changed();
    assertTrue(shared.next().startsWith("\"x"), "the next result");
    ofLength("d", "p", LENGTH);
    assertTrue(last(acquire("e", "q", () -> "x".repeat(LENGTH))).endsWith("TOO_LONG_OF_PAYER"));
    assertFalse(shared.isOver());
    length.set(4 * LENGTH);
    node.changed();
    assertTrue(last(shared).endsWith("TOO_LONG_OF_PAYER"), "nobody has so much room");
  }

  /** Seen: what nobody used was ended for a result that did not fit nevertheless. */
  @Test
  void nothingMakesRoomInVain() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 100 * LENGTH, 3 * LENGTH, Duration.ofHours(1)));
    var length = new AtomicInteger(LENGTH);
    var shared = acquire("a", "p", () -> "x".repeat(length.get() - 4));
    shared.next();
    acquire("a", "q", () -> 1);
    acquire("a", "r", () -> 1);
    for (var payer : List.of("p", "q")) {
      ofLength("used by " + payer, payer, LENGTH);
      release(ofLength("left by " + payer, payer, LENGTH), payer);
    }
    length.set(3 * LENGTH);
    node.changed();
    assertTrue(shared.next().startsWith("\"x"), "the next result");
    assertNotNull(results.find("left by p"));
    assertNotNull(results.find("left by q"));
    length.set(4 * LENGTH);
    node.changed();
    assertTrue(last(shared).endsWith("TOO_LONG_OF_PAYER"));
    assertNotNull(results.find("left by q"));
  }

  /**
   * Seen: there was no room for it in all, and what nobody used was ended before that was known.
   */
  @Test
  void nothingMakesRoomInVainForWhatDoesNotFitInAll() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 4 * LENGTH, 99 * LENGTH, Duration.ofHours(1)));
    ofLength("used", "p", LENGTH);
    release(ofLength("left", "p", LENGTH), "p");
    var equal = acquire("equal", "p", () -> "used" + "x".repeat(LENGTH - 8));
    equal.next();
    release(equal, "p");
    var length = new AtomicInteger(LENGTH);
    var grows = acquire("grows", "q", () -> "y".repeat(length.get() - 4));
    assertTrue(grows.next().startsWith("\"y"), "there is room");
    assertTrue(last(acquire("long", "q", () -> "x".repeat(2 * LENGTH))).endsWith("TOO_LONG"));
    assertNotNull(results.find("left"));
    assertNotNull(results.find("equal"));
    release(grows, "q");
    length.set(4 * LENGTH);
    node.changed();
    assertEquals("ended null", last(grows));
    assertNotNull(results.find("left"), "that one would have gone in vain");
    ofLength("fits", "q", 3 * LENGTH);
    assertNull(results.find("left"));
  }

  @Test
  void nothingMakesRoomForWhatAnotherPayerMayNotHave() {
    limits(new LiveLimits(99, 1, 99, 10_000, MOST, MOST, Duration.ofHours(1)));
    acquire("used", "q", () -> 1);
    release(acquire("left", "p", () -> 1), "p");
    var both = List.of("p", "q");
    assertEquals(
        Reason.TOO_MANY_OF_PAYER,
        refused(() -> results.acquire("a", both, () -> new Watched("a", both, () -> 1, null))));
    assertNotNull(results.find("left"));
  }

  /** Seen: who had left paid for what others used, and could have nothing new. */
  @Test
  void nobodyPaysForWhatOnlyOthersUse() {
    limits(new LiveLimits(99, 2, 99, 10_000, MOST, MOST, Duration.ofHours(1)));
    var left = acquire("a", "p", () -> 1);
    acquire("a", "q", () -> 1);
    acquire("a", "p", () -> 1);
    release(left, "p");
    acquire("b", "p", () -> 1);
    assertEquals(Reason.TOO_MANY_OF_PAYER, refused(() -> acquire("c", "p", () -> 1)));
    release(left, "p");
    acquire("c", "p", () -> 1);
    var warm = acquire("d", "q", () -> 1);
    assertEquals(Reason.TOO_MANY_OF_PAYER, refused(() -> acquire("e", "q", () -> 1)));
    release(warm, "q");
    assertSame(warm, acquire("d", "r", () -> 1));
    acquire("e", "q", () -> 1);
    assertSame(warm, results.find("d"));
  }

  @Test
  void whoHasNoRoomDoesNotPayForWhoHasLeft() {
    limits(new LiveLimits(99, 1, 99, 10_000, MOST, MOST, Duration.ofHours(1)));
    var left = acquire("a", "p", () -> 1);
    acquire("b", "q", () -> 1);
    acquire("a", "q", () -> 1);
    release(left, "p");
    assertEquals(Reason.TOO_MANY_OF_PAYER, refused(() -> acquire("c", "p", () -> 1)));
    acquire("a", "r", () -> 1);
    acquire("c", "p", () -> 1);
    assertEquals(Reason.TOO_MANY_OF_PAYER, refused(() -> acquire("d", "r", () -> 1)));
  }

  /** However results were passed on: all that was counted is given back. */
  @Test
  void whatIsPassedOnIsCountedOnce() throws Exception {
    limits(new LiveLimits(99, 3, 1_000, 10_000, MOST, 3 * LENGTH, Duration.ofNanos(1)));
    var random = new Random(7);
    var length = new AtomicInteger(LENGTH);
    record Use(Watched result, String payer) {}
    var uses = new ArrayList<Use>();
    for (int i = 0; i < 500; i++) {
      var payer = "p" + random.nextInt(4);
      var key = "k" + random.nextInt(5);
      if (random.nextBoolean()) {
        try {
          var result = acquire(key, payer, () -> key + "x".repeat(length.get() - 6));
          uses.add(new Use(result, payer));
          result.awaitFirst(Duration.ofSeconds(20));
        } catch (RefusedException e) {
          // Its share is full.
        }
      } else if (!uses.isEmpty()) {
        var use = uses.remove(random.nextInt(uses.size()));
        release(use.result, use.payer);
      }
      if (i % 10 == 0) {
        length.set(LENGTH / 2 + random.nextInt(LENGTH));
        node.changed();
      }
    }
    uses.forEach(use -> release(use.result, use.payer));
    results.sweep();
    assertEquals(0, results.size());
    assertEquals(0, results.heldBytes());
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 3; j++) {
        assertFalse(ofLength("last" + i + j, "p" + i, LENGTH).isOver());
      }
    }
  }

  /** It would be counted for ever: nobody can give it back. */
  @Test
  void aResultThatMakesRoomForItselfIsNotCounted() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 10 * LENGTH, 3 * LENGTH, Duration.ofHours(1)));
    var length = new AtomicInteger(LENGTH);
    var grows = acquire("a", "p", () -> "x".repeat(length.get() - 4));
    grows.result();
    var other = ofLength("b", "p", LENGTH);
    ofLength("c", "p", LENGTH);
    release(grows, "p");
    release(other, "p");
    length.set(2 * LENGTH);
    node.changed();
    assertEquals("ended null", last(grows));
    results.end(other);
    assertEquals(LENGTH, results.heldBytes());
  }

  @Test
  void allBytesAreBounded() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 2 * LENGTH, 2 * LENGTH, Duration.ofHours(1)));
    ofLength("a", "p", LENGTH);
    var b = ofLength("b", "q", LENGTH);
    assertTrue(last(acquire("c", "r", () -> "1")).endsWith("TOO_LONG"));
    release(b, "q");
    assertEquals("1", text(acquire("c", "r", () -> "1").result().json()).replace("\"", ""));
    assertNull(results.find("b"));
  }

  /** Parameters are what a client likes: short results must not bring along any number of them. */
  @Test
  void aLongKeyCountsWithItsResult() throws Exception {
    limits(new LiveLimits(99, 99, 99, 10_000, 100 * LENGTH, 10 * LENGTH, Duration.ofHours(1)));
    var key = "k".repeat(3 * LENGTH);
    var one = acquire(key, "p", () -> 1);
    int length = one.result().length();
    assertEquals(length + 2 * key.length() - 512, results.heldBytes());
    assertTrue(last(acquire(key + "2", "p", () -> 1)).endsWith("TOO_LONG_OF_PAYER"));
    results.end(one);
    assertEquals(0, results.heldBytes());
    acquire(key + "2", "p", () -> 1).result();
    assertTrue(results.heldBytes() > 5 * LENGTH, results.heldBytes() + " bytes");
  }

  @Test
  void whatIsHeldBesideAResultCountsUntilTheNext() throws Exception {
    var value = new AtomicInteger(1);
    var one = acquire("a", "p", value::get);
    one.next();
    int alone = one.result().length();
    assertTrue(results.holdBeside(one, 10));
    assertFalse(results.holdBeside(one, MOST));
    assertEquals(alone + 10, results.heldBytes());
    value.set(2);
    node.changed();
    one.next();
    assertEquals(alone, results.heldBytes());
    results.end(one);
    assertFalse(results.holdBeside(one, 10));
    assertEquals(0, results.heldBytes());
  }

  @Test
  void theShorterFormIsMadeOnceAndCounted() throws Exception {
    var one = ofLength("a", "p", LENGTH);
    var shorter = results.shorter(one.result());
    assertSame(shorter, results.shorter(one.result()));
    assertEquals(1, shortened.get());
    assertEquals(LENGTH + LENGTH / 2, results.heldBytes());
    var gone = one.result();
    results.end(one);
    assertEquals(0, results.heldBytes());
    assertNull(results.shorter(gone));
  }

  @Test
  void whatIsAskedAtIntervalsIsAskedWhileItIsUsed() throws Exception {
    var asked = new AtomicInteger();
    var one =
        results.acquire(
            "a",
            List.of(),
            () -> new Watched("a", List.of(), asked::incrementAndGet, Duration.ofMillis(1)));
    for (int i = 1; i < 5; i++) {
      assertEquals(i + "! CURRENT", one.next());
    }
    results.end(one);
    assertEquals("ended null", last(one));
    assertEquals(0, node.running());
  }

  @Test
  void theEndOfTheNodeIsToldAndAnotherIsMadeForWhoeverAsks() throws Exception {
    var one = acquire("a", "p", () -> 1);
    one.result();
    node.close();
    assertTrue(last(one).contains("NodeStoppedException"));
    assertTrue(one.isOver());
    assertNotSame(one, acquire("a", "p", () -> 1));
  }

  @Test
  void whenAllIsClosedNothingIsMadeAndNobodyWaits() throws Exception {
    var one = acquire("a", "p", () -> 1);
    one.result();
    results.close();
    assertEquals("ended null", last(one));
    assertEquals(Reason.CLOSED, refused(() -> acquire("b", "p", () -> 1)));
    assertEquals(0, results.size());
    assertEquals(0, results.heldBytes());
    until("closed", () -> node.running() == 0);
  }

  // How much is done for one payer

  private static final int MORE_THAN_IS_SAVED = 1_000;

  private static LiveLimits workPerSecond(int most) {
    return new LiveLimits(99, 99, 99, most, 10 * MOST, 10 * MOST, Duration.ofHours(1));
  }

  /** Has more results made for this payer than may be. */
  private void useUp(String payer) {
    var other = acquire("of " + payer, payer, () -> 0);
    assertTrue(results.payFor(other, MORE_THAN_IS_SAVED, 0) > 0);
  }

  /** Has results made until they are too many to be pushed; answers what was told last. */
  private String changeTooOften(Watched watched) throws Exception {
    var told = watched.next();
    for (int i = 0; told.endsWith("CURRENT"); i++) {
      assertTrue(i < 1_000, "it is pushed for ever");
      node.changed();
      told = watched.next();
    }
    return told;
  }

  @Test
  @Execution(CONCURRENT)
  void whatChangesTooOftenIsAskedForNowAndThenUntilItChangesNoMore() throws Exception {
    limits(workPerSecond(2));
    var value = new AtomicInteger();
    var end = new AtomicInteger();
    var one = acquire("a", "p", () -> end.get() == 0 ? value.incrementAndGet() : end.get());
    var doubtful = changeTooOften(one);
    assertTrue(doubtful.endsWith("IN_DOUBT"), doubtful);
    assertFalse(one.next().equals(doubtful), "nothing changes, and nobody asks");
    end.set(-1);
    node.changed();
    var last = one.next();
    while (!last.equals("-1! CURRENT")) {
      last = one.next();
    }
    assertEquals(1, node.running());
    end.set(-2);
    node.changed();
    assertTrue(one.next().startsWith("-2!"), "it is followed again");
  }

  @Test
  @Execution(CONCURRENT)
  void whatIsNotFollowedIsNeverCalledCurrent() throws Exception {
    limits(workPerSecond(1));
    var value = new AtomicInteger();
    var one = acquire("a", "p", value::incrementAndGet);
    var doubtful = changeTooOften(one);
    var number = doubtful.substring(0, doubtful.indexOf('!') + 1);
    results.sweep();
    assertFalse(one.next().startsWith(number), "the same is told once more");
  }

  /** A grain that cannot be reached for a moment is no result; only the runtime knows. */
  @Test
  @Execution(CONCURRENT)
  void aFailureToAskIsLeftToTheRuntime() throws Exception {
    limits(workPerSecond(1));
    var value = new AtomicInteger();
    var fails = new AtomicInteger();
    var one =
        acquire(
            "a",
            "p",
            () -> {
              if (fails.getAndSet(0) > 0) {
                throw new FileNotFoundException("away");
              }
              return value.incrementAndGet();
            });
    changeTooOften(one);
    int before = value.get();
    fails.set(1);
    until("asked", () -> fails.get() == 0);
    String told;
    do {
      told = one.next();
      assertTrue(told.matches("[0-9]+! .*"), told);
    } while (Integer.parseInt(told.substring(0, told.indexOf('!'))) <= before);
  }

  @Test
  void somebodyElseWhoUsesItPaysForWhoCannot() throws Exception {
    limits(workPerSecond(1));
    useUp("p");
    var both = new CountDownLatch(1);
    var value = new AtomicInteger();
    Computation<?> computation =
        () -> {
          both.await();
          return value.incrementAndGet();
        };
    var one = acquire("a", "p", computation);
    assertSame(one, acquire("a", "q", computation));
    both.countDown();
    assertEquals("1! CURRENT", one.next());
    useUp("q");
    node.changed();
    assertEquals("2! IN_DOUBT", one.next());
  }

  @Test
  void longResultsCountAsSeveral() throws Exception {
    limits(workPerSecond(1));
    var length = 6 * LiveResults.BYTES_OF_WORK;
    var value = new AtomicInteger();
    var one = acquire("a", "p", () -> "x".repeat(length) + value.incrementAndGet());
    for (var freshness : List.of("CURRENT", "CURRENT", "IN_DOUBT")) {
      assertTrue(one.next().endsWith(freshness), freshness);
      node.changed();
    }
    assertEquals("1! CURRENT", acquire("c", "q", () -> 1).next());
  }

  @Test
  void whoComesAgainHasNoNewAllowance() throws Exception {
    limits(workPerSecond(1));
    useUp("p");
    results.sweep();
    assertEquals("1! IN_DOUBT", acquire("a", "p", () -> 1).next());
  }

  @Test
  void whatIsAskedAtIntervalsIsPaidForAsWell() throws Exception {
    limits(workPerSecond(1));
    useUp("p");
    Computation<?> computation = () -> 1;
    var one =
        results.acquire(
            "a",
            List.of("p"),
            () -> new Watched("a", List.of("p"), computation, Duration.ofMillis(1)));
    assertEquals("1! IN_DOUBT", one.next());
  }

  /** Seen: what was beyond ten seconds' worth was let off, so that most of many was free. */
  @Test
  void whoeverComesLaterWaitsForAllThatCameBefore() {
    limits(workPerSecond(1));
    assertEquals(0, results.pay(List.of("p"), 10));
    long last = 0;
    for (int i = 1; i <= 9; i++) {
      long due = results.pay(List.of("p"), 10);
      assertTrue(due > last, () -> "as many wait as may, at " + due);
      last = due;
    }
    assertEquals(0, results.pay(List.of("q"), 1));
  }

  @Test
  void whatIsAskedForDoesNotWaitForResultsNorTheyForThat() throws Exception {
    limits(workPerSecond(1));
    useUp("p");
    assertEquals(0, results.pay(List.of("p"), 1));
    assertTrue(results.pay(List.of("q"), MORE_THAN_IS_SAVED) > 0);
    assertEquals("1! CURRENT", acquire("a", "q", () -> 1).next());
  }

  /** Seen: it counted as one, however many calls it made anew. */
  @Test
  void howLongIsAskedIsPaidForByEachWhoHasItDone() {
    limits(workPerSecond(1));
    var one = acquire("a", "p", () -> 1);
    long took = TimeUnit.MINUTES.toNanos(1); // Of which five seconds count; half is saved up.
    long pause = results.payFor(one, 1, took);
    assertTrue(pause > 0);
    long more = results.payFor(acquire("b", "p", () -> 1), 1, took) - pause;
    assertTrue(more < pause / 2, "it counts twice, as two were asked for at the same time");
    assertEquals(0, results.payFor(acquire("c", "q", () -> 1), 1, 0));
  }

  /**
   * Seen: what an address owed for slow views, it paid by pauses of all others, also of quick ones.
   */
  @Test
  void whatTakesNoTimeHasNoPauseForWhatOthersTook() {
    limits(workPerSecond(1));
    var slow = acquire("slow", "p", () -> 1);
    long pause = 0;
    while (pause == 0) {
      pause = results.payFor(slow, 0, TimeUnit.SECONDS.toNanos(5));
    }
    assertEquals(0, results.payFor(acquire("pushed", "p", () -> 1), 0, 0));
    long quick =
        results.payFor(acquire("quick", "p", () -> 1), 0, TimeUnit.MICROSECONDS.toNanos(1));
    // Three of a microsecond each, in a quarter of the time.
    assertTrue(quick > 0 && quick <= TimeUnit.MICROSECONDS.toNanos(12), quick + " ns");
  }

  @Test
  void aLongFirstResultCountsAsSeveralNewOnes() throws Exception {
    limits(new LiveLimits(99, 99, 1, 99, 99 * MOST, 99 * MOST, Duration.ofHours(1)));
    var length = 5 * LiveResults.BYTES_OF_WORK;
    var made = new AtomicInteger(); // Sixty are saved up.
    var refused =
        refused(
            () -> {
              for (int i = 0; i < 40; i++) {
                acquire("a" + i, "p", () -> made.incrementAndGet() + "x".repeat(length)).next();
              }
            });
    assertEquals(Reason.TOO_MANY_NEW, refused);
    assertTrue(made.get() >= 10, made + " were made");
    acquire("b", "q", () -> 1);
  }

  @Test
  void whoHasLeftPaysForNothingThatOthersUse() throws Exception {
    limits(new LiveLimits(99, 1, 99, 1, MOST, MOST, Duration.ofHours(1)));
    var own = acquire("own", "q", () -> 1);
    var left = acquire("left", "p", () -> 1);
    left.result();
    acquire("left", "q", () -> 1);
    release(left, "p"); // There is no room for it at the other.
    assertTrue(results.payFor(left, MORE_THAN_IS_SAVED, 0) > 0);
    assertTrue(results.payFor(own, 0, 0) > 0, "it was not the one that uses it who paid");
  }

  @Test
  void whoHasEnoughLeftPaysBeforeWhoHasTooLittle() {
    limits(workPerSecond(1));
    var both = acquire("a", "p", () -> 1);
    assertEquals(0, results.payFor(both, 9, 0));
    acquire("a", "q", () -> 1);
    assertEquals(0, results.payFor(both, 5, 0));
  }
}
