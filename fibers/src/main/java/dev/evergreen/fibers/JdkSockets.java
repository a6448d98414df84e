package dev.evergreen.fibers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.Channel;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** What the JDK's sockets lack: an end of calls that block, by closing them. */
final class JdkSockets {

  /** The JDK's blocking writes do not tell whether they wait; one that does not is over by then. */
  private static final long SLACK_NANOS = 100_000_000;

  private JdkSockets() {}

  static void close(Channel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException("a socket could not be closed", e);
    }
  }

  /** Connects, in time. */
  static void connect(Channel channel, String what, long nanos, Ahead.Call<Boolean> call)
      throws IOException {
    var _ = inTime(() -> close(channel), what, nanos, 0, call);
  }

  /** Writes, in time. A write that has room ends well, also in a scope that was cancelled. */
  static int write(FibersBase.Closing socket, long nanos, Ahead.Call<Integer> call)
      throws IOException {
    return inTime(socket, "write", nanos, SLACK_NANOS, call);
  }

  /**
   * Makes a blocking call, and closes its socket when it lasts too long or is cancelled.
   *
   * @param nanos how long it may last, or {@link Nanos#FOREVER}
   * @param slack how much longer it may go on when it is cancelled or late
   * @throws SocketTimeoutException if it lasted longer than that
   */
  private static <T> T inTime(
      FibersBase.Closing socket, String what, long nanos, long slack, Ahead.Call<T> call)
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
    var alarm = after(until - System.nanoTime() + slack, giveUp);
    Runnable cancelled =
        () -> {
          var _ = after(slack, giveUp);
        };
    if (scope != null) {
      scope.begin(cancelled);
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
        scope.end(cancelled);
      }
      alarm.cancel(false);
    }
    if (failure != null && decided.compareAndSet(false, true)) {
      throw failure;
    }
    throw reason(failure, what);
  }

  private static Future<?> after(long nanos, Runnable task) {
    return ForkJoinPool.commonPool().schedule(task, Math.max(0, nanos), TimeUnit.NANOSECONDS);
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
