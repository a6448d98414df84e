package dev.evergreen.web;

import dev.evergreen.core.Computation;
import dev.evergreen.core.spi.Carriers;
import dev.evergreen.core.spi.Share;
import dev.evergreen.live.Allowance;
import dev.evergreen.live.Present;
import dev.evergreen.web.Standings.Standing;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection that results are pushed to, with bounded output: for each subscription at most the
 * fact that there is something new, a few control messages, and one message being written.
 *
 * <p>A change puts the subscription into a queue, unless it is there already; a virtual thread that
 * lives only while there is something to write takes it out, reads the <em>latest</em> result and
 * writes it, blocking itself alone. So a slow reader skips results and a reader that never reads
 * costs one parked thread until {@link Peers} cuts it. The bytes of a result are shared by all
 * connections.
 */
abstract class LiveConnection {

  /** Beyond this many unwritten control messages nothing more is read from the client. */
  private static final int CONTROL_BACKLOG = 16;

  private static final int BURST_SECONDS = 10;

  /** Less than a client waits for an answer when it asks whether the server is alive. */
  static final long SIGN_OF_LIFE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private sealed interface Work {

    record Control(String message) implements Work {}

    record Pong(byte[] payload) implements Work {}

    record Bye(String message, int code, String reason) implements Work {}

    record News(Subscription of) implements Work {}
  }

  final Caller caller;

  /** Of the peer; its share pays for what must be made. */
  final Object address;

  final WebSettings settings;
  final Counters counters;
  private final Hub hub;
  private final Standings standings;
  private final Optional<Computation<Caller>> callerNow;

  /** Guarded by this object's lock, as is all that is not volatile. */
  private final Deque<Work> control = new ArrayDeque<>(4);

  private final Deque<Subscription> changed = new ArrayDeque<>(4);
  private boolean writing;

  /** Whether the writing thread waits until a result may be sent. */
  private boolean saving;

  private boolean readingPaused;
  private boolean over;
  private long overSinceNanos;
  private boolean leaving;

  private volatile @Nullable Standing standing;

  /** What may be sent, and when it may; touched by the writing thread only. */
  private final Allowance sending;

  private long paidAtNanos = System.nanoTime();

  /** Whether the client knows what to do with deltas; set before it begins. */
  private boolean takesDeltas;

  private BooleanSupplier mayBegin = () -> true;
  private volatile boolean suspect;
  private volatile long lastWriteNanos = System.nanoTime();

  LiveConnection(
      Caller caller,
      Object address,
      WebSettings settings,
      Counters counters,
      Hub hub,
      Standings standings) {
    this.caller = caller;
    this.address = address;
    this.settings = settings;
    this.counters = counters;
    this.hub = hub;
    this.standings = standings;
    // Before anything knows of the connection, as the application's code may throw.
    this.callerNow = standings.of(caller);
    this.sending = new Allowance(settings.maxBytesPerSecond(), BURST_SECONDS, System.nanoTime());
  }

  /** Lets deltas be sent to it. To be called before anything is watched. */
  final void takeDeltas() {
    takesDeltas = true;
  }

  /** Has it end when it begins unless this is so. To be called before. */
  final void onlyIf(BooleanSupplier condition) {
    mayBegin = condition;
  }

  /**
   * It is open, and among those that can be told to leave: from now on it ends when its caller is
   * no longer who it was.
   */
  final void begin() {
    if (!mayBegin.getAsBoolean()) {
      callerIsGone(Duration.ZERO);
    }
    var entered = standings.enter(caller, callerNow);
    entered.watch(this);
    boolean late;
    synchronized (this) {
      late = over;
      // Whoever sees it leaves it: this, or the end that comes after it.
      standing = late ? null : entered;
    }
    if (late) {
      entered.leave(this);
    }
  }

  /** Whether the caller is no longer who it was; then the connection is about to end. */
  final boolean callerIsOver() {
    var entered = standing;
    if (entered == null || !entered.isOver()) {
      return false;
    }
    callerIsGone(Duration.ZERO);
    return true;
  }

  /** Has the client come back and be authenticated anew; once. */
  final void callerIsGone(Duration retryAfter) {
    if (leave("disconnected", retryAfter, 1012)) {
      counters.cut("disconnected");
    }
  }

  /** The server stops: has the client come back later; once. */
  final void stopping() {
    leave("stopping", WebServer.RETRY_AFTER, 1001);
  }

  private boolean leave(String reason, Duration retryAfter, int code) {
    synchronized (this) {
      if (leaving || over) {
        return false;
      }
      leaving = true;
    }
    bye(Messages.bye(reason, retryAfter), code, reason);
    return true;
  }

  /** One view watched over this connection. */
  final class Subscription implements WatchedView.Subscriber {

    final @Nullable Long id;
    final WatchedView<?> live;

    /** What the client has; touched by the writing thread only. */
    private @Nullable String tag;

    private dev.evergreen.core.@Nullable Freshness freshness;

    /** Whether the client waits to hear whether what it has is the latest. */
    private boolean unconfirmed;

