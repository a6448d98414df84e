package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.GoneNodes;
import dev.evergreen.core.spi.LinkCounts;
import dev.evergreen.core.spi.Links;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RealTime;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The links of one node: one connection to each other member, which whichever of the two has the
 * lower {@link NodeId} makes, and makes again when it breaks. Thread-safe.
 */
public final class NodeLinks implements Links, Reach, AutoCloseable {

  private static final int SEND_BUFFER = 256 << 10;
  private static final int BACKLOG = 128;
  private static final long ACCEPT_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(3);

  private final LinkSettings settings;
  private final @Nullable LinkSecurity security;
  private final ServerSocket server;
  private final RealTime time = RealTime.create();
  private final Counters counters = new Counters();
  private final LinkLog log = new LinkLog();
  private final Map<NodeId, Link> links = new ConcurrentHashMap<>();

  /** They are refused for good; those that are forgotten as strangers, as they are no members. */
  private final GoneNodes removed = new GoneNodes();

  private final Semaphore handshakes;
  private final Set<Socket> greeting =
      Collections.synchronizedSet(new LinkedHashSet<>()); // the longest waiting first
  private volatile @Nullable LinkShared shared;
  private volatile boolean closed;

  private NodeLinks(LinkSettings settings, @Nullable LinkSecurity security, ServerSocket server) {
    this.settings = settings;
    this.security = security;
    this.server = server;
    this.handshakes = new Semaphore(settings.maxHandshakes());
  }

  /**
   * Takes an address for the connections of others. They wait until {@link #start}.
   *
   * @param address its port may be 0, for any that is free
   * @param security how nodes prove who they are; null for not at all: then all that is sent can be
   *     read and forged by whoever reaches the address
   * @throws IOException if the address cannot be had
   */
  public static NodeLinks bind(
      LinkSettings settings, InetSocketAddress address, @Nullable LinkSecurity security)
      throws IOException {
    var server = new ServerSocket();
    try {
      server.setReuseAddress(true);
      server.bind(address, BACKLOG);
    } catch (IOException e) {
      server.close();
      throw new IOException("links cannot listen at " + address + ": " + e.getMessage(), e);
    }
    return new NodeLinks(settings, security, server);
  }

  /** Where the connections of others arrive. */
  public InetSocketAddress boundAddress() {
    return (InetSocketAddress) server.getLocalSocketAddress();
  }

  /** The port of {@link #boundAddress}. */
  public int port() {
    return server.getLocalPort();
  }

  /**
   * Begins to accept connections.
   *
   * @param self the identity of this node
   * @throws IllegalStateException if that was done before
   */
  public void start(NodeId self, LinkListener listener) {
    start(self, listener, Thread.ofVirtual().name("link-accepted").factory());
  }

  /** With threads for the connections that are accepted. */
  synchronized void start(NodeId self, LinkListener listener, ThreadFactory servers) {
    if (shared != null || closed) {
      throw new IllegalStateException("the links of " + self + " were started or closed before");
    }
    shared = new LinkShared(settings, self, security, listener, counters, log, time);
    Thread.ofVirtual().name("link-acceptor").start(() -> accept(servers));
    again(settings.deadAfter().dividedBy(3), this::beat);
    if (security != null) {
      // Who is trusted no more is noticed also while nobody connects.
      again(
          security.lookPause(),
          () -> Thread.ofVirtual().name("link-security").start(security::context));
    }
  }

  /** Nodes that have nothing to say are heard of all the same. */
  private void beat() {
    links.values().forEach(link -> link.ping(Link.BEAT));
  }

  /** Does it after that time, and so on until the end, whatever happens. */
  private void again(Duration pause, Runnable work) {
    time.after(
        pause.toNanos(),
        () -> {
          try {
            work.run();
          } finally {
            if (!closed) {
              again(pause, work);
            }
          }
        });
  }

  private LinkShared started() {
    var started = shared;
    if (started == null) {
      throw new IllegalStateException("the links are not started: call start first");
    }
    return started;
  }

