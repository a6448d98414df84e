package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.CacheGroups;
import dev.evergreen.proxy.rules.CacheKey;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The names by which what is stored can be purged together: tags, which the operator knows, and the
 * groups of an origin (RFC 9875), which only its own responses invalidate.
 */
final class Tags {

  private static final Pattern BETWEEN = Pattern.compile("[,\\s]+");

  private Tags() {}

  /** Those of a response, also if they are more than can be stored. */
  static List<String> of(String key, Fields response, List<String> fieldsOfTags) {
    var tags = new LinkedHashSet<String>();
    for (var group : CacheGroups.of(response.all("cache-groups"))) {
      tags.add(group(key, group));
    }
    for (var field : fieldsOfTags) {
      for (var line : response.all(field)) {
        for (var tag : BETWEEN.split(line, -1)) {
          if (isTag(tag)) {
            tags.add(tag(tag));
          }
        }
      }
    }
    return List.copyOf(tags);
  }

  /** Whether a response can have such a tag. */
  static boolean isTag(String tag) {
    return !tag.isEmpty() && !BETWEEN.matcher(tag).find();
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
