package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class PolledViewTest {

  private final Node node = EmbeddedNode.builder().start();

  @AfterEach
  void close() {
    node.close();
  }

  @Test
  void isAskedWhileSomebodyLooksAndOnceForAll() {
    var asked = new AtomicInteger();
    try (var server =
        WebServer.builder(node)
            .port(0)
            .settings(WebSettings.DEFAULT.withKeepViewFor(Duration.ofMillis(1)))
            .view(
                LiveView.polled(
                    "asked",
                    Authorisation.everyone(),
                    Duration.ofMillis(10),
                    asked::incrementAndGet))
            .start()) {
      assertEquals(0, asked.get());
      try (var one = Browser.open(server);
          var two = Browser.open(server)) {
        one.subscribe(1, "asked", "{}", null);
        two.subscribe(1, "asked", "{}", null);
        awaitValue(one, 3);
        awaitValue(two, 3);
        assertEquals(1, server.counts().views());
      }
      Await.until("the view is closed", () -> server.counts().views() == 0);
    }
  }

  private static void awaitValue(Browser page, int least) {
    while (page.next().path("value").asInt() < least) {
      // The next answer may show it.
    }
  }
}
