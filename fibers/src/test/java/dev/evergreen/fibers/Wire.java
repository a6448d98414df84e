package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** What all kinds of connections go over in the tests of how they behave. */
enum Wire {
  ONE_PROCESSOR(Kind.ONE_PROCESSOR),
  ONE_PROCESSOR_WITH_RING(Kind.ONE_PROCESSOR_WITH_RING),
  TWO_PROCESSORS(Kind.TWO_PROCESSORS),
  THREE_PROCESSORS_WITH_RINGS(Kind.THREE_PROCESSORS_WITH_RINGS),
  FIVE_PROCESSORS(Kind.FIVE_PROCESSORS),
  JDK(Kind.JDK),
  MEMORY(Kind.TWO_PROCESSORS),
  MEMORY_JDK(Kind.JDK),
  TLS(Kind.THREE_PROCESSORS_WITH_RINGS),
  TLS_JDK(Kind.JDK);

  private final Kind kind;

  Wire(Kind kind) {
    this.kind = kind;
  }

  /** Whether it is known beforehand for how much there is room. */
  boolean triesToSend() {
    return switch (this) {
      case JDK, TLS, TLS_JDK -> false;
      default -> true;
    };
  }

  /** Whether a read that does not wait sees only what one that waited has brought. */
  boolean readsByWaitingOnly() {
    return this == JDK || this == TLS_JDK;
  }

  Fibers start() {
    return kind.start();
  }

  Pair pair(Fibers fibers) throws Exception {
    return switch (this) {
      case MEMORY, MEMORY_JDK -> of(MemoryPair.of(fibers));
      case TLS, TLS_JDK -> tls(fibers, SocketOptions.DEFAULT);
      default -> Pair.accepted(fibers);
    };
  }

  /** With little room on the way. */
  Pair smallPair(Fibers fibers) throws Exception {
    return switch (this) {
      case MEMORY, MEMORY_JDK -> of(MemoryPair.of(fibers, 1000, 7000));
      // Less than a record would have TCP wait for its timers again and again.
      case TLS, TLS_JDK -> tls(fibers, SocketOptions.DEFAULT.withBuffers(64 << 10, 64 << 10));
      default -> Pair.accepted(fibers, Pair.loopback(), Pair.SMALL);
    };
  }

  private static Pair of(MemoryPair pair) {
    return new Pair(pair.near(), new Pair.Other(pair.far()));
  }

  private static Pair tls(Fibers fibers, SocketOptions options) throws Exception {
    var patience = Duration.ofSeconds(30);
    var context = Certificates.context("node");
    try (var listener = fibers.listen(Pair.loopback(), options)) {
      CompletableFuture<Connection> ours =
          Fiber.start(
              fibers,
              () -> {
                var engine = context.createSSLEngine();
                engine.setUseClientMode(false);
                return listener.accept().overTls(engine, patience);
              });
      var engine = context.createSSLEngine();
      engine.setUseClientMode(true);
      var peer = connect(fibers, listener.address(), options).overTls(engine, patience);
      return new Pair(Fiber.get(ours), new Pair.Other(peer));
    }
  }

  private static Connection connect(Fibers fibers, SocketAddress address, SocketOptions options)
      throws IOException {
    return fibers.connect(address, null, options);
  }
}
