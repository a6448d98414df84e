package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.core.CoreSession;
import org.eclipse.jetty.websocket.core.Frame;
import org.eclipse.jetty.websocket.core.OpCode;
import org.junit.jupiter.api.Test;

/** Nothing is left of a socket, at whatever moment it ends. */
final class LiveSocketEndTest {

  private final WebSettings settings = WebSettings.DEFAULT.withKeepViewFor(Duration.ofNanos(1));
  private final Counters counters = new Counters();
  private final Failures failures = new Failures(failure -> Optional.empty());
  private final HandNode node = new HandNode();
  private final Set<LiveConnection> registry = ConcurrentHashMap.newKeySet();
  private final LiveView<LiveView.NoParams> view =
      LiveView.of("value", LiveView.NoParams.class, (caller, none) -> endsIt(), none -> () -> 1);
  private final Hub hub = new Hub(node, Map.of(view.name(), view), settings, failures);
  private final LiveSocket socket =
      new LiveSocket(
          Caller.ANONYMOUS,
          "peer",
          false,
          settings,
          counters,
          hub,
          new Standings(node, request -> Caller.ANONYMOUS, WebSettings.DEFAULT, () -> 0),
          registry);

  private boolean endsIt() {
    socket.close();
    return true;
  }

  /**
   * When the end point was closed before the upgrade, Jetty opens the WebSocket nevertheless and
   * never closes it.
   */
  @Test
  void nothingIsLeftOfASocketWhoseEndIsNeverTold() {
    socket.onOpen(new CoreSession.Empty(), Callback.NOOP);
    assertEquals(Set.of(socket), registry);
    socket.close();
    var peers = new Peers(settings, Proxies.NONE, counters);
    var watchdog = new Watchdog(settings, registry, peers, hub, counters, failures);
    watchdog.start();
    Await.until("nothing left", registry::isEmpty);
    watchdog.stop();
  }

  /** Seen: it was read at full speed until the connection was cut, two seconds later. */
  @Test
  void nothingMoreIsReadOfAFlood() {
    int read = readOf(100_000, i -> new Frame(OpCode.PONG));
    assertEquals(Map.of("flood", 1L), counters.cut());
    assertTrue(read < 10_000, read + " frames were read");
  }

  /** Seen: pieces that are not short were read at full speed once the message was too long. */
  @Test
  void nothingMoreIsReadOfAMessageWithoutAnEnd() {
    var piece = ByteBuffer.allocate(1_000);
    int read =
        readOf(
            1_000_000,
            i -> new Frame(i == 0 ? OpCode.TEXT : OpCode.CONTINUATION, false, piece.slice()));
    assertEquals(Map.of("malformed", 1L), counters.cut());
    assertTrue(read < 1_000_000, "all were read");
  }

  /** How many of so many frames the socket reads. */
  private int readOf(int most, IntFunction<Frame> frames) {
    var wanted = new AtomicBoolean();
    socket.onOpen(
        new CoreSession.Empty() {
          @Override
          public void demand() {
            wanted.set(true);
          }
        },
        Callback.NOOP);
    int read = 0;
    while (read < most && wanted.compareAndSet(true, false)) {
      socket.onFrame(frames.apply(read), Callback.NOOP);
      read++;
    }
    return read;
  }

  @Test
  void nothingIsLeftOfAViewThatWasBeingSubscribedToAtTheEnd() {
    socket.onOpen(new CoreSession.Empty(), Callback.NOOP);
    var subscribe = "{\"type\":\"subscribe\",\"id\":1,\"view\":\"value\"}";
    socket.onFrame(new Frame(OpCode.TEXT, StandardCharsets.UTF_8.encode(subscribe)), Callback.NOOP);
    hub.sweep();
    assertEquals(0, hub.size());
  }
}
