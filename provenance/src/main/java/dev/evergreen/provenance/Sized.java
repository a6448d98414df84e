package dev.evergreen.provenance;

import java.util.Collection;
import java.util.Map;

/**
 * A value of a {@link Model} that holds others: so many states are tried as there is memory for.
 * Bytes, collections and maps need not be: they are counted as they are.
 */
public interface Sized {
  /** About how many bytes it takes. */
  long bytes();

  /** About how many bytes a value takes. */
  static long of(Object value) {
    return switch (value) {
      case Bytes bytes -> OVERHEAD + bytes.length();
      case Collection<?> all -> OVERHEAD + all.stream().mapToLong(Sized::of).sum();
      case Map<?, ?> map -> of(map.keySet()) + of(map.values());
      case Sized sized -> OVERHEAD + sized.bytes();
      default -> OVERHEAD;
    };
  }

  /** What a value takes beside its content. */
  long OVERHEAD = 64;
}
