package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.proxy.storage.Purge;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** When what was softly purged has become stale. */
class SoftPurgesTest {
  private static final long NOW = 1_795_435_200_000L;

  private final SoftPurges purges = new SoftPurges();

  private OptionalLong last(String key, String... tags) {
    return purges.last(key, List.of(tags), NOW + 64_000);
  }

  @Test
  void theLastThatIsAboutAResponseCounts() {
    purges.add(Purge.uri(Proxy.segment("http://x/a")).softly(), NOW + 16);
    purges.add(Purge.tag("t one").softly(), NOW + 32);
    purges.add(Purge.prefix(Proxy.segment("http://x/b")).softly(), NOW + 48);
    assertEquals(OptionalLong.of(NOW + 16), last("http://x/a"));
    assertEquals(OptionalLong.of(NOW + 32), last("http://x/a", "t two", "t one"));
    assertEquals(OptionalLong.of(NOW + 48), last("http://x/bc", "t one"));
    assertEquals(OptionalLong.of(NOW + 48), last("http://x/b"));
    assertEquals(OptionalLong.empty(), last("http://x/", "t two"));
    purges.add(Purge.uri(Proxy.segment("http://x/a")).softly(), NOW + 64);
    assertEquals(OptionalLong.of(NOW + 64), last("http://x/a", "t one"));
  }
}
