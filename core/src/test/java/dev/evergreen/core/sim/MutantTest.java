package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * That the simulation can fail: the core, broken in one way, does not pass it. The system property
 * {@code evergreen.mutant} is a part of the text of the only mutants to be tried.
 */
final class MutantTest {

  private static final long SEEDS = 1_500;
  private static final long STORMS = 200;
  private static final long SCHEDULES = 1_500;

  static Stream<Mutant> mutants() {
    return Stream.of(
            // Lost marks: by a write, and by a dependency.
            new Mutant.LeavesOut("engine.Activation", "finished", "markAll"),
            new Mutant.LeavesOut("engine.Caches", "tell", "mark"),
            // Ignored versions: a cache takes what is old.
            new Mutant.DoesNothing("engine.Cache", "isOld"),
            // No renewal, so that what is lost at a node's death stays lost.
            new Mutant.LeavesOut("engine.Subscriptions", "renew", "sendInBatches"),
            // Unvalidated executions: writes go on in the middle of runs.
            new Mutant.LeavesOut("engine.Activation", "begin", "makeWay"),
            // Lost pushes: one that is not acknowledged is not sent again.
            new Mutant.LeavesOut("engine.Outboxes$Outbox", "sendAgain", "forEach"),
            // Nor one that found no room in its batch.
            new Mutant.LeavesOut("engine.Outboxes$Outbox", "putBack", "putFirst"),
            // Every result counts as another one.
            new Mutant.DoesNothing("model.Outcome", "same"),
            // An activation ends without telling its subscribers.
            new Mutant.LeavesOut("engine.Activation", "close", "end"),
            // Farewells are not sent, edges not given up, idle caches kept.
            new Mutant.LeavesOut("engine.Subscriptions", "end", "sendParts"),
            new Mutant.LeavesOut("engine.Edges", "release", "release"),
            new Mutant.LeavesOut("engine.Caches", "idle", "sweepLater"),
            // Writes are acknowledged without being saved.
            new Mutant.LeavesOut("engine.Activation", "execute", "save"),
            // A failed operation leaves what it has set.
            new Mutant.LeavesOut("engine.Activation", "execute", "rollBack"),
            // Nothing refuses the saves of those who were given up; others own what they had too
            // early.
            new Mutant.SaysYes("sim.SimStorage", "mayAct"),
            new Mutant.LeavesOut("sim.Cluster", "takeOver", "giveUp"),
            // A repeated message is a repeated call.
            new Mutant.SaysYes("engine.SeenCalls", "add"),
            // In a re-entrant grain the outer operation takes back what the inner one has saved.
            OUTER_TAKES_BACK,
            // Two branches that come back to one are inside together.
            BRANCHES_TOGETHER,
            // One that waits for another one is forgotten.
            new Mutant.LeavesOut("engine.Activation", "finished", "letComeBack"),
            // An older node saves over what a newer one has written.
            OLDER_SAVES_OVER)
        .filter(MutantTest::chosen);
  }

  /** What only circles that come and go tell. */
  static Stream<Mutant> mutantsOfCircles() {
    return Stream.<Mutant>of(
            // A member that came back with the same result was not told of by the others.
            new Mutant.Says(
                "engine.CycleSearch",
                "members.contains(key) || endless.contains(key)",
                "members.contains(key)"),
            // Whatever a list says is what it has said before.
            new Mutant.Says("engine.Evidence", "return sameReads", "return true || sameReads"),
            // A verdict outlived the lists that it rests on.
            new Mutant.Says(
                "engine.GrainSummary",
                "released = accepted(released);",
                "released = accepted(read); verdict.edges().release();"))
        .filter(MutantTest::chosen);
  }

  /** What only circles between two versions of a program tell. */
  static Stream<Mutant> mutantsOfVersions() {
    return Stream.<Mutant>of(
            // What another version calls a summary of this node was another summary.
            new Mutant.Says(
                "engine.CycleSearch", "base.models().ownName(read.summary())", "read.summary()"))
        .filter(MutantTest::chosen);
  }

