package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the shim learns by connections of its own. */
@Timeout(60)
class WatchTest {
  @Test
  void beginsAgainWhateverHasFailed() throws Exception {
    var begun = new AtomicInteger();
    var told = new AtomicInteger();
    var listening = new CountDownLatch(1);
    try (var shimmed = Shimmed.start()) {
      var watch =
          new Watch(shimmed.shim) {
            private int listened;

            @Override
            void ask(Connection made) {
              if (begun.get() == 1 && listened == 2) {
                begun.incrementAndGet();
                throw new AssertionError("nor is it expected to fail here");
              }
            }

            @Override
            void listen(Connection connection) throws IOException {
              switch (listened++) {
                case 0 -> throw new IllegalArgumentException("no frame has so many bytes");
                case 1 -> throw new AssertionError("so many levels");
                default -> {
                  told.compareAndSet(0, begun.get());
                  listening.countDown();
                }
              }
            }

            @Override
            void beginsAgain() {
              begun.incrementAndGet();
            }
          };
      var first = watch.begin();
      shimmed.shim.fibers.spawn(() -> watch.run(first));
      assertTrue(listening.await(30, TimeUnit.SECONDS), "it listens no more");
      assertEquals(3, told.get(), "each time what was missed is told, and once it could not");
    }
  }
}
