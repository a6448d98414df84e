package dev.evergreen.core;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The grain types that a node hosts, with how their objects are made. For one thread. */
public final class GrainTypes {

  private final Map<String, Hosted> hosted = new LinkedHashMap<>();

  private GrainTypes() {}

  /** A hosted type. */
  record Hosted(Class<?> type, Function<GrainContext<?>, Object> factory) {}

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
    put(
        GrainModel.nameOf(type),
        new Hosted(type, context -> factory.apply((GrainContext<K>) context)));
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

  static InvalidGrainException sameName(Class<?> one, Class<?> other) {
    return new InvalidGrainException(
        one.getTypeName()
            + " and "
            + other.getTypeName()
            + " have the same name: give one of them another by @GrainType");
  }

  @Nullable Hosted get(String name) {
    return hosted.get(name);
  }

  /** A copy that later changes do not reach. */
  GrainTypes copy() {
    var copy = new GrainTypes();
    copy.hosted.putAll(hosted);
    return copy;
  }

  Collection<Hosted> all() {
    return hosted.values();
  }
}
