package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.CacheGroups;
import dev.evergreen.proxy.rules.CacheKey;
import dev.evergreen.proxy.storage.Entry;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * The names by which what is stored can be purged together: tags, which the operator knows, and the
 * groups of an origin (RFC 9875), which only its own responses invalidate.
 */
final class Tags {

  private Tags() {}

  /** Those of a response. More than can be stored are cut off. */
  static List<String> of(String key, Fields response, List<String> fieldsOfTags) {
    var tags = new LinkedHashSet<String>();
    for (var group : CacheGroups.of(response.all("cache-groups"))) {
      tags.add(group(key, group));
    }
    for (var field : fieldsOfTags) {
      for (var line : response.all(field)) {
        for (var tag : line.split("[,\\s]+", -1)) {
          if (!tag.isEmpty()) {
            tags.add(tag(tag));
          }
        }
      }
    }
    return tags.stream().limit(Entry.MAX_TAGS).toList();
  }

  /** A tag as it is stored. */
  static String tag(String tag) {
    return "t " + tag;
  }

  /**
   * A group as it is stored.
   *
   * @param key of a URI of its origin
   */
  static String group(String key, String group) {
    return "g " + CacheKey.origin(key) + " " + group;
  }
}
