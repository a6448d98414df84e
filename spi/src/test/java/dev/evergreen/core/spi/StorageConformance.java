package dev.evergreen.core.spi;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.core.spi.Storage.Stored;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What {@link Storage} promises; each implementation's test extends this. */
public abstract class StorageConformance {

  private static final GrainId ALICE = new GrainId("User", "alice");

  private final List<Storage> opened = new ArrayList<>();

  /** Opens this test's storage, empty at first; a persistent one, each time the same. */
  protected abstract Storage open();

  /** Whether it is all there when it is opened again. */
  protected boolean persistent() {
    return true;
  }

  private Storage storage() {
    var storage = open();
    opened.add(storage);
    return storage;
  }

  @AfterEach
  void close() {
    opened.forEach(Storage::close);
  }

  @Test
  void aGrainThatWasNeverSavedHasNothing() {
    assertTrue(storage().load(ALICE).isEmpty());
  }

  @Test
  void whatWasSavedLastIsLoadedWithItsRevision() {
    var storage = storage();
    long revision = Storage.NONE;
    for (var text : List.of("one", "two", "two", "three")) {
      long next = storage.save(ALICE, revision, bytes(text));
      assertTrue(next > revision, next + " after " + revision);
      revision = next;
      assertHolds(storage, ALICE, revision, bytes(text));
    }
  }

  @Test
  void aSaveThatExpectsAnotherRevisionChangesNothing() {
    var storage = storage();
    long first = storage.save(ALICE, Storage.NONE, bytes("first"));
    long second = storage.save(ALICE, first, bytes("second"));
    for (long wrong :
        new long[] {Storage.NONE, first, second + 1, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
      var conflict =
          assertThrows(
              RevisionConflictException.class, () -> storage.save(ALICE, wrong, bytes("lost")));
      assertTrue(conflict.toString().contains(ALICE.toString()), conflict.toString());
      assertHolds(storage, ALICE, second, bytes("second"));
    }
    storage.save(ALICE, second, bytes("third"));
  }

  @Test
  void aRevisionIsNotExpectedOfAGrainThatWasNeverSaved() {
    var storage = storage();
    for (long wrong : new long[] {1, 7, -1}) {
      assertThrows(
          RevisionConflictException.class, () -> storage.save(ALICE, wrong, bytes("lost")));
      assertTrue(storage.load(ALICE).isEmpty());
    }
  }

  @Test
  void ofManyThatSaveTheSameRevisionExactlyOneWins() throws Exception {
    var storage = storage();
    long revision = Storage.NONE;
    for (int round = 0; round < 20; round++) {
      long expected = revision;
      var start = new CountDownLatch(1);
      var racers = new ArrayList<Callable<Long>>();
      for (int racer = 0; racer < 16; racer++) {
        var state = bytes("round " + round + " racer " + racer);
        racers.add(
            () -> {
              start.await();
              long won = storage.save(ALICE, expected, state);
              assertHolds(storage, ALICE, won, state);
              return won;
            });
      }
      var winners = new ArrayList<Long>();
      for (var result : all(racers, start)) {
        try {
          winners.add(result.get());
        } catch (ExecutionException lost) {
          assertInstanceOf(RevisionConflictException.class, lost.getCause());
        }
      }
      assertEquals(1, winners.size(), () -> "winners of revision " + expected + ": " + winners);
      revision = winners.getFirst();
    }
  }

  @Test
  void noIncrementOfMoreThanOneWriterIsLost() throws Exception {
    var storage = storage();
    var writers = new ArrayList<Callable<Void>>();
    for (int writer = 0; writer < 8; writer++) {
      writers.add(
          () -> {
            for (int done = 0; done < 25; ) {
              var before = storage.load(ALICE).orElse(new Stored(Storage.NONE, bytes("0")));
              int next = 1 + Integer.parseInt(new String(before.state(), UTF_8));
              try {
                storage.save(ALICE, before.revision(), bytes(Integer.toString(next)));
                done++;
              } catch (RevisionConflictException e) {
                // Another one was faster: again, with what it wrote.
              }
            }
            return null;
          });
    }
    for (var result : all(writers)) {
      result.get();
    }
    assertArrayEquals(bytes("200"), storage.load(ALICE).orElseThrow().state());
  }

  @Test
  void manyGrainsAreSavedAndLoadedAtTheSameTime() throws Exception {
    var storage = storage();
    var writers = new ArrayList<Callable<Void>>();
    for (int i = 0; i < 500; i++) {
      var grain = new GrainId("User", "user " + i);
      writers.add(
          () -> {
            long revision = Storage.NONE;
            for (int save = 0; save < 4; save++) {
              var state = bytes(grain + " " + save);
              revision = storage.save(grain, revision, state);
              assertHolds(storage, grain, revision, state);
            }
            return null;
          });
    }
    for (var result : all(writers)) {
      result.get();
    }
    for (int i = 0; i < 500; i++) {
      var stored = storage.load(new GrainId("User", "user " + i)).orElseThrow();
      assertArrayEquals(bytes("User/user " + i + " 3"), stored.state());
    }
  }

  @Test
  void aLoadNeverGoesBackWhileOthersSave() throws Exception {
    var storage = storage();
    long first = storage.save(ALICE, Storage.NONE, bytes("0"));
    var saved = new AtomicBoolean();
    var readers = new ArrayList<Callable<Void>>();
    for (int reader = 0; reader < 4; reader++) {
      readers.add(
          () -> {
            var seen = new Stored(Storage.NONE, bytes("-1"));
            while (!saved.get()) {
              var now = storage.load(ALICE).orElseThrow();
              assertTrue(now.revision() >= seen.revision(), now + " after " + seen);
              assertEquals(
                  now.revision() == seen.revision(), Arrays.equals(now.state(), seen.state()));
              seen = now;
            }
            return null;
          });
    }
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var results = readers.stream().map(executor::submit).toList();
      long revision = first;
      for (int save = 1; save <= 100; save++) {
        revision = storage.save(ALICE, revision, bytes(Integer.toString(save)));
      }
      saved.set(true);
      for (var result : results) {
        result.get();
      }
    }
  }

