package dev.evergreen.core.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** Loads core and simulation once more, with a mutant in place of the class that it changes. */
final class MutantLoader extends ClassLoader {

  private static final String OURS = "dev.evergreen.core.";

  private final Mutant mutant;

  private MutantLoader(Mutant mutant) {
    super(MutantLoader.class.getClassLoader());
    this.mutant = mutant;
  }

  /** What runs a seed with the mutant: gives the failure, or null if there is none. */
  @SuppressWarnings("unchecked") // MutantRun is one
  static LongFunction<@Nullable String> load(Mutant mutant) {
    try {
      var loader = new MutantLoader(mutant);
      // At once, so that a mutant that finds nothing to change is an error of the test.
      loader.loadClass(OURS + mutant.type());
      var run = loader.loadClass(MutantRun.class.getName());
      return (LongFunction<@Nullable String>) run.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the mutant cannot be loaded: " + mutant, e);
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(OURS)) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      var loaded = findLoadedClass(name);
      return loaded != null ? loaded : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    try (var in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      var bytes = in.readAllBytes();
      var code = name.equals(OURS + mutant.type()) ? mutant.apply(bytes) : bytes;
      return defineClass(name, code, 0, code.length);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the class " + name, e);
    }
  }
}
