package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * That the simulation can fail: the core, broken in one way, does not pass it, and fails in the way
 * that is to be expected. It is given what the core itself passes in every test run, no more: the
 * seeds of {@link SimulationTest}, {@link StormTest}, {@link VersionStormTest} and {@link
 * AdmissionSimulationTest}, and the schedules of {@link ExplorerTest}. The system property {@code
 * evergreen.mutant} is a part of the text of the only mutants to be tried.
 */
final class MutantTest {

  /**
   * A broken core, and what it is caught by.
   *
   * @param by a part of what is then violated: what fails in another way is not this
   */
  record Caught(Mutant mutant, String by) {}

  static Stream<Caught> mutants() {
    return Stream.of(
            // Lost marks: by a write, and by a dependency.
            new Caught(
                new Mutant.LeavesOut("engine.Activation", "finished", "markAll"), "violated 1"),
            new Caught(new Mutant.LeavesOut("engine.Caches", "tell", "mark"), "violated 1"),
            // Ignored versions: a cache takes what is old.
            new Caught(new Mutant.DoesNothing("engine.Cache", "isOld"), "violated 1"),
            // No renewal, so that what is lost at a node's death stays lost.
            new Caught(
                new Mutant.LeavesOut("engine.Subscriptions", "renew", "sendInBatches"),
                "violated 1"),
            // Unvalidated executions: writes go on in the middle of runs.
            new Caught(new Mutant.LeavesOut("engine.Activation", "begin", "makeWay"), "violated 2"),
            // Lost pushes: one that is not acknowledged is not sent again.
            new Caught(
                new Mutant.LeavesOut("engine.Outboxes$Outbox", "sendAgain", "forEach"),
                "violated 1"),
            // Nor one that found no room in its batch.
            new Caught(
                new Mutant.LeavesOut("engine.Outboxes$Outbox", "putBack", "putFirst"),
                "violated 1"),
            // Every result counts as another one.
            new Caught(
                new Mutant.DoesNothing("model.Outcome", "same"), "delivered the same result twice"),
            // An activation ends without telling its subscribers.
            new Caught(new Mutant.LeavesOut("engine.Activation", "close", "end"), "violated 1"),
            // Farewells are not sent, edges not given up, idle caches kept.
            new Caught(
                new Mutant.LeavesOut("engine.Subscriptions", "end", "sendParts"), "violated 4"),
            new Caught(new Mutant.LeavesOut("engine.Edges", "release", "release"), "violated 4"),
            new Caught(new Mutant.LeavesOut("engine.Caches", "idle", "sweepLater"), "violated 4"),
            // Writes are acknowledged without being saved.
            new Caught(new Mutant.LeavesOut("engine.Activation", "execute", "save"), "violated 2"),
            // A failed operation leaves what it has set.
            new Caught(
                new Mutant.LeavesOut("engine.Activation", "execute", "rollBack"), "violated 3"),
            // Nothing refuses the saves of those who were given up; others own what they had too
            // early.
            new Caught(new Mutant.SaysYes("sim.SimStorage", "mayAct"), "violated 3"),
            new Caught(new Mutant.LeavesOut("sim.Cluster", "takeOver", "giveUp"), "violated 3"),
            // Who waits for another freshness is not told of it.
            new Caught(
                new Mutant.LeavesOut("engine.RootComputation", "doubts", "wake"), "violated 1"),
            // A repeated message is a repeated call.
            new Caught(new Mutant.SaysYes("work.SeenCalls", "add"), "violated 3"),
            // In a re-entrant grain the outer operation takes back what the inner one has saved.
            new Caught(OUTER_TAKES_BACK, "violated 3"),
            // Two branches that come back to one are inside together.
            new Caught(BRANCHES_TOGETHER, "violated 3"),
            // One that waits for another one is forgotten.
            new Caught(
                new Mutant.LeavesOut("engine.Activation", "finished", "letComeBack"),
                "GrainTimeoutException: Ring/"),
            // What came of an interrupt was the result.
            new Caught(new Mutant.DoesNothing("engine.Summary$Run", "isCut"), "violated 1"),
            // An older node saves over what a newer one has written.
            new Caught(OLDER_SAVES_OVER, "violated 3"))
        .filter(caught -> chosen(caught.mutant()));
  }

