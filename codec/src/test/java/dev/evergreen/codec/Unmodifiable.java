package dev.evergreen.codec;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Whether no collection anywhere in a value lets itself be changed. */
final class Unmodifiable {
  private Unmodifiable() {}

  static boolean is(@Nullable Object value) {
    return switch (value) {
      case null -> true;
      case List<?> list -> refuses(list) && list.stream().allMatch(Unmodifiable::is);
      case Set<?> set -> refuses(set) && set.stream().allMatch(Unmodifiable::is);
      case Map<?, ?> map ->
          refuses(map.keySet())
              && refuses(map.values())
              && refuses(map.entrySet())
              && map.keySet().stream().allMatch(Unmodifiable::is)
              && map.values().stream().allMatch(Unmodifiable::is);
      case Optional<?> optional -> is(optional.orElse(null));
      case Object[] array -> Arrays.stream(array).allMatch(Unmodifiable::is);
      case Record record -> components(record);
      default -> true;
    };
  }

  private static boolean refuses(Collection<?> collection) {
    var iterator = collection.iterator();
    if (!iterator.hasNext()) {
      return true;
    }
    iterator.next();
    return throwsOn(iterator::remove) && throwsOn(collection::clear);
  }

  private static boolean throwsOn(Runnable change) {
    try {
      change.run();
      return false;
    } catch (UnsupportedOperationException e) {
      return true;
    }
  }

  private static boolean components(Record record) {
    for (RecordComponent component : record.getClass().getRecordComponents()) {
      try {
        component.getAccessor().setAccessible(true);
        if (!is(component.getAccessor().invoke(record))) {
          return false;
        }
      } catch (ReflectiveOperationException e) {
        throw new LinkageError("no accessor", e);
      }
    }
    return true;
  }
}
