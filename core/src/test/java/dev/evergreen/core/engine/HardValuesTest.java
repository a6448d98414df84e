package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.SameBy;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeView;
import dev.evergreen.core.spi.NodeView.SummaryView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Values whose own methods fail, or that have no bytes: that is the failure of their call or of
 * their computation, and of no other.
 */
@Timeout(60)
final class HardValuesTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final WiredNodes wired = new WiredNodes(B);
  private final NodeRuntime a = start(A);
  private final NodeRuntime b = start(B);

  private NodeRuntime start(NodeId self) {
    return wired.start(self, WiredNodes.quick(), GrainTypes.create().add(Bag.class, BagGrain::new));
  }

  @AfterEach
  void stop() {
    wired.close();
    assertEquals(List.of(), wired.escaped());
  }

  /** Two of them are different, but have the same components. */
  record Ref(String id) {
    @Override
    public boolean equals(@Nullable Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }
  }

  /** Does not let itself be made or hashed by a thread that is refused, nor be shown by any. */
  record Fussy(int number) {
    static final ThreadLocal<Boolean> REFUSED = ThreadLocal.withInitial(() -> false);

    Fussy {
      refuseIf(REFUSED.get() && number == 1);
    }

    private static void refuseIf(boolean now) {
      if (now) {
        throw new AssertionError("fussy");
      }
    }

    @Override
    public boolean equals(@Nullable Object other) {
      refuseIf(REFUSED.get() && number == 2);
      return other instanceof Fussy(var n) && n == number;
    }

    @Override
    public int hashCode() {
      refuseIf(REFUSED.get() && number == 2);
      return number;
    }

    @Override
    public String toString() {
      throw new AssertionError("not to be shown");
    }
  }

  /** Takes its time to be read, when it is told to. */
  record Slow(int number) {
    static volatile CountDownLatch go = new CountDownLatch(0);
    static final Semaphore READS = new Semaphore(0);

    @Override
    public int number() {
      READS.release();
      try {
        go.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return number;
    }
  }

  /** Says without a look that nothing is the same. */
  static final class Never implements BiPredicate<Object, Object> {
    @Override
    public boolean test(Object x, Object y) {
      return false;
    }
  }

  /** An exception that does not even say what it is. */
  static final class Mute extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("mute");
    }

    @Override
    public String toString() {
      throw new IllegalStateException("mute");
    }
  }

  /** Compares nothing. */
  static final class Unable implements BiPredicate<Object, Object> {
    @Override
    public boolean test(Object x, Object y) {
      throw new Mute();
    }

    @Override
    public String toString() {
      throw new Mute();
    }
  }

  interface Bag extends Grain {
    @ReadOnly
    Set<Ref> refs();

    @ReadOnly
    Set<Fussy> fussy();

    @ReadOnly
    int size();

    @ReadOnly
    @SameBy(Never.class)
    Slow slow();

    @ReadOnly
    @SameBy(Unable.class)
    List<Integer> compared();

    @ReadOnly
    int countOf(Fussy given);

    @ReadOnly
    int countOfRefs(Set<Ref> given);

    void put(int size);
  }

  static final class BagGrain implements Bag {
    static volatile CountDownLatch open = new CountDownLatch(0);
    private int size;

    BagGrain(GrainContext<String> context) {}

    @Override
    public Set<Ref> refs() {
      return same(size);
    }

    static Set<Ref> same(int size) {
      var refs = new HashSet<Ref>();
      for (int i = 0; i < size; i++) {
        refs.add(new Ref("same"));
      }
      return refs;
    }

    @Override
    public Set<Fussy> fussy() {
      return Set.of(new Fussy(size));
    }

    @Override
    public int size() {
      return size;
    }

    @Override
    public Slow slow() {
      return new Slow(size);
    }

    @Override
    public List<Integer> compared() {
      return List.of(size);
    }

    @Override
    public int countOf(Fussy given) {
      try {
        open.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return size;
    }

    @Override
    public int countOfRefs(Set<Ref> given) {
      return given.size();
    }

    @Override
    public void put(int put) {
      size = put;
    }
  }

  private Bag bag(String key) {
    return a.grains().get(Bag.class, key);
  }

  /** Lets values be fussy where they arrive, and not where they are made. */
  private void refuseOnArrivalAt(NodeId node) {
    wired.wire =
        (from, to, message) -> {
          boolean before = Fussy.REFUSED.get();
          Fussy.REFUSED.set(to.equals(node));
          try {
            wired.deliver(from, to, message);
          } finally {
            Fussy.REFUSED.set(before);
          }
        };
  }

  @Test
  void aResultWithoutBytesFailsItsComputationAndHoldsUpNoOther() {
    var bad = bag("bad");
    var good = bag("good");
    bad.put(1);
    try (var badRefs = a.reactive(() -> bad.refs().size());
        var goodSize = a.reactive(good::size)) {
      var refs = badRefs.tracker();
      var size = goodSize.tracker();
      assertEquals(1, refs.next(SOON));
      assertEquals(0, size.next(SOON));
      bad.put(2);
      assertNames(assertThrows(InvalidGrainException.class, () -> refs.next(SOON)), "Bag.refs");
      good.put(1);
      assertEquals(1, size.next(SOON));
      bad.put(1);
      assertEquals(1, refs.next(SOON));
    }
  }

  @Test
  void aFirstResultThatIsSlowToWriteHoldsUpNoCallOfItsGrain() throws Exception {
    var here = b.grains().get(Bag.class, "slow");
    try (var local = b.reactive(here::slow);
        var remote = a.reactive(bag("slow")::slow)) {
      local.tracker().next(SOON);
      readSlowly();
      var read = aside(() -> remote.tracker().next(SOON));
      Slow.READS.acquire();
      try {
        assertEquals(0, aside(here::size).get(20, TimeUnit.SECONDS));
      } finally {
        Slow.go.countDown();
      }
      read.get(20, TimeUnit.SECONDS);
    }
  }

  @Test
  void aNewResultThatIsSlowToWriteHoldsUpNothingButItsBatch() throws Exception {
    var here = b.grains().get(Bag.class, "slow");
    var good = b.grains().get(Bag.class, "good");
    try (var remote = a.reactive(bag("slow")::slow);
        var other = a.reactive(bag("good")::size)) {
      var results = remote.tracker();
      results.next(SOON);
      var sizes = other.tracker();
      sizes.next(SOON);
      readSlowly();
      here.put(1);
      Slow.READS.acquire();
      try {
        assertEquals(1, aside(here::size).get(20, TimeUnit.SECONDS));
        here.put(2);
        await("the next result", () -> sequenceOf("slow") == 3);
        good.put(2);
        aside(() -> b.view.outboxes()).get(20, TimeUnit.SECONDS);
      } finally {
        Slow.go.countDown();
      }
      assertEquals(new Slow(2), results.next(SOON), "not the bytes of the result before");
      assertEquals(2, sizes.next(SOON));
    }
  }

  /** How many results there were of a bag that is only asked for what is slow. */
  private long sequenceOf(String key) {
    var summary = b.activations.summary(WiredNodes.key(b, Bag.class, key, "slow()"));
    return summary == null ? 0 : summary.results().version().sequence();
  }

  /** From now on, until the latch is open. */
  private static void readSlowly() {
    Slow.go = new CountDownLatch(1);
    Slow.READS.drainPermits();
  }

  private static <T> CompletableFuture<T> aside(Supplier<T> body) {
    return CompletableFuture.supplyAsync(body, task -> Thread.ofPlatform().start(task));
  }

  @Test
  void aFirstResultWithoutBytesFailsItsComputation() {
    var bad = bag("bad");
    bad.put(2);
    try (var refs = a.reactive(() -> bad.refs().size())) {
      assertNames(
          assertThrows(InvalidGrainException.class, () -> refs.tracker().next(SOON)),
          "have the same components");
    }
  }

  @Test
  void aCallWhoseResultHasNoBytesFailsAtOnceAndLeavesNothingOpen() {
    var bad = bag("bad");
    bad.put(2);
    assertNames(assertThrows(InvalidGrainException.class, bad::refs), "have the same components");
    assertEquals(0, b.counts().calls());
    assertEquals(2, bad.size());
  }

  @Test
  void argumentsWithoutBytesFailTheirCallWithTheNameOfTheOperation() {
    var same = BagGrain.same(2);
    assertNames(
        assertThrows(InvalidGrainException.class, () -> bag("x").countOfRefs(same)), "countOfRefs");
  }

  @Test
  void aResultThatCannotBeMadeWhereItArrivesFailsThatReadAlone() {
    for (int number : List.of(1, 2)) {
      var key = "bag" + number;
      var bag = bag(key);
      try (var fussy = a.reactive(() -> bag.fussy().size());
          var size = a.reactive(bag::size)) {
        var results = fussy.tracker();
        var sizes = size.tracker();
        assertEquals(1, results.next(SOON));
        assertEquals(0, sizes.next(SOON));
        refuseOnArrivalAt(A);
        b.grains().get(Bag.class, key).put(number);
        assertNames(
            assertThrows(GrainFailureException.class, () -> results.next(SOON)), "cannot be read");
        assertEquals(number, sizes.next(SOON));
        // Who called makes what a reply brings.
        Fussy.REFUSED.set(true);
        assertNames(assertThrows(GrainFailureException.class, bag::fussy), "cannot be read");
        Fussy.REFUSED.set(false);
        b.grains().get(Bag.class, key).put(0);
        assertEquals(1, results.next(SOON));
        assertEquals(0, sizes.next(SOON));
      }
      wired.wire = wired::deliver;
    }
  }

  @Test
  void argumentsThatCannotBeMadeWhereTheyArriveFailThatCallAndThatReadAlone() {
    var bag = bag("x");
    refuseOnArrivalAt(B);
    var fussy = new Fussy(1);
    assertNames(assertThrows(InvalidGrainException.class, () -> bag.countOf(fussy)), "cannot read");
    try (var size = a.reactive(bag::size);
        var count = a.reactive(() -> bag.countOf(fussy))) {
      assertEquals(0, size.tracker().next(SOON));
      assertThrows(InvalidGrainException.class, () -> count.tracker().next(SOON));
    }
    assertEquals(0, b.counts().calls());
  }

  @Test
  void aReadThatIsLateIsRepeatedAlthoughItsArgumentsCannotBeShown() {
    BagGrain.open = new CountDownLatch(1);
    var hurried = a.grains().withTimeout(Duration.ofMillis(50)).get(Bag.class, "x");
    var fussy = new Fussy(3);
    try (var count = a.reactive(() -> hurried.countOf(fussy))) {
      var counts = count.tracker();
      assertThrows(GrainTimeoutException.class, () -> counts.next(SOON));
      assertThrows(GrainTimeoutException.class, () -> hurried.countOf(fussy));
      BagGrain.open.countDown();
      assertEquals(0, counts.next(SOON));
    }
  }

  @Test
  void whatCannotBeComparedIsAnotherResultAndHoldsUpNoOther() {
    var bag = bag("x");
    try (var compared = a.reactive(bag::compared);
        var size = a.reactive(bag::size);
        var rooted = a.reactive(bag::size, (x, y) -> new Unable().test(x, y))) {
      var results = compared.tracker();
      var sizes = size.tracker();
      var roots = rooted.tracker();
      for (int i = 0; i < 3; i++) {
        bag.put(i);
        int now = i;
        await("result " + i, () -> results.next(SOON).equals(List.of(now)));
        await("size " + i, () -> sizes.next(SOON) == now);
        await("root " + i, () -> roots.next(SOON) == now);
      }
    }
  }

  @Test
  void aSummaryIsShownToTheObserverThoughItsArgumentsCannotBe() {
    var bag = bag("x");
    try (var count = a.reactive(() -> bag.countOf(new Fussy(3)))) {
      assertEquals(0, count.tracker().next(SOON));
      var seen = new ArrayList<SummaryView>();
      b.view.walk(new Looking(seen));
      assertEquals("?", seen.getFirst().arguments());
    }
  }

  private record Looking(List<SummaryView> seen) implements NodeView.Visitor {
    @Override
    public void activation(GrainId grain, int waiting) {}

    @Override
    public void summary(SummaryView summary, long runs, int subscribers) {
      seen.add(summary);
    }
  }

  /**
   * Whoever chooses arguments can see to that, and must not have a table go through all of them.
   */
  @Test
  void callsAndNamesWithOneHashHaveAnOrder() {
    var model = b.models.model(Words.class);
    var operation = Objects.requireNonNull(model.operation("of(java.lang.String)"));
    var calls = new ArrayList<CallKey>();
    for (int number = 0; number < 64; number++) {
      Object[] word = {oneHash(number)};
      calls.add(new CallKey(model, new GrainId("Words", "w"), operation, word));
    }
    Collections.sort(calls);
    for (int i = 1; i < calls.size(); i++) {
      var less = calls.get(i - 1);
      var more = calls.get(i);
      assertEquals(less.hashCode(), more.hashCode());
      assertTrue(less.compareTo(more) < 0 && more.compareTo(less) > 0, less + ", " + more);
      assertTrue(less.wire().compareTo(more.wire()) < 0, less + ", " + more);
      assertEquals(
          0, more.compareTo(new CallKey(model, more.grain(), operation, more.arguments())));
    }
  }

  private static String oneHash(int number) {
    return Integer.toBinaryString(64 + number).replace("0", "Aa").replace("1", "BB");
  }

  interface Words extends Grain {
    @ReadOnly
    int of(String word);
  }

  @Test
  void aCallThatIsTooLargeForANameIsFoundAllTheSame() {
    var model = b.models.model(Words.class);
    var operation = Objects.requireNonNull(model.operation("of(java.lang.String)"));
    Object[] word = {"x".repeat(WiredNodes.quick().maxValueBytes())};
    var large = new CallKey(model, new GrainId("Words", "w"), operation, word);
    assertEquals(0, large.compareTo(new CallKey(model, large.grain(), operation, word)));
    // Else a tree of a table loses some: there are those before it, and those behind.
    Object[] other = {"y"};
    var small = new CallKey(model, large.grain(), operation, other);
    assertTrue(large.compareTo(small) > 0 && small.compareTo(large) < 0);
  }

  @Test
  void exceptionsThatSayNothingArriveAsSuch() {
    try (var computation = a.reactive(HardValuesTest::mute)) {
      assertThrows(Mute.class, () -> computation.tracker().next(SOON));
    }
  }

  private static int mute() {
    throw new Mute();
  }

  @Test
  void aMessageOfAnExceptionThatIsLongerThanAnyLinkTakesIsCut() {
    var failure = Failures.of(new IllegalStateException("x".repeat(10_000_000)));
    assertEquals(1 << 16, String.valueOf(failure.message()).length());
    assertEquals("short", Failures.of(new IllegalStateException("short")).message());
  }
}
