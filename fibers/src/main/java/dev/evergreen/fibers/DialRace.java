package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Attempts to connect to several addresses of one host, each by a fiber of its own.
 *
 * <p>Invariant: every connection that is made is either the answer or closed. An attempt reports
 * its connection under the monitor while the race is open; whoever ends the race closes it under
 * the same monitor, and then all connections that were reported and not taken.
 */
final class DialRace {

  /**
   * How an attempt ended, or that the race was cancelled.
   *
   * @param address whose it was; null if the race was cancelled
   */
  private record Outcome(
      @Nullable SocketAddress address,
      @Nullable Connection connection,
      @Nullable IOException failure) {}

  private final Dialer dialer;
  private final List<SocketAddress> addresses;
  private final Trials trials;
  private final CancelScope attempts = CancelScope.open();
  private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
  private boolean over; // guarded by this

  DialRace(Dialer dialer, List<SocketAddress> addresses, Trials trials) {
    this.dialer = dialer;
    this.addresses = addresses;
    this.trials = trials;
  }

  Connection run() throws IOException {
    int begun = 0;
    int failed = 0;
    try {
      while (failed < addresses.size()) {
        boolean more = begun < addresses.size();
        if (more) {
          begin(addresses.get(begun++));
        }
        var outcome = next(begun < addresses.size());
        if (outcome != null && outcome.connection != null) {
          return outcome.connection;
        }
        if (outcome != null && outcome.address != null && outcome.failure != null) {
          trials.failed(outcome.address, outcome.failure);
          failed++;
        }
      }
      throw trials.allFailed();
    } finally {
      end();
    }
  }

  private void begin(SocketAddress address) {
    trials.begin(address);
    var _ = dialer.fibers().spawn(() -> attempts.run(() -> connect(address)));
  }

  private void connect(SocketAddress address) {
    try {
      report(new Outcome(address, dialer.fibers().connect(address, null, dialer.options()), null));
    } catch (IOException e) {
      report(new Outcome(address, null, e));
    } catch (FibersClosedException e) {
      report(new Outcome(address, null, new IOException(e)));
    }
  }

  private synchronized void report(Outcome outcome) {
    if (!over) {
      outcomes.add(outcome);
    } else if (outcome.connection != null) {
      outcome.connection.close();
    }
  }

  /** Waits for the end of an attempt; null if the next one may begin. */
  private @Nullable Outcome next(boolean more) throws IOException {
    var scope = CancelScope.current();
    if (scope == null) {
      throw new AssertionError("a dialer has a scope of its own");
    }
    scope.checkWait("connect");
    Runnable wake = () -> outcomes.add(new Outcome(null, null, null));
    scope.begin(wake);
    try {
      long nanos = scope.until() - System.nanoTime();
      var outcome =
          outcomes.poll(
              more ? Math.min(nanos, Nanos.of(dialer.headStart())) : nanos, TimeUnit.NANOSECONDS);
      if (outcome == null || outcome.address == null) {
        scope.checkWait("connect");
      }
      return outcome;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    } finally {
      scope.end(wake);
    }
  }

  private void end() {
    attempts.cancel();
    synchronized (this) {
      over = true;
    }
    for (var outcome : outcomes) {
      if (outcome.connection != null) {
        outcome.connection.close();
      }
    }
  }
}
