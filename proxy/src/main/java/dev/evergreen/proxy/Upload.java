package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Sends a client's body on to the origin, in a fiber of its own, so that an answer is seen that
 * comes before the body's end. What comes is sent at once.
 */
final class Upload {

  /** How long an origin may take to say 100 (Continue) until the body is sent anyway. */
  private static final long CONTINUE_MILLIS = 1000;

  private final Fibers fibers;
  private final BodyReader from;
  private final CancelScope scope = CancelScope.open();
  private final CountDownLatch wanted;
  private @Nullable Thread fiber;

  /**
   * One that has not begun.
   *
   * @param awaitsContinue whether the client sends the body only when it is told to
   */
  Upload(Fibers fibers, BodyReader from, boolean awaitsContinue) {
    this.fibers = fibers;
    this.from = from;
    wanted = new CountDownLatch(awaitsContinue ? 1 : 0);
  }

  long length() {
    return from.length();
  }

  /** The origin has said that it wants the body. */
  void wanted() {
    wanted.countDown();
  }

  void start(BodyWriter into) {
    fiber = fibers.spawn(() -> send(into));
  }

  private void send(BodyWriter into) {
    try {
      if (wanted.getCount() > 0) {
        into.flush();
        var _ = wanted.await(CONTINUE_MILLIS, TimeUnit.MILLISECONDS);
      }
      scope.run(() -> copy(into));
    } catch (IOException e) {
      // The origin is not to take the part for the whole; who receives learns it there.
      into.abort();
    } catch (InterruptedException e) {
      into.abort();
      Thread.currentThread().interrupt();
    }
  }

  private void copy(BodyWriter into) throws IOException {
    var piece = ByteBuffer.allocate(16 << 10);
    while (from.read(piece) >= 0) {
      into.write(piece.flip());
      piece.clear();
    }
    into.end(from.trailers());
    // Nothing else would, as this fiber ends here.
    into.flush();
  }

  /** Ends it, whether all was sent or not, and waits until its fiber has let go of the body. */
  void stop() {
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
