package dev.evergreen.core.sim;

import java.util.Set;

/** Loads core and simulation once more, with a mutant in place of the classes that it changes. */
final class MutantLoader {

  /** What all their names begin with. */
  static final String OURS = "dev.evergreen.core.";

  private MutantLoader() {}

  /** What runs the simulation with the mutant. */
  static Trials load(Mutant mutant) {
    try {
      // Changed at once, so that a mutant that finds nothing to change is an error of the test.
      var changed = mutant.apply(OtherClasses.bytes(OURS + mutant.type()));
      var loader = new OtherClasses(OURS, Set.of(Trials.class.getName()), changed);
      var run = loader.loadClass(MutantRun.class.getName());
      return (Trials) run.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the mutant cannot be loaded: " + mutant, e);
    }
  }
}
