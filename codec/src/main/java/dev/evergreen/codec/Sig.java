package dev.evergreen.codec;

import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A type without variables and wildcards: a class and its arguments, or an array and its component.
 */
record Sig(Class<?> raw, List<Sig> arguments, int size) {

  /** Larger types come from records that contain ever larger versions of themselves. */
  private static final int MAX_SIZE = 500;

  private static final int MAX_SHOWN = 120;

  static Sig of(Class<?> raw, List<Sig> arguments) {
    int size = 1 + arguments.stream().mapToInt(Sig::size).sum();
    if (size > MAX_SIZE) {
      throw new NotAValueException(
          raw.getTypeName() + " expands without end: its type arguments contain themselves");
    }
    return new Sig(raw, arguments, size);
  }

  static Sig of(Type type, Map<TypeVariable<?>, Sig> bindings) {
    return switch (type) {
      case Class<?> c when c.isArray() -> array(of(c.getComponentType(), bindings));
      case Class<?> c -> of(c, List.of());
      case ParameterizedType p -> {
        var arguments = new ArrayList<Sig>();
        for (Type argument : p.getActualTypeArguments()) {
          arguments.add(of(argument, bindings));
        }
        yield of((Class<?>) p.getRawType(), List.copyOf(arguments));
      }
      case GenericArrayType a -> array(of(a.getGenericComponentType(), bindings));
      case WildcardType w -> of(w.getUpperBounds()[0], bindings);
      case TypeVariable<?> v -> bound(v, bindings);
      default -> throw new NotAValueException(type.getTypeName() + " is of an unknown kind");
    };
  }

  /** What the variables of the interfaces that a class extends stand for in it. */
  static Map<TypeVariable<?>, Sig> inherited(Class<?> type) {
    var bindings = new HashMap<TypeVariable<?>, Sig>();
    collect(type, bindings);
    return bindings;
  }

  private static void collect(Class<?> type, Map<TypeVariable<?>, Sig> bindings) {
    for (Type parent : type.getGenericInterfaces()) {
      if (parent instanceof ParameterizedType p) {
        Class<?> raw = (Class<?>) p.getRawType();
        for (int i = 0; i < raw.getTypeParameters().length; i++) {
          Type argument = p.getActualTypeArguments()[i];
          // One that is left open is an error only where a member uses it.
          if (!(argument instanceof TypeVariable<?> v) || bindings.containsKey(v)) {
            bindings.put(raw.getTypeParameters()[i], of(argument, bindings));
          }
        }
        collect(raw, bindings);
      } else {
        collect((Class<?>) parent, bindings);
      }
    }
  }

  private static Sig array(Sig component) {
    return of(component.raw.arrayType(), List.of(component));
  }

  private static Sig bound(TypeVariable<?> variable, Map<TypeVariable<?>, Sig> bindings) {
    Sig bound = bindings.get(variable);
    if (bound == null) {
      throw new NotAValueException(
          "the type variable "
              + variable.getName()
              + " of "
              + variable.getGenericDeclaration()
              + " stands for no certain type; use a type without variables");
    }
    return bound;
  }

  /**
   * Finds what the variables of {@code pattern}, a supertype as a class declares it, stand for when
   * the supertype is {@code actual}. False if it can never be that.
   */
  static boolean unify(Type pattern, Sig actual, Map<TypeVariable<?>, Sig> bindings) {
    return switch (pattern) {
      case TypeVariable<?> v -> {
        Sig before = bindings.putIfAbsent(v, actual);
        yield before == null || before.equals(actual);
      }
      case Class<?> c -> actual.raw.isAssignableFrom(c);
      case ParameterizedType p -> {
        boolean agree = actual.raw == p.getRawType();
        for (int i = 0; agree && i < actual.arguments.size(); i++) {
          agree = unify(p.getActualTypeArguments()[i], actual.arguments.get(i), bindings);
        }
        yield agree;
      }
      case GenericArrayType a ->
          actual.raw.isArray()
              && unify(a.getGenericComponentType(), actual.arguments.getFirst(), bindings);
      default -> true;
    };
  }

  /** The arguments of a generic class by their variables; null if it is used without them. */
  @Nullable Map<TypeVariable<?>, Sig> bindings() {
    TypeVariable<?>[] variables = raw.getTypeParameters();
    if (variables.length != arguments.size()) {
      return null;
    }
    var bindings = new HashMap<TypeVariable<?>, Sig>();
    for (int i = 0; i < variables.length; i++) {
      bindings.put(variables[i], arguments.get(i));
    }
    return bindings;
  }

  /** The type as in source code, classes by their simple names. */
  @Override
  public String toString() {
    if (raw.isArray()) {
      return arguments.getFirst() + "[]";
    }
    String name = raw.getSimpleName();
    if (arguments.isEmpty()) {
      return name;
    }
    var all = new StringBuilder();
    appendArguments(all);
    if (all.length() > MAX_SHOWN) {
      all.setLength(MAX_SHOWN);
      all.append('…');
    }
    return name + "<" + all + ">";
  }

  /** Appends so much as is shown. All of a type without end would take more stack than there is. */
  private void appendArguments(StringBuilder text) {
    for (int i = 0; i < arguments.size() && text.length() <= MAX_SHOWN; i++) {
      text.append(i == 0 ? "" : ", ");
      arguments.get(i).append(text);
    }
  }

  private void append(StringBuilder text) {
    if (raw.isArray()) {
      arguments.getFirst().append(text);
      text.append("[]");
      return;
    }
    text.append(raw.getSimpleName());
    if (!arguments.isEmpty()) {
      text.append('<');
      appendArguments(text);
      text.append('>');
    }
  }
}
