package dev.evergreen.web;

import dev.evergreen.fibers.Pace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.util.BufferUtil;
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

  /** How it takes what is written to it; that is written by one thread at a time. */
  final Pace pace;

  /** What it sent first, if that is not read yet. Of the thread that reads. */
  private volatile @Nullable Byte firstByte;

  /** Whether it has not taken all. Of the thread that writes. */
  private volatile boolean blocked;

  Peer(
      Peers peers,
      SocketChannel channel,
      ManagedSelector selector,
      SelectionKey key,
      Scheduler scheduler,
      @Nullable Byte firstByte) {
    super(channel, selector, key, scheduler);
    this.peers = peers;
    this.pace = peers.pace();
    this.address = Peers.address(getRemoteSocketAddress());
    this.firstByte = firstByte;
  }

  /** The peer that a request came from. */
  static Peer of(Request request) {
    return of(request.getConnectionMetaData().getConnection().getEndPoint());
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

  @Override
  public @Nullable Runnable onSelected() {
    var task = super.onSelected();
    return task == null ? null : new Turn(task, address);
  }

  /**
   * What is to be done as something came, or can be sent; never by the selector, though much of it
   * waits for nothing, as there all that others do would be behind it.
   */
  private record Turn(Runnable task, Object client) implements ClientTurns.Task {
    @Override
    public void run() {
      task.run();
    }
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
  public int fill(ByteBuffer buffer) throws IOException {
    var first = firstByte;
    if (first == null || BufferUtil.space(buffer) == 0) {
      return super.fill(buffer);
    }
    firstByte = null;
    BufferUtil.append(buffer, first);
    // An end is told the next time.
    return 1 + Math.max(0, super.fill(buffer));
  }

  @Override
  public boolean flush(ByteBuffer... buffers) throws IOException {
    long before = remaining(buffers);
    boolean all = super.flush(buffers);
    note(all, Math.toIntExact(before - remaining(buffers)));
    return all;
  }

  private static long remaining(ByteBuffer... buffers) {
    long sum = 0;
    for (var buffer : buffers) {
      sum += buffer.remaining();
    }
    return sum;
  }

  private void note(boolean all, int taken) {
    if (blocked && !all && taken == 0) {
      return; // It is the same wait.
    }
    if (blocked) {
      pace.goesOn();
    }
    pace.moved(taken);
    blocked = !all;
    if (blocked) {
      pace.waits();
    }
  }

  /** Why the connection is to be cut, though it takes what it is sent; null if it is not. */
  @Nullable String fault(long now, WebSettings settings) {
    if (working || getConnection() instanceof WebSocketConnection) {
      return null;
    }
    long limit = settings.requestWithin().toNanos() * (heardOf ? 6 : 1);
    return now - idleSinceNanos <= limit ? null : heardOf ? "idle" : "slow-request";
  }
}
