package dev.evergreen.codec;

import java.io.File;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.BaseStream;
import org.jspecify.annotations.Nullable;

/**
 * Makes shapes of types, depth first. A shape that contains itself is handed out before it is
 * complete; if anything fails, all shapes that were begun are forgotten. Guarded by its codec.
 */
final class Compiler {
  private static final Set<String> LISTS =
      Set.of("java.util.List", "java.util.Collection", "java.util.SequencedCollection");
  private static final Set<String> SETS =
      Set.of(
          "java.util.Set",
          "java.util.SequencedSet",
          "java.util.SortedSet",
          "java.util.NavigableSet");
  private static final Set<String> MAPS =
      Set.of(
          "java.util.Map",
          "java.util.SequencedMap",
          "java.util.SortedMap",
          "java.util.NavigableMap");

  /** The most steps of a path that a message shows. */
  private static final int SHOWN = 10;

  private final Limits limits;
  private final Map<Sig, Shape> done = new HashMap<>();
  private final Map<Sig, Shape> begun = new LinkedHashMap<>();
  private final Map<List<String>, Layout> layouts = new HashMap<>();
  private final List<String> path = new ArrayList<>();

  Compiler(Limits limits) {
    this.limits = limits;
  }

  Shape compile(Type type) {
    return compile(type, Map.of());
  }

  Shape compile(Type type, Map<TypeVariable<?>, Sig> bindings) {
    path.clear();
    begun.clear();
    try {
      Sig sig = Sig.of(type, bindings);
      path.add(sig.toString());
      Shape shape = shape(sig);
      begun.values().forEach(Shape::bound);
      done.putAll(begun);
      return shape;
    } catch (NotAValueException e) {
      throw new NotAValueException(where(type) + ": " + e.getMessage(), e.getCause());
    }
  }

  /** The way to where the compiler is, without its middle if it is long. */
  private String where(Type type) {
    int length = path.size();
    if (length > SHOWN) {
      path.subList(SHOWN / 2, length - SHOWN / 2).clear();
      path.add(SHOWN / 2, "…");
    }
    return path.isEmpty() ? type.getTypeName() : String.join(" -> ", path);
  }

  private Shape shape(Sig sig) {
    Shape known = done.get(sig);
    if (known == null) {
      known = begun.get(sig);
    }
    if (known == null) {
      known = create(sig);
      begun.put(sig, known);
    }
    return known;
  }

  private Shape create(Sig sig) {
    Class<?> raw = sig.raw();
    Shape scalar = Scalars.of(raw);
    if (scalar != null) {
      return scalar;
    }
    if (raw.isArray()) {
      Shape primitives = PrimitiveArray.of(raw);
      return primitives != null
          ? primitives
          : new ArrayShape(sig.toString(), raw, shape(sig.arguments().getFirst()));
    }
    if (raw.isEnum()) {
      return new EnumShape(raw, sig.toString());
    }
    requireArguments(sig);
    Shape container = container(sig);
    if (container != null) {
      return container;
    }
    if (raw.isRecord()) {
      return record(sig);
    }
    if (raw.isSealed()) {
      return sealed(sig);
    }
    throw new NotAValueException(raw.getTypeName() + " is no value; " + hint(raw));
  }

  private static void requireArguments(Sig sig) {
    if (sig.bindings() == null) {
      throw new NotAValueException(
          sig.raw().getTypeName() + " lacks its type arguments; say what it contains");
    }
  }

  private @Nullable Shape container(Sig sig) {
    Class<?> raw = sig.raw();
    String name = sig.toString();
    if (LISTS.contains(raw.getName())) {
      return new ListShape(name, raw, shape(sig.arguments().getFirst()));
    }
    if (SETS.contains(raw.getName())) {
      Shape element = shape(sig.arguments().getFirst());
      requireOrder(raw, sig.arguments().getFirst());
      return new KeyedShape(name, raw, element, element, limits);
    }
    if (MAPS.contains(raw.getName())) {
      Shape key = shape(sig.arguments().getFirst());
      requireOrder(raw, sig.arguments().getFirst());
      return new KeyedShape(name, raw, key, shape(sig.arguments().getLast()), limits);
    }
    return optional(sig);
  }

  private static void requireOrder(Class<?> raw, Sig key) {
    boolean sorted = raw.getSimpleName().matches("(Sorted|Navigable).*");
    if (sorted && !Comparable.class.isAssignableFrom(key.raw())) {
      throw new NotAValueException(
          raw.getTypeName()
              + " of "
              + key
              + " has no natural order; let "
              + key
              + " implement Comparable, or use Set or Map");
    }
  }

