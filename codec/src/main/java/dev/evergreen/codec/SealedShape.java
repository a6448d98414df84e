package dev.evergreen.codec;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A sealed type; its leaves are written by their simple names. */
final class SealedShape extends Shape {

  /**
   * A record or enum at the end of a sealed hierarchy.
   *
   * @param name its simple name, interned
   */
  record Leaf(Class<?> type, String name, Shape shape) {}

  private final Map<Class<?>, Leaf> byClass = new HashMap<>();
  private final Map<String, Leaf> byName = new HashMap<>();
  private int nameBytes;

  SealedShape(String name) {
    super(name);
  }

  /** The second half of construction; leaves may contain this shape. */
  void complete(List<Leaf> leaves) {
    for (Leaf leaf : leaves) {
      byClass.put(leaf.type, leaf);
      Leaf other = byName.put(leaf.name, leaf);
      if (other != null && other.type != leaf.type) {
        throw new NotAValueException(
            leaf.type.getTypeName()
                + " and "
                + other.type.getTypeName()
                + " have the same simple name; leaves of a sealed type are told apart by it");
      }
      nameBytes += 2 + leaf.name.length();
    }
  }

  @Override
  void parts(Consumer<Shape> visitor) {
    byClass.values().forEach(leaf -> visitor.accept(leaf.shape));
  }

  @Override
  int nameBytes() {
    return nameBytes;
  }

  private Leaf leafOf(Object value) {
    Leaf leaf = byClass.get(value instanceof Enum<?> e ? e.getDeclaringClass() : value.getClass());
    if (leaf == null) {
      throw wrongClass(value);
    }
    return leaf;
  }

  @Override
  void write(Writer out, Object value) {
    Leaf leaf = leafOf(value);
    out.tag(Tag.VARIANT);
    out.name(leaf.name);
    leaf.shape.put(out, value);
  }

  @Override
  @Nullable Object read(Reader in, int tag) {
    requireTag(in, tag, Tag.VARIANT);
    String simpleName = in.name();
    Leaf leaf = byName.get(simpleName);
    if (leaf == null) {
      throw in.malformed(name() + " permits no " + simpleName);
    }
    return leaf.shape.read(in, in.u8());
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    Leaf leaf = leafOf(value);
    walk.count(walk.inKey() ? 3 + leaf.name.length() : 2);
    return leaf.shape.freezeValue(value, walk);
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    Leaf leaf = leafOf(a);
    return leaf.type == leafOf(b).type && leaf.shape.sameValue(a, b, levels);
  }
}
