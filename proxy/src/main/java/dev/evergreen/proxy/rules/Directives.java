package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;

/**
 * The directives of a response that count for this cache.
 *
 * @param targeted whether they came from a field for caches of this kind, so that Cache-Control and
 *     Expires do not count (RFC 9213 §2.2)
 */
record Directives(CacheControl control, boolean targeted) {

  static Directives of(Fields response, CacheRules rules) {
    for (var target : rules.targets()) {
      var lines = response.all(target);
      var control = lines.isEmpty() ? null : CacheControl.targeted(lines);
      if (control != null) {
        return new Directives(control, true);
      }
    }
    return new Directives(CacheControl.of(response.all("cache-control")), false);
  }
}
