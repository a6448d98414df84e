package dev.evergreen.cluster.links;

import static dev.evergreen.cluster.links.TestNode.await;
import static dev.evergreen.cluster.links.TestNode.connect;
import static dev.evergreen.cluster.links.TestNode.number;
import static dev.evergreen.cluster.links.TestNode.numbered;
import static dev.evergreen.cluster.links.TestNode.sized;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.links.Handshake.Verdict;
import dev.evergreen.cluster.links.TestNode.Broken;
import dev.evergreen.cluster.links.TestNode.Received;
import dev.evergreen.core.spi.NodeId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What no honest node sends, at a node that honest ones talk to meanwhile. Seeds are printed, and
 * set by {@code -Devergreen.fuzz.seed}.
 */
@Timeout(120)
class LinkFuzzTest {

  private static final NodeId PEER = new NodeId("0", 7);
  private static final LinkSettings SETTINGS =
      TestNode.SETTINGS.withHandshakes(Duration.ofMillis(300), 16).withMaxMessageBytes(1 << 20);

  private final TestNode a = TestNode.start("a", SETTINGS, null);
  private final TestNode b = TestNode.start("b", SETTINGS, null);
  private long next;

  private static Random random(String what) {
    long seed = Long.getLong("evergreen.fuzz.seed", ThreadLocalRandom.current().nextLong());
    System.out.println(what + ": seed " + seed);
    return new Random(seed);
  }

  @BeforeEach
  void start() {
    connect(a, b);
    b.links.admit(PEER, a.address());
  }

  @AfterEach
  void stop() {
    a.close();
    b.close();
  }

  /** The honest node's connection has seen nothing of it, and new ones are accepted. */
  private void assertUnharmed() {
    a.send(b, numbered(--next));
    b.next(Received.class, r -> r.from().equals(a.id) && number(r.message()) == next);
    assertEquals(0, a.links.counts().reconnections());
    await(
        "a new connection",
        () -> {
          try (var peer = new RawPeer(b.address())) {
            return peer.greet(PEER, b.id).verdict() == Verdict.WELCOME;
          } catch (IOException | MalformedMessageException e) {
            return false;
          }
        });
  }

  /** Once more where it was too slow for the short time that a handshake has here. */
  private RawPeer greeted() throws Exception {
    while (true) {
      var peer = new RawPeer(b.address());
      try {
        assertEquals(Verdict.WELCOME, peer.greet(PEER, b.id).verdict());
        return peer;
      } catch (EOFException e) {
        peer.close();
      }
    }
  }

  private static byte[] bytes(Random random, int most) {
    var bytes = new byte[1 + random.nextInt(most)];
    random.nextBytes(bytes);
    return bytes;
  }

  // Before the handshake

  @Test
  void randomBytesInsteadOfAHandshakeAreRefused() throws Exception {
    var random = random("no handshakes");
    for (int i = 0; i < 100; i++) {
      try (var peer = new RawPeer(b.address())) {
        peer.out.write(bytes(random, 10_000));
        peer.awaitEnd();
      } catch (IOException e) {
        // It was cut off while it spoke.
        assertTrue(b.links.counts().refused() > 0);
      }
    }
    await("all to be counted", () -> b.links.counts().refused() >= 100);
    assertUnharmed();
  }

  private byte[] hello() throws IOException {
    var out = new ByteArrayOutputStream();
    Handshake.write(out, new Handshake.Hello(1, 1, "test", PEER, b.id));
    return out.toByteArray();
  }

  @Test
  void mutatedAndTruncatedHandshakesHarmNobody() throws Exception {
    var random = random("handshakes");
    for (int i = 0; i < 200; i++) {
      byte[] hello = hello();
      hello[random.nextInt(hello.length)] = (byte) random.nextInt();
      try (var peer = new RawPeer(b.address())) {
        peer.out.write(
            hello, 0, random.nextBoolean() ? hello.length : random.nextInt(hello.length));
        peer.socket.shutdownOutput();
        peer.awaitEnd();
      }
    }
    assertUnharmed();
  }

  @Test
  void aHandshakeThatAnnouncesTooMuchIsRefusedAtOnce() throws Exception {
    byte[] hello = hello();
    hello[4] = (byte) 0xFF;
    try (var peer = new RawPeer(b.address())) {
      peer.out.write(hello);
      peer.awaitEnd();
    }
    assertEquals(1, b.links.counts().malformed());
    assertUnharmed();
  }

