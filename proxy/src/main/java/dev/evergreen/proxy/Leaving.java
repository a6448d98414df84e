package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.FibersClosedException;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.Version;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Ends what is waited for on behalf of one client alone when that client leaves; so the origin
 * learns that its answer is not wanted. A stream of HTTP/2 that is reset ends it at once. The end
 * of a connection of HTTP/1.1 may be that of the client's half only, so there the client is given
 * up when all that it sent was passed on and it gets nothing for a while.
 */
final class Leaving implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /** The client has left, or gets nothing any more though it may still be there. */
  static final class GoneException extends IOException {
    private static final long serialVersionUID = 1;

    private GoneException(IOException cause) {
      super("the client has left", cause);
    }
  }

  private final Fibers fibers;
  private final Exchange exchange;

  /** What the client sends; null if that is nothing, or not yet known. */
  private volatile @Nullable Upload upload;

  private final CancelScope scope = CancelScope.open();

  // Guarded by this.
  private Fibers.@Nullable Timer timer;
  private boolean closed;

  Leaving(Fibers fibers, Exchange exchange) {
    this.fibers = fibers;
    this.exchange = exchange;
  }

  /** As long as this goes on, the client's end is that of what it sends: it may wait for more. */
  void during(Upload ofClient) {
    upload = ofClient;
  }

  /**
   * Does what is for the client alone.
   *
   * @throws GoneException if it has left
   */
  void run(CancelScope.Action<IOException> action) throws IOException {
    var _ =
        call(
            () -> {
              action.run();
              return this;
            });
  }

  /**
   * The same, with what comes of it.
   *
   * @throws GoneException if it has left
   */
  <T> T call(ScopedValue.CallableOp<T, IOException> action) throws IOException {
    boolean streams = exchange.request().version() == Version.HTTP_2;
    exchange.whenClientLeaves(streams ? scope::cancel : this::begin);
    try {
      return scope.call(action);
    } catch (WaitCancelledException e) {
      throw scope.cancelled() ? new GoneException(e) : e;
    }
  }

  private synchronized void begin() {
    if (timer == null) {
      await();
    }
  }

  private synchronized void await() {
    long before = sent();
    if (!closed) {
      try {
        timer = fibers.schedule(PATIENCE, () -> look(before));
      } catch (FibersClosedException e) {
        scope.cancel(); // The proxy itself ends.
      }
    }
  }

  private void look(long before) {
    var sending = upload;
    if (sent() == before && (sending == null || !sending.goesOn())) {
      scope.cancel();
    } else {
      await();
    }
  }

  private long sent() {
    return exchange.connection().report().sent();
  }

  /** From now on the client's end is somebody else's affair. */
  @Override
  public void close() {
    try {
      exchange.whenClientLeaves(null);
    } catch (IOException e) {
      // It is closed, and tells nothing any more.
    }
    synchronized (this) {
      closed = true;
      if (timer != null) {
        timer.cancel();
      }
    }
  }
}
