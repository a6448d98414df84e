package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Connections with TLS keep the promises of all connections, in all modes. */
@Timeout(120)
class TlsConnectionTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @SuppressWarnings("NullAway.Init") // JUnit calls loadCertificates first
  private static SSLContext context;

  @BeforeAll
  static void loadCertificates() throws Exception {
    context = Certificates.context("node");
  }

  private static SSLEngine engine(boolean client) {
    var engine = context.createSSLEngine();
    engine.setUseClientMode(client);
    return engine;
  }

  /** A connection of ours as the server, and its peer: a socket of the JDK. */
  private record TlsPair(Connection ours, SSLSocket peer) implements AutoCloseable {

    static TlsPair accepted(Fibers fibers, String version, SocketOptions options) throws Exception {
      try (var listener = fibers.listen(Pair.loopback(), options)) {
        var ours = Fiber.start(fibers, () -> listener.accept().overTls(engine(false), PATIENCE));
        var address = (InetSocketAddress) listener.address();
        var peer =
            (SSLSocket)
                context.getSocketFactory().createSocket(address.getAddress(), address.getPort());
        peer.setEnabledProtocols(new String[] {version});
        peer.startHandshake();
        return new TlsPair(Fiber.get(ours), peer);
      }
    }

    static TlsPair accepted(Fibers fibers) throws Exception {
      return accepted(fibers, "TLSv1.3", SocketOptions.DEFAULT);
    }

    void peerSends(String text) throws IOException {
      peer.getOutputStream().write(Pair.bytes(text));
    }

    String peerReads(int bytes) throws IOException {
      return new String(peer.getInputStream().readNBytes(bytes), StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
      ours.close();
      peer.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void bytesArriveInBothDirectionsHoweverSmallTheBuffers(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      for (var version : List.of("TLSv1.2", "TLSv1.3")) {
        try (var pair = TlsPair.accepted(fibers, version, SocketOptions.DEFAULT)) {
          pair.peerSends("hello");
          pair.peerSends(" world");
          var read =
              Fiber.run(
                  fibers,
                  () -> {
                    var text = new StringBuilder();
                    for (int i = 0; i < 11; i++) {
                      text.append(Pair.read(pair.ours(), 1));
                    }
                    pair.ours().write(Pair.bytes("got it"));
                    assertEquals(0, pair.ours().tryRead(ByteBuffer.allocate(1)));
                    pair.ours().flush();
                    return text.toString();
                  });
          assertEquals("hello world", read);
          assertEquals("got it", pair.peerReads(6));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputLeavesBeforeItsWriterWaitsAndBeforeTheEndIsTold(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      for (var version : List.of("TLSv1.2", "TLSv1.3")) {
        try (var pair = TlsPair.accepted(fibers, version, SocketOptions.DEFAULT)) {
          var end =
              Fiber.start(
                  fibers,
                  () -> {
                    pair.ours().write(Pair.bytes("ask"));
                    assertEquals("quit", Pair.read(pair.ours(), 4));
                    pair.ours().write(Pair.bytes("bye"));
                    return pair.ours().read(ByteBuffer.allocate(9));
                  });
          assertEquals("ask", pair.peerReads(3));
          pair.peerSends("quit");
          pair.peer().shutdownOutput();
          assertEquals("bye", pair.peerReads(3));
          assertEquals(-1, Fiber.get(end));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aHalfClosedConnectionStillCarriesTheOtherDirection(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = TlsPair.accepted(fibers)) {
      pair.peer().shutdownOutput();
      Fiber.run(
          fibers,
          () -> {
            assertEquals(-1, pair.ours().read(ByteBuffer.allocate(1)));
            assertEquals(-1, pair.ours().read(ByteBuffer.allocate(1)));
            pair.ours().write(Pair.bytes("still here"));
            pair.ours().shutdownOutput();
            return 0;
          });
      assertEquals("still here", pair.peerReads(100));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anEndThatNobodyAnnouncedIsAnError(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      var through = new Socket();
      var ours = Fiber.start(fibers, () -> listener.accept().overTls(engine(false), PATIENCE));
      through.connect(listener.address());
      var peer =
          (SSLSocket) context.getSocketFactory().createSocket(through, "localhost", 1, false);
      peer.startHandshake();
      peer.getOutputStream().write(Pair.bytes("cut"));
      var connection = Fiber.get(ours);
      assertEquals("cut", Fiber.run(fibers, () -> Pair.read(connection, 3)));
      through.close();
      assertThrows(
          IOException.class,
          () -> Fiber.run(fibers, () -> connection.read(ByteBuffer.allocate(1))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void bothDirectionsMoveAtOnceByTwoFibers(Kind kind) throws Exception {
    var sent = new byte[1_000_000];
    new Random(2).nextBytes(sent);
    try (var fibers = kind.start()) {
      for (var version : List.of("TLSv1.2", "TLSv1.3")) {
        try (var pair = TlsPair.accepted(fibers, version, SocketOptions.DEFAULT)) {
          var echo =
              Thread.ofPlatform()
                  .start(
                      () -> {
                        try {
                          pair.peer().getInputStream().transferTo(pair.peer().getOutputStream());
                        } catch (IOException e) {
                          // The test will miss bytes.
                        }
                      });
          var written =
              Fiber.start(
                  fibers,
                  () -> {
                    pair.ours().write(sent);
                    pair.ours().flush();
                    return 0;
                  });
          var read =
              Fiber.start(
                  fibers,
                  () -> {
                    var into = ByteBuffer.allocate(sent.length);
                    while (into.hasRemaining()) {
                      // Pieces that fit no record.
                      int piece = Math.min(into.remaining(), 10_007);
                      into.limit(into.position() + piece);
                      assertTrue(pair.ours().read(into) > 0);
                      into.limit(sent.length);
                    }
                    return into.flip();
                  });
          Fiber.get(written);
          assertEquals(ByteBuffer.wrap(sent), Fiber.get(read));
          Fiber.run(
              fibers,
              () -> {
                pair.ours().shutdownOutput();
                return 0;
              });
          echo.join();
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void timeLimitsHold(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = TlsPair.accepted(fibers, "TLSv1.3", Pair.SMALL)) {
      pair.ours().readTimeout(Duration.ofMillis(10));
      for (int i = 0; i < 3; i++) {
        assertThrows(
            SocketTimeoutException.class,
            () -> Fiber.run(fibers, () -> pair.ours().read(ByteBuffer.allocate(5))));
      }
      pair.peerSends("there");
      pair.ours().readTimeout(PATIENCE);
      assertEquals("there", Fiber.run(fibers, () -> Pair.read(pair.ours(), 5)));
      pair.ours().readDeadline(Duration.ofMillis(10));
      assertThrows(
          SocketTimeoutException.class,
          () -> Fiber.run(fibers, () -> pair.ours().read(ByteBuffer.allocate(5))));
      pair.ours().writeTimeout(Duration.ofMillis(50));
      assertThrows(
          SocketTimeoutException.class,
          () ->
              Fiber.run(
                  fibers,
                  () -> {
                    pair.ours().write(new byte[20_000_000]);
                    return 0;
                  }));
      assertThrows(
          ClosedChannelException.class,
          () -> Fiber.run(fibers, () -> pair.ours().read(ByteBuffer.allocate(1))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPeerThatStopsWhileHandsAreShakenIsGivenUp(Kind kind) throws Exception {
    var hello = clientHello();
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      for (int sent : new int[] {0, 1, 7, hello.length / 2, hello.length}) {
        try (var peer = new Socket()) {
          peer.connect(listener.address());
          peer.getOutputStream().write(hello, 0, sent);
          assertThrows(
              SocketTimeoutException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () -> {
                        try (var raw = listener.accept()) {
                          return raw.overTls(engine(false), Duration.ofMillis(100));
                        }
                      }));
        }
      }
    }
  }

  private static byte[] clientHello() throws SSLException {
    var record = ByteBuffer.allocate(40_000);
    engine(true).wrap(ByteBuffer.allocate(0), record);
    return java.util.Arrays.copyOf(record.array(), record.position());
  }

  @ParameterizedTest
  @EnumSource
  void garbageEndsTheConnectionOnly(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      for (int i = 0; i < 100; i++) {
        var bytes = i % 2 == 0 ? clientHello() : new byte[1000];
        for (int n = i % 2 == 0 ? 3 : 1000; n > 0; n--) {
          bytes[ThreadLocalRandom.current().nextInt(bytes.length)] =
              (byte) ThreadLocalRandom.current().nextInt(256);
        }
        try (var peer = new Socket()) {
          peer.connect(listener.address());
          peer.getOutputStream().write(bytes);
          peer.shutdownOutput();
          assertThrows(
              IOException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () -> {
                        try (var raw = listener.accept()) {
                          return raw.overTls(engine(false), PATIENCE);
                        }
                      }));
        }
      }
    }
  }

  /** An alert that the JDK takes any number of, wherever it comes. */
  private static final byte[] CANCELED = {21, 3, 3, 0, 2, 1, 90};

  private static final byte[] CLOSE_NOTIFY = {21, 3, 3, 0, 2, 1, 0};

  /** Seen: a connection was answered that had no keys and whose peer had shown no certificate. */
  @ParameterizedTest
  @EnumSource
  void whoGivesUpToShakeHandsHasNoConnection(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      for (boolean client : new boolean[] {false, true}) {
        try (var peer = SocketChannel.open(listener.address())) {
          peer.write(ByteBuffer.wrap(CANCELED));
          peer.write(ByteBuffer.wrap(CLOSE_NOTIFY));
          assertThrows(
              SSLException.class,
              () -> Fiber.run(fibers, () -> listener.accept().overTls(engine(client), PATIENCE)));
        }
      }
    }
  }

  /** Seen: each record was followed by a copy of all that had come, and nobody else ran. */
  @Test
  void othersRunWhileAPeerSendsWhatBringsNothing() throws Exception {
    try (var fibers = Kind.ONE_PROCESSOR.start();
        var listener = fibers.listen(Pair.loopback());
        var peer = SocketChannel.open(listener.address())) {
      int records = 50 * TlsConnection.TURN;
      for (int i = 0; i < records; i++) {
        peer.write(ByteBuffer.wrap(CANCELED));
      }
      peer.shutdownOutput();
      var over = new AtomicBoolean();
      var turns =
          Fiber.run(
              fibers,
              () -> {
                var raw = listener.accept();
                var other =
                    Fiber.start(
                        fibers,
                        () -> {
                          int taken = 0;
                          for (; !over.get(); taken++) {
                            Fibers.letOthersRun();
                          }
                          return taken;
                        });
                assertThrows(SSLException.class, () -> raw.overTls(engine(false), PATIENCE));
                over.set(true);
                return other;
              });
      assertTrue(Fiber.get(turns) >= records / TlsConnection.TURN / 2, "others had to wait");
    }
  }

  /** However fast its peer sends what it need not wait for. */
  @ParameterizedTest
  @EnumSource
  void aHandshakeEndsInTimeAmidWhatBringsNothing(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      for (int i = 0; i < 3 * Buffers.SIZE / 2; i += CANCELED.length) {
        pair.peer().write(ByteBuffer.wrap(CANCELED));
      }
      assertThrows(
          SocketTimeoutException.class,
          () -> Fiber.run(fibers, () -> pair.ours().overTls(engine(false), Duration.ZERO)));
      assertEquals(0, pair.ours().report().received());
    }
  }

  /** A negotiation that begins behind a record of data, both received at once. */
  @ParameterizedTest
  @EnumSource
  void aNewNegotiationIsRefusedWhereverItsRecordLies(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback());
        var peer = SocketChannel.open(listener.address())) {
      var engine = engineOf12();
      var connection = shakeHands(fibers, listener, engine, peer);
      var records = ByteBuffer.allocate(80_000);
      engine.wrap(ByteBuffer.wrap(Pair.bytes("data")), records);
      engine.beginHandshake();
      engine.wrap(ByteBuffer.allocate(0), records);
      peer.write(records.flip());
      // With room for both records, so that one call of the reader comes to the second.
      var refused =
          assertThrows(
              SSLException.class, () -> Fiber.run(fibers, () -> Pair.read(connection, 100_000)));
      assertTrue(refused.toString().contains("negotiate anew"), refused::toString);
    }
  }

  /** The engine for TLS 1.2 sends nothing after the peer's end, which comes behind data here. */
  @ParameterizedTest
  @EnumSource
  void outputLeavesBeforeAnEndThatComesBehindData(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback());
        var peer = SocketChannel.open(listener.address())) {
      var engine = engineOf12();
      var connection = shakeHands(fibers, listener, engine, peer);
      var records = ByteBuffer.allocate(80_000);
      engine.wrap(ByteBuffer.wrap(Pair.bytes("quit")), records);
      engine.closeOutbound();
      engine.wrap(ByteBuffer.allocate(0), records);
      peer.write(records.flip());
      var read =
          Fiber.run(
              fibers,
              () -> {
                connection.write(Pair.bytes("bye"));
                return Pair.read(connection, 100_000);
              });
      assertEquals("quit", read);
      assertEquals("bye", decrypt(engine, peer, 3));
    }
  }

  private static String decrypt(SSLEngine engine, SocketChannel from, int bytes)
      throws IOException {
    var received = ByteBuffer.allocate(80_000).flip();
    var text = ByteBuffer.allocate(80_000);
    while (text.position() < bytes) {
      if (engine.unwrap(received, text).getStatus() == Status.BUFFER_UNDERFLOW) {
        assertTrue(from.read(received.compact()) >= 0);
        received.flip();
      }
    }
    return StandardCharsets.UTF_8.decode(text.flip()).toString();
  }

  private static SSLEngine engineOf12() {
    var engine = engine(true);
    engine.setEnabledProtocols(new String[] {"TLSv1.2"});
    return engine;
  }

  /** Gives our side of the connection that the peer has made. */
  private static Connection shakeHands(
      Fibers fibers, Listener listener, SSLEngine engine, SocketChannel peer) throws Exception {
    var ours = Fiber.start(fibers, () -> listener.accept().overTls(engine(false), PATIENCE));
    shakeHands(engine, peer);
    return Fiber.get(ours);
  }

  private static void shakeHands(SSLEngine engine, SocketChannel through) throws IOException {
    var received = ByteBuffer.allocate(80_000).flip();
    var sent = ByteBuffer.allocate(80_000);
    var nothing = ByteBuffer.allocate(80_000);
    engine.beginHandshake();
    while (true) {
      switch (engine.getHandshakeStatus()) {
        case NEED_TASK -> engine.getDelegatedTask().run();
        case NEED_WRAP -> {
          engine.wrap(ByteBuffer.allocate(0), sent.clear());
          through.write(sent.flip());
        }
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
          if (engine.unwrap(received, nothing).getStatus() == Status.BUFFER_UNDERFLOW) {
            through.read(received.compact());
            received.flip();
          }
        }
        default -> {
          return;
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void fibersTalkToEachOther(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      fibers.spawn(
          () ->
              listener.serve(
                  raw -> {
                    var connection = raw.overTls(engine(false), PATIENCE);
                    connection.write(Pair.bytes(Pair.read(connection, 4)));
                    connection.shutdownOutput();
                  }));
      var calls = new ArrayList<CompletableFuture<String>>();
      for (int i = 0; i < 50; i++) {
        var text = "%04d".formatted(i);
        calls.add(
            Fiber.start(
                fibers,
                () -> {
                  try (var raw = fibers.connect(listener.address())) {
                    var connection = raw.overTls(engine(true), PATIENCE);
                    connection.write(Pair.bytes(text));
                    return Pair.read(connection, 100);
                  }
                }));
      }
      for (int i = 0; i < 50; i++) {
        assertEquals("%04d".formatted(i), Fiber.get(calls.get(i)));
      }
    }
  }
}
