package dev.evergreen.core.model;

import dev.evergreen.codec.Codec;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.KeyedGrain;
import java.lang.reflect.RecordComponent;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one grain type and their text, which is the same for equal keys and different for
 * different ones: a string as it is, a number in decimal, a record as its components joined by '+'
 * (in which '+' and '%' are written %2B and %25).
 */
public final class Keys {

  private static final Map<Class<?>, Function<String, Object>> SIMPLE =
      Map.of(
          String.class, text -> text,
          Long.class, Long::valueOf,
          long.class, Long::valueOf,
          Integer.class, Integer::valueOf,
          int.class, Integer::valueOf,
          Boolean.class, Boolean::valueOf,
          boolean.class, Boolean::valueOf,
          UUID.class, UUID::fromString,
          LocalDate.class, LocalDate::parse,
          Instant.class, Instant::parse);

  private final Class<?> grain;
  private final Class<?> type;

  private Keys(Class<?> grain, Class<?> type) {
    this.grain = grain;
    this.type = type;
  }

  /** The keys of a grain interface. */
  static Keys of(Class<?> grain) {
    var type = Codec.typeArgument(grain, KeyedGrain.class);
    if (type == null) {
      throw new InvalidGrainException(
          grain.getTypeName()
              + " does not say its key: extend Grain, or KeyedGrain<K> with a class for K");
    }
    var keys = new Keys(grain, type);
    if (type != String.class && type != Long.class && type != UUID.class) {
      keys.checkRecord();
    }
    return keys;
  }

  private void checkRecord() {
    if (!type.isRecord() || type.getRecordComponents().length == 0) {
      throw new InvalidGrainException(
          grain.getTypeName()
              + ": "
              + type.getTypeName()
              + " is no key: use String, Long, UUID, or a record of simple components");
    }
    for (var component : type.getRecordComponents()) {
      if (!SIMPLE.containsKey(component.getType()) && !component.getType().isEnum()) {
        throw new InvalidGrainException(
            grain.getTypeName()
                + ": the key's component "
                + component
                + " is not simple: use strings, integers, booleans, UUIDs, enums, dates or"
                + " instants");
      }
    }
  }

  /** The text of a key. */
  String text(@Nullable Object key) {
    if (!type.isInstance(key)) {
      throw new InvalidGrainException(
          "a "
              + grain.getSimpleName()
              + " has a key of type "
              + type.getSimpleName()
              + ", but was given "
              + (key == null ? "null" : key.getClass().getSimpleName() + " " + key));
    }
    return type.isRecord() ? recordText(key) : key.toString();
  }

  private String recordText(Object key) {
    var text = new StringBuilder();
    for (var component : type.getRecordComponents()) {
      var value = read(component, key);
      if (value == null) {
        throw new InvalidGrainException(
            "the key " + key + " of a " + grain.getSimpleName() + " has a null in it");
      }
      var part = value instanceof Enum<?> e ? e.name() : value.toString();
      text.append(part.replace("%", "%25").replace("+", "%2B")).append('+');
    }
    return text.substring(0, text.length() - 1);
  }

  private static @Nullable Object read(RecordComponent component, Object key) {
    try {
      component.getAccessor().trySetAccessible();
      return component.getAccessor().invoke(key);
    } catch (ReflectiveOperationException e) {
      throw new InvalidGrainException("the key " + key + " cannot be read", e);
    }
  }

  /** The key of a text that {@link #text} made. */
  public Object parse(String text) {
    if (!type.isRecord()) {
      return simple(type, text);
    }
    var components = type.getRecordComponents();
    var parts = text.split("\\+", -1);
    if (parts.length != components.length) {
      throw new InvalidGrainException(text + " is no key of " + grain.getTypeName());
    }
    var values = new Object[parts.length];
    for (int i = 0; i < parts.length; i++) {
      values[i] = simple(components[i].getType(), parts[i].replace("%2B", "+").replace("%25", "%"));
    }
    try {
      var types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
      var constructor = type.getDeclaredConstructor(types);
      constructor.trySetAccessible();
      return constructor.newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new InvalidGrainException(text + " is no key of " + grain.getTypeName(), e);
    }
  }

  private Object simple(Class<?> type, String text) {
    if (type.isEnum()) {
      for (var constant : type.getEnumConstants()) {
        if (((Enum<?>) constant).name().equals(text)) {
          return constant;
        }
      }
    }
    var parser = SIMPLE.get(type);
    if (parser == null) {
      throw new InvalidGrainException(text + " is no key of " + grain.getTypeName());
    }
    try {
      return parser.apply(text);
    } catch (RuntimeException e) {
      throw new InvalidGrainException(text + " is no key of " + grain.getTypeName(), e);
    }
  }
}
