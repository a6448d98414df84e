package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How many requests are worked on at a time. */
final class PlacesTest {

  private static final Duration LONG = Duration.ofMinutes(1);

  /** Seen: who had waited for a result was refused, as others had come meanwhile. */
  @Test
  void whoHasWaitedGoesOnBeforeWhoComesAnew() throws Exception {
    var places = new Places(1, LONG);
    var anew = new CompletableFuture<Integer>();
    try (var place = places.take("a")) {
      var waiter = Thread.currentThread();
      place.leaveFor(
          () -> {
            var other = places.take("a");
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
    try (var place = places.take("a")) {
      var other = new CompletableFuture<Places.Place>();
      var busy =
          assertThrows(
              WebException.class, () -> place.leaveFor(() -> other.complete(places.take("a"))));
      assertEquals(503, busy.status());
      assertEquals(503, statusOf(places));
      other.join().close();
      assertEquals(200, statusOf(places));
    }
    // It had none to give back.
    try (var only = places.take("a")) {
      assertEquals(503, statusOf(places));
      only.leaveFor(() -> assertEquals(200, statusOf(places)));
    }
  }

  @Test
  void anAddressHasFewerThanAreFreeBeforeItIsGivenOneMore() {
    var places = new Places(6, LONG);
    var a = List.of(places.take("a"), places.take("a"), places.take("a"));
    assertEquals(503, statusOf(places));
    var b = List.of(places.take("b"), places.take("b"));
    assertThrows(WebException.class, () -> places.take("b"));
    places.take("c").close();
    a.forEach(Places.Place::close);
    b.forEach(Places.Place::close);
    assertEquals(200, statusOf(places));
  }

  /** Else those who sent their bodies late would have what those who send at once may not. */
  @Test
  void thoseWhoGoOnHaveTheSameShareAndEachHasAPlaceInTheEnd() throws Exception {
    var places = new Places(4, LONG);
    var have = new LinkedBlockingQueue<String>();
    var begin = new CountDownLatch(1);
    var endsA = new Semaphore(0);
    var endsB = new Semaphore(0);
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < 10; i++) {
      var address = i % 2 == 0 ? "a" : "b";
      var heard = new CountDownLatch(1);
      threads.add(
          Thread.startVirtualThread(
              () -> {
                try (var place = places.take(address)) {
                  place.leaveFor(
                      () -> {
                        heard.countDown();
                        begin.await();
                      });
                  have.add(address);
                  (address.equals("a") ? endsA : endsB).acquire();
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              }));
      heard.await();
    }
    begin.countDown();
    for (int i = 0; i < 3; i++) {
      assertNotNull(have.poll(20, TimeUnit.SECONDS));
    }
    places.take("c").close();
    // The place that c has given back is not for them; one that b gives back is for either.
    endsB.release();
    assertNotNull(have.poll(20, TimeUnit.SECONDS));
    places.take("c").close();
    endsA.release(5);
    endsB.release(5);
    for (var thread : threads) {
      thread.join();
    }
    assertEquals(6, have.size());
    var all = List.of(places.take("a"), places.take("b"), places.take("c"), places.take("d"));
    assertThrows(WebException.class, () -> places.take("e"));
    all.forEach(Places.Place::close);
  }

  /** Else it would wait until others end, though it may have one. */
  @Test
  void whoGivesAPlaceBackMayHaveOneAlsoWhereAnotherGetsThat() throws Exception {
    var places = new Places(5, LONG);
    var have = new LinkedBlockingQueue<String>();
    var end = new CountDownLatch(1);
    var ofX = places.take("x");
    places.take("a");
    var goOn = Map.of("a", new CountDownLatch(1), "x", new CountDownLatch(1));
    var threads = new HashMap<String, Thread>();
    for (var address : List.of("a", "x")) {
      var left = new CountDownLatch(1);
      threads.put(
          address,
          Thread.startVirtualThread(
              () -> {
                try (var place = places.take(address)) {
                  place.leaveFor(
                      () -> {
                        left.countDown();
                        Objects.requireNonNull(goOn.get(address)).await();
                      });
                  have.add(address);
                  end.await();
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              }));
      left.await();
    }
    places.take("b");
    places.take("c");
    for (var address : List.of("a", "x")) {
      Objects.requireNonNull(goOn.get(address)).countDown();
      Await.until(
          "waits for a place",
          () ->
              Objects.requireNonNull(threads.get(address)).getState()
                  == Thread.State.TIMED_WAITING);
    }
    ofX.close();
    // Both are given theirs at once, and either may be the first to say so.
    var both = new HashSet<@Nullable String>();
    both.add(have.poll(20, TimeUnit.SECONDS));
    both.add(have.poll(20, TimeUnit.SECONDS));
    assertEquals(Set.of("a", "x"), both);
    end.countDown();
  }

  @Test
  void whoIsInterruptedWhileHeWaitsLeavesNothing() throws Exception {
    var places = new Places(1, LONG);
    try (var place = places.take("a")) {
      var other = new CompletableFuture<Places.Place>();
      Thread.currentThread().interrupt();
      assertThrows(
          InterruptedException.class, () -> place.leaveFor(() -> other.complete(places.take("b"))));
      other.join().close();
      assertEquals(200, statusOf(places));
    }
    assertEquals(200, statusOf(places));
  }

  /** Of a request that comes anew. */
  private static int statusOf(Places places) {
    try {
      places.take("a").close();
      return 200;
    } catch (WebException e) {
      return e.status();
    }
  }
}
