package dev.evergreen.web;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.util.thread.Scheduler;
import org.eclipse.jetty.websocket.core.WebSocketConnection;
import org.jspecify.annotations.Nullable;

/**
 * One open connection, with how fast its peer gives and takes. That it waits, or is worked on, is
 * no fault of the peer's; but one that takes its time must not hold what others need. Whatever is
 * spoken over the connection goes through here, so one rule is for all.
 */
final class Peer extends SocketChannelEndPoint {

  private final Peers peers;

  /** Whom its limits are counted for; changed by {@link Peers} only. */
  volatile Object address;

  private volatile boolean working;
  private volatile boolean heardOf;
  private volatile long idleSinceNanos = System.nanoTime();

  /** Of what is written: written by one thread at a time. */
  private volatile boolean blocked;

  private volatile long blockedSinceNanos;
  private volatile long progressNanos;
  private volatile long takenSince;

  Peer(
      Peers peers,
      SocketChannel channel,
      ManagedSelector selector,
      SelectionKey key,
      Scheduler scheduler) {
    super(channel, selector, key, scheduler);
    this.peers = peers;
    this.address = Peers.address(getRemoteSocketAddress());
  }

  /** The peer behind an end point, which may be wrapped. */
  static Peer of(EndPoint endPoint) {
    var inner = endPoint;
    while (inner instanceof EndPoint.Wrapper wrapper) {
      inner = wrapper.unwrap();
    }
    return (Peer) inner;
  }

  @Override
  public void onOpen() {
    super.onOpen();
    peers.opened(this);
  }

  @Override
  public void onClose(@Nullable Throwable cause) {
    peers.closed(this);
    super.onClose(cause);
  }

  /** A request of it is worked on, until {@link #end}. */
  void begin() {
    working = true;
    heardOf = true;
  }

  void end() {
    idleSinceNanos = System.nanoTime();
    working = false;
  }

  @Override
  public boolean flush(ByteBuffer... buffers) throws IOException {
    long before = remaining(buffers);
    boolean all = super.flush(buffers);
    note(all, before - remaining(buffers));
    return all;
  }

  private static long remaining(ByteBuffer... buffers) {
    long sum = 0;
    for (var buffer : buffers) {
      sum += buffer.remaining();
    }
    return sum;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // One thread writes at a time.
  private void note(boolean all, long taken) {
    if (all) {
      blocked = false;
      return;
    }
    long now = System.nanoTime();
    if (!blocked) {
      blockedSinceNanos = now;
      progressNanos = now;
      takenSince = 0;
      blocked = true;
    } else if (taken > 0) {
      progressNanos = now;
      takenSince += taken;
    }
  }

  /** Why the connection is to be cut; null if it is not. */
  @Nullable String fault(long now, WebSettings settings) {
    if (blocked && takesTooLittle(now, settings)) {
      return "stalled";
    }
    if (working || getConnection() instanceof WebSocketConnection) {
      return null;
    }
    long limit = settings.requestWithin().toNanos() * (heardOf ? 6 : 1);
    return now - idleSinceNanos <= limit ? null : heardOf ? "idle" : "slow-request";
  }

  /** Nothing for too long, or too slowly: a byte now and then would else keep it for ever. */
  private boolean takesTooLittle(long now, WebSettings settings) {
    long respite = settings.stallAfter().toNanos();
    long due = (long) (takenSince * 1e9 / settings.minBytesPerSecond());
    return now - progressNanos > respite || now - blockedSinceNanos > respite + due;
  }
}
