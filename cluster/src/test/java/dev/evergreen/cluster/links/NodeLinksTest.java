package dev.evergreen.cluster.links;

import static dev.evergreen.cluster.links.TestNode.await;
import static dev.evergreen.cluster.links.TestNode.awaitConnected;
import static dev.evergreen.cluster.links.TestNode.connect;
import static dev.evergreen.cluster.links.TestNode.number;
import static dev.evergreen.cluster.links.TestNode.numbered;
import static dev.evergreen.cluster.links.TestNode.sized;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.links.Handshake.Verdict;
import dev.evergreen.cluster.links.TestNode.Broken;
import dev.evergreen.cluster.links.TestNode.Ponged;
import dev.evergreen.cluster.links.TestNode.Received;
import dev.evergreen.cluster.links.TestNode.Refused;
import dev.evergreen.cluster.links.TestNode.RemovedBy;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class NodeLinksTest {

  private static final int MIB = 1 << 20;

  private TestNode a = TestNode.start("a");
  private TestNode b = TestNode.start("b");
  private final List<AutoCloseable> closed = new ArrayList<>();

  @BeforeEach
  void closeAll() {
    closed.add(a);
    closed.add(b);
  }

  @AfterEach
  void stop() throws Exception {
    for (var one : closed) {
      one.close();
    }
  }

  private <T extends AutoCloseable> T closing(T one) {
    closed.add(one);
    return one;
  }

  /** Holds what is received until the latch opens. */
  private static CountDownLatch hold(TestNode node) {
    return hold(node, new CountDownLatch(1));
  }

  /** As {@link #hold}; counts {@code reached} down when the listener has a message. */
  private static CountDownLatch hold(TestNode node, CountDownLatch reached) {
    var latch = new CountDownLatch(1);
    node.hook =
        (from, message) -> {
          reached.countDown();
          try {
            latch.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    return latch;
  }

  // Messages

  @Test
  void aPingIsAnsweredByWhoHasNotRemovedTheSender() {
    connect(a, b);
    a.links.ping(b.id, 7);
    a.links.ping(TestNode.id("nobody"), 8);
    assertEquals(new Ponged(b.id, 7), a.next(Ponged.class));
    b.links.remove(a.id);
    a.links.ping(b.id, 9);
    a.next(RemovedBy.class);
    a.links.ping(b.id, 10);
    assertEquals(List.of(), a.events.stream().filter(Ponged.class::isInstance).toList());
  }

  /** It may know that the sender was given up before it has removed its link. */
  @Test
  void aPingIsAnsweredOnlyIfTheListenerSaysSo() {
    connect(a, b);
    var answers = new LinkedBlockingQueue<Runnable>();
    b.whenPinged = answers::add;
    a.links.ping(b.id, 7);
    await("a question", () -> answers.size() == 1);
    b.whenPinged = Runnable::run;
    a.links.ping(b.id, 8);
    assertEquals(new Ponged(b.id, 8), a.next(Ponged.class));
    answers.remove().run();
    assertEquals(new Ponged(b.id, 7), a.next(Ponged.class));
  }

  @Test
  void messagesGoBothWaysWhoeverHasDialled() {
    connect(a, b);
    a.send(b, numbered(1));
    b.send(a, numbered(2));
    assertEquals(new Received(a.id, numbered(1)), b.next(Received.class));
    assertEquals(new Received(b.id, numbered(2)), a.next(Received.class));
    assertEquals(1, a.links.counts().connected());
    assertEquals(1, a.links.counts().connections());
    assertEquals(1, a.connections.get(), "reported before anything is received by it");
    assertEquals(1, b.connections.get());
  }

  @Test
  void threeNodesHaveOneConnectionForEachPair() {
    var c = closing(TestNode.start("c"));
    var all = List.of(c, a, b);
    for (var x : all) {
      for (var y : all) {
        if (x.id.compareTo(y.id) < 0) {
          connect(x, y);
        }
      }
    }
    for (var node : all) {
      assertEquals(2, node.links.counts().connected());
      assertEquals(2, node.links.counts().connections());
    }
  }

  @Test
  void nothingLeavesWithoutAConnection() {
    assertFalse(a.links.send(b.id, numbered(1)), "to a node that is no member");
    a.admit(b);
    assertFalse(a.links.send(b.id, numbered(2)), "to a node that has not admitted this one");
    b.admit(a);
    awaitConnected(a, b);
    a.send(b, numbered(3));
    assertEquals(numbered(3), b.nextMessage());
  }

  @Test
  void everyTypeOfMessageArrivesAsItWasSent() {
    connect(a, b);
    var messages = new Messages(new Random(1));
    for (int i = 0; i < 2_000; i++) {
      var message = messages.ofType(i % Messages.TYPES);
      a.send(b, message);
      var received = b.nextMessage();
      assertTrue(Messages.same(message, received), () -> message + " became " + received);
    }
  }

  @Test
  void messagesOfEverySizeArriveWhole() {
    connect(a, b);
    var sizes = new ArrayList<Integer>();
    for (int around : new int[] {0, Frame.PIECE, 2 * Frame.PIECE, 3 * MIB, 33 * MIB}) {
      for (int size = Math.max(0, around - 40); size < around + 10; size += around > MIB ? 7 : 1) {
        sizes.add(size);
      }
    }
    for (int size : sizes) {
      a.send(b, sized(size, size));
      var call = assertInstanceOf(Message.Call.class, b.nextMessage());
      assertEquals(size, call.arguments().length);
    }
    await("all to be counted as written", () -> a.links.counts().queuedBytes() == 0);
  }

  @Test
  void aSmallMessageOvertakesALargeOne() {
    connect(a, b);
    var latch = hold(b);
    a.send(b, numbered(0));
    a.send(b, sized(1, 20 * MIB));
    a.send(b, sized(2, 20 * MIB));
    a.send(b, numbered(3));
    latch.countDown();
    var order = new ArrayList<Long>();
    for (int i = 0; i < 4; i++) {
      order.add(number(b.nextMessage()));
    }
    assertEquals(List.of(0L, 3L, 1L, 2L), order);
  }

  @Test
  void aStreamOfSmallMessagesDoesNotHoldUpALargeOne() throws Exception {
    connect(a, b);
    var enough = new AtomicBoolean();
    var flood =
        Thread.startVirtualThread(
            () -> {
              while (!enough.get()) {
                a.links.send(b.id, sized(0, 2_000));
              }
            });
    a.send(b, sized(1, 5 * MIB));
    b.next(Received.class, received -> number(received.message()) == 1);
    enough.set(true);
    flood.join();
  }

  @Test
  void aMessageBeyondTheLimitIsRefusedByItsSize() {
    var settings = TestNode.SETTINGS.withMaxMessageBytes(100_000);
    var small = closing(TestNode.start("small", settings, null));
    connect(a, small);
    var thrown =
        assertThrows(
            IllegalArgumentException.class, () -> small.links.send(a.id, sized(1, 100_001)));
    assertTrue(
        String.valueOf(thrown.getMessage()).matches(".*1000\\d\\d bytes.*100000 .*"),
        thrown::toString);
    small.send(a, sized(2, 99_000));
    assertEquals(2, number(a.nextMessage()));
    a.send(small, sized(3, 200_000));
    // Who announces too much is cut off, and may come again.
    small.next(Broken.class);
    a.next(Broken.class);
    awaitConnected(a, small);
    assertEquals(1, small.links.counts().malformed());
  }

  @Test
  void aSlowNodeSlowsNobodyElseAndWhatItHasNoRoomForIsRefused() {
    var settings = TestNode.SETTINGS.withMaxQueueBytes(MIB);
    var c = closing(TestNode.start("c", settings, null));
    connect(a, c);
    connect(b, c);
    var latch = hold(a);
    long sent = 0;
    while (c.links.send(a.id, sized(sent, 10_000))) {
      sent++;
    }
    assertEquals(1, c.links.counts().dropped());
    assertTrue(c.links.counts().queuedBytes() <= MIB, () -> c.links.counts().toString());
    for (int i = 0; i < 1_000; i++) {
      c.send(b, numbered(i));
      assertEquals(numbered(i), b.nextMessage());
    }
    latch.countDown();
    for (long i = 0; i < sent; i++) {
      assertEquals(i, number(a.nextMessage()));
    }
  }

  @Test
  void aPingOvertakesWhatWaitsAlsoWhereThereIsNoRoom() throws Exception {
    connect(a, b);
    var permits = new Semaphore(0);
    b.hook = (from, message) -> permits.acquireUninterruptibly();
    await("no more room", () -> !a.links.send(b.id, sized(1, MIB)));
    a.links.ping(b.id, 7);
    while (a.events.stream().noneMatch(new Ponged(b.id, 7)::equals)) {
      assertTrue(a.links.counts().queuedBytes() > 0, "all was written before");
      permits.release();
      LockSupport.parkNanos(1_000_000);
    }
    permits.release(Integer.MAX_VALUE / 2);
  }

  @Test
  void aConnectionByWhichNothingComesIsGivenUpAndMadeAnew() throws Exception {
    var quick = TestNode.SETTINGS.withDeadAfter(Duration.ofMillis(600));
    var c = closing(TestNode.start("c", quick, null));
    var d = closing(TestNode.start("d", quick, null));
    var relay = closing(new Relay(d.address()));
    c.links.admit(d.id, relay.address());
    d.admit(c);
    awaitConnected(c, d);
    // Nothing is said but by the links themselves, for longer than that.
    long frames = c.links.counts().framesIn();
    await("what the links say", () -> c.links.counts().framesIn() > frames + 12);
    assertEquals(0, c.breaks.get() + d.breaks.get());
    relay.freeze();
    c.next(Broken.class);
    d.next(Broken.class);
    relay.thaw();
    awaitConnected(c, d);
  }

  @Test
  void everyMessageOfManySendersArrivesOnceAndInTheOrderOfItsSender() throws Exception {
    connect(a, b);
    int senders = 8;
    int messages = 20_000;
    var threads = new ArrayList<Thread>();
    for (int s = 0; s < senders; s++) {
      int sender = s;
      threads.add(
          Thread.startVirtualThread(
              () -> {
                for (long i = 0; i < messages; i++) {
                  a.send(b, numbered(i * senders + sender));
                }
              }));
    }
    var next = new long[senders];
    for (int i = 0; i < senders * messages; i++) {
      long number = number(b.nextMessage());
      int sender = (int) (number % senders);
      assertEquals(next[sender]++, number / senders);
    }
    for (var thread : threads) {
      thread.join();
    }
    var counts = a.links.counts();
    assertTrue(counts.writes() < counts.messagesOut() / 2, counts::toString);
  }

  @Test
  void aListenerThatThrowsHearsTheNextMessage() {
    connect(a, b);
    b.hook =
        (from, message) -> {
          if (number(message) == 1) {
            throw new IllegalStateException("a fault of the listener");
          }
        };
    a.send(b, numbered(1));
    a.send(b, numbered(2));
    assertEquals(numbered(2), b.nextMessage());
  }

  // Breaks

  @Test
  void aBrokenConnectionIsReportedByBothAndMadeAgain() throws Exception {
    var relay = closing(new Relay(b.address()));
    a.links.admit(b.id, relay.address());
    b.admit(a);
    awaitConnected(a, b);
    for (int i = 0; i < 5; i++) {
      relay.cut();
      a.next(Broken.class);
      b.next(Broken.class);
      awaitConnected(a, b);
    }
    assertEquals(5, a.links.counts().reconnections());
    assertEquals(5, b.links.counts().reconnections());
  }

  @Test
  void whatIsLostWasSentBeforeTheBreakWasReportedAndNothingArrivesTwiceOrLate() throws Exception {
    var relay = closing(new Relay(b.address()));
    a.links.admit(b.id, relay.address());
    b.admit(a);
    awaitConnected(a, b);
    int senders = 4;
    var over = new AtomicBoolean();
    var threads = new ArrayList<Thread>();
    var sentIn = new ArrayList<List<Integer>>();
    for (int s = 0; s < senders; s++) {
      int sender = s;
      var breaksBefore = new ArrayList<Integer>();
      sentIn.add(breaksBefore);
      threads.add(
          Thread.startVirtualThread(
              () -> {
                for (long i = 0; !over.get(); ) {
                  int before = a.breaks.get();
                  boolean large = i % 1_000 == 999;
                  long number = (i * senders + sender) * 2 + (large ? 1 : 0);
                  if (a.links.send(b.id, large ? sized(number, 300_000) : numbered(number))) {
                    breaksBefore.add(before);
                    i++;
                  } else {
                    LockSupport.parkNanos(10_000);
                  }
                }
              }));
    }
    var random = new Random();
    for (int i = 0; i < 20; i++) {
      int more = b.events.size() + 1_000 + random.nextInt(5_000);
      await("more messages", () -> b.events.size() >= more);
      int before = a.breaks.get();
      // What came may have been of the connection before, and the next one is still being made.
      await(
          "the report of the break",
          () -> {
            relay.cut();
            return a.breaks.get() > before;
          });
    }
    int last = b.events.size() + 5_000;
    await("messages on the last connection", () -> b.events.size() >= last);
    over.set(true);
    for (var thread : threads) {
      thread.join();
    }
    // One that comes after all small ones, and one after all large ones.
    await("room for a small one", () -> a.links.send(b.id, numbered(Long.MAX_VALUE)));
    await("room for a large one", () -> a.links.send(b.id, sized(Long.MAX_VALUE, 300_000)));
    var received = new HashSet<Long>();
    var lastSmall = new long[senders];
    var lastLarge = new long[senders];
    int ended = 0;
    int breaks = 0;
    while (ended < 2) {
      switch (b.events.take()) {
        case Received(var from, var message) when number(message) == Long.MAX_VALUE -> ended++;
        case Received(var from, var message) -> {
          long number = number(message) / 2;
          assertTrue(received.add(number), () -> number + " arrived twice");
          var before = number(message) % 2 == 0 ? lastSmall : lastLarge;
          int sender = (int) (number % senders);
          assertTrue(number / senders >= before[sender], () -> number + " arrived late");
          before[sender] = number / senders;
        }
        case Broken ignored -> breaks++;
        default -> throw new AssertionError("an event that is not expected here");
      }
    }
    assertTrue(breaks > 0);
    int finallyBroken = a.breaks.get();
    assertTrue(finallyBroken > 0);
    for (int s = 0; s < senders; s++) {
      var breaksBefore = sentIn.get(s);
      for (int i = 0; i < breaksBefore.size(); i++) {
        long number = (long) i * senders + s;
        assertTrue(
            received.contains(number) || breaksBefore.get(i) < finallyBroken,
            () -> number + " was lost without a word");
      }
    }
  }

  @Test
  void aNewConnectionOfTheSameNodeTakesThePlaceOfTheOldWhichIsReportedFirst() throws Exception {
    var peer = new NodeId("0", 7);
    b.links.admit(peer, a.address());
    var old = closing(new RawPeer(b.address()));
    assertEquals(Verdict.WELCOME, old.greet(peer, b.id).verdict());
    old.send(numbered(1));
    assertEquals(new Received(peer, numbered(1)), b.next(Received.class));
    for (int i = 0; i < 20; i++) {
      var fresh = closing(new RawPeer(b.address()));
      assertEquals(Verdict.WELCOME, fresh.greet(peer, b.id).verdict());
      // The old one is over, although its other end does not know.
      assertEquals(new Broken(peer), b.events.take());
      fresh.send(numbered(2 + i));
      assertEquals(new Received(peer, numbered(2 + i)), b.events.take());
      old.awaitEnd();
      old = fresh;
    }
  }

  @Test
  void whileTheListenerHasTheLastMessageOfAConnectionThereIsNoNewOne() throws Exception {
    var peer = new NodeId("0", 7);
    b.links.admit(peer, a.address());
    var reached = new CountDownLatch(1);
    var latch = hold(b, reached);
    var old = closing(new RawPeer(b.address()));
    old.greet(peer, b.id);
    old.send(numbered(1));
    old.send(numbered(2));
    reached.await();
    var fresh = closing(new RawPeer(b.address()));
    var answer = new CompletableFuture<Handshake.Answer>();
    Thread.startVirtualThread(
        () -> {
          try {
            answer.complete(fresh.greet(peer, b.id));
            fresh.send(numbered(3));
          } catch (Exception e) {
            answer.completeExceptionally(e);
          }
        });
    old.awaitEnd();
    assertFalse(answer.isDone());
    latch.countDown();
    assertEquals(Verdict.WELCOME, answer.get().verdict());
    var events = List.of(b.events.take(), b.events.take(), b.events.take());
    assertEquals(
        List.of(new Received(peer, numbered(1)), new Broken(peer), new Received(peer, numbered(3))),
        events);
  }

  // Who may connect

  @Test
  void aConnectionIsRefusedForItsReason() throws Exception {
    var member = new NodeId("0", 7);
    b.links.admit(member, a.address());
    b.links.admit(new NodeId("z", 1), a.address());
    b.links.remove(new NodeId("0", 6));
    assertEquals(Verdict.REMOVED, verdict(1, 1, "test", new NodeId("0", 6), b.id));
    assertEquals(Verdict.NOT_YET, verdict(1, 1, "test", new NodeId("0", 8), b.id));
    assertEquals(Verdict.OTHER_CLUSTER, verdict(1, 1, "other", member, b.id));
    assertEquals(Verdict.OTHER_VERSION, verdict(2, 3, "test", member, b.id));
    assertEquals(Verdict.OTHER_VERSION, verdict(0, 0, "test", member, b.id));
    assertEquals(Verdict.NOT_ADDRESSED, verdict(1, 1, "test", member, new NodeId("b", 0)));
    assertEquals(Verdict.NOT_NOW, verdict(1, 1, "test", new NodeId("z", 1), b.id));
    assertEquals(Verdict.WELCOME, verdict(0, 5, "test", member, b.id));
    // One is counted after its answer has left.
    while (b.links.counts().refused() < 7) {
      Thread.onSpinWait();
    }
    assertEquals(7, b.links.counts().refused());
  }

  private Verdict verdict(int lowest, int highest, String cluster, NodeId from, NodeId to)
      throws Exception {
    try (var peer = new RawPeer(b.address())) {
      return peer.greet(new Handshake.Hello(lowest, highest, cluster, from, to)).verdict();
    }
  }

  @Test
  void anOldIncarnationIsNotHeardWhileTheNewOneIs() throws Exception {
    var before = new NodeId("0", 1);
    var now = new NodeId("0", 2);
    b.links.admit(before, a.address());
    var old = closing(new RawPeer(b.address()));
    old.greet(before, b.id);
    old.send(numbered(1));
    assertEquals(new Received(before, numbered(1)), b.events.take());
    b.links.remove(before);
    b.links.admit(now, a.address());
    old.send(numbered(2));
    var fresh = closing(new RawPeer(b.address()));
    assertEquals(Verdict.WELCOME, fresh.greet(now, b.id).verdict());
    fresh.send(numbered(3));
    old.awaitEnd();
    assertEquals(Verdict.REMOVED, verdict(1, 1, "test", before, b.id));
    assertEquals(new Received(now, numbered(3)), b.next(Received.class));
    b.links.admit(before, a.address());
    assertEquals(Verdict.REMOVED, verdict(1, 1, "test", before, b.id));
    assertFalse(b.links.send(before, numbered(4)));
  }

  // Removal

  @Test
  void aRemovedNodeIsToldOverItsConnection() {
    connect(a, b);
    a.links.remove(b.id);
    assertEquals(a.id, b.next(RemovedBy.class).node());
    assertEquals(a.id, b.next(Broken.class).node());
    assertEquals(b.id, a.next(Broken.class).node());
    assertFalse(a.links.send(b.id, numbered(1)));
    assertFalse(b.links.send(a.id, numbered(1)));
  }

  @Test
  void aRemovedNodeIsToldWhenItConnects() {
    b.links.remove(a.id);
    a.admit(b);
    assertEquals(b.id, a.next(RemovedBy.class).node());
    assertFalse(a.links.send(b.id, numbered(1)));
  }

  @Test
  void nodesThatRemoveEachOtherAtTheSameTimeBothEndTheirConnection() throws Exception {
    for (int i = 0; i < 30; i++) {
      try (var x = TestNode.start("x" + i);
          var y = TestNode.start("y" + i)) {
        connect(x, y);
        var start = new CountDownLatch(1);
        var removing =
            Thread.startVirtualThread(
                () -> {
                  try {
                    start.await();
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                  x.links.remove(y.id);
                });
        start.countDown();
        y.links.remove(x.id);
        removing.join();
        x.next(Broken.class);
        y.next(Broken.class);
        assertFalse(x.links.send(y.id, numbered(1)));
        assertFalse(y.links.send(x.id, numbered(1)));
      }
    }
  }

  /** Whom it was never connected to, it must miss as well, in the end. */
  @Test
  void forHowLongThereIsNoConnectionCountsFromTheAdmission() {
    a.admit(b);
    await("some time", () -> a.links.brokenNanos(b.id) > 0);
    assertFalse(a.links.wasConnected(b.id));
    b.admit(a);
    awaitConnected(a, b);
    assertEquals(0, a.links.brokenNanos(b.id));
    assertTrue(a.links.wasConnected(b.id));
  }

  // The end of a process

  @Test
  void whenNobodyListensAnyMoreBothSidesWouldLearnIt() {
    var c = closing(TestNode.start("c"));
    connect(a, b);
    connect(b, c);
    assertEquals(0, a.links.brokenNanos(b.id));
    assertTrue(a.links.wasConnected(b.id));
    b.close();
    a.next(Broken.class);
    assertTrue(a.links.brokenNanos(b.id) > 0);
    assertTrue(a.links.wasConnected(b.id));
    assertEquals(b.id, a.next(Refused.class).node(), "the one that dials");
    c.next(Broken.class);
    assertEquals(b.id, c.next(Refused.class).node(), "the one that is dialled");
  }

  @Test
  void whenAnotherLifeAnswersTheFormerOneIsReportedAsRefused() {
    connect(a, b);
    int port = b.address().getPort();
    b.close();
    a.next(Broken.class);
    var again = closing(TestNode.start("b-again", TestNode.SETTINGS, null, port));
    int before = a.events.size();
    await("a refusal by the new one", () -> again.links.counts().refused() > 0);
    await("its report", () -> a.events.size() > before);
    assertEquals(b.id, a.next(Refused.class).node());
  }

  @Test
  void whatWasSentBeforeTheLinksAreClosedArrives() {
    connect(a, b);
    for (int i = 0; i < 10_000; i++) {
      a.send(b, numbered(i));
    }
    a.send(b, sized(10_000, MIB));
    a.close();
    for (int i = 0; i <= 10_000; i++) {
      assertEquals(i, number(b.nextMessage()));
    }
    assertEquals(a.id, b.next(Broken.class).node());
    assertEquals(0, a.links.counts().dropped());
  }
}
