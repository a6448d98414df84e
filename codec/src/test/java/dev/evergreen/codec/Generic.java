package dev.evergreen.codec;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A generic type with its arguments, as reflection would give it. */
record Generic(Class<?> raw, List<Type> arguments) implements ParameterizedType {
  Generic(Class<?> raw, Type... arguments) {
    this(raw, Arrays.asList(arguments));
  }

  @Override
  public Type[] getActualTypeArguments() {
    return arguments.toArray(Type[]::new);
  }

  @Override
  public Type getRawType() {
    return raw;
  }

  @Override
  public @Nullable Type getOwnerType() {
    return null;
  }

  @Override
  public String toString() {
    return arguments.stream()
        .map(Type::getTypeName)
        .collect(Collectors.joining(", ", raw.getSimpleName() + "<", ">"));
  }
}