    /** Guarded by the connection's lock. */
    private boolean queued;

    private boolean ended;
    private @Nullable WebException why;

    Subscription(@Nullable Long id, WatchedView<?> live, @Nullable String have) {
      this.id = id;
      this.live = live;
      this.tag = have;
      this.unconfirmed = have != null;
    }

    @Override
    public boolean takesDeltas() {
      return takesDeltas;
    }

    @Override
    public void changed(boolean newResult) {
      synchronized (LiveConnection.this) {
        if (over || ended) {
          return;
        }
        if (queued) {
          if (newResult) {
            counters.skipped.increment();
          }
          return;
        }
        enqueue();
      }
    }

    @Override
    public void ended(WebException reason) {
      if (reason.type().equals(Failures.STOPPED)) {
        // Another node may serve this browser: it shall reconnect rather than ask here again.
        bye(Messages.bye(reason.type(), WebServer.RETRY_AFTER), 1012, reason.type());
        return;
      }
      synchronized (LiveConnection.this) {
        if (over || ended || why != null) {
          return;
        }
        why = reason;
        if (!queued) {
          enqueue();
        }
      }
    }

    private void enqueue() {
      queued = true;
      changed.add(this);
      wakeWriter();
    }
  }

  /** Writes a message and blocks until the socket has taken it. */
  abstract void write(String message) throws IOException;

  /** Writes a message that begins so and ends with the bytes of a result. */
  abstract void write(String head, Present result) throws IOException;

  abstract void writePong(ByteBuffer payload) throws IOException;

  /** Ends the connection in an orderly way after what has been written. */
  abstract void finish(int code, String reason);

  /** Ends the connection at once, and with it a write that is stuck; nothing is left of it. */
  abstract void abort();

  /** Whether it ends in an orderly way already, and so cannot be written to. */
  boolean isEnding() {
    return false;
  }

  /** There is room for control messages again. */
  abstract void readMore();

  /** A subscription ended by the server is gone. */
  abstract void forget(Subscription subscription);

  /** All subscriptions at the moment. */
  abstract List<Subscription> subscriptions();

  final void say(String message) {
    enqueueControl(new Work.Control(message));
  }

  /** Says that it is alive, unless it is about to say something anyway. */
  final synchronized void heartbeat() {
    if (!writing || saving) {
      say(Messages.heartbeat());
    }
  }

  /**
   * The peer will send nothing more. It may still read; if it is gone, writing to it tells, so that
   * is done often from now on.
   */
  final void suspect() {
    suspect = true;
    heartbeat();
  }

  final boolean isSuspect() {
    return suspect;
  }

  final void pong(byte[] payload) {
    enqueueControl(new Work.Pong(payload));
  }

  /** Says a last message and then ends the connection. */
  final void bye(String message, int code, String reason) {
    enqueueControl(new Work.Bye(message, code, reason));
  }

  /**
   * Whether the client must first take what it has caused; if so, {@link #readMore} is called once
   * it has.
   */
  final synchronized boolean pauseReading() {
    readingPaused = control.size() >= CONTROL_BACKLOG;
    return readingPaused;
  }

  /**
   * Waits until it is this connection's turn among all for which as much is done as may be. By
   * connections alone work is not bounded enough, since who comes by another one may begin anew.
   *
   * @param work to be done then, at most {@link Hub#MOST_WORK_AT_A_TIME}; as much as that if there
   *     is, since others have as much done in their turns
   */
  final void awaitTurn(int work) {
    try {
      rest(hub.pay(caller.payers(address), work));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Does nothing for so long, if at all, or until it is over. */
  void rest(long nanos) throws InterruptedException {
    restUntilOver(nanos);
  }

  /**
   * Waits so long, or until it is over: then there is nothing left to wait for. A question whether
   * the server is alive may lie unread meanwhile, so that is said unasked.
   */
  private synchronized void restUntilOver(long nanos) throws InterruptedException {
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos; left > 0 && !over; left = deadline - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, Math.min(left, SIGN_OF_LIFE_NANOS / 2));
      if (System.nanoTime() - lastWriteNanos > SIGN_OF_LIFE_NANOS) {
        heartbeat();
      }
    }
  }

  private synchronized void enqueueControl(Work work) {
    if (!over) {
      control.add(work);
      wakeWriter();
    }
  }

  private void wakeWriter() {
    if (!writing) {
      writing = true;
      Thread.startVirtualThread(Carriers.inTurn(this::writeAll));
    } else {
      notifyAll();
    }
  }

  private void writeAll() {
    var share = new Share(System::nanoTime, Carriers::letOthersRun);
    try {
      for (var work = next(); work != null; work = next()) {
        carryOut(work);
        share.goesOn();
      }
    } catch (InterruptedException | IOException | RuntimeException e) {
      // The peer is gone or was cut; whoever notices first tidies up.
      endAtOnce();
    } catch (Error e) {
      // An open connection without a writer would be silent for ever.
      endAtOnce();
      throw e;
    }
  }

