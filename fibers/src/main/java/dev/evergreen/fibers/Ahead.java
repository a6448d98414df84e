package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A blocking call of the JDK's that cannot be given up. It goes on in a thread of its own; who
 * asked for it may stop waiting and come back for what it brought.
 */
final class Ahead<T> {

  /** A blocking call. */
  interface Call<T> {
    T run() throws IOException;
  }

  private final CompletableFuture<T> result;

  /** Of something that goes on elsewhere. */
  Ahead(CompletableFuture<T> result) {
    this.result = result;
  }

  Ahead(Call<T> call) {
    this(new CompletableFuture<>());
    var _ =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    result.complete(call.run());
                  } catch (Throwable e) {
                    // Whatever it is, somebody waits for it.
                    result.completeExceptionally(e);
                  }
                });
  }

  boolean isDone() {
    return result.isDone();
  }

  /** Whether it is done and has brought nothing but an exception. */
  boolean failed() {
    return result.isCompletedExceptionally();
  }

  /** Hands a result that nobody will come for to somebody else. */
  void abandon(java.util.function.Consumer<T> heir) {
    var _ = result.thenAccept(heir);
  }

  /**
   * Waits for the result, but not beyond a limit or for longer than the caller's scopes allow.
   *
   * @throws ClosedByInterruptException if the thread was interrupted instead, and stays so
   */
  T await(String what, boolean limited, long until) throws IOException {
    var scope = CancelScope.current();
    if (scope == null || isDone()) {
      return await(result, what, limited, until);
    }
    scope.checkWait(what);
    boolean sooner = scope.limited() && (!limited || scope.until() - until < 0);
    var cancelled = new CompletableFuture<T>();
    Runnable wake = () -> cancelled.complete(null);
    scope.begin(wake);
    try {
      var first = CompletableFuture.anyOf(result, cancelled);
      await(first, what, limited || sooner, sooner ? scope.until() : until);
    } catch (SocketTimeoutException e) {
      scope.checkWait(what);
      throw e;
    } finally {
      scope.end(wake);
      // Else the result would remember this wait.
      cancelled.cancel(false);
    }
    if (!isDone()) {
      scope.checkWait(what);
    }
    return await(result, what, limited, until);
  }

  private static <R> R await(CompletableFuture<R> future, String what, boolean limited, long until)
      throws IOException {
    try {
      return limited ? future.get(until - System.nanoTime(), TimeUnit.NANOSECONDS) : future.get();
    } catch (TimeoutException e) {
      var late = new SocketTimeoutException("could not " + what + " in time");
      late.initCause(e);
      throw late;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
    }
  }
}
