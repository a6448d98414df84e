package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Hosts are connected to by their names, whichever of their addresses answers. */
@Timeout(120)
class DialerTest {

  /** Seen: who asked for such a name later waited for ever. */
  @Test
  void aNameForWhichThereIsNoThreadIsLookedUpByTheNextWhoAsks() throws Exception {
    var none = new AtomicBoolean(true);
    ThreadFactory maker =
        task -> {
          if (none.get()) {
            throw new OutOfMemoryError("no more threads, says the test");
          }
          return Thread.ofPlatform().daemon().unstarted(task);
        };
    var address = InetAddress.getLoopbackAddress();
    var names = new Names(_ -> List.of(address), LONG, maker);
    var failure = assertThrows(IOException.class, () -> names.addresses("some.example"));
    assertTrue(failure.toString().contains("no thread"), failure::toString);
    none.set(false);
    assertEquals(List.of(address), names.addresses("some.example"));
  }

  @Test
  void whoWaitsForWhatBreaksDownLearnsIt() {
    var broken =
        new Ahead<Integer>(
            () -> {
              throw new OutOfMemoryError("no more memory, says the test");
            });
    assertThrows(IOException.class, () -> broken.await("read", false, 0));
  }

  private static final int ROUNDS = Integer.getInteger("evergreen.fibers.rounds", 2_000);
  private static final Duration LONG = Duration.ofMinutes(10);

  @TempDir Path folder;

  private static List<InetAddress> addresses(String... literals) {
    return Stream.of(literals).map(InetAddress::ofLiteral).toList();
  }

  /** A dialer for which every name has these addresses. */
  private static Dialer dialer(Fibers fibers, String... literals) {
    var found = addresses(literals);
    return Dialer.of(fibers).withNames(new Names(_ -> found, LONG)).withLimit(LONG);
  }

  private static InetSocketAddress at(String literal, int port) {
    return new InetSocketAddress(InetAddress.ofLiteral(literal), port);
  }

  private static int port(Listener listener) {
    return ((InetSocketAddress) listener.address()).getPort();
  }

