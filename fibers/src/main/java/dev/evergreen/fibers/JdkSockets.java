package dev.evergreen.fibers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.Channel;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** What the JDK's sockets lack: an end of calls that block, by closing them. */
final class JdkSockets {

  private JdkSockets() {}

  static void close(Channel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException("a socket could not be closed", e);
    }
  }

  static <T> T inTime(Channel channel, String what, long nanos, Ahead.Call<T> call)
      throws IOException {
    return inTime(() -> close(channel), what, nanos, call);
  }

  /**
   * Makes a blocking call, and closes its socket when it lasts too long or is cancelled.
   *
   * @param nanos how long it may last, or {@link Nanos#FOREVER}
   * @throws SocketTimeoutException if it lasted longer than that
   */
  static <T> T inTime(FibersBase.Closing socket, String what, long nanos, Ahead.Call<T> call)
      throws IOException {
    var scope = CancelScope.current();
    if (scope == null && nanos == Nanos.FOREVER) {
      return call.run();
    }
    long until = System.nanoTime() + nanos;
    if (scope != null && scope.until() - until < 0) {
      until = scope.until();
    }
    var decided = new AtomicBoolean();
    Runnable giveUp =
        () -> {
          if (decided.compareAndSet(false, true)) {
            socket.close();
          }
        };
    var alarm =
        ForkJoinPool.commonPool()
            .schedule(giveUp, Math.max(0, until - System.nanoTime()), TimeUnit.NANOSECONDS);
    if (scope != null) {
      scope.begin(giveUp);
    }
    IOException failure = null;
    try {
      var result = call.run();
      if (decided.compareAndSet(false, true)) {
        return result;
      }
    } catch (IOException e) {
      failure = e;
    } finally {
      if (scope != null) {
        scope.end(giveUp);
      }
      alarm.cancel(false);
    }
    if (failure != null && decided.compareAndSet(false, true)) {
      throw failure;
    }
    throw reason(failure, what);
  }

  private static IOException reason(@Nullable IOException closed, String what) {
    IOException reason;
    try {
      CancelScope.check(what);
      reason = new SocketTimeoutException("could not " + what + " in time");
    } catch (IOException e) {
      reason = e;
    }
    if (closed != null) {
      reason.addSuppressed(closed);
    }
    return reason;
  }
}
