package dev.evergreen.memcached.live;

import java.util.Map;

/**
 * A key that was asked for, and what the names of its view's pattern stand for in it.
 *
 * @param text the whole key
 * @param values by name
 */
public record LiveKey(String text, Map<String, String> values) {

  public LiveKey {
    values = Map.copyOf(values);
  }

  /**
   * What a name of the pattern stands for.
   *
   * @throws IllegalArgumentException if the pattern has no such name
   */
  public String get(String name) {
    var value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException(
          "The key pattern has no name '%s'; it has %s".formatted(name, values.keySet()));
    }
    return value;
  }
}
