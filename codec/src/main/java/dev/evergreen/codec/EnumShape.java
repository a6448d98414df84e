package dev.evergreen.codec;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An enum; constants are written by name, so that their order may change. */
final class EnumShape extends Shape {
  private final Class<?> type;
  private final Map<String, Object> constants = new HashMap<>();
  private final int nameBytes;

  EnumShape(Class<?> type, String name) {
    super(name);
    this.type = type;
    int bytes = 0;
    for (Object constant : type.getEnumConstants()) {
      String text = ((Enum<?>) constant).name();
      constants.put(text, constant);
      bytes += 2 + text.length();
    }
    this.nameBytes = bytes;
  }

  @Override
  int bound() {
    return 3;
  }

  @Override
  boolean equalsIsSame() {
    return true;
  }

  @Override
  int nameBytes() {
    return nameBytes;
  }

  private Enum<?> checked(Object value) {
    if (value instanceof Enum<?> constant && constant.getDeclaringClass() == type) {
      return constant;
    }
    throw wrongClass(value);
  }

  @Override
  void write(Writer out, Object value) {
    out.tag(Tag.ENUM);
    out.name(checked(value).name());
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, Tag.ENUM);
    String constant = in.name();
    @Nullable Object value = constants.get(constant);
    if (value == null) {
      throw in.malformed(name() + " has no constant " + constant);
    }
    return value;
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    int repeated = checked(value).name().length();
    walk.count(walk.inKey() ? 3 + repeated : 3);
    return value;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    return false;
  }
}
