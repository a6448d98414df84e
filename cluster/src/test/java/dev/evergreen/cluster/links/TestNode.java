package dev.evergreen.cluster.links;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The links of a node, and what its listener has heard, in order. */
final class TestNode implements AutoCloseable {

  static final LinkSettings SETTINGS =
      LinkSettings.of("test").withPauses(Duration.ofMillis(5), Duration.ofMillis(50));

  private static final long PATIENCE_SECONDS = 30;

  /** What the listener has heard. */
  sealed interface Event {}

  record Received(NodeId from, Message message) implements Event {}

  record Broken(NodeId node) implements Event {}

  record Refused(NodeId node) implements Event {}

  record Ponged(NodeId node, long token) implements Event {}

  record RemovedBy(NodeId node) implements Event {}

  /** A listener that may do more than to remember. */
  interface Hook {
    void received(NodeId from, Message message);
  }

  final NodeId id;
  final NodeLinks links;
  final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

  /** How many connections were reported. */
  final AtomicInteger connections = new AtomicInteger();

  /** How many breaks were reported. */
  final AtomicInteger breaks = new AtomicInteger();

  volatile Hook hook = (from, message) -> {};

  /** What it does with questions whether the other one counts. */
  volatile Consumer<Runnable> whenPinged = Runnable::run;

  private TestNode(NodeId id, NodeLinks links, ThreadFactory servers) {
    this.id = id;
    this.links = links;
    links.start(
        id,
        new LinkListener() {
          @Override
          public void connected(NodeId node) {
            connections.incrementAndGet();
          }

          @Override
          public void received(NodeId from, Message message) {
            hook.received(from, message);
            events.add(new Received(from, message));
          }

          @Override
          public void broken(NodeId node) {
            breaks.incrementAndGet();
            events.add(new Broken(node));
          }

          @Override
          public void refused(NodeId node) {
            events.add(new Refused(node));
          }

          @Override
          public void pinged(NodeId node, Runnable answer) {
            whenPinged.accept(answer);
          }

          @Override
          public void ponged(NodeId node, long token) {
            events.add(new Ponged(node, token));
          }

          @Override
          public void removedBy(NodeId node) {
            events.add(new RemovedBy(node));
          }
        },
        servers);
  }

  static TestNode start(String name) {
    return start(name, SETTINGS, null);
  }

  static TestNode start(String name, LinkSettings settings, @Nullable LinkSecurity security) {
    return start(name, settings, security, 0);
  }

  /** With threads for those whose connections it accepts. */
  static TestNode startBy(ThreadFactory servers, String name, LinkSettings settings) {
    return start(name, settings, null, 0, servers);
  }

  static TestNode start(
      String name, LinkSettings settings, @Nullable LinkSecurity security, int port) {
    return start(name, settings, security, port, Thread.ofVirtual().factory());
  }

  private static TestNode start(
      String name,
      LinkSettings settings,
      @Nullable LinkSecurity security,
      int port,
      ThreadFactory servers) {
    try {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
      return new TestNode(id(name), NodeLinks.bind(settings, address, security), servers);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static NodeId id(String name) {
    return new NodeId(name, 1);
  }

  InetSocketAddress address() {
    return links.boundAddress();
  }

  void admit(TestNode other) {
    links.admit(other.id, other.address());
  }

  /** Makes both members of each other's cluster, and waits for their connection. */
  static void connect(TestNode a, TestNode b) {
    a.admit(b);
    b.admit(a);
    awaitConnected(a, b);
  }

  static void awaitConnected(TestNode a, TestNode b) {
    var probe = new Message.PushAck(Long.MIN_VALUE);
    await("a connection of " + a.id + " and " + b.id, () -> a.links.send(b.id, probe));
    b.next(Received.class, r -> r.from().equals(a.id) && isProbe(r.message()));
    await("a connection of " + b.id + " and " + a.id, () -> b.links.send(a.id, probe));
    a.next(Received.class, r -> r.from().equals(b.id) && isProbe(r.message()));
  }

  private static boolean isProbe(Message message) {
    return message.equals(new Message.PushAck(Long.MIN_VALUE));
  }

  void send(TestNode to, Message message) {
    assertEquals(true, links.send(to.id, message), () -> "sent " + message);
  }

  /** The next event of a kind; what comes before it is forgotten. */
  <E extends Event> E next(Class<E> kind, Predicate<E> which) {
    try {
      for (long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS); ; ) {
        var event = events.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        if (event == null) {
          return fail(id + " waited in vain for " + kind.getSimpleName());
        }
        if (kind.isInstance(event) && which.test(kind.cast(event))) {
          return kind.cast(event);
        }
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  <E extends Event> E next(Class<E> kind) {
    return next(kind, event -> true);
  }

  Message nextMessage() {
    return next(Received.class).message();
  }

  static void await(String what, BooleanSupplier event) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!event.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        fail("waited in vain for " + what);
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** A message with a number. */
  static Message numbered(long number) {
    return new Message.PushAck(number);
  }

  /** A message of a size. */
  static Message sized(long number, int bytes) {
    return new Message.Call(
        number, 0, new GrainId("Cell", "c"), "text()", new byte[bytes], true, List.of(), 0, null);
  }

  static long number(Message message) {
    return switch (message) {
      case Message.PushAck(var batch) -> batch;
      case Message.Call call -> call.id();
      default -> fail("not a message of a test: " + message);
    };
  }

  @Override
  public void close() {
    links.close();
  }
}
