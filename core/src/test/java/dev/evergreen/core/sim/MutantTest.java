package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** That the simulation can fail: the core, broken in one way, does not pass it. */
final class MutantTest {

  private static final long SEEDS = 300;

  static Stream<Mutant> mutants() {
    return Stream.of(
        // Lost marks: by a write, and by a dependency.
        new Mutant.LeavesOut("Activation", "finished", "markAllNow"),
        new Mutant.LeavesOut("Caches", "install", "mark"),
        // Ignored versions: a cache takes what is old.
        new Mutant.DoesNothing("Cache", "isOld"),
        // No renewal, so that what is lost at a node's death stays lost.
        new Mutant.LeavesOut("Subscriptions", "renew", "sendInBatches"),
        // Unvalidated executions: writes go on in the middle of runs.
        new Mutant.LeavesOut("Activation", "beginNow", "discardRunsNow"),
        // Lost pushes: one that is not acknowledged is not sent again.
        new Mutant.LeavesOut("Outboxes$Outbox", "sendAgainIfLate", "addAll"),
        // Every result counts as another one.
        new Mutant.DoesNothing("Outcome", "same"),
        // An activation ends without telling its subscribers.
        new Mutant.LeavesOut("Activation", "close", "end"),
        // Farewells are not sent, edges not given up, idle caches kept.
        new Mutant.LeavesOut("Subscriptions", "end", "sendParts"),
        new Mutant.LeavesOut("Edges", "release", "release"),
        new Mutant.LeavesOut("Caches", "idle", "sweepLater"),
        // Writes are acknowledged without being saved.
        new Mutant.LeavesOut("Activation", "execute", "save"),
        // A failed operation leaves what it has set.
        new Mutant.LeavesOut("Activation", "execute", "rollBack"),
        // Nothing refuses the saves of those who were given up; others own what they had too early.
        new Mutant.SaysYes("sim.SimStorage", "mayAct"),
        new Mutant.LeavesOut("sim.Cluster", "takeOver", "giveUp"),
        // A repeated message is a repeated call.
        new Mutant.SaysYes("Calls$Seen", "add"));
  }

  @ParameterizedTest
  @MethodSource("mutants")
  void aBrokenAlgorithmIsCaught(Mutant mutant) throws InterruptedException {
    var run = MutantLoader.load(mutant);
    assertFalse(
        Seeds.<String>failures(1, SEEDS, 1, run).isEmpty(),
        () -> mutant + ", and " + SEEDS + " seeds do not notice");
  }

  @Test
  void aMutantThatChangesNothingIsRefused() {
    for (var mutant :
        List.of(
            new Mutant.LeavesOut("Edges", "release", "noSuchMethod"),
            new Mutant.DoesNothing("Edges", "noSuchMethod"))) {
      assertThrows(IllegalStateException.class, () -> MutantLoader.load(mutant));
    }
  }
}
