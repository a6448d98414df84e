package dev.evergreen.core.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Set;

/** Loads the classes of a package once more, with others in the place of some. */
final class OtherClasses extends ClassLoader {

  private final String ours;
  private final Set<String> shared;
  private final Map<String, byte[]> changed;

  /**
   * @param ours what the names of the package's classes begin with
   * @param shared the names of those that are not loaded again, nor is what is nested in them
   * @param changed the others, by their names
   */
  OtherClasses(String ours, Set<String> shared, Map<String, byte[]> changed) {
    super(OtherClasses.class.getClassLoader());
    this.ours = ours;
    this.shared = shared;
    this.changed = changed;
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(ours) || shared.contains(name.replaceAll("\\$.*", ""))) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      var loaded = findLoadedClass(name);
      return loaded != null ? loaded : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    var mutated = changed.get(name);
    var code = mutated != null ? mutated : bytes(name);
    return defineClass(name, code, 0, code.length);
  }

  /** A class as it is. */
  static byte[] bytes(String name) throws ClassNotFoundException {
    var file = name.replace('.', '/') + ".class";
    try (var in = OtherClasses.class.getClassLoader().getResourceAsStream(file)) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the class " + name, e);
    }
  }
}
