package dev.evergreen.codec;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An optional of any of the four kinds; null is written apart from the empty one. */
final class OptionalShape extends Shape {
  private final Class<?> type;
  private final Object empty;
  private final Shape content;

  private OptionalShape(String name, Object empty, Shape content) {
    super(name);
    this.type = empty.getClass();
    this.empty = empty;
    this.content = content;
  }

  static OptionalShape of(String name, Shape content) {
    return new OptionalShape(name, Optional.empty(), content);
  }

  static OptionalShape ofInt(Shape content) {
    return new OptionalShape("OptionalInt", OptionalInt.empty(), content);
  }

  static OptionalShape ofLong(Shape content) {
    return new OptionalShape("OptionalLong", OptionalLong.empty(), content);
  }

  static OptionalShape ofDouble(Shape content) {
    return new OptionalShape("OptionalDouble", OptionalDouble.empty(), content);
  }

  @Override
  boolean equalsIsSame() {
    return content.equalsIsSame();
  }

  @Override
  Object absent() {
    return empty;
  }

  @Override
  void parts(Consumer<Shape> visitor) {
    visitor.accept(content);
  }

  private @Nullable Object unwrap(Object value) {
    if (value.getClass() != type) {
      throw wrongClass(value);
    }
    return switch (value) {
      case OptionalInt i -> i.isPresent() ? (Object) i.getAsInt() : null;
      case OptionalLong l -> l.isPresent() ? (Object) l.getAsLong() : null;
      case OptionalDouble d -> d.isPresent() ? (Object) d.getAsDouble() : null;
      case Optional<?> o -> o.orElse(null);
      default -> throw wrongClass(value);
    };
  }

  private Object wrap(Object inner) {
    return switch (empty) {
      case OptionalInt _ -> OptionalInt.of((Integer) inner);
      case OptionalLong _ -> OptionalLong.of((Long) inner);
      case OptionalDouble _ -> OptionalDouble.of((Double) inner);
      default -> Optional.of(inner);
    };
  }

  @Override
  void write(Writer out, Object value) {
    Object inner = unwrap(value);
    out.enter();
    out.tag(inner == null ? Tag.NONE : Tag.SOME);
    if (inner != null) {
      content.put(out, inner);
    }
    out.leave();
  }

  @Override
  Object read(Reader in, int tag) {
    if (tag == Tag.NONE) {
      return empty;
    }
    requireTag(in, tag, Tag.SOME);
    in.enter();
    Object inner = content.get(in);
    in.leave();
    if (inner == null) {
      throw in.malformed("an optional holds null");
    }
    return wrap(inner);
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    Object inner = unwrap(value);
    walk.enter();
    walk.count(1);
    Object frozen = inner == null ? null : content.freeze(inner, walk);
    walk.leave();
    return frozen == null || frozen == inner ? value : wrap(frozen);
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    if (levels == 0) {
      throw tooDeepToCompare();
    }
    return content.same(unwrap(a), unwrap(b), levels - 1);
  }
}
