package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Sends a client's body on to the origin, in a fiber of its own, so that an answer is seen that
 * comes before the body's end. What comes is sent at once. As long as it is short it is also kept,
 * so that it can be sent to another origin instead.
 */
final class Upload {

  /** The client has sent too slowly while others waited for the origin. */
  static final class HungUpException extends IOException {
    private static final long serialVersionUID = 1;

    private HungUpException() {
      super("the request's body came too slowly while others waited for the origin");
    }
  }

  /** How long an origin may take to say 100 (Continue) until the body is sent anyway. */
  private static final long CONTINUE_MILLIS = 1000;

  private static final int PIECE = 16 << 10;

  /** A longer body is not kept. */
  static final int KEPT = 64 << 10;

  private final Fibers fibers;
  private final BodyReader from;
  private CancelScope scope = CancelScope.open();

  /** Opens when the body is to be sent to the origin that is asked now. */
  private CountDownLatch wanted;

  private @Nullable Thread fiber;

  private volatile @Nullable IOException failure;

  private volatile SlowPeers.@Nullable Hold hold;

  /** What was cancelled because the client is too slow. */
  private volatile @Nullable CancelScope hungUp;

  private volatile boolean answered;

  /** Whether a fiber sends, or it has not begun: it may have to wait for a connection. */
  private volatile boolean goesOn = true;

  private boolean started;

  // Of the fiber that sends, and when that has ended of who starts it.
  /** Whether the client may have been told to send the body, or need not be. */
  private boolean told;

  private ByteArrayOutputStream kept = new ByteArrayOutputStream(0);
  private boolean isKept = true;

  /** How the client gets on. */
  private final Pace pace;

  /** How much has come from the client; only this object's fiber counts. */
  private final AtomicLong sent = new AtomicLong();

  /** What was sent when somebody asked last. */
  private long noticed;

  /**
   * One that has not begun.
   *
   * @param awaitsContinue whether the client sends the body only when it is told to
   * @param pace of the client, which has not begun
   */
  Upload(Fibers fibers, BodyReader from, boolean awaitsContinue, Pace pace) {
    this.fibers = fibers;
    this.from = from;
    this.pace = pace;
    told = !awaitsContinue;
    wanted = new CountDownLatch(awaitsContinue ? 1 : 0);
  }

  long length() {
    return from.length();
  }

  /** The origin has said that it wants the body. */
  void wanted() {
    wanted.countDown();
  }

  /** Whether more was sent since the last call. For one caller. */
  boolean hasGoneOn() {
    long now = sent.get();
    boolean more = now > noticed;
    noticed = now;
    return more;
  }

  /** Whether some of the body may still be sent. Any thread may ask. */
  boolean goesOn() {
    return goesOn;
  }

  /** Whether the client sends the body only when it is told to. */
  boolean awaitsContinue() {
    return wanted.getCount() > 0;
  }

  /** Why the client's body did not come; null if nothing is wrong with it. */
  @Nullable IOException failure() {
    return failure;
  }

  /** The origin has answered: from now on it is its own affair how long this takes. */
  void answered() {
    answered = true;
    var present = hold;
    if (present != null) {
      present.close();
    }
  }

  /**
   * Others wait for the origin, and this is the slowest. It fails for that only if it still waits:
   * it may have come to its end meanwhile.
   */
  private void hangUp(CancelScope until) {
    hungUp = until;
    until.cancel();
  }

  /**
   * Begins, also after it was {@linkplain #stop stopped}, if all that has come {@linkplain #isKept
   * is kept}. What has come of the body leaves together with the head, which is in the output
   * already; from then on only this object's fiber writes there.
   *
   * @param slowPeers where the client is known as long as the origin waits for it
   * @throws IOException if the origin does not take it
   */
  void start(BodyWriter into, SlowPeers slowPeers) throws IOException {
    started = true;
    if (!told) {
      wanted = new CountDownLatch(1); // No other origin speaks for this one.
    }
    var first = ByteBuffer.wrap(kept.toByteArray());
    if (!awaitsContinue() && !first.hasRemaining()) {
      first = ByteBuffer.allocate(PIECE);
      if (sendsAtOnce(into, first)) {
        goesOn = false;
        return;
      }
    }
    sendLater(into, first, slowPeers);
  }

