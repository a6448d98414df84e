package dev.evergreen.http;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Signal;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A connection to an origin by HTTP/2, for many exchanges at a time. It takes new ones until either
 * side goes away; those that there are then come to their end.
 */
final class Http2Upstream extends Http2Connection implements Upstream {
  /** Streams of larger numbers are left to another connection. */
  private static final int LAST_STREAM = 1 << 30;

  /**
   * How many there may be, even if the origin takes more (RFC 9113 §6.5.2 advises no fewer). With a
   * stream's window it bounds what lies unread.
   */
  private static final long MOST_STREAMS = 100;

  /** Clients of that many may leave in the time of a round trip, and cost nothing. */
  private static final int MOST_GIVEN_UP = 1024;

  private final Pool pool;
  private final Origin origin;
  private final CancelScope over = CancelScope.open();
  private final ArrayList<Signal> awaitSettings = new ArrayList<>(0);

  /** Why no more is read, if that is no fault of the origin; of the fiber that reads. */
  private @Nullable BuffersExhaustedException ours;

  // Guarded by the lock.
  private int nextStream = 1;
  private int exchanges;
  private long limit = MOST_STREAMS;
  private boolean retired;
  private boolean set;
  private boolean connects;
  private long lastUsed = System.nanoTime();

  private Http2Upstream(
      Fibers fibers, HttpSettings settings, Connection connection, Pool pool, Origin origin) {
    super(fibers, settings, connection, new Input(connection));
    this.pool = pool;
    this.origin = origin;
  }

  /** Greets an origin on a new connection. */
  static Http2Upstream greet(
      Fibers fibers, HttpSettings settings, Connection connection, Pool pool, Origin origin)
      throws IOException {
    var upstream = new Http2Upstream(fibers, settings, connection, pool, origin);
    connection.readTimeout(settings.read());
    upstream.lock();
    try {
      upstream.out.preface(); // It leaves with the first frames.
      upstream.sendSettings(2, 0, 6, settings.fieldBytes());
    } finally {
      upstream.unlock();
    }
    return upstream;
  }

  /**
   * Puts it into the pool, with the place that it has there, and serves it until it ends; then it
   * takes itself out. In this order, as it may end at once.
   */
  void start() {
    pool.add(this);
    fibers.spawn(this::run);
  }

  Origin origin() {
    return origin;
  }

  /**
   * Takes room for an exchange, if there is any: for one alone until the origin has said how many
   * it takes, as it may refuse all others.
   */
  boolean tryTake() {
    lock();
    try {
      boolean free = !retired && exchanges < (set ? limit : 1);
      if (free) {
        exchanges++;
      }
      return free;
    } finally {
      unlock();
    }
  }

  /** An exchange for which there is room; only the connection itself has a place in the pool. */
  @Override
  public ClientExchange begin(Pool unused, boolean reused) {
    return begin(reused);
  }

  ClientExchange begin(boolean reused) {
    return new Http2ClientStream(this, reused);
  }

  /** Under the lock: a stream begins. */
  void begin(Http2ClientStream stream) throws IOException {
    if (retired) {
      throw new IOException("the connection has ended");
    }
    stream.open(nextStream, peerWindow());
    streams.put(nextStream, stream);
    nextStream += 2;
    retired |= nextStream > LAST_STREAM;
  }

  /** An exchange has come to its end. */
  void answered() {
    lock();
    try {
      exchanges--;
      lastUsed = System.nanoTime();
      endIfUnused();
    } finally {
      unlock();
    }
    pool.hasRoom(this);
  }

  /** Takes no new exchanges. */
  void retire() {
    lock();
    try {
      retired = true;
      wakeWhoAwaitsSettings();
      endIfUnused();
    } finally {
      unlock();
    }
  }

  private void endIfUnused() {
    if (retired && exchanges == 0) {
      over.cancel();
    }
  }

  /** Whether nobody has used it for a time. */
  boolean isIdle(Duration time) {
    lock();
    try {
      return exchanges == 0 && System.nanoTime() - lastUsed >= time.toNanos();
    } finally {
      unlock();
    }
  }

  private void run() {
    try {
      var sender = fibers.spawn(out::send);
      end(readToTheEnd());
      sender.join();
    } catch (IOException e) {
      // It is broken already, or there is no buffer to tell its end by.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      connection.close();
      in.close();
      pool.ended(this);
    }
  }

