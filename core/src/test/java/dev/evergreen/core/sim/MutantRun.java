package dev.evergreen.core.sim;

import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** Runs seeds inside of a {@link MutantLoader}; its results are of classes that all know. */
public final class MutantRun implements LongFunction<@Nullable String> {

  /** Called by reflection. */
  public MutantRun() {}

  @Override
  public @Nullable String apply(long seed) {
    var verdict = Verdict.of(seed, false);
    return verdict.failed() ? verdict.summary() : null;
  }
}