  @Test
  void aPeerThatSaysNothingOrAByteAtATimeIsCutOffInTime() throws Exception {
    var silent = new RawPeer(b.address());
    var slow = new RawPeer(b.address());
    var talking =
        Thread.startVirtualThread(
            () -> {
              try {
                for (byte one : hello()) {
                  slow.out.write(one);
                  Thread.sleep(100);
                }
              } catch (IOException | InterruptedException e) {
                // It was cut off, which is awaited below.
                return;
              }
            });
    silent.awaitEnd();
    slow.awaitEnd();
    talking.interrupt();
    assertEquals(0, b.events.size());
    assertUnharmed();
  }

  /** Seen: after as many as may greet at a time nobody was let in any more. */
  @Test
  void whoFindsNoThreadIsCutOffAndKeepsNobodyOut() throws Exception {
    int most = 2;
    var missing = new AtomicInteger(2 * most);
    ThreadFactory servers =
        task -> {
          if (missing.getAndDecrement() > 0) {
            throw new OutOfMemoryError("no thread");
          }
          return Thread.ofVirtual().unstarted(task);
        };
    try (var c =
        TestNode.startBy(servers, "c", SETTINGS.withHandshakes(Duration.ofSeconds(10), most))) {
      for (int i = 0; i < 2 * most; i++) {
        try (var peer = new RawPeer(c.address())) {
          peer.awaitEnd();
        }
      }
      connect(a, c);
    }
  }

  @Test
  void aFloodOfConnectionsIsBounded() throws Exception {
    var flood = new ArrayList<RawPeer>();
    for (int i = 0; i < 300; i++) {
      flood.add(new RawPeer(b.address()));
    }
    await("most to be refused", () -> b.links.counts().refused() >= 200);
    a.send(b, numbered(1));
    assertEquals(numbered(1), b.nextMessage());
    for (var peer : flood) {
      peer.awaitEnd();
      peer.close();
    }
    assertUnharmed();
  }

  @Test
  void replayedHandshakesAndFramesReplaceOnlyTheirOwnConnection() throws Exception {
    var recorded = new ByteArrayOutputStream();
    recorded.write(hello());
    recorded.write(RawPeer.frame(numbered(1)));
    for (int i = 0; i < 50; i++) {
      try (var peer = new RawPeer(b.address())) {
        peer.out.write(recorded.toByteArray());
        assertEquals(Verdict.WELCOME, Handshake.readAnswer(peer.in).verdict());
      }
    }
    assertUnharmed();
  }

  // After the handshake

  @Test
  void randomFramesCutOnlyTheirOwnConnection() throws Exception {
    var random = random("frames");
    for (int i = 0; i < 100; i++) {
      try (var peer = greeted()) {
        peer.out.write(bytes(random, 5_000));
        peer.socket.shutdownOutput();
        peer.awaitEnd();
      }
      b.next(Broken.class);
    }
    assertUnharmed();
  }

  @Test
  void aMalformedMessageIsDroppedAndTheNextOneArrives() throws Exception {
    var random = random("messages");
    var messages = new Messages(random);
    try (var peer = greeted()) {
      for (int i = 0; i < 2_000; i++) {
        byte[] frame = RawPeer.frame(messages.next());
        if (frame.length > Frame.PIECE) {
          continue;
        }
        for (int flips = random.nextInt(4); flips >= 0; flips--) {
          frame[5 + random.nextInt(frame.length - 5)] = (byte) random.nextInt();
        }
        peer.out.write(frame);
      }
      peer.send(numbered(-77));
      b.next(Received.class, r -> r.message().equals(numbered(-77)));
      assertTrue(b.links.counts().malformed() > 0);
      assertTrue(b.links.counts().unknown() > 0);
    }
    assertUnharmed();
  }

  @Test
  void framesOfALaterVersionArePassedOver() throws Exception {
    try (var peer = greeted()) {
      byte[] frame = RawPeer.frame(numbered(1));
      frame[4] = 99;
      peer.out.write(frame);
      frame[4] = Frame.MESSAGE;
      frame[5] = 99;
      peer.out.write(frame);
      peer.send(numbered(2));
      assertEquals(numbered(2), b.nextMessage());
      assertEquals(2, b.links.counts().unknown());
      assertEquals(0, b.links.counts().malformed());
    }
  }