  /** Answers how the origin has to be told that it ends. */
  private Code readToTheEnd() {
    try {
      readFrames();
      return Code.NO_ERROR;
    } catch (Http2Exception e) {
      return e.code();
    } catch (BuffersExhaustedException e) {
      ours = e;
      return Code.NO_ERROR;
    } catch (IOException e) {
      return Code.NO_ERROR; // There is nobody to tell.
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "a connection to an origin has failed", e);
      return Code.INTERNAL_ERROR;
    }
  }

  private void end(Code error) throws IOException {
    end(
        ours == null ? new IncompleteMessageException("the connection has ended") : ours,
        () -> {
          retired = true;
          wakeWhoAwaitsSettings();
          out.goAway(0, error);
        });
  }

  @Override
  boolean awaitInput() throws IOException {
    try {
      over.run(in::awaitMore);
      return true;
    } catch (WaitCancelledException e) {
      return false;
    } catch (SocketTimeoutException e) {
      if (in.available() > 0) {
        throw e;
      }
      return true; // Between frames it may be silent for as long as it likes.
    }
  }

  /**
   * The answers' readers are strangers to each other: who reads slowly fills the window of its own
   * stream, and must not use up the one that all share.
   */
  @Override
  void arrived(int bytes) throws IOException {
    credit(bytes);
  }

  /** It was told to the origin when it arrived. */
  @Override
  void consumed(int bytes) {}

  /**
   * The origin may wait until we read, too, so one of both must go on. What it makes us send is
   * bounded by what it sends.
   */
  @Override
  void awaitRoom() {}

  @Override
  boolean isOurs(int stream) {
    return true;
  }

  @Override
  boolean wasBegun(int stream) {
    lock();
    try {
      return (stream & 1) == 1 && stream < nextStream;
    } finally {
      unlock();
    }
  }

  @Override
  void receive(int id, Http2Heads.Block block, boolean ends) throws IOException {
    require(wasBegun(id), Code.PROTOCOL_ERROR, "an answer to nothing");
    lock();
    try {
      if (streams.get(id) instanceof Http2ClientStream stream) {
        stream.receive(block, ends);
      } else {
        receiveBehindTheEnd(id, ends);
      }
    } finally {
      unlock();
    }
  }

  @Override
  int mostGivenUp() {
    return MOST_GIVEN_UP;
  }

  /** There may be more than are known: their clients leave when they like. */
  @Override
  boolean wasGivenUp(int stream) {
    return true;
  }

  /**
   * Whether the origin takes extended CONNECT; waits until it has said so or not.
   *
   * @throws IOException if the connection ends, or takes no new exchanges, before that
   */
  boolean connects() throws IOException {
    if (!awaitSettings()) {
      throw new IOException("the connection has ended");
    }
    lock();
    try {
      return connects;
    } finally {
      unlock();
    }
  }

  /** Whether it takes exchanges, but the origin has not said yet how many. */
  boolean isUnset() {
    lock();
    try {
      return !set && !retired;
    } finally {
      unlock();
    }
  }

  /**
   * Waits until the origin has told its settings; false if the connection ends, or takes no new
   * exchanges, before that.
   */
  boolean awaitSettings() throws IOException {
    var told = new Signal(fibers);
    while (true) {
      lock();
      try {
        if (set || retired) {
          return set;
        }
        awaitSettings.add(told);
      } finally {
        unlock();
      }
      told.await(settings.read());
    }
  }

  @Override
  void peerConnects(boolean extended) {
    connects = extended;
  }

  @Override
  void peerIsSet() {
    set = true;
    wakeWhoAwaitsSettings();
  }

  /** There may be room for many more. */
  @Override
  void settingsCame() {
    pool.hasRoom(this);
  }

  private void wakeWhoAwaitsSettings() {
    awaitSettings.forEach(Signal::raise);
    awaitSettings.clear();
  }

  @Override
  void peerTakes(long streams) {
    limit = Math.min(streams, MOST_STREAMS);
  }

  @Override
  void wasReset(Http2Stream stream, int code) {
    var why = new IOException("the origin has reset the stream");
    if (code == Code.REFUSED_STREAM.number) {
      ((Http2ClientStream) stream).refuse(why);
    } else if (stream.peerEnded()) {
      stream.stopSending(why); // RFC 9113 §8.1: its answer is whole.
    } else {
      stream.fail(why);
    }
  }

  @Override
  void peerGoesAway(int last) {
    lock();
    try {
      retired = true;
      wakeWhoAwaitsSettings();
      var none = new IOException("the origin goes away");
      streams
          .values()
          .removeIf(
              stream -> {
                boolean unseen = stream.id() > last;
                if (unseen) {
                  ((Http2ClientStream) stream).refuse(none);
                }
                return unseen;
              });
      endIfUnused();
    } finally {
      unlock();
    }
  }
}
