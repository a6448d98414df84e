package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * By what a stored response can be validated.
 *
 * @param lastModified as it came
 */
public record Validators(Optional<EntityTag> tag, @Nullable String lastModified) {

  /** Those of what has none. */
  public static final Validators NONE = new Validators(Optional.empty(), null);

  /** Those of a response. */
  public static Validators of(Fields response) {
    var tag = response.get("etag");
    return new Validators(
        tag == null ? Optional.empty() : EntityTag.parse(tag), response.get("last-modified"));
  }

  /** Whether there is none. */
  public boolean isEmpty() {
    return tag.isEmpty() && lastModified == null;
  }

  /** Whether both have the same tag, or, where one has none, the same date. */
  boolean same(Validators other) {
    if (tag.isPresent() && other.tag.isPresent()) {
      return tag.get().equalsWeakly(other.tag.get());
    }
    return lastModified != null && lastModified.equals(other.lastModified);
  }
}