  /** What only circles that come and go tell. */
  static Stream<Caught> mutantsOfCircles() {
    return Stream.<Caught>of(
            // A member that came back with the same result was not told of by the others.
            new Caught(
                new Mutant.Says(
                    "engine.CycleSearch",
                    "members.contains(key) || endless.contains(key)",
                    "members.contains(key)"),
                "violated 1"),
            // Whatever a list says is what it has said before.
            new Caught(
                new Mutant.Says("engine.Evidence", "return sameReads", "return true || sameReads"),
                "violated 1"),
            // A verdict outlived the lists that it rests on.
            new Caught(
                new Mutant.Says(
                    "engine.GrainSummary",
                    "released = accepted(released);",
                    "released = accepted(read); verdict.edges().release();"),
                "violated 1"))
        .filter(caught -> chosen(caught.mutant()));
  }

  /** What only circles between two versions of a program tell. */
  static Stream<Caught> mutantsOfVersions() {
    return Stream.<Caught>of(
            // What another version calls a summary of this node was another summary.
            new Caught(
                new Mutant.Says(
                    "engine.CycleSearch",
                    "base.models().ownName(read.summary())",
                    "read.summary()"),
                "violated 1"))
        .filter(caught -> chosen(caught.mutant()));
  }

  /** What only comparers tell that take longer than something else. */
  static Stream<Caught> mutantsOfComparers() {
    return Stream.<Caught>of(
            // A new activation was never believed while its result took longer than a renewal.
            new Caught(
                new Mutant.Says(
                    "engine.Cache", "!wasDeferred || update.generation() <= answered", "true"),
                "IN_DOUBT"))
        .filter(caught -> chosen(caught.mutant()));
  }

  /** What only those tell who write, or have something computed, without end. */
  static Stream<Caught> mutantsOfRuns() {
    var noResult = "NoNewResultException";
    return Stream.of(
            // Nothing protects runs from writes,
            new Caught(new Mutant.DoesNothing("engine.Activation", "heldUpByRuns"), noResult),
            // not if they were interrupted again and again,
            new Caught(
                new Mutant.Says(
                    "engine.Runs", "run.discardedBefore() >= DISCARDS_BEFORE_PROTECTION", "false"),
                noResult),
            // nor if they were kept from beginning;
            new Caught(
                new Mutant.Says(
                    "engine.Runs", "workers.nanos() - heldBackSince >= longest", "false"),
                noResult),
            // or it does so once.
            new Caught(new Mutant.Says("engine.Runs", "    sheltered = false;\n", ""), noResult),
            // Writes wait for runs as long as there are any.
            new Caught(
                new Mutant.Says(
                    "engine.Runs", "Math.max(0, shelteredUntil - workers.nanos())", "longest"),
                "GrainTimeoutException"))
        .filter(caught -> chosen(caught.mutant()));
  }

  /** What only callers tell that go away before their turn. */
  static Stream<Caught> mutantsOfQueues() {
    return Stream.<Caught>of(
            // Who was interrupted left a call to begin.
            new Caught(
                new Mutant.Says(
                    "engine.Calls",
                    "if (attempt.outcome == null) {",
                    "if (attempt.outcome == null && !Thread.currentThread().isInterrupted()) {"),
                "nobody waits"),
            // So did who called another node, whatever ended that.
            new Caught(
                new Mutant.LeavesOut("engine.Calls", "withdrawn", "withdraw"), "nobody waits"),
            // So did who raced another branch, and lost.
            new Caught(
                new Mutant.Says(
                    "engine.Calls",
                    "if (attempt.answer == null) {",
                    "if (attempt.answer == null && (scope == null || !scope.cancelled())) {"),
                "nobody waits"),
            // So did who had called by a link after the broken one, of which the news came late.
            new Caught(
                new Mutant.Says(
                    "engine.Calls", "if (attempt.answer == null) {", "if (!attempt.ended()) {"),
                "nobody waits"),
            // Whose link has broken left its calls to begin.
            new Caught(new Mutant.LeavesOut("engine.Calls", "breakOff", "forEach"), "nobody waits"),
            // A call began that comes after it was taken back.
            new Caught(
                new Mutant.Says("engine.Calls", "if (!isFirst(from, id, 0)) {", "{"),
                "nobody waits"),
            // What was withdrawn counted as open.
            new Caught(
                new Mutant.LeavesOut("engine.Calls", "withdraw", "decrementAndGet"),
                "calls are left"))
        .filter(caught -> chosen(caught.mutant()));
  }

