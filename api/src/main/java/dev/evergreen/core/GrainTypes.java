package dev.evergreen.core;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The grain types that a node hosts, with how their objects are made. For one thread. */
public final class GrainTypes {

  private final Map<String, Hosted> hosted = new LinkedHashMap<>();

  private GrainTypes() {}

  /**
   * A hosted type, for an engine.
   *
   * @param type its interface
   * @param factory makes the object for an activation
   */
  public record Hosted(Class<?> type, Function<GrainContext<?>, Object> factory) {}

  /** No types yet. */
  public static GrainTypes create() {
    return new GrainTypes();
  }

  /**
   * Adds a grain type. Its operations are checked when the node starts.
   *
   * @param type its interface
   * @param factory makes the object for an activation; usually a constructor reference
   * @throws InvalidGrainException if the type's name is taken
   */
  @SuppressWarnings("unchecked") // the context is made for this interface's key type
  public <K, T extends KeyedGrain<K>> GrainTypes add(
      Class<T> type, Function<GrainContext<K>, ? extends T> factory) {
    put(nameOf(type), new Hosted(type, context -> factory.apply((GrainContext<K>) context)));
    return this;
  }

  /**
   * Adds the grain types of another collection.
   *
   * @throws InvalidGrainException if the name of one is taken
   */
  public GrainTypes addAll(GrainTypes others) {
    others.hosted.forEach(this::put);
    return this;
  }

  private void put(String name, Hosted added) {
    var before = hosted.putIfAbsent(name, added);
    if (before != null && before.type() == added.type()) {
      throw new InvalidGrainException(added.type().getTypeName() + " is registered twice");
    }
    if (before != null) {
      throw sameName(added.type(), before.type());
    }
  }

  /** What is wrong with two types that have the same name. */
  public static InvalidGrainException sameName(Class<?> one, Class<?> other) {
    return new InvalidGrainException(
        one.getTypeName()
            + " and "
            + other.getTypeName()
            + " have the same name: give one of them another by @GrainType");
  }

  /**
   * What a grain interface is called in storage and between nodes.
   *
   * @throws InvalidGrainException if its name has other letters than {@link GrainType} allows
   */
  public static String nameOf(Class<?> type) {
    var named = type.getAnnotation(GrainType.class);
    var name = named == null ? type.getSimpleName() : named.value();
    if (!name.matches("[A-Za-z0-9._-]+")) {
      throw new InvalidGrainException(
          type.getTypeName()
              + ": the name '"
              + name
              + "' may have letters, digits, '.', '-' and '_' only");
    }
    return name;
  }

  /** All types, in the order in which they were added. */
  public Collection<Hosted> all() {
    return Collections.unmodifiableCollection(hosted.values());
  }
}