  private void endAtOnce() {
    close();
    if (!isEnding()) {
      abort();
    }
  }

  /**
   * What is to be written next; null if the writing thread shall end. Who is sent much is sent
   * results later, and so maybe fewer: what is replaced meanwhile is skipped, and who may no longer
   * see it by then does not.
   */
  private synchronized @Nullable Work next() throws InterruptedException {
    while (!over) {
      var work = control.poll();
      if (work != null) {
        return work;
      }
      var first = changed.peek();
      if (first == null) {
        break;
      }
      long early = paidAtNanos - System.nanoTime();
      if (early <= 0) {
        changed.remove();
        first.queued = false;
        return new Work.News(first);
      }
      saving = true;
      TimeUnit.NANOSECONDS.timedWait(this, early);
      saving = false;
    }
    writing = false;
    return null;
  }

  private void carryOut(Work work) throws IOException {
    boolean resume;
    synchronized (this) {
      resume = readingPaused && control.size() < CONTROL_BACKLOG;
      readingPaused &= !resume;
    }
    switch (work) {
      case Work.Control(var message) -> send(message);
      case Work.Pong(var payload) -> {
        writePong(ByteBuffer.wrap(payload));
        lastWriteNanos = System.nanoTime();
      }
      case Work.Bye(var message, var code, var reason) -> {
        send(message);
        finish(code, reason);
      }
      case Work.News(var subscription) -> deliver(subscription);
    }
    if (resume) {
      readMore();
    }
  }

  /**
   * The rights are looked at after the result that they are for, and with nothing left to wait for.
   */
  private void deliver(Subscription subscription) throws IOException {
    var present = subscription.live.present();
    WebException why;
    synchronized (this) {
      why = subscription.why;
      if (subscription.ended) {
        return;
      }
    }
    if (why == null && !subscription.live.allows(caller)) {
      why = new WebException(403, "forbidden", "You may no longer see this.");
      counters.refused("forbidden");
    }
    if (callerIsOver()) {
      return;
    }
    if (why != null) {
      endOne(subscription, why);
    } else if (present != null) {
      deliver(subscription, present);
    }
  }

  private void deliver(Subscription subscription, Present present) throws IOException {
    if (!present.tag().equals(subscription.tag)) {
      var delta = takesDeltas ? subscription.live.delta(subscription.tag, present) : null;
      pay(delta == null ? present : delta.to());
      counters.sent.increment();
      if (delta == null) {
        write(Messages.resultHead(subscription.id, present), present);
      } else {
        write(Messages.deltaHead(subscription.id, delta, present), delta.to());
      }
      lastWriteNanos = System.nanoTime();
    } else if (subscription.unconfirmed) {
      counters.unchanged.increment();
      send(Messages.unchanged(subscription.id, present));
    } else if (present.freshness() != subscription.freshness) {
      send(Messages.freshness(subscription.id, present));
    }
    subscription.tag = present.tag();
    subscription.freshness = present.freshness();
    subscription.unconfirmed = false;
  }

  private void pay(Present sent) {
    long now = System.nanoTime();
    paidAtNanos = now + sending.borrow(sent.length(), now);
  }

  private void endOne(Subscription subscription, WebException why) throws IOException {
    drop(subscription);
    forget(subscription);
    send(Messages.end(subscription.id, why));
  }

  private void send(String message) throws IOException {
    write(message);
    lastWriteNanos = System.nanoTime();
  }

  final long lastWriteNanos() {
    return lastWriteNanos;
  }

  /**
   * Has it told of results, from now on. To be called once it is among the {@link #subscriptions};
   * whoever drops it before it is told leaves the rest to this.
   */
  final void follow(Subscription subscription) {
    subscription.live.subscribe(subscription);
    if (isOver()) {
      // Closed meanwhile, maybe before it could be found.
      drop(subscription);
    }
    boolean late;
    synchronized (this) {
      late = subscription.ended;
    }
    if (late) {
      subscription.live.unsubscribe(subscription);
    }
  }

  /** Ends one subscription from either side; idempotent. */
  final void drop(Subscription subscription) {
    synchronized (this) {
      if (subscription.ended) {
        return;
      }
      subscription.ended = true;
      if (subscription.queued) {
        changed.remove(subscription);
        subscription.queued = false;
      }
    }
    subscription.live.unsubscribe(subscription);
    hub.release(subscription.live, caller, address);
  }

  /** Gives everything back; idempotent. The socket is closed by whoever calls this. */
  void close() {
    synchronized (this) {
      if (over) {
        return;
      }
      over = true;
      overSinceNanos = System.nanoTime();
      control.clear();
      notifyAll();
    }
    subscriptions().forEach(this::drop);
    synchronized (this) {
      changed.clear();
    }
    var entered = standing;
    if (entered != null) {
      entered.leave(this);
    }
  }

  final synchronized boolean isOver() {
    return over;
  }

  /** How long it has been over without the peer having closed its side; 0 while it is not. */
  final synchronized long overForNanos(long now) {
    return over ? now - overSinceNanos : 0;
  }
}
