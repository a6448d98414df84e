package dev.evergreen.core.model;

import dev.evergreen.codec.Codec;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.IdleAfter;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.Reentrant;
import dev.evergreen.core.spi.GrainId;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A grain interface, checked: its name, keys and operations. Immutable, as far as one can see. */
public final class GrainModel {

  /** A method object that was asked for, and its operation. */
  private record Known(Method method, Operation operation) {}

  private static final Set<String> OF_OBJECT =
      Arrays.stream(Object.class.getMethods())
          .map(Operation::signature)
          .collect(Collectors.toUnmodifiableSet());

  private final Class<?> type;
  private final String name;
  private final boolean reentrant;
  private final @Nullable IdleAfter idleAfter;
  private final Keys keys;
  private final Constructor<?> constructor;
  private final Map<Method, Operation> byMethod = new HashMap<>();
  private final Map<String, Operation> bySignature = new HashMap<>();
  private volatile Known[] known = {};
  private final Set<String> declaredExceptions = new HashSet<>();

  /**
   * @throws InvalidGrainException if the interface breaks a rule; the message says which
   */
  GrainModel(Class<?> type, Codec codec) {
    if (!type.isInterface() || !KeyedGrain.class.isAssignableFrom(type)) {
      throw new InvalidGrainException(
          type.getTypeName() + " is no grain interface: declare an interface that extends Grain");
    }
    this.type = type;
    this.name = GrainTypes.nameOf(type);
    this.reentrant = type.isAnnotationPresent(Reentrant.class);
    this.idleAfter = type.getAnnotation(IdleAfter.class);
    if (idleAfter != null && idleAfter.seconds() < 1) {
      throw new InvalidGrainException(type.getTypeName() + ": @IdleAfter is at least one second");
    }
    this.keys = Keys.of(type);
    this.constructor = proxyConstructor(type);
    addOperations(codec);
  }

  private static Constructor<?> proxyConstructor(Class<?> type) {
    var throwing =
        (InvocationHandler)
            (proxy, method, arguments) -> {
              throw new UnsupportedOperationException(method.toString());
            };
    try {
      var constructor =
          Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, throwing)
              .getClass()
              .getConstructor(InvocationHandler.class);
      constructor.trySetAccessible();
      return constructor;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("every proxy class has this constructor", e);
    }
  }

  private void addOperations(Codec codec) {
    var methods = Arrays.stream(type.getMethods()).filter(GrainModel::isOperation).toList();
    var declared = new LinkedHashMap<String, Method>();
    for (var method : methods) {
      if (!method.isBridge()) {
        declared.merge(Operation.signature(method), method, GrainModel::mostSpecific);
      }
    }
    declared.forEach(
        (signature, method) ->
            bySignature.put(signature, new Operation(name, type, method, codec)));
    for (var method : methods) {
      var signature = Operation.signature(method.isBridge() ? bridged(method, declared) : method);
      byMethod.put(method, Objects.requireNonNull(bySignature.get(signature)));
      for (var thrown : method.getExceptionTypes()) {
        declaredExceptions.add(thrown.getName());
      }
    }
  }

  /** Methods of {@link Object} that an interface repeats are answered by the reference. */
  private static boolean isOperation(Method method) {
    return !Modifier.isStatic(method.getModifiers())
        && !OF_OBJECT.contains(Operation.signature(method));
  }

  /** Of two declarations of one operation the one that overrides the other. */
  private static Method mostSpecific(Method a, Method b) {
    return a.getDeclaringClass().isAssignableFrom(b.getDeclaringClass()) ? b : a;
  }

  /** The method that the compiler's bridge, made where types are narrowed, leads to. */
  private static Method bridged(Method bridge, Map<String, Method> declared) {
    return declared.values().stream()
        .filter(method -> method.getName().equals(bridge.getName()) && narrows(method, bridge))
        .findFirst()
        .orElseThrow(() -> new InvalidGrainException(bridge + " leads to no operation"));
  }

  private static boolean narrows(Method method, Method bridge) {
    var narrow = method.getParameterTypes();
    var wide = bridge.getParameterTypes();
    return narrow.length == wide.length
        && IntStream.range(0, wide.length).allMatch(i -> wide[i].isAssignableFrom(narrow[i]));
  }

  public Class<?> type() {
    return type;
  }

  public String name() {
    return name;
  }

  public boolean reentrant() {
    return reentrant;
  }

  /** How long an activation is kept that nobody uses, where {@code usual} holds for other types. */
  public Duration idleAfter(Duration usual) {
    return idleAfter == null ? usual : Duration.ofSeconds(idleAfter.seconds());
  }

  public Keys keys() {
    return keys;
  }

  Set<String> declaredExceptions() {
    return declaredExceptions;
  }

  /** A new reference object. */
  public Object newReference(InvocationHandler behind) {
    try {
      return constructor.newInstance(behind);
    } catch (ReflectiveOperationException e) {
      throw new InvalidGrainException("no reference of " + type.getTypeName() + " can be made", e);
    }
  }

  public GrainId id(@Nullable Object key) {
    return new GrainId(name, keys.text(key));
  }

  /**
   * The operation of an interface method; null for the methods of {@link Object}. A proxy class
   * passes the same few method objects each time, which are found by identity without hashing names
   * and comparing parameters.
   */
  @SuppressWarnings("ReferenceEquality") // others are looked up
  public @Nullable Operation operation(Method method) {
    for (var candidate : known) {
      if (candidate.method == method) {
        return candidate.operation;
      }
    }
    return lookUp(method);
  }

  private synchronized @Nullable Operation lookUp(Method method) {
    var operation = byMethod.get(method);
    if (operation != null && known.length < byMethod.size()) {
      var more = Arrays.copyOf(known, known.length + 1);
      more[known.length] = new Known(method, operation);
      known = more;
    }
    return operation;
  }

  /** The operation that another node names; null if this version of the interface has none. */
  public @Nullable Operation operation(String signature) {
    return bySignature.get(signature);
  }
}