  @Test
  void everyTextIsAKeyOfItsOwn() {
    var storage = storage();
    var keys =
        List.of(
            "",
            " ",
            "a",
            "A",
            "a ",
            "\0",
            "a\0",
            "a\0b",
            "'",
            "''",
            "\"",
            "\\",
            "%",
            "_",
            ";--",
            "null",
            "0",
            "00",
            "\n",
            "\r\n",
            "/",
            "é",
            "e\u0301",
            "ß",
            "SS",
            "😀",
            "\uD83D",
            "\uDE00",
            "\uDE00\uD83D",
            "\uFFFD",
            "?",
            "\uFEFF",
            "\uFFFF",
            "k".repeat(100_000),
            "k".repeat(100_001));
    var grains = new ArrayList<GrainId>();
    for (var key : keys) {
      grains.add(new GrainId("User", key));
      grains.add(new GrainId(key, "User"));
    }
    grains.add(new GrainId("User", "User"));
    grains.add(new GrainId("Us", "erUser"));
    for (int i = 0; i < grains.size(); i++) {
      assertTrue(storage.load(grains.get(i)).isEmpty(), "grain " + i + " is another's");
      storage.save(grains.get(i), Storage.NONE, bytes("state " + i));
    }
    for (int i = 0; i < grains.size(); i++) {
      assertArrayEquals(bytes("state " + i), storage.load(grains.get(i)).orElseThrow().state());
    }
  }

  @Test
  void aStateMayBeEmptyOrLarge() {
    var storage = storage();
    var random = new Random(1);
    long revision = Storage.NONE;
    for (int size : new int[] {0, 1, 4096, 5 << 20, 0, 3}) {
      var state = new byte[size];
      random.nextBytes(state);
      revision = storage.save(ALICE, revision, state);
      assertHolds(storage, ALICE, revision, state);
    }
  }

  @Test
  void arraysAreNotSharedWithTheCaller() {
    var storage = storage();
    var state = bytes("state");
    long revision = storage.save(ALICE, Storage.NONE, state);
    state[0] = 'X';
    assertHolds(storage, ALICE, revision, bytes("state"));
    storage.load(ALICE).orElseThrow().state()[0] = 'X';
    assertHolds(storage, ALICE, revision, bytes("state"));
  }

  @Test
  void aClosedStorageSaysSo() {
    var storage = storage();
    storage.save(ALICE, Storage.NONE, bytes("state"));
    storage.close();
    storage.close();
    for (var failure :
        List.of(
            assertThrows(StorageException.class, () -> storage.load(ALICE)),
            assertThrows(StorageException.class, () -> storage.save(ALICE, 1, bytes("late"))))) {
      assertFalse(failure instanceof RevisionConflictException);
      assertTrue(failure.toString().contains("closed"), failure.toString());
      assertTrue(failure.toString().contains(ALICE.toString()), failure.toString());
    }
  }