  @ParameterizedTest
  @EnumSource
  void anAddressThatDoesNotAnswerIsOvertakenAfterItsHeadStart(Kind kind) throws Exception {
    try (var fibers = kind.start();
        // No client's own port is in the way at this address, as one may be at the ordinary one.
        var listener = fibers.listen(at("127.0.0.1", 0));
        var _ = new FullListener(at("127.0.0.2", port(listener)))) {
      var dialer = dialer(fibers, "127.0.0.2", "127.0.0.1").withHeadStart(Duration.ofMillis(20));
      try (var connection = Fiber.run(fibers, () -> dialer.dial("both.example", port(listener)))) {
        assertEquals(listener.address(), connection.peerAddress());
      }
      while (fibers.report().fibers() > 0) {
        // The other attempt is given up.
        Thread.onSpinWait();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void anAddressThatRefusesIsFollowedByTheNextAtOnce(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(at("127.0.0.1", 0))) {
      var dialer = dialer(fibers, "127.0.0.3", "127.0.0.4", "127.0.0.1").withHeadStart(LONG);
      try (var connection = Fiber.run(fibers, () -> dialer.dial("three.example", port(listener)))) {
        assertEquals(listener.address(), connection.peerAddress());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoCannotConnectLearnsWhatWasTried(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var silent = new FullListener(at("127.0.0.2", 0))) {
      int port = silent.address().getPort();
      var refused =
          assertThrows(
              ConnectException.class,
              () ->
                  Fiber.run(
                      fibers, () -> dialer(fibers, "127.0.0.3", "127.0.0.4").dial("x", port)));
      assertTrue(
          refused.toString().matches("(?s).*x:.*127\\.0\\.0\\.3.*refused.*127\\.0\\.0\\.4.*"),
          refused::toString);
      assertEquals(2, refused.getSuppressed().length);
      var late =
          assertThrows(
              SocketTimeoutException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () ->
                          dialer(fibers, "127.0.0.3", "127.0.0.2")
                              .withLimit(Duration.ofSeconds(1))
                              .dial("x", port)));
      assertTrue(
          late.toString().matches("(?s).*x:.*127\\.0\\.0\\.3.*127\\.0\\.0\\.2.*no answer yet.*"),
          late::toString);
      var alone =
          assertThrows(
              SocketTimeoutException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () ->
                          dialer(fibers, "127.0.0.2")
                              .withLimit(Duration.ofMillis(50))
                              .dial("x", port)));
      assertTrue(alone.toString().contains("127.0.0.2"), alone::toString);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSlowLookUpHoldsUpNoFiberAndIsSharedAndRemembered(Kind kind) throws Exception {
    var asked = new AtomicInteger();
    var answer = new CountDownLatch(1);
    var names =
        new Names(
            host -> {
              asked.incrementAndGet();
              try {
                answer.await();
              } catch (InterruptedException e) {
                throw new UnknownHostException("interrupted");
              }
              return addresses("127.0.0.1");
            },
            LONG);
    try (var fibers = kind.start();
        var listener = fibers.listen(at("127.0.0.1", 0))) {
      var dialer = Dialer.of(fibers).withNames(names).withLimit(LONG);
      var dials = new ArrayList<CompletableFuture<Connection>>();
      for (int i = 0; i < 20; i++) {
        dials.add(Fiber.start(fibers, () -> dialer.dial("Slow.example", port(listener))));
      }
      var late =
          assertThrows(
              SocketTimeoutException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () ->
                          dialer
                              .withLimit(Duration.ofMillis(10))
                              .dial("slow.example", port(listener))));
      assertTrue(late.toString().contains("looked up"), late::toString);
      assertThrows(
          DeadlineException.class,
          () ->
              Fiber.run(
                  fibers,
                  () ->
                      CancelScope.within(Duration.ofMillis(10))
                          .call(() -> dialer.dial("slow.example", port(listener)))));
      assertEquals("runs on", Fiber.run(fibers, () -> "runs on"));
      answer.countDown();
      for (var dial : dials) {
        Fiber.get(dial).close();
      }
      Fiber.run(fibers, () -> dialer.dial("SLOW.example", port(listener))).close();
      assertEquals(1, asked.get());
    }
  }

  @Test
  void noMoreNamesAreLookedUpThanThereIsRoomFor() throws Exception {
    var end = new CountDownLatch(1);
    var names =
        new Names(
            host -> {
              try {
                end.await();
              } catch (InterruptedException e) {
                throw new UnknownHostException("interrupted");
              }
              return addresses("127.0.0.1");
            },
            LONG);
    try (var fibers = Kind.TWO_PROCESSORS.start()) {
      int room = Names.THREADS + Names.WAITING;
      var asked = new ArrayList<CompletableFuture<List<InetAddress>>>();
      for (int i = 0; i < room + 50; i++) {
        var host = "host" + i + ".example";
        asked.add(Fiber.start(fibers, () -> names.addresses(host)));
      }
      int refused = 0;
      while (refused < 50) {
        refused = (int) asked.stream().filter(CompletableFuture::isCompletedExceptionally).count();
      }
      end.countDown();
      for (var one : asked) {
        if (!one.isCompletedExceptionally()) {
          assertEquals(addresses("127.0.0.1"), Fiber.get(one));
        } else {
          var why = assertThrows(IOException.class, () -> Fiber.get(one));
          assertTrue(why.toString().contains("too many names"), why::toString);
        }
      }
      assertEquals(50, refused);
      assertEquals(addresses("127.0.0.1"), names.addresses("another.example"));
    }
  }

  /** Else all who ask for that name would wait for ever. */
  @Test
  void aLookUpThatBreaksDownIsTold() {
    var failure = new StackOverflowError("too deep");
    var names =
        new Names(
            host -> {
              throw failure;
            },
            LONG);
    var log = java.util.logging.Logger.getLogger(Names.class.getName());
    var logged = new java.util.concurrent.ConcurrentLinkedQueue<java.util.logging.LogRecord>();
    java.util.logging.Filter keep =
        event -> {
          logged.add(event);
          return false;
        };
    log.setFilter(keep);
    var unknown =
        assertThrows(
            UnknownHostException.class,
            () ->
                CancelScope.within(Duration.ofSeconds(20))
                    .call(() -> names.addresses("new.example")));
    log.setFilter(null);
    assertEquals("the host new.example is not known: too deep", unknown.getMessage());
    assertSame(failure, unknown.getCause());
    assertSame(failure, logged.element().getThrown());
  }

  @Test
  void aNameWithoutAddressesIsToldAndAskedForAgain() throws Exception {
    var asked = new AtomicInteger();
    var names =
        new Names(
            host -> {
              if (asked.incrementAndGet() == 1) {
                throw new UnknownHostException("nobody has told");
              }
              return addresses("::1");
            },
            Duration.ZERO);
    var unknown = assertThrows(UnknownHostException.class, () -> names.addresses("new.example"));
    assertEquals("the host new.example is not known: nobody has told", unknown.getMessage());
    assertEquals(addresses("::1"), names.addresses("new.example"));
    assertEquals(addresses("192.0.2.7"), names.addresses("192.0.2.7"));
    assertEquals(2, asked.get());
  }

  /** Seen: ten thousand answers of any length were kept for ever. */
  @Test
  void answersThatAreTooOldAreForgotten() throws Exception {
    var names = new Names(_ -> addresses("::1"), Duration.ZERO);
    for (int i = 0; i < 100; i++) {
      assertEquals(addresses("::1"), names.addresses("a" + i + ".example"));
    }
    assertTrue(names.kept() <= 1, "it keeps " + names.kept());
  }

  @Test
  void aNameThatIsTooLongIsNotLookedUp() throws Exception {
    var names = new Names(_ -> addresses("::1"), LONG);
    assertEquals(addresses("::1"), names.addresses("a".repeat(255)));
    assertThrows(UnknownHostException.class, () -> names.addresses("a".repeat(256)));
    assertEquals(1, names.kept());
  }

  @Test
  void familiesTakeTurns() {
    assertEquals(
        addresses("2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"),
        Dialer.inTurn(
            addresses("2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1", "192.0.2.2")));
    assertEquals(
        addresses("192.0.2.1", "2001:db8::1"),
        Dialer.inTurn(addresses("192.0.2.1", "2001:db8::1")));
  }

  @ParameterizedTest
  @EnumSource
  void addressesOfAllKindsAreDialled(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var unix = fibers.listen(UnixDomainSocketAddress.of(folder.resolve("socket")));
        var inet = fibers.listen(Pair.loopback())) {
      var dialer = dialer(fibers, "127.0.0.1");
      Fiber.run(fibers, () -> dialer.dial(unix.address())).close();
      Fiber.run(fibers, () -> dialer.dial(inet.address())).close();
      Fiber.run(
              fibers,
              () -> dialer.dial(InetSocketAddress.createUnresolved("name.example", port(inet))))
          .close();
      assertInstanceOf(
          UnknownHostException.class,
          assertThrows(
              IOException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () ->
                          Dialer.of(fibers)
                              .withNames(new Names(_ -> List.of(), LONG))
                              .dial("empty.example", 1))));
    }
  }

  /** A connection that is made while the dialler is cancelled is returned or closed. */
  @ParameterizedTest
  @EnumSource
  void noConnectionIsLeftOpenWhenDiallingAndCancellationRace(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(at("127.0.0.1", 0))) {
      var limit = new ConnectionLimit(Integer.MAX_VALUE);
      fibers.spawn(
          () ->
              listener.serve(
                  connection -> {
                    while (connection.read(ByteBuffer.allocate(1)) >= 0) {
                      // Until the end.
                    }
                  },
                  limit,
                  _ -> {}));
      // The same twice, so that it is a race.
      var dialer = dialer(fibers, "127.0.0.1", "127.0.0.1").withHeadStart(Duration.ZERO);
      int made = 0;
      for (int i = 0; i < ROUNDS / 4; i++) {
        var scope = CancelScope.open();
        int yields = i % 40;
        var dial = Fiber.start(fibers, () -> scope.call(() -> dialer.dial("x", port(listener))));
        var canceller =
            fibers.spawn(
                () -> {
                  for (int n = 0; n < yields; n++) {
                    Fibers.letOthersRun();
                  }
                  scope.cancel();
                });
        try {
          Fiber.get(dial).close();
          made++;
        } catch (WaitCancelledException e) {
          // The other way it may end.
        }
        canceller.join();
      }
      assertTrue(made > 0);
      while (limit.served() > 0 || fibers.report().fibers() > 1) {
        Thread.onSpinWait();
      }
    }
  }
}
