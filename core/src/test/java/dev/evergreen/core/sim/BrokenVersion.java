package dev.evergreen.core.sim;

import java.lang.reflect.InvocationTargetException;
import java.util.Set;

/**
 * A version of a room in which a class has some other lines, for simulations of other rooms to show
 * that they can fail.
 *
 * @param room the name of its package, below {@code dev.evergreen}
 * @param type the name of the class in that package
 * @param before the lines, which must occur once
 * @param after the other lines
 */
public record BrokenVersion(String room, String type, String before, String after) {

  /**
   * Loads the room once more, broken.
   *
   * @param run the class of the room's tests to be made, which has a constructor without parameters
   * @param as what it is made for: an interface that both versions share
   */
  public <T> T load(Class<? extends T> run, Class<T> as) {
    var ours = "dev.evergreen." + room + ".";
    var changed = Sources.changed(ours + type, before, after);
    var loader = new OtherClasses(ours, Set.of(as.getName()), changed);
    try {
      return as.cast(loader.loadClass(run.getName()).getDeclaredConstructor().newInstance());
    } catch (InvocationTargetException e) {
      throw new IllegalStateException("the broken version fails at once: " + this, e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the broken version cannot be loaded: " + this, e);
    }
  }

  @Override
  public String toString() {
    return type + " says '" + after + "' instead of '" + before + "'";
  }
}
