package dev.evergreen.codec;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The canonical constructor, the accessors and the fields of a record class, as method handles.
 * Accessors say what a record is worth, as they may be the application's; but one that answers
 * copies says nothing of who can change what is copied. That is decided by the fields.
 */
final class RecordAccess {
  private static final ClassValue<Optional<RecordAccess>> RECORDS =
      new ClassValue<>() {
        @Override
        protected Optional<RecordAccess> computeValue(Class<?> type) {
          try {
            return Optional.of(of(type));
          } catch (NotAValueException e) {
            return Optional.empty();
          }
        }
      };

  private static final MethodType READ = MethodType.methodType(Object.class, Object.class);
  private static final MethodType CREATE = MethodType.methodType(Object.class, Object[].class);

  private final Class<?> type;
  private final Class<?>[] types;
  private final MethodHandle[] accessors;

  /** The accessor where a package is not open; null where nothing can change what is there. */
  private final @Nullable MethodHandle[] fields;

  private final MethodHandle constructor;

  private RecordAccess(
      Class<?> type,
      Class<?>[] types,
      MethodHandle[] accessors,
      @Nullable MethodHandle[] fields,
      MethodHandle constructor) {
    this.type = type;
    this.types = types;
    this.accessors = accessors;
    this.fields = fields;
    this.constructor = constructor;
  }

  /** Empty if the class does not let itself be read; each is looked at once. */
  static Optional<RecordAccess> ifReadable(Class<?> type) {
    return RECORDS.get(type);
  }

  /** Throws {@link NotAValueException} if the class does not let itself be read. */
  static RecordAccess of(Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    var accessors = new MethodHandle[components.length];
    var fields = new @Nullable MethodHandle[components.length];
    var types = new Class<?>[components.length];
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    try {
      for (int i = 0; i < components.length; i++) {
        Method accessor = components[i].getAccessor();
        accessor.setAccessible(true);
        accessors[i] = lookup.unreflect(accessor).asType(READ);
        types[i] = components[i].getType();
        fields[i] = mayHold(types[i]) ? field(type, components[i], accessors[i]) : null;
      }
      Constructor<?> constructor = type.getDeclaredConstructor(types);
      constructor.setAccessible(true);
      // Of fixed arity, as a last component of variable arity would take its array for an element.
      MethodHandle create =
          lookup
              .unreflectConstructor(constructor)
              .asFixedArity()
              .asSpreader(Object[].class, types.length);
      return new RecordAccess(type, types, accessors, fields, create.asType(CREATE));
    } catch (ReflectiveOperationException | InaccessibleObjectException e) {
      throw new NotAValueException(
          type.getTypeName()
              + " is not accessible; open its package, \"opens "
              + type.getPackageName()
              + "\" in module-info.java",
          e);
    }
  }

  private static MethodHandle field(Class<?> type, RecordComponent component, MethodHandle accessor)
      throws ReflectiveOperationException {
    Field field = type.getDeclaredField(component.getName());
    return field.trySetAccessible()
        ? MethodHandles.lookup().unreflectGetter(field).asType(READ)
        : accessor;
  }

  /** Whether what is of this class may hold what can be changed; arrays are copied anyway. */
  private static boolean mayHold(Class<?> type) {
    return !Modifier.isFinal(type.getModifiers()) || type.isRecord() || type == Optional.class;
  }

  Class<?> type() {
    return type;
  }

  /** Whether a component of the class can be {@code value}. */
  boolean accepts(int index, @Nullable Object value) {
    Class<?> component = types[index];
    return value == null || component.isPrimitive() || component.isInstance(value);
  }

  @Nullable Object get(Object value, int index) {
    return read(accessors[index], value);
  }

  private @Nullable Object read(MethodHandle by, Object value) {
    try {
      return (@Nullable Object) by.invokeExact(value);
    } catch (Error e) {
      throw e;
    } catch (Throwable e) {
      throw new NotAValueException("an accessor of " + type.getTypeName() + " threw " + e, e);
    }
  }

  /**
   * Whether nothing can change what a record has for a component, given that nothing can change
   * what its accessor has answered.
   */
  boolean keeps(Object value, int index, @Nullable Object answer) {
    MethodHandle field = fields[index];
    if (field == null) {
      return true;
    }
    Object held = read(field, value);
    return held == answer || (field != accessors[index] && isSettled(held));
  }

  @Nullable Object[] all(Object value) {
    var values = new @Nullable Object[accessors.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = get(value, i);
    }
    return values;
  }

  /**
   * A record of frozen components. Its constructor may put a list that can be changed in the place
   * of one that cannot: then it is to be copied each time, and so is what holds it.
   *
   * <p>Throws what the constructor throws, if need be in an {@link IllegalArgumentException}.
   */
  Object create(@Nullable Object[] values, Nesting by) {
    Object made = create(values);
    for (int i = 0; i < values.length; i++) {
      Object given = values[i];
      if (given == null ? !types[i].isPrimitive() : mayHold(given)) {
        MethodHandle field = fields[i];
        Object is = read(field == null ? accessors[i] : field, made);
        if (is != given && !isCopy(given, is) && !isSettled(is)) {
          by.countChangeable();
          break;
        }
      }
    }
    return made;
  }

  private static boolean mayHold(Object given) {
    return given instanceof Collection
        || given instanceof Map
        || given instanceof Optional
        || given instanceof Record;
  }

  /** Whether it is a list that nothing can change, of what was frozen. */
  private static boolean isCopy(@Nullable Object given, @Nullable Object is) {
    if (!(given instanceof List<?> a && is instanceof List<?> b && Frozen.keeps(b))
        || a.size() != b.size()) {
      return false;
    }
    for (int i = 0; i < a.size(); i++) {
      if (a.get(i) != b.get(i)) {
        return false;
      }
    }
    return true;
  }

  /** Whether freezing what is there would make no copy of it. */
  private static boolean isSettled(@Nullable Object is) {
    return switch (is) {
      case null -> true;
      case Collection<?> all -> Frozen.keeps(all) && all.stream().allMatch(RecordAccess::isSettled);
      case Map<?, ?> map ->
          Frozen.keeps(map)
              && map.entrySet().stream()
                  .allMatch(e -> isSettled(e.getKey()) && isSettled(e.getValue()));
      case Optional<?> optional -> isSettled(optional.orElse(null));
      case Record record ->
          ifReadable(record.getClass()).map(access -> access.isSettledIn(record)).orElse(false);
      default -> !is.getClass().isArray();
    };
  }

  private boolean isSettledIn(Object value) {
    for (int i = 0; i < accessors.length; i++) {
      Object answer = get(value, i);
      if (!isSettled(answer) || !keeps(value, i, answer)) {
        return false;
      }
    }
    return true;
  }

  private Object create(@Nullable Object[] values) {
    try {
      return (Object) constructor.invokeExact(values);
    } catch (RuntimeException | VirtualMachineError e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalArgumentException(e);
    }
  }
}
