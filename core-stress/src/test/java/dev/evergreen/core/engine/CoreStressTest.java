package dev.evergreen.core.engine;

import dev.evergreen.stress.StressSuite;
import java.util.List;

/** Runs the tests of the core's structures. */
class CoreStressTest extends StressSuite {

  CoreStressTest() {
    super(
        List.of(),
        List.of(
            RunStress.class,
            CacheStress.class,
            ActivationStress.class,
            CallStress.class,
            ComputationStress.class));
  }
}
