package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.memcached.MemcachedServer;
import dev.evergreen.memcached.MemcachedSettings;
import dev.evergreen.memcached.live.LiveViews;
import guide.GuideTest.Counter;
import guide.GuideTest.CounterGrain;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import net.spy.memcached.MemcachedClient;
import org.junit.jupiter.api.Test;

/** The code of the chapter on live items in docs/guide.md. */
class LiveItemsGuideTest {

  // snippet live-items
  static MemcachedServer serveItems(Node node, InetSocketAddress address) throws IOException {
    return MemcachedServer.start(
        MemcachedSettings.DEFAULT
            .withAddresses(List.of(address))
            .withLive(
                LiveViews.over(node)
                    .view(
                        "count",
                        "count:{fruit}",
                        key -> {
                          var counter = node.grains().get(Counter.class, key.get("fruit"));
                          return counter::value;
                        })));
  }

  // end

  @Test
  void aClientGetsWhatTheGuideSays() throws Exception {
    var anywhere = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (var node = EmbeddedNode.builder().grain(Counter.class, CounterGrain::new).start();
        var server = serveItems(node, anywhere)) {
      var client = new MemcachedClient((InetSocketAddress) server.addresses().getFirst());
      try {
        assertEquals("0", client.get("count:apples"));
        node.grains().get(Counter.class, "apples").add(2);
        while (!"2".equals(client.get("count:apples"))) {
          Thread.onSpinWait();
        }
      } finally {
        client.shutdown();
      }
    }
  }
}
