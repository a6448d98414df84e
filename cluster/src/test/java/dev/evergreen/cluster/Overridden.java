package dev.evergreen.cluster;

import com.typesafe.config.ConfigFactory;
import java.util.Map;
import java.util.function.Supplier;

/** Settings of Pekko that an operator changes by system properties. */
final class Overridden {

  private Overridden() {}

  /** Does something while the properties are set. */
  static <T> T by(Map<String, String> properties, Supplier<T> action) {
    properties.forEach(System::setProperty);
    ConfigFactory.invalidateCaches();
    try {
      return action.get();
    } finally {
      properties.keySet().forEach(System::clearProperty);
      ConfigFactory.invalidateCaches();
    }
  }
}