  private void sendLater(BodyWriter into, ByteBuffer first, SlowPeers slowPeers)
      throws IOException {
    into.flush();
    var now = CancelScope.open();
    scope = now;
    var go = wanted;
    goesOn = true;
    fiber =
        fibers.spawn(
            () -> {
              try {
                send(into, first, go, now, slowPeers);
              } finally {
                goesOn = false;
              }
            });
  }

  /** Whether all that has come of the body is still there, so that it can be sent again. */
  boolean isKept() {
    return isKept;
  }

  private void keep(ByteBuffer piece) {
    isKept &= kept.size() + piece.remaining() <= KEPT;
    if (isKept) {
      kept.write(piece.array(), piece.arrayOffset() + piece.position(), piece.remaining());
    } else {
      kept = new ByteArrayOutputStream(0);
    }
  }

  /**
   * Sends what is there and finds room; the caller must not wait for the origin to take more, as
   * that may answer instead.
   *
   * @param piece gets what is there; what found no room stays in it
   * @return whether there is nothing more to be sent
   */
  private boolean sendsAtOnce(BodyWriter into, ByteBuffer piece) throws IOException {
    try {
      int n = from.tryRead(piece);
      sent.addAndGet(Math.max(0, n));
    } catch (IOException e) {
      fail(into, e);
      return true;
    }
    keep(piece.flip());
    into.tryWrite(piece);
    boolean all = !piece.hasRemaining() && from.ended();
    if (all) {
      into.end(OriginRequests.trailers(from.trailers()));
    }
    return all;
  }

  private void send(
      BodyWriter into,
      ByteBuffer first,
      CountDownLatch go,
      CancelScope until,
      SlowPeers slowPeers) {
    try {
      var _ = go.await(CONTINUE_MILLIS, TimeUnit.MILLISECONDS);
      if (until.cancelled()) {
        into.abort();
        return; // To read would tell the client to send it.
      }
      told = true;
      try (var held = slowPeers.hold(pace, () -> hangUp(until))) {
        hold = held;
        if (answered) {
          answered(); // It came before there was a hold.
        }
        until.run(
            () -> {
              into.write(first);
              copy(into);
            });
      }
    } catch (WaitCancelledException e) {
      if (hungUp == until) {
        failure = new HungUpException();
      }
      into.abort();
    } catch (IOException e) {
      // Of the origin's side: who receives learns it there.
      into.abort();
    } catch (InterruptedException e) {
      into.abort();
      Thread.currentThread().interrupt();
    }
  }

  private void copy(BodyWriter into) throws IOException {
    var piece = ByteBuffer.allocate(PIECE);
    for (int n = read(piece, into); n >= 0; n = read(piece, into)) {
      keep(piece.flip());
      into.write(piece);
      piece.clear();
      pace.moved(n);
      sent.addAndGet(n);
    }
    if (failure == null) {
      into.end(OriginRequests.trailers(from.trailers()));
      // Nothing else would, as this fiber ends here.
      into.flush();
    }
  }

  private int read(ByteBuffer piece, BodyWriter into) throws WaitCancelledException {
    pace.waits();
    try {
      return from.read(piece);
    } catch (WaitCancelledException e) {
      throw e; // Nothing is wrong with the body: it was stopped.
    } catch (IOException e) {
      fail(into, e);
      return -1;
    } finally {
      pace.goesOn();
    }
  }

  /** The origin is not to take the part for the whole. */
  private void fail(BodyWriter into, IOException why) {
    failure = why;
    into.abort();
  }

  /**
   * Ends it, whether all was sent or not, and waits until its fiber has let go of the body. It may
   * begin again.
   */
  void stop() {
    if (!started) {
      return;
    }
    scope.cancel();
    wanted.countDown();
    var present = fiber;
    if (present != null) {
      try {
        present.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