  @Test
  void everythingIsThereWhenItIsOpenedAgain() {
    assumeTrue(persistent());
    var storage = storage();
    var bob = new GrainId("User", "bob");
    long first = storage.save(ALICE, Storage.NONE, bytes("first"));
    long second = storage.save(ALICE, first, bytes("second"));
    long empty = storage.save(bob, Storage.NONE, new byte[0]);
    storage.close();

    var again = storage();
    assertHolds(again, ALICE, second, bytes("second"));
    assertHolds(again, bob, empty, new byte[0]);
    assertThrows(RevisionConflictException.class, () -> again.save(ALICE, first, bytes("lost")));
    assertTrue(again.save(ALICE, second, bytes("third")) > second);
  }

  // The fence

  private static final NodeId NODE = new NodeId("here:1", 7);
  private static final NodeId OTHER = new NodeId("there:1", 7);

  /** Skips the test if the storage has none. */
  private static Fence fence(Storage storage) {
    var fence = storage.fence("cluster");
    assumeTrue(fence.isPresent(), "this storage cannot fence");
    return fence.get();
  }

  @Test
  void aNodeSavesWhileItIsAliveAndNeitherBeforeNorAfter() {
    var fence = fence(storage());
    var ours = fence.storageOf(NODE);
    assertTrue(ours.fenced());
    assertGivenUp(ours, Storage.NONE);
    fence.join(NODE);
    long first = ours.save(ALICE, Storage.NONE, bytes("first"));
    long second = ours.save(ALICE, first, bytes("second"));
    fence.giveUp(NODE);
    assertGivenUp(ours, second);
    assertHolds(ours, ALICE, second, bytes("second"));
  }

  private static void assertGivenUp(Storage storage, long expected) {
    var refused =
        assertThrows(
            NodeGivenUpException.class, () -> storage.save(ALICE, expected, bytes("never")));
    assertTrue(refused.toString().contains(NODE.toString()), refused.toString());
    assertTrue(refused.toString().contains(ALICE.toString()), refused.toString());
  }

  @Test
  void aNodeThatIsAliveLearnsOfConflictsAsAnybody() {
    var storage = storage();
    var fence = fence(storage);
    fence.join(NODE);
    var ours = fence.storageOf(NODE);
    storage.save(ALICE, Storage.NONE, bytes("first"));
    assertThrows(
        RevisionConflictException.class, () -> ours.save(ALICE, Storage.NONE, bytes("lost")));
  }

  @Test
  void givingUpConcernsOneLifeOfOneNodeOfOneCluster() {
    var storage = storage();
    var fence = fence(storage);
    var elsewhere = storage.fence("elsewhere").orElseThrow();
    var reborn = new NodeId(NODE.address(), NODE.incarnation() + 1);
    fence.join(NODE);
    fence.join(OTHER);
    fence.join(reborn);
    elsewhere.join(NODE);
    fence.giveUp(NODE);
    fence.giveUp(NODE);
    assertEquals(Set.of(OTHER, reborn), fence.alive());
    assertEquals(Set.of(NODE), elsewhere.alive());
    assertFalse(fence.isAlive(NODE));
    assertTrue(fence.isAlive(reborn));
    assertGivenUp(fence.storageOf(NODE), Storage.NONE);
    long revision = Storage.NONE;
    for (var alive :
        List.of(
            fence.storageOf(OTHER), fence.storageOf(reborn), elsewhere.storageOf(NODE), storage)) {
      revision = alive.save(ALICE, revision, bytes("state"));
    }
  }

  @Test
  void whoIsNotAliveGivesNobodyUp() {
    var fence = fence(storage());
    fence.join(NODE);
    assertFalse(fence.giveUp(NODE, OTHER));
    assertTrue(fence.isAlive(NODE));
    fence.join(OTHER);
    assertTrue(fence.giveUp(NODE, OTHER));
    assertTrue(fence.giveUp(NODE, OTHER));
    assertFalse(fence.giveUp(OTHER, NODE));
    assertEquals(Set.of(OTHER), fence.alive());
  }

