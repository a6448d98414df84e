package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.time.Duration;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Who looks after the connections. */
final class WatchdogTest {

  /** Seen: an Error ended it, and nobody was cut or told to be alive any more. */
  @Test
  void whateverItStumblesOverItLooksAgain() throws Exception {
    looksAgain(new Failures(e -> Optional.empty()));
  }

  /** Seen: an Error of memory was followed by one more, of the words that told of it. */
  @Test
  void itLooksAgainAlsoWhenItCannotTellWhatItStumbledOver() throws Exception {
    looksAgain(
        new Failures(
            e -> Optional.empty(),
            () -> {
              throw new OutOfMemoryError("of a test");
            }));
  }

  private static void looksAgain(Failures failures) throws Exception {
    var settings = WebSettings.DEFAULT.withKeepViewFor(Duration.ofMillis(1));
    var counters = new Counters();
    var looks = new CountDownLatch(3);
    var live =
        new AbstractSet<LiveConnection>() {
          @Override
          public Iterator<LiveConnection> iterator() {
            return Collections.emptyIterator();
          }

          @Override
          public int size() {
            return 0;
          }

          @Override
          public void forEach(Consumer<? super LiveConnection> look) {
            looks.countDown();
            throw new OutOfMemoryError("of a test");
          }
        };
    var hub = new Hub(new HandNode(), Map.of(), settings, failures);
    var peers = new Peers(settings, Proxies.NONE, counters);
    var watchdog = new Watchdog(settings, live, peers, hub, counters, failures);
    watchdog.start();
    assertTrue(looks.await(20, TimeUnit.SECONDS), "it looked once");
    watchdog.stop();
  }
}
