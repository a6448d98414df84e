package dev.evergreen.cluster.links;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What this node has with one other: from time to time a connection, with its queue.
 *
 * <p><b>The order at a break.</b> Every connection has a queue of its own. When it ends, its
 * reading thread, which has delivered all that it will, 1. takes the queue from where senders find
 * it, 2. drops what is in it, 3. reports the break, and only then 4. lets a new connection come
 * about. So nothing of the old connection is delivered after the report; and whatever was lost was
 * sent before it, as whoever put something into the queue had begun to before step 1. No listener
 * is called while the lock is held.
 */
final class Link implements Connection.Receiver {

  /** The token of pings whose answers nobody waits for. */
  static final long BEAT = 0;

  private enum State {
    /** There is no connection, and one may come about. */
    FREE,
    UP,
    /** The end of a connection is being reported. */
    ENDING
  }

  private enum Attempt {
    CONNECTED,
    TRY_SOON,
    FAILED
  }

  private final LinkShared shared;
  private final NodeId node;
  private final InetSocketAddress address;
  private final boolean dials;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  @GuardedBy("lock")
  private State state = State.FREE;

  @GuardedBy("lock")
  private @Nullable Connection connection;

  @GuardedBy("lock")
  private boolean connectedBefore;

  @GuardedBy("lock")
  private boolean probing;

  /** When the last connection ended, or the node was admitted. */
  @GuardedBy("lock")
  private long brokenAt = System.nanoTime();

  /** That of the connection. */
  private volatile @Nullable SendQueue queue;

  /** Nothing goes to the node any more. */
  private volatile boolean over;

  Link(LinkShared shared, NodeId node, InetSocketAddress address) {
    this.shared = shared;
    this.node = node;
    this.address = address;
    this.dials = shared.self().compareTo(node) < 0;
  }

  boolean dials() {
    return dials;
  }

  long queuedBytes() {
    var to = queue;
    return to == null ? 0 : to.bytes();
  }

  boolean isUp() {
    lock.lock();
    try {
      return state == State.UP;
    } finally {
      lock.unlock();
    }
  }

  /** For how long there has been no connection; 0 if there is one. */
  long brokenNanos() {
    lock.lock();
    try {
      return state == State.UP ? 0 : System.nanoTime() - brokenAt;
    } finally {
      lock.unlock();
    }
  }

  boolean wasConnected() {
    lock.lock();
    try {
      return connectedBefore;
    } finally {
      lock.unlock();
    }
  }

  void start() {
    if (dials) {
      Thread.ofVirtual().name("link-" + node).start(this::dialOn);
    }
  }

  // Sending

  /** False if it certainly does not leave. */
  boolean send(Frame frame) {
    var to = queue;
    if (to == null) {
      return false;
    }
    if (!to.offer(frame, shared.settings().maxQueueBytes())) {
      shared.counters().dropped.increment();
      if (!to.isDead()) {
        shared.log().warn(LinkLog.Kind.NO_ROOM, () -> noRoom(to));
      }
      return false;
    }
    return true;
  }

  void ping(long token) {
    var to = queue;
    if (to != null) {
      to.offerFirst(Frame.token(Frame.PING, token));
    }
  }

  private String noRoom(SendQueue to) {
    return "there is no room for more messages to "
        + node
        + ": "
        + to.bytes()
        + " bytes wait, and "
        + shared.settings().maxQueueBytes()
        + " may; it takes them too slowly";
  }

  // Connections

  /**
   * Gives the link a connection, after an earlier one was cut and its end was reported.
   *
   * @return null if that lasts too long, or if the link is over
   */
  @Nullable Connection claim(Socket raw, Socket socket, FrameInput in) throws InterruptedException {
    long left = shared.settings().handshakeWithin().toNanos();
    lock.lock();
    try {
      while (state != State.FREE && !over && left > 0) {
        if (connection != null) {
          connection.cut();
        }
        left = changed.awaitNanos(left);
      }
      if (state != State.FREE || over) {
        return null;
      }
      var fresh = new SendQueue(shared.counters());
      var made = new Connection(raw, socket, in, fresh, shared, node.toString());
      // Only now: a link that is up has a connection, whatever could not be made.
      state = State.UP;
      connection = made;
      queue = fresh;
      shared.counters().connections.increment();
      if (connectedBefore) {
        shared.counters().reconnections.increment();
      }
      connectedBefore = true;
      return made;
    } finally {
      lock.unlock();
    }
  }

