package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How many requests are worked on at a time. */
final class PlacesTest {

  private static final Duration LONG = Duration.ofMinutes(1);

  /** Seen: who had waited for a result was refused, as others had come meanwhile. */
  @Test
  void whoHasWaitedGoesOnBeforeWhoComesAnew() throws Exception {
    var places = new Places(1, LONG);
    var anew = new CompletableFuture<Integer>();
    try (var place = places.take()) {
      var waiter = Thread.currentThread();
      place.leaveFor(
          () -> {
            var other = places.take();
            anew.completeAsync(
                () -> {
                  Await.until(
                      "waits for a place", () -> waiter.getState() == Thread.State.TIMED_WAITING);
                  other.close();
                  return statusOf(places);
                });
          });
      assertEquals(503, anew.join());
    }
    assertEquals(200, statusOf(places));
  }

  @Test
  void nobodyWaitsForAPlaceForEver() throws Exception {
    var places = new Places(1, Duration.ofMillis(1));
    try (var place = places.take()) {
      var other = new CompletableFuture<Places.Place>();
      var busy =
          assertThrows(
              WebException.class, () -> place.leaveFor(() -> other.complete(places.take())));
      assertEquals(503, busy.status());
      assertEquals(503, statusOf(places));
      other.join().close();
      assertEquals(200, statusOf(places));
    }
    // It had none to give back.
    try (var only = places.take()) {
      assertEquals(503, statusOf(places));
      only.leaveFor(() -> assertEquals(200, statusOf(places)));
    }
  }

  /** Of a request that comes anew. */
  private static int statusOf(Places places) {
    try {
      places.take().close();
      return 200;
    } catch (WebException e) {
      return e.status();
    }
  }
}
