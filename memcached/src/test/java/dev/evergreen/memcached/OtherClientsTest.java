package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import net.spy.memcached.MemcachedClient;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients that others wrote. */
@Timeout(120)
class OtherClientsTest {

  @ParameterizedTest
  @EnumSource
  void spymemcachedIsServed(Mode mode) throws Exception {
    try (var server = TestServer.start(mode)) {
      var client = new MemcachedClient((InetSocketAddress) server.server().addresses().getFirst());
      try {
        assertTrue(client.set("a", 0, "hello").get());
        assertEquals("hello", client.get("a"));
        assertTrue(client.add("n", 0, "5").get());
        assertEquals(7, client.incr("n", 2));
        var cas = client.gets("a");
        assertEquals("OK", client.cas("a", cas.getCas(), "changed").name());
        assertEquals("EXISTS", client.cas("a", cas.getCas(), "late").name());
        assertTrue(client.append(0, "a", "!").get());
        assertEquals("changed!", client.get("a"));
        var large = "x".repeat(500_000);
        assertTrue(client.set("large", 0, large).get());
        assertEquals(large, client.get("large"));
        var pending = new ArrayList<Future<Boolean>>();
        for (int i = 0; i < 1000; i++) {
          pending.add(client.set("key" + i, 0, i));
        }
        for (var one : pending) {
          assertTrue(one.get());
        }
        assertEquals(999, client.getBulk("key999", "a", "none").get("key999"));
        assertTrue(client.delete("a").get());
        assertNull(client.get("a"));
        assertTrue(client.getVersions().toString().contains(MemcachedServer.PROTOCOL_VERSION));
        assertEquals("1002", client.getStats().values().iterator().next().get("curr_items"));
      } finally {
        client.shutdown();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void memccapablesWholeListPasses(Mode mode) throws Exception {
    var program = Reference.program("memccapable", "libmemcached-tools");
    try (var server = TestServer.start(mode)) {
      var process =
          new ProcessBuilder(
                  List.of(program.toString(), "-h", "127.0.0.1", "-p", "" + server.port()))
              .redirectErrorStream(true)
              .start();
      var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, process.waitFor(), output);
      assertTrue(output.contains("All tests passed"), output);
    }
  }
}
