package dev.evergreen.core.sim;

import org.jspecify.annotations.Nullable;

/**
 * Runs the simulation inside of a {@link MutantLoader}; its results are of classes that all know.
 */
public final class MutantRun implements Trials {

  /** Called by reflection. */
  public MutantRun() {}

  @Override
  public @Nullable String seed(long seed) {
    return failure(Simulation.APPLICATION, seed);
  }

  @Override
  public @Nullable String storm(long seed) {
    return failure(Simulation.STORM, seed);
  }

  @Override
  public @Nullable String comparedStorm(long seed) {
    return failure(Simulation.COMPARED_STORM, seed);
  }

  @Override
  public @Nullable String versionStorm(long seed) {
    return failure(Simulation.VERSION_STORM, seed);
  }

  @Override
  public @Nullable String crowd(long seed) {
    try {
      AdmissionSimulationTest.checkInCrowd((int) seed);
      return null;
    } catch (SimulationFailure | AssertionError e) {
      return e.toString();
    }
  }

  @Override
  public @Nullable String impatience(long seed) {
    return ImpatienceTest.failure(seed);
  }

  private static @Nullable String failure(Simulation simulation, long seed) {
    var verdict = Verdict.of(simulation, seed, false);
    return verdict.failed() ? verdict.summary() : null;
  }

  @Override
  public @Nullable String scope(String name, String by) throws InterruptedException {
    var program = Stage.program(Scopes.named(name));
    var findings =
        Explorer.explore(
            (deviations, isNew) -> program.perform(deviations, isNew).ifFailed(by),
            Explorer.Limit.ordinary());
    return findings.failed() ? findings.toString() : null;
  }
}
