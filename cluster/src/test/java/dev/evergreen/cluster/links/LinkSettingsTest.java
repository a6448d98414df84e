package dev.evergreen.cluster.links;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

final class LinkSettingsTest {

  private final LinkSettings settings = LinkSettings.of("test");

  /** A socket would wait for ever. */
  @Test
  void aTimeBelowAMillisecondIsRefused() {
    var micros = Duration.ofNanos(999_999);
    var dead = assertThrows(IllegalArgumentException.class, () -> settings.withDeadAfter(micros));
    assertTrue(String.valueOf(dead.getMessage()).startsWith("deadAfter"), dead::toString);
    var late =
        assertThrows(IllegalArgumentException.class, () -> settings.withHandshakes(micros, 1));
    assertTrue(String.valueOf(late.getMessage()).startsWith("handshakeWithin"), late::toString);
    var least = Duration.ofMillis(1);
    assertEquals(least, settings.withDeadAfter(least).deadAfter());
  }
}