  /**
   * A node has become a member: a connection to it is made or accepted. Has no effect if that is
   * known, or if the node was removed.
   *
   * @param address where its links listen
   */
  public synchronized void admit(NodeId node, InetSocketAddress address) {
    var started = started();
    if (node.equals(started.self())) {
      throw new IllegalArgumentException(node + " is this node; it needs no link to itself");
    }
    if (closed || removed.contains(node) || links.containsKey(node)) {
      return;
    }
    var link = new Link(started, node, address);
    links.put(node, link);
    link.start();
  }

  /**
   * A node has left for good: it is told so if it can be, and its connection ends, which is
   * reported as broken if there is one. A message of it that is being received now may still be. It
   * is never admitted again.
   */
  public synchronized void remove(NodeId node) {
    removed.add(node);
    var link = links.remove(node);
    if (link != null) {
      link.remove();
    }
  }

  /**
   * {@inheritDoc}
   *
   * @return false also if the node is no member, as far as is known here
   */
  @Override
  public boolean send(NodeId to, Message message) {
    var link = links.get(to);
    if (link == null) {
      return false;
    }
    var bytes = MessageCodec.write(message);
    var frame = Frame.message(bytes.bytes(), bytes.size());
    if (frame.size() > settings.maxMessageBytes()) {
      throw new IllegalArgumentException(
          "a message to "
              + to
              + " has "
              + frame.size()
              + " bytes, and at most "
              + settings.maxMessageBytes()
              + " may go over a link; send less at a time, or raise LinkSettings.maxMessageBytes on"
              + " all nodes");
    }
    return link.send(frame);
  }

  /** Whether a node was admitted and not removed since. */
  public boolean knows(NodeId node) {
    return links.containsKey(node);
  }

  @Override
  public boolean isConnected(NodeId node) {
    var link = links.get(node);
    return link != null && link.isUp();
  }

  @Override
  public long brokenNanos(NodeId node) {
    var link = links.get(node);
    return link == null ? 0 : link.brokenNanos();
  }

  @Override
  public boolean wasConnected(NodeId node) {
    var link = links.get(node);
    return link != null && link.wasConnected();
  }

  private int connected() {
    int connected = 0;
    for (var link : links.values()) {
      connected += link.isUp() ? 1 : 0;
    }
    return connected;
  }

  /**
   * Asks another node for a sign that this one counts there: {@link LinkListener#ponged}. There may
   * be none, as messages may be lost.
   *
   * @param token for the answer; not 0
   */
  public void ping(NodeId to, long token) {
    var link = links.get(to);
    if (link != null) {
      link.ping(token);
    }
  }

  /** What has gone over the links so far. */
  @Override
  public LinkCounts counts() {
    long queued = 0;
    for (var link : links.values()) {
      queued += link.queuedBytes();
    }
    return counters.now(connected(), queued);
  }

  // Accepting

  static void configure(Socket socket) throws IOException {
    socket.setTcpNoDelay(true);
    socket.setKeepAlive(true);
    // What the system has taken of a large message, small ones cannot overtake any more.
    socket.setSendBufferSize(SEND_BUFFER);
  }

  private void accept(ThreadFactory servers) {
    while (!closed) {
      try {
        accept(server.accept(), servers);
      } catch (IOException | RuntimeException | Error e) {
        if (!closed) {
          log.warn(LinkLog.Kind.ACCEPTING, () -> "connections cannot be accepted now: " + e);
          LockSupport.parkNanos(ACCEPT_PAUSE_NANOS);
        }
      }
    }
  }

  private void accept(Socket raw, ThreadFactory servers) {
    if (!handshakes.tryAcquire()) {
      // Whoever says nothing for longest makes room: else the silent would keep others out.
      refuse(raw, "too many have not shown yet who they are, and the first of them is closed");
      closeFirstGreeting();
      handshakes.acquireUninterruptibly();
    }
    greeting.add(raw);
    boolean begun = false;
    try {
      servers.newThread(() -> serve(raw)).start();
      begun = true;
    } finally {
      if (!begun) {
        hasGreeted(raw);
        Link.close(raw);
      }
    }
  }

  private void hasGreeted(Socket raw) {
    greeting.remove(raw);
    handshakes.release();
  }

  private void closeFirstGreeting() {
    synchronized (greeting) {
      if (!greeting.isEmpty()) {
        Link.close(greeting.iterator().next());
      }
    }
  }

