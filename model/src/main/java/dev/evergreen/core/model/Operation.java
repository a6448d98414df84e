package dev.evergreen.core.model;

import dev.evergreen.codec.Codec;
import dev.evergreen.codec.NotAValueException;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.SameBy;
import dev.evergreen.core.ValueTooLargeException;
import dev.evergreen.core.spi.GrainId;
import java.io.ByteArrayOutputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One operation of a grain interface, checked and ready to be called. Immutable. */
public final class Operation {

  private static final Object[] NO_ARGUMENTS = {};

  private final String grain;
  private final String name;
  private final String signature;
  private final int hash;
  private final boolean readOnly;
  private final boolean plain;
  private final ValueType[] parameters;
  private final ValueType result;
  private final MethodHandle handle;
  private final @Nullable BiPredicate<Object, Object> comparer;

  /**
   * @param type the grain's interface, which may declare the method or inherit it
   */
  Operation(String grain, Class<?> type, Method method, Codec codec) {
    this.grain = grain;
    this.name = method.getName();
    this.signature = signature(method);
    this.hash = signature.hashCode();
    this.readOnly = method.isAnnotationPresent(ReadOnly.class);
    this.parameters =
        Arrays.stream(method.getGenericParameterTypes())
            .map(parameter -> valueType(codec, type, method, "parameter", parameter))
            .toArray(ValueType[]::new);
    this.plain = Arrays.stream(parameters).allMatch(ValueType::plain);
    this.result = valueType(codec, type, method, "result", method.getGenericReturnType());
    this.handle = handle(method);
    this.comparer = comparer(method);
  }

  static String signature(Method method) {
    return Arrays.stream(method.getParameterTypes())
        .map(Class::getTypeName)
        .collect(Collectors.joining(",", method.getName() + "(", ")"));
  }

  private static ValueType valueType(
      Codec codec, Class<?> grainType, Method method, String role, Type type) {
    try {
      return codec.of(type, grainType);
    } catch (NotAValueException e) {
      throw new InvalidGrainException(
          grainType.getTypeName()
              + "."
              + method.getName()
              + ": the "
              + role
              + " "
              + type.getTypeName()
              + " is no value: "
              + e.getMessage(),
          e);
    }
  }

  private static MethodHandle handle(Method method) {
    try {
      method.trySetAccessible();
      return MethodHandles.lookup()
          .unreflect(method)
          .asFixedArity()
          .asSpreader(Object[].class, method.getParameterCount())
          .asType(MethodType.methodType(Object.class, Object.class, Object[].class));
    } catch (IllegalAccessException e) {
      throw new InvalidGrainException(
          method.getDeclaringClass().getTypeName()
              + " is not accessible: its module must open the package "
              + method.getDeclaringClass().getPackageName(),
          e);
    }
  }

  @SuppressWarnings("unchecked") // the comparer is the user's word on the result's type
  private static @Nullable BiPredicate<Object, Object> comparer(Method method) {
    var sameBy = method.getAnnotation(SameBy.class);
    if (sameBy == null) {
      return null;
    }
    try {
      var constructor = sameBy.value().getDeclaredConstructor();
      constructor.trySetAccessible();
      return (BiPredicate<Object, Object>) constructor.newInstance();
    } catch (ReflectiveOperationException e) {
      throw new InvalidGrainException(
          method + ": the comparer " + sameBy.value() + " has no constructor without parameters",
          e);
    }
  }

  public String name() {
    return name;
  }

  /** Name and parameter types: what identifies the operation between nodes. */
  public String signature() {
    return signature;
  }

  public boolean readOnly() {
    return readOnly;
  }

  /** Whether arguments can be compared by {@code equals} instead of by their bytes. */
  boolean plain() {
    return plain;
  }

  public ValueType result() {
    return result;
  }

  public @Nullable BiPredicate<Object, Object> comparer() {
    return comparer;
  }

