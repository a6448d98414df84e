package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.request;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.fibers.Fibers.Mode;
import dev.evergreen.memcached.live.Board;
import dev.evergreen.memcached.live.LiveViews;
import dev.evergreen.store.Key;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Live items as clients see them. */
@Timeout(120)
class LiveServerTest {
  /** One that can be out of order. */
  private static final class Disk implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    volatile boolean broken;

    private MemoryStorage memory() {
      if (broken) {
        throw new StorageException("the disk is full");
      }
      return memory;
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory().load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      return memory().save(grain, expected, state);
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  private final Disk disk = new Disk();
  private final Node node =
      EmbeddedNode.builder().grain(Board.class, Board.InState::new).storage(disk).start();
  private final AtomicInteger runs = new AtomicInteger();
  private final CountDownLatch gate = new CountDownLatch(1);
  private final LiveViews views =
      LiveViews.over(node)
          .firstResultWithin(Duration.ofMinutes(1))
          .view(
              "board",
              "board:{owner}",
              key -> {
                var board = board(key.get("owner"));
                return () -> {
                  runs.incrementAndGet();
                  return board.notes();
                };
              })
          .view(
              "gated",
              "gated",
              key ->
                  () -> {
                    gate.await();
                    return "open";
                  })
          .view(
              "broken",
              "broken",
              key ->
                  () -> {
                    throw new IllegalStateException("out\r\nof order");
                  });

  @AfterEach
  void close() {
    gate.countDown();
    node.close();
  }

  private Board board(String owner) {
    return node.grains().get(Board.class, owner);
  }

  private TestServer start(Mode mode) throws IOException {
    return TestServer.start(TestServer.settings(mode).withLive(views));
  }

  @ParameterizedTest
  @EnumSource
  void aGetAnswersTheLatestResult(Mode mode) throws IOException {
    try (var server = start(mode);
        var client = server.connect()) {
      assertEquals("VALUE board:ann 0 2\r\n[]\r\nEND\r\n", client.exchange("get board:ann\r\n"));
      board("ann").pin("hello");
      var changed = "VA 9\r\n[\"hello\"]\r\n";
      for (var reply = ""; !reply.equals(changed); ) {
        reply = client.exchange("mg board:ann v\r\n");
        assertTrue(reply.equals(changed) || reply.equals("VA 2\r\n[]\r\n"), reply);
      }
      assertEquals(
          "VALUE board:bob 0 2\r\n[]\r\nVALUE board:ann 0 9\r\n[\"hello\"]\r\nEND\r\n",
          client.exchange("get board:bob none board:ann\r\n"));
    }
  }

  /** All expiry depends on the clock: else items would be served when their time is over. */
  @Test
  void theClockGoesOnWhileALiveItemTakesLongToEnd() throws Exception {
    try (var server = start(Mode.PROCESSORS);
        var client = server.connect()) {
      client.exchange("get board:ann\r\n");
      var name = MemorySegment.ofArray("board:ann".getBytes(ISO_8859_1));
      var live = Objects.requireNonNull(server.server().live);
      var item = live.find(new Key().set(name, 0, (int) name.byteSize()));
      synchronized (Objects.requireNonNull(item)) {
        views.keepFor(Duration.ZERO);
        while (Thread.getAllStackTraces().keySet().stream().noneMatch(this::isStuckAtUpkeep)) {
          Thread.sleep(1);
        }
        int before = server.server().clock.second();
        while (server.server().clock.second() == before) {
          Thread.sleep(1);
        }
      }
    }
  }

  private boolean isStuckAtUpkeep(Thread thread) {
    return thread.getName().startsWith("memcached-") && thread.getState() == Thread.State.BLOCKED;
  }

  @ParameterizedTest
  @EnumSource
  void repliesLeaveBeforeAFirstResultIsWaitedFor(Mode mode) throws IOException {
    try (var server = start(mode);
        var client = server.connect()) {
      client.send("mg none\r\nget gated\r\n");
      assertEquals("EN", client.line());
      gate.countDown();
      assertEquals("VALUE gated 0 6", client.line());
    }
  }

  /** Seen: each kept its buffer as long as it waited. */
  @ParameterizedTest
  @EnumSource
  void whileAFirstResultIsWaitedForThereIsNoBuffer(Mode mode) throws Exception {
    try (var server = start(mode);
        var text = server.connect();
        var meta = server.connect();
        var binary = server.connect()) {
      var getBinary = request(0x0c, "", "a", "");
      var value = body(binary, request(0x01, "\0".repeat(8), "a", "x") + getBinary, 2);
      text.exchange("");
      meta.exchange("");
      var many = "get" + " a".repeat(1_500) + " gated board:ann a\r\nget a gated\r\nmn\r\n";
      var encoded = "mg Z2F0ZWQ= v b k Oabc\r\nmg a v\r\n";
      var keyed = request(0x0c, "", "gated", "") + getBinary;
      long received =
          server.server().statistics.read.sum() + many.length() + encoded.length() + keyed.length();
      text.send(many);
      meta.send(encoded);
      binary.send(keyed);
      while (server.server().statistics.read.sum() < received || someHaveBuffers(server)) {
        Thread.sleep(1);
      }
      gate.countDown();
      var a = "VALUE a 0 1\r\nx\r\n";
      var gated = "VALUE gated 0 6\r\n\"open\"\r\n";
      assertEquals(
          a.repeat(1_500)
              + gated
              + "VALUE board:ann 0 2\r\n[]\r\n"
              + a
              + ("END\r\n" + a + gated + "END\r\nMN\r\n"),
          text.exchange(""));
      assertEquals("VA 6 kgated Oabc\r\n\"open\"\r\nVA 1\r\nx\r\n", meta.exchange(""));
      assertEquals("\0\0\0\0gated\"open\"" + value, body(binary, "", 2));
    }
  }

  /** Whoever waits for its client has none in any case. */
  private static boolean someHaveBuffers(TestServer server) {
    return server.server().sessions.values().stream()
        .anyMatch(session -> session.in.isWaiting() || session.in.memory != MemorySegment.NULL);
  }

  /** Of so many responses to a request, without their headers. */
  private static String body(Client client, String request, int responses) throws IOException {
    client.send(request);
    var body = new StringBuilder();
    for (int i = 0; i < responses; i++) {
      var header = ByteBuffer.wrap(client.read(24).getBytes(ISO_8859_1));
      assertEquals(0, header.getShort(6));
      body.append(client.read(header.getInt(8)));
    }
    return body.toString();
  }

  @Test
  void aCasNumberAsksWhetherSomethingChanged() throws IOException {
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      var first = client.ask("mg board:ann c t f s d");
      var cas = first.split(" ", -1)[1].substring(1);
      assertEquals("HD c" + cas + " t-1 f0 s2", first);
      assertEquals("HD c" + cas, client.ask("mg board:ann v c C" + cas));
      board("ann").pin("x");
      while (client.ask("mg board:ann c C" + cas).equals("HD c" + cas)) {
        Thread.onSpinWait();
      }
      assertEquals("VA 5", client.ask("mg board:ann v C" + cas));
    }
  }

