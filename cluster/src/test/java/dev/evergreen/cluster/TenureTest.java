package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.sim.VirtualTime;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class TenureTest {

  private static final NodeId A = node("a");
  private static final NodeId B = node("b");
  private static final NodeId C = node("c");
  private static final NodeId D = node("d");

  private static final Set<Thread.State> WAITING =
      Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

  private record Ping(NodeId to, long token) {}

  private final BlockingQueue<Ping> pings = new LinkedBlockingQueue<>();
  private final Set<NodeId> answering = ConcurrentHashMap.newKeySet();
  private Tenure tenure = of(A, Duration.ofMinutes(1));

  private static NodeId node(String name) {
    return new NodeId(name + ":1", 1);
  }

  private Tenure of(NodeId self, Duration margin) {
    return new Tenure(
        self,
        margin,
        margin.multipliedBy(10),
        (to, token) -> {
          pings.add(new Ping(to, token));
          if (answering.contains(to)) {
            tenure.answered(to, token);
          }
        },
        RealWorkers.REAL);
  }

  private Ping nextPing() throws InterruptedException {
    var ping = pings.poll(20, TimeUnit.SECONDS);
    assertTrue(ping != null, "no ping");
    return ping;
  }

  private CompletableFuture<Boolean> asked() {
    return CompletableFuture.supplyAsync(tenure::confirmed);
  }

  private boolean confirmed() throws Exception {
    return asked().get(30, TimeUnit.SECONDS);
  }

  @Test
  void whoIsAloneNeedsNobodyAlsoWhenItHasLeft() throws Exception {
    tenure.voters(List.of(A));
    assertTrue(confirmed());
    tenure.voters(List.of());
    assertTrue(confirmed());
    assertEquals(List.of(), List.copyOf(pings));
  }

  @Test
  void oneOfThreeNeedsOneMore() throws Exception {
    tenure.voters(List.of(A, B, C));
    var waiting = asked();
    var ping = nextPing();
    assertFalse(waiting.isDone());
    tenure.answered(ping.to(), ping.token());
    assertTrue(waiting.get(20, TimeUnit.SECONDS));
  }

  @Test
  void anAnswerIsGoodForManyOperations() throws Exception {
    answering.add(B);
    tenure.voters(List.of(A, B, C));
    for (int i = 0; i < 1_000; i++) {
      assertTrue(confirmed());
    }
    assertEquals(2, pings.size(), "pings");
  }

  @Test
  void halfOfTheNodesSufficeWithTheFirstOfThemOnly() throws Exception {
    answering.add(B);
    tenure.voters(List.of(A, B, C, D));
    assertTrue(confirmed());
    pings.clear();
    tenure.voters(List.of(C, A, B, D));
    var waiting = asked();
    assertEquals(C, nextPing().to(), "the first of those who are asked");
    tenure.end();
    assertFalse(waiting.get(20, TimeUnit.SECONDS));
  }

  @Test
  void anAnswerToAnOldQuestionDoesNotCount() throws Exception {
    long old = System.nanoTime() - Duration.ofMinutes(1).toNanos();
    tenure.voters(List.of(B, A));
    tenure.answered(B, old);
    var waiting = asked();
    var ping = nextPing();
    tenure.answered(B, old + 1);
    tenure.answered(B, ping.token() + 1); // nobody has asked that
    assertFalse(waiting.isDone());
    tenure.answered(B, ping.token());
    assertTrue(waiting.get(20, TimeUnit.SECONDS));
    // One that overtakes the other takes nothing back.
    tenure.answered(B, old);
    assertTrue(confirmed());
  }

  @Test
  void whatIsAskedInVainIsAskedAgain() throws Exception {
    tenure = of(A, Duration.ofMillis(8));
    tenure.voters(List.of(B, A));
    var waiting = asked();
    var first = nextPing();
    var second = nextPing();
    assertTrue(second.token() - first.token() > 0);
    while (!waiting.isDone()) {
      var ping = pings.poll(1, TimeUnit.MILLISECONDS);
      if (ping != null) {
        tenure.answered(ping.to(), ping.token());
      }
    }
    assertTrue(waiting.get());
  }

  @Test
  void whoeverDecidesNoMoreIsNotNeeded() throws Exception {
    tenure.voters(List.of(B, A));
    var waiting = asked();
    nextPing();
    assertFalse(waiting.isDone());
    tenure.voters(List.of(A));
    assertTrue(waiting.get(20, TimeUnit.SECONDS));
  }

  @Test
  void whoWasGivenUpIsNotConfirmedWhateverWasAnswered() throws Exception {
    answering.add(B);
    tenure.voters(List.of(A, B));
    assertTrue(confirmed());
    tenure.end();
    assertFalse(confirmed());
    tenure.voters(List.of(B));
    assertFalse(confirmed());
  }

  @Test
  void whoDoesNotBelongToTheOthersIsNotConfirmedByItself() throws Exception {
    tenure.voters(List.of(B));
    var waiting = asked();
    nextPing();
    assertFalse(waiting.isDone());
    tenure.end();
    assertFalse(waiting.get(20, TimeUnit.SECONDS));
  }

  @Test
  void whoHasLeftOthersIsNotConfirmed() throws Exception {
    answering.add(B);
    tenure.voters(List.of(A, B));
    assertTrue(confirmed());
    tenure.voters(List.of(B));
    assertFalse(confirmed());
  }

  /** Of three one that is cut off: of the two that it knows it is a majority by itself. */
  @Test
  void whoHasGivenUpAnotherIsConfirmedByAMajorityOfThoseBeforeUntilThatIsAgreedTo()
      throws Exception {
    tenure.voters(List.of(A, B, C));
    tenure.voters(List.of(A, C));
    tenure.givenUp(B, true);
    var waiting = asked();
    var ping = nextPing();
    assertFalse(waiting.isDone());
    tenure.answered(C, ping.token());
    assertTrue(waiting.get(20, TimeUnit.SECONDS));
  }

  @Test
  void whatIsAgreedToNeedsNoMoreThanThoseWhoStay() throws Exception {
    tenure = of(A, Duration.ofMillis(100));
    answering.add(C);
    tenure.voters(List.of(A, B, C));
    giveUp(B, A, C);
    agree();
    answering.remove(C);
    Await.await("no answer being good any more", longerThan(Duration.ofMillis(100)));
    assertTrue(confirmed(), "half with the first");
  }

  /** Seen by reading: it waited for ever for one that could not answer any more. */
  @Test
  void whoLeavesWhenAnotherIsGoneHasAgreedToThat() throws Exception {
    tenure = of(B, Duration.ofMinutes(1));
    tenure.voters(List.of(A, B, C));
    giveUp(A, B, C);
    tenure.voters(List.of(B));
    tenure.leaves(C);
    agree();
    assertTrue(confirmed());
  }

  /** Somebody left who may not have seen that the first was given up: it waited for ever. */
  @Test
  void whereThoseWhoStayAreNoMajorityForAWhileItIsTheSmallerPart() {
    inVirtualTime(
        B,
        (time, process) -> {
          tenure.voters(List.of(A, B, C));
          tenure.voters(List.of(B, C));
          tenure.givenUp(A, true);
          tenure.voters(List.of(B));
          tenure.leaves(C);
          tenure.gone(A);
          assertSaysNoInTheEnd(time, process, tenure::agree);
        });
  }

  /** Asks nobody who would answer. */
  private void inVirtualTime(NodeId self, BiConsumer<VirtualTime, VirtualTime.Machine> test) {
    var time = new VirtualTime(new SplittableRandom(7));
    time.run(
        () -> {
          var process = time.machine(self.address());
          var workers = new Workers(process, process, new SplittableRandom(7));
          var margin = Duration.ofMillis(100);
          tenure = new Tenure(self, margin, margin, (to, token) -> {}, workers);
          test.accept(time, process);
        });
  }

  private static void assertSaysNoInTheEnd(
      VirtualTime time, VirtualTime.Machine process, BooleanSupplier asked) {
    var said = new ArrayList<Boolean>();
    process.start(() -> said.add(asked.getAsBoolean()));
    time.world().sleep(TimeUnit.SECONDS.toNanos(9));
    assertEquals(List.of(), said);
    time.world().sleep(TimeUnit.SECONDS.toNanos(2));
    assertEquals(List.of(false), said);
  }

  /** It is about to hear that the one that it misses has left in good order. */
  @Test
  void timeInWhichItStoodStillMakesNothingHopeless() {
    inVirtualTime(
        B,
        (time, process) -> {
          tenure.voters(List.of(A, B, C));
          giveUp(A, B, C);
          var agrees = new AtomicBoolean();
          process.start(() -> agrees.set(tenure.agree()));
          time.world().sleep(Duration.ofSeconds(1).toNanos());
          tenure.voters(List.of(B));
          process.pause(false);
          time.world().sleep(Duration.ofSeconds(20).toNanos());
          process.resume();
          time.world().sleep(Duration.ofSeconds(1).toNanos());
          tenure.leaves(C);
          time.world().sleep(Duration.ofSeconds(1).toNanos());
          assertTrue(agrees.get());
        });
  }

  private void assertWaits(Duration most, Duration least) {
    long wait = tenure.nanosUntilTakeover();
    assertTrue(wait > least.toNanos() && wait <= most.toNanos(), () -> wait + " ns");
  }

  @Test
  void whatOthersHadMayBeTakenOverWhenAllHaveSeenItAndTheMarginIsOver() {
    var brief = Duration.ofMillis(100);
    tenure = of(A, brief);
    assertEquals(0, tenure.nanosUntilTakeover());
    tenure.givenUp(B, true);
    Await.await("longer than the margin", longerThan(brief));
    assertWaits(brief, brief.dividedBy(2)); // as not all have seen it
    tenure.gone(B);
    Await.await("the margin being over", () -> tenure.nanosUntilTakeover() == 0);
  }

  private static BooleanSupplier longerThan(Duration time) {
    long since = System.nanoTime();
    return () -> System.nanoTime() - since > 2 * time.toNanos();
  }

  @Test
  void theMarginIsShortenedForThoseOnlyWhoHaveSurelyEnded() {
    var brief = Duration.ofMinutes(1);
    var full = Duration.ofMinutes(10);
    tenure.givenUp(B, true);
    assertWaits(brief, Duration.ZERO);
    tenure.gone(B);
    assertWaits(brief, Duration.ZERO);
    tenure.givenUp(C, false);
    assertWaits(full, brief);
    tenure.gone(C);
    assertWaits(full, brief);
    tenure.givenUp(D, true);
    tenure.gone(D);
    assertWaits(full, brief); // C's is not over
  }

  @Test
  void withoutAFenceNothingIsTakenOverBeforeTheMarginIsOver() {
    tenure = of(A, Duration.ofMillis(300));
    tenure.givenUp(B, true);
    tenure.gone(B);
    assertTrue(pinged(() -> {}).takeOver());
    assertEquals(0, tenure.nanosUntilTakeover());
  }

  /** A coordinator that is new keeps no margin, and events may be late. */
  @Test
  void whatPekkoHasDecidedIsToldBeforeItIsLookedHowLongToWait() {
    tenure = of(A, Duration.ofMillis(300));
    var asked = new AtomicInteger();
    Runnable toldAll =
        () -> {
          if (asked.getAndIncrement() == 0) {
            throw new IllegalStateException("not now");
          }
          tenure.givenUp(B, true);
          tenure.gone(B);
        };
    assertTrue(pinged(toldAll).takeOver());
    assertEquals(2, asked.get());
    assertEquals(0, tenure.nanosUntilTakeover());
  }

  @Test
  void whoIsGivenUpWhileItWaitsToBeToldOwnsNothing() {
    tenure.end();
    Runnable toldAll =
        () -> {
          throw new IllegalStateException("not any more");
        };
    assertFalse(pinged(toldAll).takeOver());
  }

  /** Nobody tells it any more that all have seen whom they gave up. */
  @Test
  void whoIsGivenUpWhileItWaitsForTheMarginOwnsNothing() throws Exception {
    tenure = of(A, Duration.ofMillis(8));
    tenure.voters(List.of(A, B, C));
    tenure.givenUp(B, true);
    var waiting = CompletableFuture.supplyAsync(pinged(() -> {})::takeOver);
    tenure.end();
    assertFalse(waiting.get(20, TimeUnit.SECONDS));
  }

  private PingedMandate pinged(Runnable toldAll) {
    return new PingedMandate(new MemoryStorage(), tenure, RealWorkers.REAL, toldAll);
  }

  /** Also if the clock stands still, so that the answers are as young as the question. */
  @Test
  void beingHeardByTheOthersTakesAnswersToQuestionsThatWereAskedSince() throws Exception {
    tenure.voters(List.of(A, B, C));
    tenure = of(A, Duration.ofMillis(8));
    var all = new Roster(Set.of(A, B, C), List.of(A, B, C), List.of(A, B, C));
    var first = CompletableFuture.supplyAsync(() -> tenure.isHeardBy(all));
    var old = nextPing();
    tenure.answered(old.to(), old.token());
    assertTrue(first.get(20, TimeUnit.SECONDS));
    pings.clear();
    var second = CompletableFuture.supplyAsync(() -> tenure.isHeardBy(all));
    var ping = nextPing();
    assertTrue(ping.token() > old.token());
    tenure.answered(C, old.token());
    tenure.answered(B, old.token());
    nextPing();
    nextPing();
    assertFalse(second.isDone());
    tenure.answered(C, ping.token());
    assertTrue(second.get(20, TimeUnit.SECONDS));
  }

  /** All have seen that it was. */
  private void giveUp(NodeId other, NodeId... stay) {
    tenure.voters(List.of(stay));
    tenure.givenUp(other, true);
    tenure.gone(other);
  }

  private void agree() throws Exception {
    CompletableFuture.runAsync(tenure::agree).get(20, TimeUnit.SECONDS);
  }

  private Thread waitingForAgreement() {
    var agreeing = Thread.ofVirtual().start(tenure::agree);
    Await.await("waiting", () -> WAITING.contains(agreeing.getState()));
    return agreeing;
  }

  /** It may yet side with the one that was given up, and give this node up. */
  @Test
  void anAnswerOfOneThatHasNotSeenWhoWasGivenUpIsNoAgreement() throws Exception {
    answering.add(C);
    tenure.voters(List.of(A, B, C));
    tenure.givenUp(B, true);
    tenure.voters(List.of(A, C));
    assertTrue(tenure.isLargerPart());
    assertEquals(1, tenure.givenUpCount());
    var agreeing = Thread.ofVirtual().start(tenure::agree);
    assertTrue(confirmed()); // C answers
    answering.remove(C);
    tenure.voters(List.of(A));
    assertFalse(tenure.isLargerPart());
    tenure.voters(List.of(A, C));
    answering.add(C);
    tenure.gone(B);
    assertTrue(agreeing.join(Duration.ofSeconds(20)));
    tenure.voters(List.of(A));
    assertTrue(tenure.isLargerPart());
    assertEquals(0, tenure.givenUpCount());
  }

  @Test
  void whoWasGivenUpBeforeThisNodeDecidesIsNotAskedWhenItDoes() throws Exception {
    tenure = of(B, Duration.ofMinutes(1));
    tenure.voters(List.of(A, C));
    tenure.givenUp(A, true);
    tenure.voters(List.of(C));
    var agreeing = waitingForAgreement();
    tenure.gone(A);
    assertTrue(agreeing.join(Duration.ofSeconds(20)));
    tenure.voters(List.of(B, C));
    tenure.voters(List.of(B));
    assertTrue(tenure.isLargerPart(), "half with the first");
  }

  /** It waited for ever: of the two the dead one is the first. */
  @Test
  void whoWasGoneBeforeThisNodeDecidesIsAgreedToHoweverLateThatIsAwaited() throws Exception {
    tenure = of(B, Duration.ofMinutes(1));
    tenure.voters(List.of(A, C));
    tenure.voters(List.of(C));
    tenure.givenUp(A, true);
    tenure.gone(A);
    answering.add(C);
    tenure.voters(List.of(B, C));
    agree();
    answering.clear(); // of two the first suffices
    assertTrue(confirmed());
  }

  @Test
  void whoIsGivenUpWhileOthersAgreeIsNotAgreedTo() throws Exception {
    tenure.voters(List.of(A, B, C));
    var agreeing = Thread.ofVirtual().start(tenure::agree);
    nextPing();
    var ping = nextPing();
    tenure.voters(List.of(A, C)); // B's being given up is about to be told
    tenure.answered(C, ping.token());
    assertTrue(agreeing.join(Duration.ofSeconds(20)));
    tenure.givenUp(B, true);
    tenure.voters(List.of(A));
    assertFalse(tenure.isLargerPart());
  }

  @Test
  void anAnswerToAQuestionFromBeforeAllHaveSeenIsNoAgreement() throws Exception {
    tenure.voters(List.of(A, B, C));
    tenure.givenUp(B, true);
    var agreeing = waitingForAgreement();
    answering.add(C);
    assertTrue(confirmed());
    answering.remove(C);
    pings.clear();
    tenure.gone(B);
    tenure.voters(List.of(A, C)); // new questions need not wait
    var ping = nextPing();
    assertTrue(agreeing.isAlive());
    tenure.answered(C, ping.token());
    assertTrue(agreeing.join(Duration.ofSeconds(20)));
  }

  /** One that is cut off may miss the others at different times. */
  @Test
  void whoGivesUpOneAfterTheOtherWithoutAMajorityOfThoseBeforeIsTheSmallerPart() {
    tenure.voters(List.of(A, B, C));
    tenure.voters(List.of(A, C));
    assertTrue(tenure.isLargerPart());
    tenure.voters(List.of(A));
    assertFalse(tenure.isLargerPart());
  }

  @Test
  void whatAMajorityHasAgreedToIsTheCluster() throws Exception {
    answering.add(C);
    tenure.voters(List.of(A, B, C));
    giveUp(B, A, C);
    agree();
    giveUp(C, A);
    assertTrue(tenure.isLargerPart(), "half with the first");
    agree();
    tenure.voters(List.of(A, D));
    tenure.voters(List.of(A));
    assertTrue(tenure.isLargerPart());
  }

  @Test
  void theHalfWithoutTheFirstIsTheSmallerPart() {
    tenure = of(B, Duration.ofMinutes(1));
    tenure.voters(List.of(A, B));
    tenure.voters(List.of(B));
    assertFalse(tenure.isLargerPart());
  }

  @Test
  void whoLeftInGoodOrderOrIsDeadIsNotAsked() {
    tenure = of(B, Duration.ofMinutes(1));
    tenure.voters(List.of(A, B, C));
    tenure.left(A);
    tenure.voters(List.of(B, C));
    assertTrue(tenure.isLargerPart());
    tenure.voters(List.of(B));
    assertTrue(tenure.isLargerPart(), "half with the first");
  }

  @Test
  void whoDecidesNothingIsOfTheLargerPart() throws Exception {
    tenure = of(D, Duration.ofMinutes(1));
    tenure.voters(List.of(A, B));
    tenure.voters(List.of());
    assertTrue(tenure.isLargerPart());
    agree();
  }

  @Test
  void agreeingEndsWithTheNode() throws Exception {
    tenure.voters(List.of(A, B, C));
    tenure.voters(List.of(A, C));
    var agreeing = CompletableFuture.runAsync(tenure::agree);
    nextPing();
    assertFalse(agreeing.isDone());
    tenure.end();
    agreeing.get(20, TimeUnit.SECONDS);
  }

  @Test
  void withoutAMajorityItIsGivenUpAfterAWhile() {
    inVirtualTime(
        A,
        (time, process) -> {
          tenure.voters(List.of(A, B, C));
          assertSaysNoInTheEnd(time, process, tenure::confirmed);
        });
  }

  private static Roster roster(NodeId... up) {
    return Roster.of(Arrays.stream(up).map(node -> new Member(node, 1, true, "up", true)));
  }

  @Test
  void whoIsLetInIsAdmittedByTheAnswerOfOneWhoDecidedBefore() throws Exception {
    tenure.voters(List.of(B, C));
    assertTrue(tenure.isAdmitted(), "as it decides nothing");
    tenure.voters(List.of(A, B, C));
    tenure.voters(List.of(A, B, C, D));
    assertFalse(tenure.isAdmitted());
    assertTrue(tenure.mayBeAdmitted());
    assertFalse(tenure.mayAnswer(B, roster(A, B, C, D)), "or it would admit others");
    var admission = CompletableFuture.runAsync(tenure::awaitAdmission);
    long token = nextPing().token();
    tenure.answered(D, token);
    assertFalse(tenure.isAdmitted(), "by one who came later");
    assertFalse(admission.isDone());
    tenure.answered(C, token);
    assertTrue(tenure.isAdmitted());
    admission.get(20, TimeUnit.SECONDS);
    assertTrue(tenure.mayAnswer(B, roster(A, B, C, D)));
  }

  @Test
  void whoIsLetInByOneWhoHasGoneSinceCannotBeAdmitted() throws Exception {
    tenure.voters(List.of(B));
    tenure.voters(List.of(A, B));
    tenure.voters(List.of(A, B, D));
    var waiting = asked();
    tenure.voters(List.of(A, D));
    assertFalse(tenure.mayBeAdmitted());
    answering.add(D);
    assertFalse(waiting.isDone());
    tenure.end();
    assertFalse(waiting.get(20, TimeUnit.SECONDS));
  }

  @Test
  void whoComesWhenAllOthersHaveLeftInGoodOrderNeedsNobody() {
    tenure.voters(List.of(B));
    tenure.voters(List.of());
    tenure.leaves(B);
    tenure.voters(List.of(A));
    assertTrue(tenure.isAdmitted());
  }

  @Test
  void whoComesWhenAllOthersWereGivenUpCannotBeAdmitted() {
    tenure.voters(List.of(B));
    tenure.voters(List.of());
    tenure.givenUp(B, true);
    tenure.gone(B);
    tenure.voters(List.of(A));
    assertFalse(tenure.mayBeAdmitted(), "b may go on, cut off, with others");
  }

  @Test
  void whoBeginsWithNobodyBeforeItNeedsNobody() {
    tenure.voters(List.of(A));
    assertTrue(tenure.isAdmitted());
    tenure.voters(List.of(A, B));
    assertTrue(tenure.isAdmitted());
    assertTrue(tenure.mayAnswer(B, roster(A, B)));
  }

  @Test
  void aNewcomerIsNotAnsweredBeforeItIsAgreedWhoIsGone() {
    tenure.voters(List.of(A, B, C));
    assertTrue(tenure.mayAnswer(D, roster(A, B, C, D)), "nobody is gone");
    assertFalse(tenure.mayAnswer(D, roster(A, B, D)), "Pekko knows more than this by now");
    tenure.givenUp(C, false);
    tenure.voters(List.of(A, B));
    assertFalse(tenure.mayAnswer(D, roster(A, B, D)));
    assertTrue(tenure.mayAnswer(B, roster(A, B, D)), "who is asked whether it agrees");
    tenure.gone(C);
    assertFalse(tenure.mayAnswer(D, roster(A, B, D)));
    answering.add(B);
    assertTrue(tenure.agree());
    assertTrue(tenure.mayAnswer(D, roster(A, B, D)));
    tenure.end();
    assertFalse(tenure.mayAnswer(B, roster(A, B, D)));
  }
}
