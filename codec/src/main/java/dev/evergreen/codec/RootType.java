package dev.evergreen.codec;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A shape with a codec's limits: what the codec hands out. */
final class RootType implements ValueType {
  private final Shape shape;
  private final Limits limits;
  private final boolean immutable;
  private final int nameBytes;

  RootType(Shape shape, Limits limits) {
    this.shape = shape;
    this.limits = limits;
    Set<Shape> all = shape.reach();
    this.immutable = all.stream().noneMatch(Shape::mutable);
    int names = all.stream().mapToInt(Shape::nameBytes).sum();
    this.nameBytes = Math.min(limits.maxBytes() / 4, names);
  }

  @Override
  public String name() {
    return shape.name();
  }

  @Override
  public boolean immutable() {
    return immutable;
  }

  @Override
  public boolean plain() {
    return shape.plain();
  }

  @Override
  public @Nullable Object freeze(@Nullable Object value) {
    var walk = new Walk(limits);
    walk.count(nameBytes);
    return shape.freeze(value, walk);
  }

  @Override
  public boolean same(@Nullable Object a, @Nullable Object b) {
    return shape.same(a, b, limits.maxDepth());
  }

  private void requireBytes() {
    if (shape instanceof DynamicShape) {
      throw DynamicShape.noBytes();
    }
  }

  @Override
  public byte[] encode(@Nullable Object value) {
    requireBytes();
    var out = new Writer(limits);
    shape.put(out, value);
    return out.toBytes();
  }

  @Override
  public Read read(byte[] bytes) {
    requireBytes();
    if (bytes.length > limits.maxBytes()) {
      throw Nesting.tooLarge(limits);
    }
    var in = new Reader(bytes, limits);
    Object value = shape.get(in);
    in.finish();
    return new Read(value, in.unknown());
  }

  @Override
  public String toString() {
    return "ValueType[" + shape.name() + "]";
  }
}