  private void refuse(Socket raw, String why) {
    counters.refused.increment();
    log.warn(
        LinkLog.Kind.REFUSED,
        () -> "a connection from " + raw.getRemoteSocketAddress() + " was refused: " + why);
  }

  private record Accepted(Link link, Connection connection) {}

  private void serve(Socket raw) {
    try {
      var accepted = greet(raw);
      if (accepted != null) {
        accepted.link.serve(accepted.connection);
      }
    } finally {
      Link.close(raw);
    }
  }

  /** The handshake, within its time; null if nothing came of it. */
  private @Nullable Accepted greet(Socket raw) {
    Clock.@Nullable Cancellable limit = null;
    try {
      if (closed) {
        return null;
      }
      limit = time.after(settings.handshakeWithin().toNanos(), () -> Link.close(raw));
      configure(raw);
      var socket = security == null ? raw : security.accept(raw);
      var in = new FrameInput(socket.getInputStream(), settings.maxMessageBytes());
      if (!in.await(1)) {
        return null; // somebody wanted to know whether this process is there
      }
      return answer(raw, socket, in, Handshake.readHello(in));
    } catch (MalformedMessageException e) {
      counters.malformed.increment();
      refuse(raw, String.valueOf(e.getMessage()));
    } catch (EOFException e) {
      refuse(raw, "it ended amid its handshake");
    } catch (IOException | RuntimeException e) {
      refuse(raw, e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      hasGreeted(raw);
      if (limit != null) {
        limit.cancel();
      }
    }
    return null;
  }

  private @Nullable Accepted answer(Socket raw, Socket socket, FrameInput in, Handshake.Hello hello)
      throws IOException, InterruptedException {
    var self = started().self();
    var link = links.get(hello.from());
    var verdict =
        isWhoItSays(socket, hello) ? verdict(hello, link) : Handshake.Verdict.NOT_CERTIFIED;
    Connection claimed = null;
    if (verdict == Handshake.Verdict.WELCOME && link != null) {
      claimed = link.claim(raw, socket, in);
      verdict = claimed != null ? verdict : Handshake.Verdict.NOT_NOW;
    }
    try {
      Handshake.write(
          socket.getOutputStream(), new Handshake.Answer(verdict, Handshake.common(hello), self));
    } catch (IOException | RuntimeException | Error e) {
      if (claimed == null) {
        throw e;
      }
      // It ends as any connection does.
      claimed.cut();
    }
    if (claimed == null || link == null) {
      refuse(raw, hello.from() + ": " + verdict);
      return null;
    }
    return new Accepted(link, claimed);
  }

  /** Whoever else may have a certificate shall not cut the connection of the one it is not. */
  private boolean isWhoItSays(Socket socket, Handshake.Hello hello) throws IOException {
    var address = hello.from().address();
    int colon = address.lastIndexOf(':');
    var host = colon < 0 ? address : address.substring(0, colon);
    return security == null || security.isFor(host, socket);
  }

  private Handshake.Verdict verdict(Handshake.Hello hello, @Nullable Link link) {
    if (Handshake.common(hello) == 0) {
      return Handshake.Verdict.OTHER_VERSION;
    }
    if (!hello.cluster().equals(settings.cluster())) {
      return Handshake.Verdict.OTHER_CLUSTER;
    }
    if (!hello.to().equals(started().self())) {
      return Handshake.Verdict.NOT_ADDRESSED;
    }
    if (removed.contains(hello.from())) {
      return Handshake.Verdict.REMOVED;
    }
    if (link == null) {
      return Handshake.Verdict.NOT_YET;
    }
    return link.dials() ? Handshake.Verdict.NOT_NOW : Handshake.Verdict.WELCOME;
  }

  /**
   * Ends all links: what is queued is written as far as it goes within a second. Waits for that and
   * for listeners that are being called; nothing is received or reported afterwards. Idempotent.
   */
  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    try {
      server.close();
    } catch (IOException e) {
      log.warn(LinkLog.Kind.ACCEPTING, () -> "the links' socket was not closed cleanly: " + e);
    }
    synchronized (greeting) {
      greeting.forEach(Link::close);
    }
    links.values().forEach(Link::close);
    long deadline = System.nanoTime() + CLOSE_NANOS;
    try {
      for (var link : links.values()) {
        link.awaitEnd(deadline);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    time.close();
  }
}