  /** The arguments, frozen; never shares a mutable object with the caller. */
  public Object[] freeze(@Nullable Object @Nullable [] arguments, GrainId target) {
    if (arguments == null || arguments.length == 0) {
      return NO_ARGUMENTS;
    }
    var frozen = arguments;
    try {
      for (int i = 0; i < parameters.length; i++) {
        var value = parameters[i].freeze(arguments[i]);
        if (value != frozen[i]) {
          frozen = frozen == arguments ? arguments.clone() : frozen;
          frozen[i] = value;
        }
      }
    } catch (ValueLimitException | NotAValueException e) {
      throw refused(target, "an argument", e);
    }
    return notNullArray(frozen);
  }

  @SuppressWarnings("NullAway") // the elements may be null where the operation takes null
  private static Object[] notNullArray(@Nullable Object[] array) {
    return array;
  }

  /** Calls the operation on the object of the grain {@code target}; returns the frozen result. */
  @SuppressWarnings("NullAway") // a void operation returns null
  public @Nullable Object call(Object grainObject, Object[] arguments, GrainId target)
      throws Throwable {
    var value = (Object) handle.invokeExact(grainObject, arguments);
    try {
      return result.freeze(value);
    } catch (ValueLimitException | NotAValueException e) {
      throw refused(target, "the result", e);
    }
  }

  /** No link takes them. */
  public ValueTooLargeException argumentsTooLarge(
      GrainId target, IllegalArgumentException refusal) {
    return new ValueTooLargeException(
        target + "." + name + ": the arguments are too large", refusal);
  }

  /**
   * @param of a grain, or all grains of a type
   */
  private GrainException refused(Object of, String what, IllegalArgumentException why) {
    return Failures.refused(of + "." + name + ": " + what, why);
  }

  /** The arguments for one of several executions: copies of those that can be changed. */
  public Object[] copyIn(Object[] arguments) {
    var copies = arguments;
    for (int i = 0; i < parameters.length; i++) {
      var copy = parameters[i].immutable() ? arguments[i] : parameters[i].freeze(arguments[i]);
      if (copy != arguments[i]) {
        copies = copies == arguments ? arguments.clone() : copies;
        copies[i] = copy;
      }
    }
    return copies;
  }

  /** The result for one of several readers: itself, or a copy if it can be changed. */
  public @Nullable Object copyOut(@Nullable Object value) {
    return value == null || result.immutable() ? value : result.freeze(value);
  }

  /** The arguments' bytes: each with its length before it. */
  byte[] encode(Object[] arguments) {
    var out = new ByteArrayOutputStream();
    for (int i = 0; i < arguments.length; i++) {
      byte[] bytes;
      try {
        bytes = parameters[i].encode(arguments[i]);
      } catch (ValueLimitException | NotAValueException e) {
        throw refused(grain, "an argument", e);
      }
      out.writeBytes(ByteBuffer.allocate(4).putInt(bytes.length).array());
      out.writeBytes(bytes);
    }
    return out.toByteArray();
  }

  /**
   * The arguments of bytes that {@link #encode} made.
   *
   * @throws IllegalArgumentException if the bytes are malformed
   */
  @SuppressWarnings("NullAway") // the elements may be null where the operation takes null
  Object[] decode(byte[] bytes) {
    var in = ByteBuffer.wrap(bytes);
    var arguments = new Object[parameters.length];
    for (int i = 0; i < arguments.length; i++) {
      int length = in.remaining() < 4 ? -1 : in.getInt();
      if (length < 0 || length > in.remaining()) {
        throw new IllegalArgumentException("the arguments of " + this + " are cut off");
      }
      var argument = new byte[length];
      in.get(argument);
      arguments[i] = parameters[i].decode(argument);
    }
    if (in.hasRemaining()) {
      throw new IllegalArgumentException("bytes left over after the arguments of " + this);
    }
    return arguments;
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public String toString() {
    return grain + "." + name;
  }
}
