package dev.evergreen.memcached.live;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Computation;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Node;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import dev.evergreen.store.StoreOptions;
import java.io.FileNotFoundException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class LiveItemsTest {

  /** A value that JSON cannot show. */
  public record Unwritable() {
    /** Fails. */
    public String getText() {
      throw new IllegalStateException("no text");
    }
  }

  private final Node node = EmbeddedNode.builder().grain(Board.class, Board.InState::new).start();
  private final Store store = Store.open(StoreOptions.of(8 << 20), () -> 1);
  private final AtomicInteger runs = new AtomicInteger();
  private final CountDownLatch never = new CountDownLatch(1);
  private final LiveViews views =
      LiveViews.over(node)
          .firstResultWithin(Duration.ofMinutes(1))
          .view(
              "board",
              "board:{owner}",
              key -> {
                var board = board(key.get("owner"));
                return () -> {
                  runs.incrementAndGet();
                  return board.notes();
                };
              })
          .view("broken", "broken:{how}", LiveItemsTest::broken)
          .view(
              "slow",
              "slow",
              key ->
                  () -> {
                    never.await();
                    return 1;
                  });
  private LiveItems items = new LiveItems(views, store);

  private static Computation<?> broken(LiveKey key) {
    return switch (key.get("how")) {
      case "declared" -> throw new IllegalStateException("no\nsuch thing \u2620");
      case "thrown" ->
          () -> {
            throw new FileNotFoundException("gone");
          };
      case "unwritable" -> () -> new Unwritable();
      default -> () -> "x".repeat(2 << 20);
    };
  }

  @AfterEach
  void close() {
    never.countDown();
    items.close();
    store.close();
    node.close();
  }

  private Board board(String owner) {
    return node.grains().get(Board.class, owner);
  }

  private static Key key(String key) {
    var bytes = key.getBytes(UTF_8);
    return new Key().set(MemorySegment.ofArray(bytes), 0, bytes.length);
  }

  /** What is served: as a protocol does it. */
  private record Served(String json, long cas) {}

  private Served get(String key) throws Exception {
    var wanted = key(key);
    var found = new Item();
    for (var live = items.find(wanted); live != null; ) {
      live.await();
      while (store.get(wanted, found) == Outcome.FOUND) {
        var value = new byte[found.valueLength()];
        if (found.copyValue(MemorySegment.ofArray(value), 0)) {
          found.release();
          return new Served(new String(value, UTF_8), found.cas());
        }
      }
      if (!live.restore()) {
        live = items.find(wanted);
      }
    }
    throw new AssertionError(key + " is not live");
  }

  private String json(String key) throws Exception {
    return get(key).json();
  }

  private void await(String key, Predicate<String> wanted) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    for (var json = json(key); !wanted.test(json); json = json(key)) {
      assertTrue(System.nanoTime() - deadline < 0, json);
      Thread.onSpinWait();
    }
  }

  private String failure(String key) {
    return String.valueOf(assertThrows(LiveItemException.class, () -> get(key)).getMessage());
  }

  @Test
  void aKeyAnswersTheLatestResultAndItsCasTellsValuesApart() throws Exception {
    var empty = get("board:ann");
    assertEquals("[]", empty.json());
    assertEquals(empty, get("board:bob"));
    board("ann").pin("hello");
    await("board:ann", "[\"hello\"]"::equals);
    assertNotEquals(empty.cas(), get("board:ann").cas());
    assertEquals(empty, get("board:bob"));
    assertNull(items.find(key("boards:ann")));
    assertEquals(2, items.size());
  }

  @Test
  void anyNumberOfReadersIsServedByOneComputation() throws Exception {
    try (var readers = Executors.newVirtualThreadPerTaskExecutor()) {
      var served = new ArrayList<Future<String>>();
      for (int i = 0; i < 500; i++) {
        served.add(readers.submit(() -> json("board:ann")));
      }
      for (var one : served) {
        assertEquals("[]", one.get());
      }
    }
    assertEquals(1, runs.get());
    assertEquals(1, node.counts().computations());
  }

  @Test
  void whatTheStoreLostIsPutThereAgain() throws Exception {
    var before = get("board:ann");
    store.flush(0);
    assertEquals(before, get("board:ann"));
    assertEquals(1, runs.get());
  }

  @Test
  void nobodyAskedSoItEnds() throws Exception {
    views.keepFor(Duration.ZERO);
    get("board:ann");
    items.sweep();
    assertEquals(0, items.size());
    assertEquals(0, store.stats().items());
    while (node.counts().computations() > 0) {
      Thread.onSpinWait(); // it ends by the thread that follows it
    }
    assertEquals("[]", json("board:ann"));
    assertEquals(2, runs.get());
  }

  @Test
  void whoAskedLatelyStays() throws Exception {
    get("board:ann");
    items.sweep();
    assertEquals(1, items.size());
  }

  @Test
  void failuresAreToldInOneLineAndEndWithTheirCause() throws Exception {
    assertEquals("view broken: IllegalStateException: no such thing ?", failure("broken:declared"));
    assertEquals("view broken: FileNotFoundException: gone", failure("broken:thrown"));
    assertTrue(failure("broken:large").contains("larger than an item may be"));
    assertTrue(
        failure("broken:unwritable").contains("view broken: "), failure("broken:unwritable"));
    assertEquals(0, store.stats().items());
  }

  @Test
  void aFirstResultThatDoesNotComeIsNotWaitedForLong() throws Exception {
    views.firstResultWithin(Duration.ofMillis(1));
    assertEquals("view slow: no result within 1 ms", failure("slow"));
    var slow = Objects.requireNonNull(items.find(key("slow")));
    assertFalse(slow.isReady());
    views.firstResultWithin(Duration.ofMinutes(1));
    never.countDown();
    assertEquals("1", json("slow"));
    assertEquals(Freshness.CURRENT, slow.freshness());
  }

  @Test
  void onlySoManyKeysMayBeLive() throws Exception {
    views.maxKeys(2);
    get("board:ann");
    get("board:bob");
    assertEquals("view board: 2 keys are live, and more may not be", failure("board:cid"));
    assertEquals("[]", json("board:ann"));
  }

  @Test
  void valuesMayOnlyBeSoLongTogether() throws Exception {
    views.maxBytes(1).keepFor(Duration.ZERO);
    get("board:ann");
    assertEquals(
        "view board: the live values take 2 bytes, and more may not be kept", failure("board:bob"));
    assertEquals("[]", json("board:ann"));
    items.sweep();
    assertEquals("[]", json("board:bob"));
  }

  @Test
  void keysOfViewsAreKnownWithoutBeginningOne() {
    assertTrue(items.owns(key("board:ann")));
    assertFalse(items.owns(key("board:")));
    assertFalse(items.owns(key("bored:ann")));
    assertEquals(0, items.size());
  }

  @Test
  void whenTheNodeHasStoppedThatIsSaid() throws Exception {
    get("board:ann");
    node.close();
    assertTrue(failure("board:bob").startsWith("view board: NodeStoppedException"));
  }

  /** Readers never see an older value after a newer one, whatever becomes of the store. */
  @Test
  void valuesNeverGoBackWhileItemsAreFlushedAndEnded() throws Exception {
    views.keepFor(Duration.ZERO);
    // No virtual ones: readers that find a value never wait, and so would keep the carriers for
    // ever.
    try (var all = Executors.newCachedThreadPool()) {
      var writer =
          all.submit(
              () -> {
                for (int i = 0; i < 300; i++) {
                  board("ann").pin("n" + i);
                }
              });
      var readers = new ArrayList<Future<?>>();
      for (int i = 0; i < 4; i++) {
        readers.add(all.submit(() -> readUntil(writer)));
      }
      while (!writer.isDone()) {
        items.sweep();
        store.flush(0);
      }
      for (var reader : readers) {
        reader.get();
      }
    }
    await("board:ann", json -> json.endsWith("\"n299\"]"));
  }

  private @Nullable Void readUntil(Future<?> writer) throws InterruptedException {
    int longest = 0;
    var seen = new HashSet<Long>();
    while (!writer.isDone()) {
      try {
        var served = get("board:ann");
        int length = served.json().length();
        assertTrue(length >= longest, () -> "a value went back");
        assertTrue(length == longest || seen.add(served.cas()), "a CAS number came twice");
        longest = length;
      } catch (LiveItemException closed) {
        assertTrue(String.valueOf(closed.getMessage()).contains("closed"), closed::toString);
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
    return null;
  }
}
