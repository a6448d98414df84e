package dev.evergreen.core.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/** Loads core and simulation once more, with a mutant in place of the classes that it changes. */
final class MutantLoader extends ClassLoader {

  private static final String OURS = "dev.evergreen.core.";

  private final Map<String, byte[]> changed;

  private MutantLoader(Mutant mutant) throws ClassNotFoundException {
    super(MutantLoader.class.getClassLoader());
    // At once, so that a mutant that finds nothing to change is an error of the test.
    this.changed = mutant.apply(bytes(OURS + mutant.type()));
  }

  /** What runs the simulation with the mutant. */
  static Trials load(Mutant mutant) {
    try {
      var run = new MutantLoader(mutant).loadClass(MutantRun.class.getName());
      return (Trials) run.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the mutant cannot be loaded: " + mutant, e);
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(OURS) || name.equals(Trials.class.getName())) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      var loaded = findLoadedClass(name);
      return loaded != null ? loaded : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    var mutated = changed.get(name.substring(OURS.length()));
    var code = mutated != null ? mutated : bytes(name);
    return defineClass(name, code, 0, code.length);
  }

  private byte[] bytes(String name) throws ClassNotFoundException {
    try (var in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the class " + name, e);
    }
  }
}