  /** Sends a question until it is answered as expected, which the time limit of the test bounds. */
  private static void awaitReply(Client client, String question, String expected)
      throws IOException {
    while (!client.exchange(question).equals(expected)) {
      Thread.onSpinWait();
    }
  }

  /** Pins when the board can be activated again. */
  private void pinAtLast(String note) {
    while (true) {
      try {
        board("ann").pin(note);
        return;
      } catch (ActivationException e) {
        // The storage was still broken when its activation began.
        Thread.onSpinWait();
      }
    }
  }

  /** Whoever saved and failed does not know whether it was saved, so the grain begins anew. */
  @ParameterizedTest
  @EnumSource
  void aResultThatIsInDoubtIsMarkedUntilItIsKnownAgain(Mode mode) throws IOException {
    board("ann").pin("x");
    try (var server = start(mode);
        var client = server.connect()) {
      assertEquals("VA 5\r\n[\"x\"]\r\n", client.exchange("mg board:ann v d\r\n"));
      assertEquals(
          "CLIENT_ERROR invalid or duplicate flag\r\n",
          client.exchange("md plain d\r\n"),
          "only a get has it");
      disk.broken = true;
      assertThrows(StateNotSavedException.class, () -> board("ann").pin("y"));
      awaitReply(client, "mg board:ann v d\r\n", "VA 5 d\r\n[\"x\"]\r\n");
      assertEquals("VA 5\r\n[\"x\"]\r\n", client.exchange("mg board:ann v\r\n"));
      disk.broken = false;
      pinAtLast("z");
      awaitReply(client, "mg board:ann v d\r\n", "VA 9\r\n[\"x\",\"z\"]\r\n");
    }
  }

