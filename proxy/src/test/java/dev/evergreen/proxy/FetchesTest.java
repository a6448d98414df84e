package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is under way, and what is for one client alone. */
class FetchesTest {
  private static final long NOW = 1_795_435_200_000L;

  private final Fetches fetches = new Fetches();

  @Test
  void aUriIsDetachedWithAllItsVariants() {
    var others =
        List.of("http://x/", "http://x/aa", "http://x/a?b", Fetches.name("http://x/aa", "1"));
    var own =
        List.of("http://x/a", Fetches.name("http://x/a", ""), Fetches.name("http://x/a", "é"));
    Stream.concat(others.stream(), own.stream())
        .forEach(each -> assertNull(fetches.begin(each, new Fetch())));
    fetches.detach("http://x/a");
    own.forEach(each -> assertNull(fetches.find(each)));
    others.forEach(each -> assertNotNull(fetches.find(each)));
    assertEquals(others.size(), fetches.underWay());
  }

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
