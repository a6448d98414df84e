package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.proxy.rules.CacheStatus.Forward;
import org.junit.jupiter.api.Test;

/** RFC 9211 §2. */
class CacheStatusTest {

  @Test
  void aHitTellsItsLife() {
    assertEquals("Evergreen; hit; ttl=60", CacheStatus.hit(60).member("Evergreen"));
    assertEquals("Evergreen; hit; ttl=-5", CacheStatus.hit(-5).member("Evergreen"));
  }

  @Test
  void aMissTellsWhy() {
    assertEquals("c; fwd=uri-miss", CacheStatus.forwarded(Forward.URI_MISS).member("c"));
    assertEquals(
        "c; fwd=stale; fwd-status=304; ttl=9; stored; collapsed; detail=x",
        CacheStatus.forwarded(Forward.STALE)
            .withForwardStatus(304)
            .withTtl(9)
            .asStored()
            .asCollapsed()
            .withDetail("x")
            .member("c"));
  }
}