  private static final Mutant OUTER_TAKES_BACK =
      new Mutant.Says(
          "engine.StateCell",
          "before.revision() == revision ? (S) before.state() : saved",
          "(S) before.state()");

  private static final Mutant BRANCHES_TOGETHER =
      new Mutant.DoesNothing("engine.Turn", "isBesideAnother");

  private static final Mutant OLDER_SAVES_OVER =
      new Mutant.Says(
          "engine.StateCell", "if (unknown != null) {", "if (revision < 0 && unknown != null) {");

  /**
   * A fault that was there once, put back.
   *
   * @param scope where it must be found, by the schedules of an ordinary run
   * @param by a part of what is then violated
   */
  record Fault(Mutant mutant, String scope, String by) {}

  static Stream<Fault> faults() {
    return Stream.of(
            // A circle that nobody reads was cut off from its publishers, and stayed open to be
            // read.
            new Fault(
                new Mutant.Says(
                    "engine.Caches",
                    """
                          if (cache != null && cache.closeIfReadOnlyBy(calls)) {
                            closed.add(cache);
                          }
                        }
                        if (closed.isEmpty()) {
                          return;
                        }
                        closed.forEach(this::remove);
                        lines().end(closed);
                        long patience = base.settings().pushRetryAfter().toNanos();
                        workers.after(patience, next -> runDependents(closed, next));
                        closed.forEach(cache -> standings.tell(cache.dependents()));
                    """,
                    """
                          if (cache != null
                              && cache.dependents().stream().allMatch(d -> calls.contains(d.key()))) {
                            closed.add(cache);
                          }
                        }
                        lines().end(closed);
                    """),
                "a cycle without readers is read again inside the grace, and broken",
                "violated 1: after the first settling"),
            // A queued write stood between a read and what that led to.
            new Fault(
                new Mutant.Says(
                    "engine.Turn",
                    "began = Math.min(began, chainBegan);",
                    "began = Math.min(began, caller == null ? chainBegan :"
                        + " home.base().chainClock().at(nanos));"),
                "a write of one grain reads another one, which reads it, and is written",
                "violated 3: nothing is delayed"),
            // What changed nothing was acknowledged by a node that may belong to nobody any more.
            new Fault(
                new Mutant.Says(
                    "engine.StateCell",
                    """
                          present = saved;
                          // What it answers may rest on a state that is not the latest.
                          return base.placement().confirmed() ? null : unconfirmed();
                    """,
                    "present = saved; return null;"),
                "a node that was given up goes on",
                "violated 3: an operation of cell c1 was acknowledged"),
            new Fault(
                OLDER_SAVES_OVER,
                "two versions of a program write the same grain",
                "violated 3: Stall/s1 has lost"),
            new Fault(
                OUTER_TAKES_BACK,
                "a chain comes back to a ring, and what it has done there stays",
                "violated 3: action 20 made version"),
            new Fault(
                BRANCHES_TOGETHER,
                "two branches come back to a ring, and one fails",
                "has entered Ring/r1 beside"),
            // A publisher named a cache in bytes of its own version.
            new Fault(
                new Mutant.Says(
                    "engine.Publication",
                    "name, generation, version, encoded, depth",
                    "key.wire(), generation, version, encoded, depth"),
                "two versions of a program read each other's grains",
                "violated 1: after the first settling"),
            // A result that cannot be encoded held up all others for its node.
            new Fault(
                new Mutant.Says(
                    "model.Outcome",
                    """
                            } catch (Throwable e) {
                              yield failed(
                    """,
                    """
                            } catch (ArrayStoreException e) {
                              yield failed(
                    """),
                "a result that cannot be encoded, beside others",
                "NotAValueException"),
            // A closed cache took the place of the live one in the table of remote ones.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "    if (!closed()) {\n      wasRemote",
                    "    if (true) {\n      wasRemote"),
                "a cell is read again inside the grace, while its link breaks",
                "violated 1: after the first settling"),
            // A chain whose caller gave up entered a grain beside an unrelated write.
            new Fault(
                new Mutant.SaysYes("engine.Turn", "isWaitedForBy"),
                "a chain whose caller gave up comes back",
                "violated 3: a chain enters r1 beside"),
            // Readers passed writers that waited.
            new Fault(
                new Mutant.Says(
                    "engine.Admission",
                    "rank = entrant.began();",
                    "rank = entrant.readOnly() ? Long.MIN_VALUE : entrant.began();"),
                "readers on another node, again and again, and one write",
                "violated 3: nothing is delayed"),
            // One reader's time limit was everybody's.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "edge.wentOn = true;",
                    "edge.wentOn = true; if (instead != null) { standing = new Standing(new"
                        + " Content.Failed(instead, failure(0)), standing.line); }"),
                "one reader is impatient, the other is not",
                "violated 1: nothing is delayed"),
            // What an interrupt had ended was the result,
            new Fault(
                new Mutant.DoesNothing("engine.Summary$Run", "isCut"),
                "whoever computes is interrupted, wherever it waits",
                "violated 1"),
            // or what was shown in place of what it had ended.
            new Fault(
                new Mutant.LeavesOut("engine.Scope", "await", "noteInterrupt"),
                "whoever waits is interrupted, and shows something else",
                "violated 1"),
            // What a reader went on with after a time-out counted as current.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "wentOn || (outcome != null && (Cache.this.inDoubt() || tookOther()))",
                    "present() != null && standing.line != Line.HEARD"),
                "an impatient reader shows something else",
                "violated 1: tracker w1.1"),
            // The members of a circle kept each other in doubt.
            new Fault(
                new Mutant.Says(
                    "engine.GrainSummary", "(inCircle ? evidence : edges).list()", "edges.list()"),
                "the link between two members of a cycle breaks",
                "is in doubt"),
            // A verdict on a circle outlived the edges that made it.
            new Fault(
                new Mutant.Says(
                    "engine.GrainSummary",
                    "released = accepted(released);",
                    "released = accepted(read); verdict.edges().release();"),
                "a circle ends as it is found, and nobody's value differs",
                "violated 1: after the first settling"),
            // Or it knew no other list from the one that it had read.
            new Fault(
                new Mutant.Says("engine.Evidence", "return sameReads", "return true || sameReads"),
                "a circle ends as it is found, and nobody's value differs",
                "violated 1: after the first settling"),
            // A member of a circle that caught the exception was none.
            new Fault(
                new Mutant.Says(
                    "engine.GrainSummary",
                    "verdict.circle() != null ? verdict.circle() : computed",
                    "computed"),
                "a cycle is replaced by another one, whose member the first catches",
                "violated 1: tracker w2.1"),
            // What a member had read before and what it reads now made a circle together.
            new Fault(
                new Mutant.Says("engine.Evidence", " && (tentative || !read.tentative())", ""),
                "a cycle is replaced by another one, whose member the first catches",
                "violated 2: a circle is told that never was"),
            // Members of a circle that nobody reads kept each other.
            new Fault(
                new Mutant.Says("engine.CircleCollector", "if (found == null) {", "if (true) {"),
                "the link between two members of a cycle breaks",
                "violated 4: nothing is used any more"),
            // An equal failure ran the dependents again.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "      edge.outcome = now;\n      edge.wentOn = false;\n    }\n    return same;",
                    "    }\n    return false;"),
                "what an impatient reader reads fails again and again",
                "violated 4: nothing changes"),
            // A call that had begun was told not to have.
            new Fault(
                new Mutant.Says(
                    "engine.Activation",
                    "t instanceof NotStartedException e ? startedAllTheSame(turn, e) : t",
                    "t"),
                "a courier finds no room at its second cell",
                "counts as not started"),
            // A computation showed what a write then took back.
            new Fault(
                new Mutant.Says(
                    "engine.RootComputation", "insideWrite ? scope.turn() : null", "null"),
                "a write computes what it then takes back",
                "violated 2: a computation of"),
            // A result counts as one that reflects a write: while it is computed again,
            new Fault(
                new Mutant.Says(
                    "engine.Summary",
                    "return marked || underWay != null || over()",
                    "return over()"),
                "who has written looks at once",
                "violated 1: w1 on"),
            // whatever others read below it,
            new Fault(
                new Mutant.Says(
                    "engine.Settling",
                    "new Descent(place.fence(), summary, isList, null, deadline).succeeds()",
                    "true"),
                "who has written looks at once",
                "violated 1: w1 on"),
            // or before a publisher's push of it has arrived.
            new Fault(
                new Mutant.Says(
                    "engine.Settling",
                    "(answer != null && cache.haveToldOf(answer))",
                    "answer != null"),
                "who has written looks at once",
                "violated 1: w1 on"))
        .filter(fault -> chosen(fault.mutant()));
  }

  private static boolean chosen(Mutant mutant) {
    return mutant.toString().contains(System.getProperty("evergreen.mutant", ""));
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("faults")
  void aFaultThatWasMendedIsFoundIfItComesBack(Fault fault) throws InterruptedException {
    var found = MutantLoader.load(fault.mutant()).scope(fault.scope(), fault.by());
    assertNotNull(found, () -> fault + ", and no schedule of an ordinary run notices");
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutants")
  void aBrokenAlgorithmIsCaught(Caught caught) throws InterruptedException {
    check(caught, SimulationTest.SEEDS, MutantLoader.load(caught.mutant())::seed);
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfCircles")
  void aBrokenSearchForCirclesIsCaughtInAStorm(Caught caught) throws InterruptedException {
    check(caught, StormTest.SEEDS, MutantLoader.load(caught.mutant())::storm);
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfVersions")
  void aBrokenSearchForCirclesIsCaughtBetweenVersions(Caught caught) throws InterruptedException {
    check(caught, VersionStormTest.SEEDS, MutantLoader.load(caught.mutant())::versionStorm);
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfRuns")
  void runsAndWritesThatPassEachOtherForEverAreCaughtInACrowd(Caught caught)
      throws InterruptedException {
    var crowd = MutantLoader.load(caught.mutant());
    check(caught, AdmissionSimulationTest.SEEDS_IN_CROWD, crowd::crowd);
  }

  private static void check(Caught caught, long seeds, LongFunction<@Nullable String> run)
      throws InterruptedException {
    Set<String> others = ConcurrentHashMap.newKeySet();
    LongFunction<@Nullable String> asExpected =
        seed -> {
          var failure = run.apply(seed);
          if (failure == null || failure.contains(caught.by())) {
            return failure;
          }
          others.add(seed + ": " + failure);
          return null;
        };
    assertFalse(
        Seeds.<String>failures(1, seeds, 1, asExpected).isEmpty(),
        () -> caught + ", and " + seeds + " seeds do not notice, or otherwise: " + others);
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfComparers")
  void aCacheThatComparersHoldUpIsCaughtInAStorm(Caught caught) throws InterruptedException {
    check(caught, ComparedStormTest.SEEDS, MutantLoader.load(caught.mutant())::comparedStorm);
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfQueues")
  void whoLeavesCallsToBeginIsCaughtByTheImpatient(Caught caught) throws InterruptedException {
    check(caught, ImpatienceTest.SEEDS, MutantLoader.load(caught.mutant())::impatience);
  }

  @Test
  void aMutantThatChangesNothingIsRefused() {
    for (var mutant :
        List.of(
            new Mutant.Says("engine.Edges", "no such line", ""),
            new Mutant.LeavesOut("engine.Edges", "release", "noSuchMethod"),
            new Mutant.DoesNothing("engine.Edges", "noSuchMethod"))) {
      assertThrows(IllegalStateException.class, () -> MutantLoader.load(mutant));
    }
  }
}
