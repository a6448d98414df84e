package dev.evergreen.core.sim;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Runs the simulation inside of a {@link CoreLoader}; its results are of classes that all know. */
public final class LoadedTrials implements Trials {

  /** Called by reflection. */
  public LoadedTrials() {}

  @Override
  public @Nullable String seed(long seed) {
    var verdict = Verdict.of(seed, false);
    return verdict.failed() ? verdict.report() : null;
  }

  @Override
  public @Nullable String replay(long seed, Path histories) {
    var verdict = Verdict.of(seed, true);
    System.out.println(verdict.summary() + "\nhistory: " + verdict.write(histories));
    return verdict.failed() ? verdict.report() : null;
  }

  @Override
  public String hash(long seed) {
    return Replay.hash(seed);
  }

  @Override
  public @Nullable String scope(String name, long schedules) throws InterruptedException {
    var scope = Scopes.named(name);
    var findings =
        Explorer.explore(
            deviations -> Stage.perform(scope, deviations, new Trace(false)),
            Explorer.Limit.schedules(schedules));
    return findings.failed() ? findings.toString() : null;
  }
}