  private @Nullable Shape optional(Sig sig) {
    Class<?> raw = sig.raw();
    if (raw == Optional.class) {
      return OptionalShape.of(sig.toString(), shape(sig.arguments().getFirst()));
    }
    if (raw == OptionalInt.class) {
      return OptionalShape.ofInt(shape(Sig.of(int.class, List.of())));
    }
    if (raw == OptionalLong.class) {
      return OptionalShape.ofLong(shape(Sig.of(long.class, List.of())));
    }
    if (raw == OptionalDouble.class) {
      return OptionalShape.ofDouble(shape(Sig.of(double.class, List.of())));
    }
    return null;
  }

  private Shape record(Sig sig) {
    Class<?> raw = sig.raw();
    var shape = new RecordShape(sig.toString(), RecordAccess.of(raw));
    begun.put(sig, shape);
    var names = new ArrayList<String>();
    var components = new ArrayList<Shape>();
    for (RecordComponent component : raw.getRecordComponents()) {
      path.add(sig + "." + component.getName());
      components.add(shape(Sig.of(component.getGenericType(), bindings(sig))));
      names.add(component.getName());
      path.removeLast();
    }
    Layout layout = layouts.computeIfAbsent(List.copyOf(names), Layout::new);
    shape.complete(layout, components.toArray(Shape[]::new));
    return shape;
  }

  private static Map<TypeVariable<?>, Sig> bindings(Sig sig) {
    Map<TypeVariable<?>, Sig> bindings = sig.bindings();
    return bindings == null ? Map.of() : bindings;
  }

  private Shape sealed(Sig sig) {
    var shape = new SealedShape(sig.toString());
    begun.put(sig, shape);
    var leaves = new LinkedHashMap<Class<?>, SealedShape.Leaf>();
    collectLeaves(sig, leaves);
    shape.complete(List.copyOf(leaves.values()));
    return shape;
  }

  private void collectLeaves(Sig sig, Map<Class<?>, SealedShape.Leaf> leaves) {
    for (Class<?> permitted : sig.raw().getPermittedSubclasses()) {
      Sig leaf = permittedSig(permitted, sig);
      if (leaf == null || leaves.containsKey(permitted)) {
        continue;
      }
      if (permitted.isSealed() && !permitted.isEnum()) {
        collectLeaves(leaf, leaves);
      } else if (permitted.isRecord() || permitted.isEnum()) {
        String name = permitted.getSimpleName().intern();
        leaves.put(permitted, new SealedShape.Leaf(permitted, name, shape(leaf)));
      } else {
        throw new NotAValueException(
            sig.raw().getTypeName()
                + " permits "
                + permitted.getTypeName()
                + ", which is neither a record nor an enum nor sealed");
      }
    }
  }

  /**
   * The permitted class with the arguments it has as a {@code parent}; null if it cannot be one.
   */
  private static @Nullable Sig permittedSig(Class<?> permitted, Sig parent) {
    var supertypes = new ArrayList<Type>(List.of(permitted.getGenericInterfaces()));
    if (permitted.getGenericSuperclass() != null) {
      supertypes.add(permitted.getGenericSuperclass());
    }
    var bindings = new HashMap<TypeVariable<?>, Sig>();
    for (Type supertype : supertypes) {
      Class<?> raw =
          supertype instanceof ParameterizedType p
              ? (Class<?>) p.getRawType()
              : (Class<?>) supertype;
      if (raw == parent.raw() && !Sig.unify(supertype, parent, bindings)) {
        return null;
      }
    }
    var arguments = new ArrayList<Sig>();
    for (TypeVariable<?> variable : permitted.getTypeParameters()) {
      arguments.add(Sig.of(variable, bindings));
    }
    return Sig.of(permitted, arguments);
  }

  private static String hint(Class<?> raw) {
    if (raw == Object.class) {
      return "name the type, or make it a sealed interface of the records it may be";
    }
    if (Collection.class.isAssignableFrom(raw)) {
      return "declare " + (Set.class.isAssignableFrom(raw) ? "Set" : "List") + " instead";
    }
    if (Map.class.isAssignableFrom(raw)) {
      return "declare Map instead";
    }
    if (Iterable.class == raw || BaseStream.class.isAssignableFrom(raw)) {
      return "declare List instead";
    }
    if (Date.class.isAssignableFrom(raw) || Calendar.class.isAssignableFrom(raw)) {
      return "use java.time.Instant instead";
    }
    if (CharSequence.class.isAssignableFrom(raw) || File.class.isAssignableFrom(raw)) {
      return "use String instead";
    }
    if (raw.isInterface()) {
      return "make it sealed and its implementations records or enums";
    }
    return "use a record of values instead";
  }
}
