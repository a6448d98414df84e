package dev.evergreen.core.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/**
 * Loads core and simulation once more: the core with {@linkplain Monitors others running between
 * its steps}, and maybe with a {@link Mutant} in place of the classes that it changes.
 */
final class CoreLoader extends ClassLoader {

  private static final String OURS = "dev.evergreen.core.";

  private final Map<String, byte[]> changed;

  private CoreLoader() {
    super(CoreLoader.class.getClassLoader());
    this.changed = Map.of();
  }

  private CoreLoader(Mutant mutant) throws ClassNotFoundException {
    super(CoreLoader.class.getClassLoader());
    // At once, so that a mutant that finds nothing to change is an error of the test.
    this.changed = mutant.apply(bytes(OURS + mutant.type()));
  }

  /** What runs the simulation. */
  static Trials load() {
    try {
      return trials(new CoreLoader());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the core cannot be loaded", e);
    }
  }

  /** What runs the simulation with the mutant. */
  static Trials load(Mutant mutant) {
    try {
      return trials(new CoreLoader(mutant));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the mutant cannot be loaded: " + mutant, e);
    }
  }

  private static Trials trials(CoreLoader loader) throws ReflectiveOperationException {
    var run = loader.loadClass(LoadedTrials.class.getName());
    return (Trials) run.getDeclaredConstructor().newInstance();
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
    var simpleName = name.substring(OURS.length());
    var mutated = changed.get(simpleName);
    var code = mutated != null ? mutated : bytes(name);
    var stepwise = simpleName.contains(".") ? code : Stepwise.changed(code);
    return defineClass(name, stepwise, 0, stepwise.length);
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
