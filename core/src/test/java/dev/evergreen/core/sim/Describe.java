package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Failure;
import java.lang.reflect.Array;
import java.util.Collection;
import java.util.HexFormat;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Text of records that is the same in every process, arrays included. */
final class Describe {

  private static final int MOST_BYTES = 24;

  private Describe() {}

  static String text(@Nullable Object value) {
    return switch (value) {
      case null -> "null";
      // Generated classes, which occur in stacks, are numbered in each process anew.
      case Failure.Frame frame -> "";
      case Record record -> record(record);
      case byte[] bytes -> bytes(bytes);
      case Collection<?> items ->
          items.stream()
              .map(Describe::text)
              .filter(text -> !text.isEmpty())
              .collect(Collectors.joining(", ", "[", "]"));
      case Enum<?> constant -> constant.name();
      case Object array when array.getClass().isArray() ->
          array.getClass().getComponentType().getSimpleName() + "[" + Array.getLength(array) + "]";
      case CharSequence chars -> chars.toString();
      case Number number -> number.toString();
      case Boolean truth -> truth.toString();
      default -> value.getClass().getSimpleName();
    };
  }

  private static String bytes(byte[] bytes) {
    var hex = HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, MOST_BYTES));
    return bytes.length <= MOST_BYTES ? hex : hex + ".." + bytes.length;
  }

  private static String record(Record record) {
    var text = new StringBuilder(record.getClass().getSimpleName()).append('(');
    var separator = "";
    for (var component : record.getClass().getRecordComponents()) {
      try {
        var accessor = component.getAccessor();
        accessor.trySetAccessible();
        text.append(separator).append(text(accessor.invoke(record)));
      } catch (ReflectiveOperationException e) {
        throw new LinkageError("a record's accessor cannot be called: " + component, e);
      }
      separator = " ";
    }
    return text.append(')').toString();
  }
}
