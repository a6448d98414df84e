package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.Fields;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.rules.CacheRules;
import dev.evergreen.proxy.rules.Life;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.IncompleteException;
import dev.evergreen.proxy.storage.Purge;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Storage;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
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

  /** What is too large for this storage, so that it is passed to those who follow it only. */
  private static Arrival arrival(Storage storage, int length) throws IOException {
    var fields = Fields.of("Cache-Control", "max-age=60");
    var life = Life.of(ResponseHead.of(200, fields), NOW, NOW, CacheRules.DEFAULT);
    var head = StoredHead.encode(200, life, fields);
    var entry = new Entry(Proxy.segment("http://x/a"), head, storage.stamp(), length);
    return new Arrival(entry, storage, new Recipient());
  }

  /** Seen: it was under way in the storage for ever. */
  @Test
  void whatCannotArriveHasNotBegun() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(2 << 20))) {
      var key = Proxy.segment("http://x/a");
      var fields = Fields.of("Vary", "*");
      var life = Life.of(ResponseHead.of(200, fields), NOW, NOW, CacheRules.DEFAULT);
      var entry = new Entry(key, StoredHead.encode(200, life, fields), storage.stamp(), 1);
      assertThrows(
          NoSuchElementException.class, () -> new Arrival(entry, storage, new Recipient()));
      storage.invalidate(Purge.uri(key));
      assertEquals(0, storage.stats().marks(), "nothing is under way");
    }
  }

  /** Seen: nobody followed it yet when its first client left or had gone on, so it was lost. */
  @Test
  void whatArrivesKeepsItsBeginningForThoseWhoWaited() throws Exception {
    int length = 1 << 20;
    var piece = ByteBuffer.allocate(60_000);
    try (var storage = Storage.open(StorageOptions.memory(2 << 20).memoryObject(100_000));
        var arrival = arrival(storage, length)) {
      var fetch = new Fetch();
      try (var waiter = fetch.join();
          var other = fetch.join()) {
        var first = arrival.appender().follow();
        fetch.decide(new Fetch.Arriving(arrival));
        first.close();
        arrival.appender().append(piece.duplicate());
        assertEquals(new Fetch.Arriving(arrival), waiter.await(0));
        var lease = Objects.requireNonNull(arrival.follow());
        waiter.done();
        waiter.done();
        lease.close();
        arrival.appender().append(piece.duplicate());
        assertInstanceOf(Fetch.Arriving.class, other.await(0));
        try (var last = Objects.requireNonNull(arrival.follow())) {
          other.done();
          assertTrue(last.read(0, 1).length > 0, "its beginning is there");
        }
        assertThrows(IncompleteException.class, () -> arrival.appender().append(piece.duplicate()));
      }
    }
  }

  @Test
  void whoComesLateOrGivesUpKeepsNothing() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(2 << 20).memoryObject(100_000));
        var arrival = arrival(storage, 1 << 20)) {
      var fetch = new Fetch();
      try (var impatient = fetch.join()) {
        assertInstanceOf(Fetch.Released.class, impatient.await(0));
      }
      fetch.decide(new Fetch.Arriving(arrival));
      try (var _ = fetch.join()) {
        assertThrows(
            IncompleteException.class, () -> arrival.appender().append(ByteBuffer.allocate(1)));
      }
    }
  }
}
