package dev.evergreen.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.SqliteStorage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class FencedMandateTest {

  private static final NodeId A = new NodeId("a:1", 1);
  private static final NodeId B = new NodeId("b:1", 1);
  private static final NodeId C = new NodeId("c:1", 1);
  private static final NodeId D = new NodeId("d:1", 1);
  private static final NodeId E = new NodeId("e:1", 1);
  private static final GrainId GRAIN = new GrainId("Cell", "c");

  private final Storage storage;
  private final Fence fence;
  private final Set<NodeId> answering = ConcurrentHashMap.newKeySet();
  private final AtomicInteger questions = new AtomicInteger();
  private final AtomicInteger givenUp = new AtomicInteger();
  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
  private final Tenure tenure =
      new Tenure(
          A,
          Duration.ofMillis(20),
          Duration.ofMillis(200),
          (to, token) -> {
            questions.incrementAndGet();
            if (answering.contains(to)) {
              answer(to, token);
            }
          },
          RealWorkers.REAL);
  private final FencedMandate mandate;
  private volatile Roster roster = roster(A, B, C);

  /** What happens when it asks who belongs to the cluster. */
  private volatile Runnable whenAsked = () -> {};

  FencedMandateTest(@TempDir Path directory) {
    storage = SqliteStorage.open(directory.resolve("states.db"));
    fence = storage.fence("test").orElseThrow();
    mandate = mandate(fence);
    answering.addAll(List.of(B, C));
    tenure.voters(List.of(A, B, C));
  }

  @AfterEach
  void close() {
    tenure.end();
    storage.close();
  }

  private void answer(NodeId from, long token) {
    tenure.answered(from, token);
  }

  private FencedMandate mandate(Fence used) {
    return new FencedMandate(
        A,
        used,
        tenure,
        () -> {
          whenAsked.run();
          return roster;
        },
        new FencedMandate.Listener() {
          @Override
          public void gaveUp(NodeId other) {}

          @Override
          public void failed(Throwable reason) {
            failures.add(reason);
          }

          @Override
          public void givenUp() {
            givenUp.incrementAndGet();
          }
        },
        RealWorkers.REAL);
  }

  private static Roster roster(NodeId... members) {
    return new Roster(Set.of(members), List.of(members), List.of(members));
  }

  private static CompletableFuture<Boolean> takingOver(Mandate mandate) {
    return CompletableFuture.supplyAsync(mandate::takeOver, task -> Thread.ofVirtual().start(task));
  }

  private static boolean get(CompletableFuture<Boolean> answer) throws Exception {
    return answer.get(30, TimeUnit.SECONDS);
  }

  private static long save(Storage storage, long expected) {
    return storage.save(GRAIN, expected, "state".getBytes(UTF_8));
  }

  @Test
  void whoWasRemovedCanSaveNothingWhenOthersTakeOver() {
    fence.join(B);
    fence.join(C);
    long saved = save(fence.storageOf(B), Storage.NONE);
    roster = roster(A, C);
    assertTrue(mandate.takeOver());
    assertEquals(Set.of(A, C), fence.alive());
    assertThrows(NodeGivenUpException.class, () -> save(fence.storageOf(B), saved));
    assertEquals(saved + 1, save(mandate.storage(), saved));
  }

  @Test
  void whoIsAMemberIsLeftAloneAndNobodyIsAsked() {
    fence.join(B);
    assertTrue(mandate.takeOver());
    questions.set(0);
    assertTrue(mandate.takeOver());
    assertEquals(0, questions.get());
    assertEquals(Set.of(A, B), fence.alive());
  }

  @Test
  void whoBecomesAMemberMeanwhileIsNotGivenUp() {
    assertTrue(mandate.takeOver());
    roster = roster(A, B);
    whenAsked =
        () -> {
          fence.join(C);
          roster = roster(A, B, C);
        };
    assertTrue(mandate.takeOver());
    assertEquals(Set.of(A, C), fence.alive());
  }

  /** Else the cluster might have removed it before, and others would not have found it there. */
  @Test
  void itOwnsNothingBeforeAMajorityHasHeardOfItAfterItJoinedTheFence() throws Exception {
    answering.clear();
    var alone = new CountDownLatch(1);
    whenAsked = alone::countDown;
    var waiting = takingOver(mandate);
    alone.await();
    int asked = questions.get();
    Await.await("another question", () -> questions.get() > asked);
    assertTrue(fence.isAlive(A));
    assertFalse(waiting.isDone());
    answering.add(C);
    assertTrue(get(waiting));
  }

  /** Those who join may decide by now with one of the voters, and have removed this node. */
  @Test
  void itOwnsNothingBeforeMoreHaveHeardOfItThanMayHaveRemovedIt() throws Exception {
    roster = new Roster(Set.of(A, B, C, D, E), List.of(A, B, C), List.of(A, B, C, D, E));
    answering.remove(C);
    var waiting = takingOver(mandate);
    Await.await("joining the fence", () -> fence.isAlive(A));
    int asked = questions.get();
    Await.await("questions in vain", () -> questions.get() > asked + 8);
    assertFalse(waiting.isDone());
    answering.add(C);
    assertTrue(get(waiting));
  }

  /** Who may have given this node up by itself, and not have found it in the fence. */
  @Test
  void ofTwoItOwnsNothingBeforeTheOtherHasHeardOfIt() throws Exception {
    roster = roster(A, B);
    tenure.left(C);
    tenure.voters(List.of(A, B));
    answering.clear();
    var waiting = takingOver(mandate);
    Await.await("a question", () -> questions.get() > 0 || waiting.isDone());
    assertFalse(waiting.isDone());
    answering.add(B);
    assertTrue(get(waiting));
  }

  @Test
  void theSmallerPartGivesNobodyUp() throws Exception {
    assertTrue(mandate.takeOver());
    fence.join(B);
    fence.join(C);
    answering.clear();
    roster = roster(A, C);
    var waiting = takingOver(mandate);
    int asked = questions.get();
    Await.await("questions in vain", () -> questions.get() > asked + 3);
    assertFalse(waiting.isDone());
    assertEquals(Set.of(A, B, C), fence.alive());
    tenure.end();
    assertFalse(get(waiting));
    assertEquals(Set.of(A, B, C), fence.alive());
  }

  @Test
  void whoDoesNotBelongToTheClusterYetWaits() throws Exception {
    roster = roster(B, C);
    var waiting = takingOver(mandate);
    Await.await("joining the fence", () -> fence.isAlive(A));
    assertFalse(waiting.isDone());
    roster = roster(A, B, C);
    assertTrue(get(waiting));
  }

  /** So of two that the cluster's halves have removed at the same time not both end. */
  @Test
  void whoWasGivenUpItselfGivesNobodyUp() throws Exception {
    assertTrue(mandate.takeOver());
    fence.join(B);
    whenAsked = () -> fence.giveUp(A, B);
    roster = roster(A, C);
    var waiting = takingOver(mandate);
    Await.await("knowing it", () -> givenUp.get() > 0);
    assertEquals(Set.of(B), fence.alive());
    tenure.end();
    assertFalse(get(waiting));
  }

  /** It would own the partition until its first save. */
  @Test
  void whoWasGivenUpOwnsNothingThoughNobodyIsToBeGivenUp() throws Exception {
    assertTrue(mandate.takeOver());
    fence.join(B);
    fence.giveUp(A, B);
    var waiting = takingOver(mandate);
    Await.await("knowing it", () -> givenUp.get() > 0 || waiting.isDone());
    assertFalse(waiting.isDone());
    tenure.end();
    assertFalse(get(waiting));
  }

  /** Whatever it answers: a partition that nobody owns any more would be lost for ever. */
  @Test
  void aStorageThatIsAwayOrFailsIsAskedAgain() throws Exception {
    var failing =
        new ConcurrentLinkedQueue<Throwable>(
            List.of(
                new StorageException("away"),
                new NullPointerException("its own fault"),
                new StackOverflowError("of a thread")));
    var hard =
        mandate(
            new Hooked(
                fence,
                () -> {
                  var failure = failing.poll();
                  switch (failure) {
                    case null -> {}
                    case Error error -> throw error;
                    case RuntimeException exception -> throw exception;
                    default -> throw new AssertionError(failure);
                  }
                }));
    fence.join(B);
    roster = roster(A, C);
    assertTrue(get(takingOver(hard)));
    assertEquals(Set.of(A), fence.alive());
    assertEquals(3, failures.size());
  }

  /** One who asks when it is too late for the look under way must not be content with it. */
  @Test
  void whoAsksWhileAnotherLooksWaitsForTheNextLook() throws Exception {
    assertTrue(mandate.takeOver());
    fence.join(B);
    var looking = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    whenAsked =
        () -> {
          looking.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          whenAsked = () -> roster = roster(A, C);
        };
    var first = takingOver(mandate);
    looking.await();
    var second = takingOver(mandate);
    go.countDown();
    assertTrue(get(first));
    assertTrue(get(second));
    assertFalse(fence.isAlive(B));
  }

  /** The pings' answers count as young, as no time has passed on this machine. */
  @Test
  void aNodeWhoseClockStoodStillLearnsFromTheStorageThatItWasGivenUp() {
    var day = Duration.ofDays(1); // it is as if no time had passed
    var patient = new Tenure(A, day, day, (to, token) -> {}, RealWorkers.REAL);
    patient.voters(List.of(A));
    var pinged = new PingedMandate(storage, patient, RealWorkers.REAL, () -> {});
    assertTrue(mandate.takeOver());
    assertTrue(mandate.confirmed());
    long saved = save(mandate.storage(), Storage.NONE);
    fence.giveUp(A);
    assertTrue(pinged.confirmed());
    assertFalse(mandate.confirmed());
    assertEquals(1, givenUp.get());
    assertThrows(NodeGivenUpException.class, () -> save(mandate.storage(), saved));
    assertEquals(2, givenUp.get());
  }

  @Test
  void whatTheStorageDoesNotAnswerIsNotConfirmed() {
    assertTrue(mandate.takeOver());
    storage.close();
    assertFalse(mandate.confirmed());
    assertEquals(0, givenUp.get());
  }

  @Test
  void whoHasLeftNeedNotBeGivenUp() {
    assertTrue(mandate.takeOver());
    mandate.end();
    assertEquals(Set.of(), fence.alive());
  }

  /** Has a say before each question. */
  private record Hooked(Fence fence, Runnable hook) implements Fence {

    @Override
    public Storage storageOf(NodeId node) {
      return fence.storageOf(node);
    }

    @Override
    public void join(NodeId node) {
      hook.run();
      fence.join(node);
    }

    @Override
    public Set<NodeId> alive() {
      hook.run();
      return fence.alive();
    }

    @Override
    public boolean isAlive(NodeId node) {
      return fence.isAlive(node);
    }

    @Override
    public boolean giveUp(NodeId node, NodeId by) {
      hook.run();
      return fence.giveUp(node, by);
    }
  }
}
