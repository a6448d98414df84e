package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.core.Frame;
import org.eclipse.jetty.websocket.core.OpCode;
import org.junit.jupiter.api.Test;

/** For which messages of a WebSocket its client has to wait, and which are a flood. */
final class TurnsTest {

  private static final String ADA = "192.0.2.1";
  private static final int THOUSAND = 1_000;

  private static final String UNSUBSCRIBE = "{\"type\":\"unsubscribe\",\"id\":1}";
  private static final String HEARTBEAT = "{\"type\":\"heartbeat\"}";

  private final HandNode node = new HandNode();

  /** A socket that nothing can be written to, which is over as soon as it is to say something. */
  private final class Unopened implements AutoCloseable {
    private final Counters counters = new Counters();
    private final Hub hub;
    private final LiveSocket socket;
    private long waited;

    Unopened(WebSettings settings) {
      hub = new Hub(node, Map.of(), settings, new Failures(failure -> Optional.empty()));
      socket =
          new LiveSocket(
              Caller.ANONYMOUS,
              ADA,
              false,
              settings,
              counters,
              hub,
              new Standings(node, request -> Caller.ANONYMOUS, settings, () -> 0),
              ConcurrentHashMap.newKeySet());
    }

    /** Has the address owe so much, beyond what is saved up if none of that is used. */
    void owe(int work, boolean saved) {
      hub.pay(List.of(ADA), work + (saved ? 10 * THOUSAND : 0));
      waited = hub.waits();
    }

    void take(byte opCode, boolean last, String payload) {
      var frame = new Frame(opCode, last, StandardCharsets.UTF_8.encode(payload));
      socket.onFrame(frame, Callback.NOOP);
    }

    void take(int times, String message) {
      for (int i = 0; i < times; i++) {
        take(OpCode.TEXT, true, message);
      }
    }

    /** How often it has waited since something was owed. */
    long waits() {
      return hub.waits() - waited;
    }

    @Override
    public void close() {
      hub.close();
    }
  }

  private static WebSettings thousandAndMessages(int perSecond) {
    return WebSettings.DEFAULT.withMaxMessagesPerSecond(perSecond).withMaxWorkPerSecond(THOUSAND);
  }

  /** Seen: what had come meanwhile was read at once after that, and taken for a flood. */
  @Test
  void whatIsSentWhileNothingIsReadIsNoFlood() {
    try (var ada = new Unopened(thousandAndMessages(20))) {
      // It waits for much less than the two seconds after which it would say that it is there.
      ada.owe(300, true);
      ada.take(20 * 10 + 6, UNSUBSCRIBE);
      assertEquals(Map.of(), ada.counters.cut());
      assertFalse(ada.socket.isOver());
    }
  }

  /** Who is made to wait must not be cut for being silent meanwhile. */
  @Test
  void whoWaitsIsTakenToBeHeardUntilThen() throws Exception {
    try (var ada = new Unopened(thousandAndMessages(20))) {
      ada.owe(3_600 * THOUSAND, true);
      var waits = Thread.startVirtualThread(() -> ada.take(1, UNSUBSCRIBE));
      Await.until("heard", () -> ada.socket.lastHeardNanos() - System.nanoTime() > 0);
      ada.socket.close();
      waits.join();
    }
  }

  /** As many a second may come as are more than one client's when they are saved for long. */
  @Test
  void piecesAreSavedUpToALimitAlsoWhileNothingIsRead() {
    try (var ada = new Unopened(thousandAndMessages(5))) {
      ada.owe(300, true);
      ada.take(1, UNSUBSCRIBE);
      assertFalse(ada.socket.isOver());
      ada.take(OpCode.TEXT, false, "");
      int saved = 5 * 10 * (1 + ada.socket.settings.maxMessageBytes() / 256);
      for (int i = 0; i < 10 * saved && !ada.socket.isOver(); i++) {
        ada.take(OpCode.CONTINUATION, false, "");
      }
      assertEquals(Map.of("flood", 1L), ada.counters.cut());
    }
  }

  /**
   * Seen: a client that waited said so each time it was asked, and each of that was one more to
   * wait for, so that what it wanted never came.
   */
  @Test
  void signsOfLifeThatAreDueHaveNoTurn() {
    try (var ada = new Unopened(thousandAndMessages(99))) {
      ada.take(1, UNSUBSCRIBE); // so that all is loaded
      ada.owe(600, true);
      ada.take(2, HEARTBEAT);
      ada.take(1, "[" + HEARTBEAT + "," + HEARTBEAT + "]");
      ada.take(OpCode.PONG, true, "");
      assertEquals(0, ada.waits());
      ada.take(1, UNSUBSCRIBE);
      assertEquals(1, ada.waits());
      ada.owe(300, false);
      ada.take(20, HEARTBEAT);
      assertTrue(ada.waits() > 0, "as many as a client likes have no turn");
      assertFalse(ada.socket.isOver());
    }
  }

  /** An opening counts as ten, so an honest page has as much done in its turn. */
  @Test
  void severalMessagesInOneHaveOneTurnIfTheyAreNoMoreThanAnOpening() {
    try (var ada = new Unopened(thousandAndMessages(99))) {
      ada.take(1, UNSUBSCRIBE); // so that all is loaded
      ada.owe(600, true);
      ada.take(1, "[" + String.join(",", Collections.nCopies(10, UNSUBSCRIBE)) + "]");
      assertEquals(1, ada.waits());
      assertFalse(ada.socket.isOver());
    }
  }
}