  /** Serves a claimed connection until it ends, and reports that. */
  void serve(Connection claimed) {
    try {
      shared.tell(() -> shared.listener().connected(node));
      claimed.serve(this);
    } finally {
      lose(claimed);
      probeUnlessConnected();
    }
  }

  private void lose(Connection lost) {
    lock.lock();
    try {
      state = State.ENDING;
      brokenAt = System.nanoTime();
      connection = null;
      queue = null;
    } finally {
      lock.unlock();
    }
    lost.queue().die();
    shared.tell(() -> shared.listener().broken(node));
    lock.lock();
    try {
      state = State.FREE;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void received(Message message) {
    shared.tell(() -> shared.listener().received(node, message));
  }

  @Override
  public void pinged(long token, Runnable answer) {
    if (token == BEAT) {
      answer.run();
    } else {
      shared.tell(() -> shared.listener().pinged(node, answer));
    }
  }

  @Override
  public void ponged(long token) {
    if (token != BEAT) {
      shared.tell(() -> shared.listener().ponged(node, token));
    }
  }

  @Override
  public void removedBy() {
    end(Connection::cut);
    shared.tell(() -> shared.listener().removedBy(node));
  }

  // The end

  /** The other node is removed for good. */
  void remove() {
    end(Connection::dismiss);
  }

  /** This node stops; what is queued is written, for a moment. */
  void close() {
    end(Connection::finish);
  }

  private interface Ending {
    void of(Connection connection);
  }

  private void end(Ending how) {
    Connection ended;
    lock.lock();
    try {
      over = true;
      changed.signalAll();
      queue = null;
      ended = connection;
    } finally {
      lock.unlock();
    }
    if (ended != null) {
      how.of(ended);
    }
  }

  /** Waits until there is no connection and nothing to report; after a time cuts what there is. */
  void awaitEnd(long deadlineNanos) throws InterruptedException {
    lock.lock();
    try {
      for (long left = 1; state != State.FREE && left > 0; ) {
        left = deadlineNanos - System.nanoTime();
        changed.awaitNanos(left);
      }
      if (connection != null) {
        connection.cut();
      }
    } finally {
      lock.unlock();
    }
  }

  // Dialling

  private void dialOn() {
    var settings = shared.settings();
    long pause = settings.firstPause().toNanos();
    try {
      while (!over) {
        var attempt = dialOnce();
        pause =
            attempt == Attempt.FAILED
                ? Math.min(2 * pause, settings.longestPause().toNanos())
                : settings.firstPause().toNanos();
        rest(pause);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for half to the whole of the time, or until the link is over. */
  private void rest(long nanos) throws InterruptedException {
    long left = nanos / 2 + ThreadLocalRandom.current().nextLong(nanos / 2 + 1);
    lock.lock();
    try {
      while (!over && left > 0) {
        left = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whatever happens, also without memory, the next attempt follows. */
  private Attempt dialOnce() throws InterruptedException {
    try {
      return dial();
    } catch (Error e) {
      shared.log().warn(LinkLog.Kind.BROKEN, () -> "the connection to " + node + " broke: " + e);
      return Attempt.FAILED;
    }
  }

  private Attempt dial() throws InterruptedException {
    try (var raw = new Socket()) {
      var limit =
          shared.time().after(shared.settings().handshakeWithin().toNanos(), () -> close(raw));
      Connection claimed;
      try {
        connect(raw);
        var security = shared.security();
        var socket =
            security == null ? raw : security.dial(raw, address.getHostString(), address.getPort());
        var in = new FrameInput(socket.getInputStream(), shared.settings().maxMessageBytes());
        var verdict = greet(socket, in);
        if (verdict != Handshake.Verdict.WELCOME) {
          return refused(verdict);
        }
        claimed = claim(raw, socket, in);
      } finally {
        limit.cancel();
      }
      if (claimed == null) {
        return Attempt.TRY_SOON;
      }
      serve(claimed);
      return Attempt.CONNECTED;
    } catch (IOException | RuntimeException e) {
      shared
          .log()
          .warn(
              LinkLog.Kind.BROKEN, () -> "no connection to " + node + " at " + address + ": " + e);
      return Attempt.FAILED;
    }
  }

  private Handshake.Verdict greet(Socket socket, FrameInput in) throws IOException {
    var out = socket.getOutputStream();
    Handshake.write(
        out,
        new Handshake.Hello(
            Handshake.LOWEST, Handshake.HIGHEST, shared.settings().cluster(), shared.self(), node));
    try {
      var answer = Handshake.readAnswer(in);
      boolean isMeant = answer.from().equals(node);
      return isMeant || answer.verdict() != Handshake.Verdict.WELCOME
          ? answer.verdict()
          : Handshake.Verdict.NOT_ADDRESSED;
    } catch (MalformedMessageException e) {
      shared.counters().malformed.increment();
      throw new IOException("its answer is no handshake: " + e.getMessage(), e);
    }
  }

  private Attempt refused(Handshake.Verdict verdict) {
    shared.log().warn(LinkLog.Kind.REFUSED_BY, () -> node + " refused a connection: " + verdict);
    return switch (verdict) {
      case REMOVED -> {
        removedBy();
        yield Attempt.FAILED;
      }
      case NOT_ADDRESSED -> {
        // Somebody else answers at its address: its process has ended.
        tellRefused();
        yield Attempt.FAILED;
      }
      case NOT_YET, NOT_NOW -> Attempt.TRY_SOON;
      case WELCOME, OTHER_VERSION, OTHER_CLUSTER, NOT_CERTIFIED -> Attempt.FAILED;
    };
  }

  private void connect(Socket raw) throws IOException {
    NodeLinks.configure(raw);
    var to =
        address.isUnresolved()
            ? new InetSocketAddress(address.getHostString(), address.getPort())
            : address;
    try {
      raw.connect(
          to, (int) TimeUnit.NANOSECONDS.toMillis(shared.settings().handshakeWithin().toNanos()));
    } catch (ConnectException e) {
      if (String.valueOf(e.getMessage()).startsWith("Connection refused")) {
        tellRefused();
      }
      throw e;
    }
  }

  private void tellRefused() {
    if (!over) {
      shared.tell(() -> shared.listener().refused(node));
    }
  }

  static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // Nobody needs it any more; its threads end by their own errors.
      return;
    }
  }

  // Probing

  /**
   * A node that waits to be dialled learns by this whether the other's process has ended: it only
   * connects, and says nothing.
   */
  private void probeUnlessConnected() {
    lock.lock();
    try {
      if (dials || probing || over) {
        return;
      }
      probing = true;
    } finally {
      lock.unlock();
    }
    Thread.ofVirtual().name("link-probe-" + node).start(this::probeOn);
  }

  private void probeOn() {
    long pause = shared.settings().firstPause().toNanos();
    try {
      rest(pause);
      while (stillProbing()) {
        probe();
        pause = Math.min(2 * pause, shared.settings().longestPause().toNanos());
        rest(pause);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean stillProbing() {
    lock.lock();
    try {
      probing = state != State.UP && !over;
      return probing;
    } finally {
      lock.unlock();
    }
  }

  private void probe() {
    try (var raw = new Socket()) {
      connect(raw);
    } catch (IOException | RuntimeException e) {
      shared
          .log()
          .warn(LinkLog.Kind.BROKEN, () -> node + " cannot be reached at " + address + ": " + e);
    }
  }
}
