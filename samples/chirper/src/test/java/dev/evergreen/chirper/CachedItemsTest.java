package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.memcached.MemcachedServer;
import dev.evergreen.memcached.MemcachedSettings;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import org.junit.jupiter.api.Test;

/** Timelines as a client of memcached gets them. */
final class CachedItemsTest {

  /** Of whoever waits here: the first result may need all the code of a node to be loaded. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  @Test
  void aClientOfTheTextProtocolGetsTimelinesThatAreAlwaysTrue() throws Exception {
    timelinesAreAlwaysTrue(Protocol.TEXT);
  }

  @Test
  void soDoesOneOfTheBinaryProtocol() throws Exception {
    timelinesAreAlwaysTrue(Protocol.BINARY);
  }

  private static void timelinesAreAlwaysTrue(Protocol protocol) throws Exception {
    var anywhere = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (var node = ChirperServer.node(new MemoryStorage());
        var server =
            MemcachedServer.start(
                MemcachedSettings.DEFAULT
                    .withAddresses(List.of(anywhere))
                    .withProcessors(1)
                    .withLive(CachedItems.of(node).firstResultWithin(PATIENCE)))) {
      var address = (InetSocketAddress) server.addresses().getFirst();
      var patient =
          new ConnectionFactoryBuilder()
              .setProtocol(protocol)
              .setOpTimeout(PATIENCE.toMillis())
              .build();
      var client = new MemcachedClient(patient, List.of(address));
      try {
        NameIndex.people(node.grains()).add(List.of("ann", "bob"));
        var ann = node.grains().get(User.class, "ann");
        var bob = node.grains().get(User.class, "bob");
        assertEquals("[]", client.get("timeline:ann"));
        bob.post(Instant.parse("2026-01-01T00:00:00Z"), "hello");
        ann.follow("bob");
        await(client, "timeline:ann", "hello");
        bob.post(Instant.parse("2026-01-01T00:00:01Z"), "once more");
        await(client, "timeline:ann", "once more");
        assertTrue(client.get("profile:ann").toString().contains("1"));
        assertFalse(mayDelete(client));
        await(client, "timeline:ann", "once more");
        client.set("plain", 0, "kept").get();
        assertEquals("kept", client.get("plain"));
      } finally {
        client.shutdown();
      }
    }
  }

  private static boolean mayDelete(MemcachedClient client) throws InterruptedException {
    try {
      return client.delete("timeline:ann").get(10, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      return false;
    }
  }

  private static void await(MemcachedClient client, String key, String text) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    for (var seen = ""; !seen.contains(text); seen = String.valueOf(client.get(key))) {
      assertTrue(System.nanoTime() - deadline < 0, seen);
    }
  }
}
