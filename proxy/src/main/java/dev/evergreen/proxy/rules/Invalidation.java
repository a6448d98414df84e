package dev.evergreen.proxy.rules;

import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What an answer makes invalid of what is stored (RFC 9111 §4.4, RFC 9875 §3).
 *
 * @param keys of the URIs
 * @param groups of the same origin
 */
public record Invalidation(Set<String> keys, List<String> groups) {

  /** Nothing. */
  public static final Invalidation NOTHING = new Invalidation(Set.of(), List.of());

  public Invalidation {
    keys = Set.copyOf(keys);
    groups = List.copyOf(groups);
  }

  /** By a request that may have been sent, and whose answer nobody waits for. */
  public static Invalidation unanswered(RequestHead request, String key) {
    return Statuses.safe(request.method()) ? NOTHING : new Invalidation(Set.of(key), List.of());
  }

  /**
   * By an answer to a request: nothing unless its method may have changed something and it was no
   * error.
   */
  public static Invalidation of(RequestHead request, String key, ResponseHead response) {
    if (Statuses.safe(request.method()) || response.status() < 200 || response.status() >= 400) {
      return NOTHING;
    }
    var keys = new LinkedHashSet<String>();
    keys.add(key);
    for (var name : List.of("location", "content-location")) {
      var reference = response.fields().get(name);
      if (reference != null) {
        CacheKey.resolve(key, reference).ifPresent(keys::add);
      }
    }
    return new Invalidation(
        keys, CacheGroups.of(response.fields().all("cache-group-invalidation")));
  }
}
