package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.live.HandNode;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.core.CoreSession;
import org.junit.jupiter.api.Test;

final class LiveSocketEndTest {

  /**
   * When the end point was closed before the upgrade, Jetty opens the WebSocket nevertheless and
   * never closes it.
   */
  @Test
  void nothingIsLeftOfASocketWhoseEndIsNeverTold() {
    var settings = WebSettings.DEFAULT;
    var counters = new Counters();
    var failures = new Failures(failure -> Optional.empty());
    var node = new HandNode();
    var hub = new Hub(node, Map.of(), settings, failures);
    Set<LiveConnection> registry = ConcurrentHashMap.newKeySet();
    var socket =
        new LiveSocket(
            Caller.ANONYMOUS,
            "peer",
            false,
            settings,
            counters,
            hub,
            new Standings(node, request -> Caller.ANONYMOUS),
            registry);
    socket.onOpen(new CoreSession.Empty(), Callback.NOOP);
    socket.close();
    socket.abort();
    assertEquals(Set.of(), registry);
  }
}