  /** What only comparers tell that take longer than something else. */
  static Stream<Mutant> mutantsOfComparers() {
    return Stream.<Mutant>of(
            // A new activation was never believed while its result took longer than a renewal.
            new Mutant.Says("engine.Cache", "!wasLeft || update.generation() <= answered", "true"))
        .filter(MutantTest::chosen);
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
   * @param scope where it must be found
   */
  record Fault(Mutant mutant, String scope) {}

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
                        workers.after(patience, next -> runLeft(closed, next));
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
                "a cycle without readers is read again inside the grace, and broken"),
            // A queued write stood between a read and what that led to.
            new Fault(
                new Mutant.Says(
                    "engine.Turn",
                    "began = Math.min(began, chainBegan);",
                    "began = Math.min(began, caller == null ? chainBegan :"
                        + " home.base().chainClock().at(nanos));"),
                "a write of one grain reads another one, which reads it, and is written"),
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
                "a node that was given up goes on"),
            new Fault(OLDER_SAVES_OVER, "two versions of a program write the same grain"),
            new Fault(
                OUTER_TAKES_BACK, "a chain comes back to a ring, and what it has done there stays"),
            new Fault(BRANCHES_TOGETHER, "two branches come back to a ring, and one fails"),
            // A publisher named a cache in bytes of its own version.
            new Fault(
                new Mutant.Says(
                    "engine.Publication",
                    "name, generation, version, encoded, depth",
                    "key.wire(), generation, version, encoded, depth"),
                "two versions of a program read each other's grains"),
            // A result that cannot be encoded held up all others for its node.
            new Fault(
                new Mutant.Says(
                    "model.Outcome",
                    """
                            } catch (RuntimeException | Error e) {
                              yield failed(
                    """,
                    """
                            } catch (ArrayStoreException e) {
                              yield failed(
                    """),
                "a result that cannot be encoded, beside others"),
            // A closed cache took the place of the live one in the table of remote ones.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "    if (!closed()) {\n      wasRemote",
                    "    if (true) {\n      wasRemote"),
                "a cell is read again inside the grace, while its link breaks"),
            // A chain whose caller gave up entered a grain beside an unrelated write.
            new Fault(
                new Mutant.SaysYes("engine.Turn", "isWaitedForBy"),
                "a chain whose caller gave up comes back"),
            // Readers passed writers that waited.
            new Fault(
                new Mutant.Says(
                    "engine.Admission",
                    "rank = entrant.began();",
                    "rank = entrant.readOnly() ? Long.MIN_VALUE : entrant.began();"),
                "readers on another node, again and again, and one write"),
            // One reader's time limit was everybody's.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "edge.wentOn = true;",
                    "edge.wentOn = true; if (instead != null) { standing = new Standing(new"
                        + " Content.Failed(instead, failure(0)), standing.line); }"),
                "one reader is impatient, the other is not"),
            // What a reader went on with after a time-out counted as current.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "wentOn || (outcome != null && Cache.this.inDoubt())",
                    "present() != null && standing.line != Line.HEARD"),
                "an impatient reader shows something else"),
            // The members of a circle kept each other in doubt.
            new Fault(
                new Mutant.Says(
                    "engine.GrainSummary", "(inCircle ? evidence : edges).list()", "edges.list()"),
                "the link between two members of a cycle breaks"),
            // A verdict on a circle outlived the edges that made it.
            new Fault(
                new Mutant.Says(
                    "engine.GrainSummary",
                    "released = accepted(released);",
                    "released = accepted(read); verdict.edges().release();"),
                "a circle ends as it is found, and nobody's value differs"),
            // Or it knew no other list from the one that it had read.
            new Fault(
                new Mutant.Says("engine.Evidence", "return sameReads", "return true || sameReads"),
                "a circle ends as it is found, and nobody's value differs"),
            // A member of a circle that caught the exception was none.
            new Fault(
                new Mutant.Says(
                    "engine.GrainSummary",
                    "verdict.circle() != null ? verdict.circle() : computed",
                    "computed"),
                "a cycle is replaced by another one, whose member the first catches"),
            // What a member had read before and what it reads now made a circle together.
            new Fault(
                new Mutant.Says("engine.Evidence", " && (tentative || !read.tentative())", ""),
                "a cycle is replaced by another one, whose member the first catches"),
            // Members of a circle that nobody reads kept each other.
            new Fault(
                new Mutant.Says("engine.CircleCollector", "if (found == null) {", "if (true) {"),
                "the link between two members of a cycle breaks"),
            // An equal failure ran the dependents again.
            new Fault(
                new Mutant.Says(
                    "engine.Cache",
                    "      edge.take(now);\n    }\n    return same;",
                    "    }\n    return false;"),
                "what an impatient reader reads fails again and again"),
            // A call that had begun was told not to have.
            new Fault(
                new Mutant.Says(
                    "engine.Activation",
                    "t instanceof NotStartedException e ? startedAllTheSame(turn, e) : t",
                    "t"),
                "a courier finds no room at its second cell"),
            // A computation showed what a write then took back.
            new Fault(
                new Mutant.Says("engine.RootComputation", "insideWrite ? turn : null", "null"),
                "a write computes what it then takes back"),
            // A result counts as one that reflects a write: while it is computed again,
            new Fault(
                new Mutant.Says(
                    "engine.Summary",
                    "return marked || underWay != null || over()",
                    "return over()"),
                "who has written looks at once"),
            // whatever others read below it,
            new Fault(
                new Mutant.Says(
                    "engine.Settling",
                    "new Descent(place.fence(), summary, null, deadline).succeeds()",
                    "true"),
                "who has written looks at once"),
            // or before a publisher's push of it has arrived.
            new Fault(
                new Mutant.Says(
                    "engine.Settling",
                    "(answer != null && cache.haveToldOf(answer))",
                    "answer != null"),
                "who has written looks at once"))
        .filter(fault -> chosen(fault.mutant()));
  }

  private static boolean chosen(Mutant mutant) {
    return mutant.toString().contains(System.getProperty("evergreen.mutant", ""));
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("faults")
  void aFaultThatWasMendedIsFoundIfItComesBack(Fault fault) throws InterruptedException {
    assertNotNull(MutantLoader.load(fault.mutant()).scope(fault.scope(), SCHEDULES));
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutants")
  void aBrokenAlgorithmIsCaught(Mutant mutant) throws InterruptedException {
    var run = MutantLoader.load(mutant);
    assertFalse(
        Seeds.<String>failures(1, SEEDS, 1, run::seed).isEmpty(),
        () -> mutant + ", and " + SEEDS + " seeds do not notice");
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfCircles")
  void aBrokenSearchForCirclesIsCaughtInAStorm(Mutant mutant) throws InterruptedException {
    var run = MutantLoader.load(mutant);
    assertFalse(
        Seeds.<String>failures(1, STORMS, 1, run::storm).isEmpty(),
        () -> mutant + ", and " + STORMS + " storms do not notice");
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfVersions")
  void aBrokenSearchForCirclesIsCaughtBetweenVersions(Mutant mutant) throws InterruptedException {
    var run = MutantLoader.load(mutant);
    assertFalse(
        Seeds.<String>failures(1, STORMS, 1, run::versionStorm).isEmpty(),
        () -> mutant + ", and " + STORMS + " storms between versions do not notice");
  }

  @ParameterizedTest(allowZeroInvocations = true)
  @MethodSource("mutantsOfComparers")
  void aCacheThatComparersHoldUpIsCaughtInAStorm(Mutant mutant) throws InterruptedException {
    var run = MutantLoader.load(mutant);
    assertFalse(
        Seeds.<String>failures(1, STORMS, 1, run::comparedStorm).isEmpty(),
        () -> mutant + ", and " + STORMS + " storms with comparers do not notice");
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
