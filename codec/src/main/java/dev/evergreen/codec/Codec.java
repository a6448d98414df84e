package dev.evergreen.codec;

import java.lang.reflect.Type;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Finds the {@link ValueType} of a Java type. Thread-safe; types are compiled once and kept.
 *
 * <p>A codec is the only place that knows which classes may be built from bytes: those reachable
 * from the static types that were asked for here. A name in the bytes never loads a class.
 */
public final class Codec {

  private final Limits limits;
  private final Compiler compiler;
  private final ValueType dynamic;
  private final Map<Type, ValueType> types = new ConcurrentHashMap<>();

  private Codec(Limits limits) {
    this.limits = limits;
    this.dynamic = new RootType(new DynamicShape(limits), limits);
    this.compiler = new Compiler(limits);
  }

  /** A codec that refuses values beyond {@code limits}, when it writes and when it reads. */
  public static Codec create(Limits limits) {
    return new Codec(limits);
  }

  /** What this codec refuses. */
  public Limits limits() {
    return limits;
  }

  /**
   * The value type of a static Java type, generic arguments included. Wildcards stand for their
   * upper bounds; {@code void} has null as its only value.
   *
   * @throws NotAValueException if the type, or a type inside it, is no value; the message names the
   *     path to the offending type and what to use instead
   */
  public ValueType of(Type type) {
    ValueType known = types.get(type);
    if (known != null) {
      return known;
    }
    synchronized (compiler) {
      return types.computeIfAbsent(type, t -> new RootType(compiler.compile(t), limits));
    }
  }

  /**
   * As {@link #of(Type)}, for a type that a member of {@code subject} has: variables of interfaces
   * that {@code subject} extends stand for what it gives them.
   *
   * @throws NotAValueException as {@link #of(Type)}
   */
  public ValueType of(Type type, Class<?> subject) {
    if (type instanceof Class<?>) {
      return of(type);
    }
    synchronized (compiler) {
      return new RootType(compiler.compile(type, Sig.inherited(subject)), limits);
    }
  }

  /**
   * What {@code subject} gives to the only type parameter of an interface that it extends, itself
   * or through others; null if that is no class without arguments.
   */
  public static @Nullable Class<?> typeArgument(Class<?> subject, Class<?> generic) {
    Sig given = Sig.inherited(subject).get(generic.getTypeParameters()[0]);
    return given == null || !given.arguments().isEmpty() ? null : given.raw();
  }

  /**
   * The value type of results whose static type says too little: it freezes and compares by the
   * classes found at run time, collections as their interfaces, records by their components.
   * Objects that are no values are left as they are, and compared by {@code equals}. It neither
   * encodes nor decodes: that throws {@link UnsupportedOperationException}.
   */
  public ValueType dynamic() {
    return dynamic;
  }
}
