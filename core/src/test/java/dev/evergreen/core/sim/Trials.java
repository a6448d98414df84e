package dev.evergreen.core.sim;

import org.jspecify.annotations.Nullable;

/** Looks for what is wrong; returns what failed, or null if nothing did. */
public interface Trials {

  /** Runs a seed. */
  @Nullable String seed(long seed);

  /** Explores the scope of this name. */
  @Nullable String scope(String name, long schedules) throws InterruptedException;
}