  @Test
  void ofTwoThatGiveEachOtherUpAtTheSameTimeOneStays() throws Exception {
    var storages = persistent() ? List.of(storage(), storage()) : List.of(storage());
    var one = fence(storages.getFirst());
    var other = fence(storages.getLast());
    for (int round = 0; round < 50; round++) {
      one.join(NODE);
      other.join(OTHER);
      try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
        var otherStays = executor.submit(() -> other.giveUp(NODE, OTHER));
        boolean nodeStays = one.giveUp(OTHER, NODE);
        assertEquals(nodeStays, !otherStays.get(), "round " + round);
        assertEquals(Set.of(nodeStays ? NODE : OTHER), one.alive());
      }
    }
  }

  @Test
  void whoIsAliveIsKnownToAllWhoOpenTheStorage() {
    assumeTrue(persistent());
    var fence = fence(storage());
    fence.join(NODE);
    fence.join(NODE);
    var theirs = fence(storage());
    assertEquals(Set.of(NODE), theirs.alive());
    theirs.giveUp(NODE);
    assertFalse(fence.isAlive(NODE));
    assertGivenUp(fence.storageOf(NODE), Storage.NONE);
  }

  /** Many saves are under way all the while, in several storages. */
  @Test
  void whatIsLoadedAfterANodeWasGivenUpIsNotChangedByItAnyMore() throws Exception {
    var storages = persistent() ? List.of(storage(), storage()) : List.of(storage());
    for (int round = 0; round < 10; round++) {
      var node = new NodeId("here:1", round);
      var fence = fence(storages.getFirst());
      fence.join(node);
      var grains = new ArrayList<GrainId>();
      var writers = new ArrayList<Callable<Long>>();
      for (int i = 0; i < 40; i++) {
        var grain = new GrainId("User", "round " + round + " writer " + i);
        var ours = fence(storages.get(i % storages.size())).storageOf(node);
        grains.add(grain);
        writers.add(() -> saveUntilGivenUp(ours, grain));
      }
      try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
        var acknowledged = writers.stream().map(executor::submit).toList();
        for (var grain : grains.subList(0, 4)) {
          while (storages.getFirst().load(grain).isEmpty()) {
            Thread.onSpinWait();
          }
        }
        fence.giveUp(node);
        var loaded = new ArrayList<Long>();
        for (var grain : grains) {
          loaded.add(storages.getLast().load(grain).map(Stored::revision).orElse(Storage.NONE));
        }
        for (int i = 0; i < grains.size(); i++) {
          assertEquals(loaded.get(i), acknowledged.get(i).get(), grains.get(i).toString());
        }
      }
    }
  }

  /** Returns the last revision that was acknowledged. */
  private static long saveUntilGivenUp(Storage storage, GrainId grain) {
    long revision = Storage.NONE;
    try {
      while (true) {
        revision = storage.save(grain, revision, bytes("state"));
      }
    } catch (NodeGivenUpException e) {
      return revision;
    }
  }

  @Test
  void manyMayAskAtTheSameTimeWhetherTheyAreAlive() throws Exception {
    var fence = fence(storage());
    fence.join(NODE);
    var questions = new ArrayList<Callable<Boolean>>();
    for (int i = 0; i < 500; i++) {
      var node = i % 5 == 0 ? OTHER : NODE;
      questions.add(() -> fence.isAlive(node) == node.equals(NODE));
    }
    for (var answer : all(questions)) {
      assertTrue(answer.get());
    }
  }

  @Test
  void theFenceOfAClosedStorageSaysSo() {
    var storage = storage();
    var fence = fence(storage);
    storage.close();
    for (var call :
        List.<Runnable>of(
            () -> fence.isAlive(NODE),
            fence::alive,
            () -> fence.join(NODE),
            () -> fence.giveUp(NODE),
            () -> fence.storageOf(NODE).save(ALICE, Storage.NONE, bytes("late")))) {
      var failure = assertThrows(StorageException.class, call::run);
      assertTrue(failure.toString().contains("closed"), failure.toString());
    }
  }

  private static void assertHolds(Storage storage, GrainId grain, long revision, byte[] state) {
    var stored = storage.load(grain).orElseThrow();
    assertEquals(revision, stored.revision());
    assertArrayEquals(state, stored.state());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static <T> List<Future<T>> all(List<Callable<T>> tasks) {
    return all(tasks, new CountDownLatch(0));
  }

  /** Runs them all at once on virtual threads, and waits for them. */
  private static <T> List<Future<T>> all(List<Callable<T>> tasks, CountDownLatch start) {
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var results = tasks.stream().map(executor::submit).toList();
      start.countDown();
      return results;
    }
  }
}