  private void assertCutOff(int... pieces) throws Exception {
    long before = b.links.counts().malformed();
    try (var peer = greeted()) {
      for (int i = 0; i < pieces.length; i += 3) {
        byte[] frame = new byte[5 + pieces[i + 2]];
        Frame.putHead(frame, 0, pieces[i], pieces[i + 2]);
        if (pieces[i] == Frame.FIRST_PIECE && pieces[i + 2] >= 4) {
          ByteWriter.putFixed4(frame, 5, pieces[i + 1]);
        }
        peer.out.write(frame);
      }
      peer.awaitEnd();
    }
    b.next(Broken.class);
    assertEquals(before + 1, b.links.counts().malformed());
  }

  @Test
  void whoBreaksTheRulesOfFramesOrPiecesIsCutOff() throws Exception {
    int first = Frame.FIRST_PIECE;
    int later = Frame.NEXT_PIECE;
    assertCutOff(Frame.MESSAGE, 0, Frame.MAX_LENGTH + 1);
    assertCutOff(later, 0, 10);
    assertCutOff(first, 0, 3);
    assertCutOff(first, 0, 14);
    assertCutOff(first, -1, 14);
    assertCutOff(first, (1 << 20) + 1, 14);
    assertCutOff(first, 100, 50, first, 100, 50);
    assertCutOff(first, 100, 50, later, 0, 55);
    assertCutOff(first, 100, 50, later, 0, 0);
    for (int length : new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      try (var peer = greeted()) {
        byte[] head = new byte[4];
        ByteWriter.putFixed4(head, 0, length);
        peer.out.write(head);
        peer.awaitEnd();
      }
    }
    assertUnharmed();
  }

  @Test
  void whatALargeMessageAnnouncesIsNotAllocatedBeforeItComes() throws Exception {
    byte[] frame = new byte[5 + 5];
    Frame.putHead(frame, 0, Frame.FIRST_PIECE, 5);
    ByteWriter.putFixed4(frame, 5, 128 << 20);
    var in = new FrameInput(new ByteArrayInputStream(frame), 128 << 20);
    assertTrue(in.await(frame.length));
    in.piece(5, 5, true);
    assertTrue(in.allocated() <= 1 << 20, () -> in.allocated() + " bytes");
  }

  @Test
  void aPeerThatNeverReadsFillsOnlyItsOwnQueue() throws Exception {
    try (var peer = greeted()) {
      long sent = 0;
      while (b.links.send(PEER, sized(sent, 50_000))) {
        sent++;
      }
      assertTrue(b.links.counts().queuedBytes() <= SETTINGS.maxQueueBytes());
      a.send(b, numbered(1));
      b.next(Received.class, r -> r.message().equals(numbered(1)));
      b.send(a, numbered(2));
      a.next(Received.class, r -> r.message().equals(numbered(2)));
      peer.socket.close();
      b.next(Broken.class);
      await("its queue to be given up", () -> b.links.counts().queuedBytes() == 0);
    }
    assertUnharmed();
  }

  // What is said about it

  @Test
  void manyFaultsOfAKindAreOneLineWhichNamesThePeer() throws Exception {
    var lines = new ArrayList<String>();
    var handler =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            synchronized (lines) {
              lines.add(record.getMessage());
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    var logger = Logger.getLogger(NodeLinks.class.getName());
    logger.addHandler(handler);
    try (var peer = greeted()) {
      byte[] frame = Arrays.copyOf(RawPeer.frame(numbered(1)), 5 + 1);
      Frame.putHead(frame, 0, Frame.MESSAGE, 1);
      for (int i = 0; i < 1_000; i++) {
        peer.out.write(frame);
      }
      await("all to be counted", () -> b.links.counts().malformed() == 1_000);
      List<String> said;
      synchronized (lines) {
        said = lines.stream().filter(line -> line.contains("malformed")).toList();
      }
      assertEquals(1, said.size());
      assertTrue(said.getFirst().contains(PEER.toString()), said::toString);
    } finally {
      logger.removeHandler(handler);
    }
  }
}