  @Test
  void aStampedeIsOneComputation() throws Exception {
    try (var server = start(Mode.PROCESSORS)) {
      var clients = new Client[50];
      for (int i = 0; i < clients.length; i++) {
        clients[i] = server.connect();
        clients[i].send("get board:ann\r\n".repeat(20));
      }
      for (var client : clients) {
        assertEquals("VALUE board:ann 0 2\r\n[]\r\nEND\r\n".repeat(20), client.exchange(""));
        client.close();
      }
      assertEquals(1, runs.get());
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatIsReadyLeavesBeforeAFirstResultIsWaitedFor(Mode mode) throws IOException {
    try (var server = start(mode);
        var client = server.connect();
        var other = server.connect()) {
      client.send("set a 0 0 1\r\nx\r\nget gated\r\n");
      assertEquals("STORED", client.line());
      assertEquals("VALUE a 0 1\r\nx\r\nEND\r\n", other.exchange("get a\r\n"));
      gate.countDown();
      assertEquals("VALUE gated 0 6\r\n\"open\"\r\nEND\r\n", client.exchange(""));
    }
  }

  @Test
  void aFirstResultThatIsLateAndFailuresEndTheReply() throws IOException {
    views.firstResultWithin(Duration.ofMillis(1));
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      assertEquals(
          "SERVER_ERROR view gated: no result within 1 ms\r\nMN\r\n",
          client.exchange("get gated none\r\nmn\r\n"));
      views.firstResultWithin(Duration.ofMinutes(1));
      var broken = "SERVER_ERROR view broken: IllegalStateException: out of order\r\n";
      assertEquals(broken, client.exchange("get broken\r\n"));
      assertEquals(broken, client.exchange("mg broken v\r\n"));
      assertEquals(
          "STORED\r\nVALUE a 0 1\r\nx\r\n" + broken,
          client.exchange("set a 0 0 1\r\nx\r\nget a broken a\r\n"));
    }
  }

  @Test
  void aLiveKeyCannotBeChanged() throws IOException {
    var refused = "SERVER_ERROR key is live\r\n";
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      for (var command : List.of("set", "add", "replace", "append", "prepend")) {
        assertEquals(refused, client.exchange(command + " board:ann 0 0 3\r\nget\r\n"));
      }
      assertEquals(refused, client.exchange("cas board:ann 0 0 3 7\r\nget\r\n"));
      assertEquals(refused, client.exchange("ms board:ann 3\r\nget\r\n"));
      assertEquals(refused, client.exchange("delete board:ann\r\n"));
      assertEquals(refused, client.exchange("md board:ann q\r\n"));
      assertEquals(refused, client.exchange("incr board:ann 1\r\n"));
      assertEquals(refused, client.exchange("ma board:ann\r\n"));
      assertEquals("TOUCHED\r\n", client.exchange("touch board:ann 1\r\n"));
      var value = "VALUE board:ann 0 2\r\n[]\r\nEND\r\n";
      assertEquals(value, client.exchange("gat 1 board:ann\r\n"));
      assertEquals("HD t-1\r\n", client.exchange("mg board:ann T1 N1 R1 t\r\n"));
      assertEquals("OK\r\n" + value, client.exchange("flush_all\r\nget board:ann\r\n"));
      assertEquals(1, runs.get());
    }
  }

  @Test
  void theBinaryProtocolServesThemToo() throws IOException {
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      client.send(request(0x00, "", "board:ann", ""));
      assertEquals(0, status(client, "\0\0\0\0[]"));
      client.send(request(0x01, "\0".repeat(8), "board:ann", "value"));
      assertEquals(0x84, status(client, "key is live"));
      client.send(request(0x04, "", "board:ann", ""));
      assertEquals(0x84, status(client, "key is live"));
      client.send(request(0x00, "", "broken", ""));
      assertEquals(0x84, status(client, "view broken: IllegalStateException: out of order"));
      client.send(request(0x1c, "\0\0\0\1", "board:ann", ""));
      assertEquals(0, status(client, "\0\0\0\0"));
    }
  }

  private static int status(Client client, String body) throws IOException {
    var header = ByteBuffer.wrap(client.read(24).getBytes(ISO_8859_1));
    assertEquals(body, client.read(header.getInt(8)));
    return header.getShort(6);
  }

  @Test
  void plainItemsAreAsEver() throws IOException {
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      assertEquals("STORED\r\n", client.exchange("set boards 0 0 1\r\nx\r\n"));
      assertEquals("VALUE boards 0 1\r\nx\r\nEND\r\n", client.exchange("get boards\r\n"));
      assertEquals("END\r\n", client.exchange("get board:\r\n"));
      assertEquals("STORED\r\n", client.exchange("set board: 0 0 1\r\nx\r\n"));
    }
  }

  @Test
  void touchingPlainKeysBesideLiveOnesHasItsEffect() throws IOException {
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      client.exchange("set a 0 5 1\r\nx\r\nset b 0 5 1\r\nx\r\n");
      client.exchange("gat 1000 a board:ann b\r\n");
      assertEquals("HD t1000\r\nHD t1000\r\n", client.exchange("mg a t\r\nmg b t\r\n"));
    }
  }

  @Test
  void aFailureThatNothingCanMendIsTriedAnew() throws IOException {
    var calls = new AtomicInteger();
    views.view(
        "flaky",
        "flaky",
        key ->
            () -> {
              if (calls.incrementAndGet() == 1) {
                throw new IllegalStateException("not yet");
              }
              return "now";
            });
    try (var server = start(Mode.JDK);
        var client = server.connect()) {
      var failed = "SERVER_ERROR view flaky: IllegalStateException: not yet\r\n";
      assertEquals(failed, client.exchange("get flaky\r\n"));
      var reply = failed;
      while (reply.equals(failed)) {
        reply = client.exchange("get flaky\r\n");
      }
      assertEquals("VALUE flaky 0 5\r\n\"now\"\r\nEND\r\n", reply);
    }
  }
}
