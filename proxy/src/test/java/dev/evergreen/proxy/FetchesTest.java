package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import org.junit.jupiter.api.Test;

/** What is under way, and what is for one client alone. */
class FetchesTest {
  private static final long NOW = 1_795_435_200_000L;

  private final Fetches fetches = new Fetches();

  @Test
  void whatIsForOneAloneIsRememberedForAWhile() {
    fetches.remember("a", NOW + 10_000);
    assertTrue(fetches.alone("a", NOW + 9_980));
    assertFalse(fetches.alone("a", NOW + 10_000));
    assertFalse(fetches.alone("b", NOW));
  }

  @Test
  void noUriIsHeldForThat() {
    var held = new WeakReference<>(remembered());
    for (int i = 0; held.get() != null && i < 20; i++) {
      System.gc();
    }
    assertNull(held.get(), "clients could fill the heap with long ones");
  }

  private String remembered() {
    var uri = "http://test/" + "a".repeat(8000);
    fetches.remember(uri, NOW + 10_000);
    return uri;
  }
}
