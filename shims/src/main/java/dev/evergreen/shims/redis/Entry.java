package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Sized;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the model keeps under a key.
 *
 * @param content Bytes; a Map of Bytes for a hash; a List, a Set; a Map of Bytes to Double for a
 *     sorted set
 * @param deadline when it expires, or null if it does not
 */
record Entry(Kind kind, Object content, @Nullable Deadline deadline) implements Sized {
  @Override
  public long bytes() {
    return Sized.of(content);
  }

  /**
   * Whether nothing is left, so that there is no key either. An empty string or stream is there.
   */
  boolean empty() {
    return kind != Kind.STRING
        && ((content instanceof Collection<?> all && all.isEmpty())
            || (content instanceof Map<?, ?> map && map.isEmpty()));
  }
}
