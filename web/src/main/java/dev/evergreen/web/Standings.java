package dev.evergreen.web;

import dev.evergreen.core.Computation;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the callers of live connections still are who they were when they were authenticated. A
 * caller's standing is followed once, however many connections it has. Where it cannot be found out
 * for too long, nobody knows whether it was withdrawn, so the connections end: those of each caller
 * at another time, as many callers are in doubt together, and all come back.
 */
final class Standings {

  private static final Duration LONG = Duration.ofDays(1);

  private final Node node;
  private final Authenticator authenticator;
  private final long doubtNanos;

  /** From 0 to 1. */
  private final DoubleSupplier random;

  /** Guarded by this object's lock, as are their users. */
  private final Map<Caller, Standing> standings = new HashMap<>();

  Standings(Node node, Authenticator authenticator, WebSettings settings, DoubleSupplier random) {
    this.node = node;
    this.authenticator = authenticator;
    this.doubtNanos = settings.callerDoubtFor().toNanos();
    this.random = random;
  }

  /** When a caller that is in doubt from now on is lost. */
  private long doubtedUntil() {
    return System.nanoTime() + (long) (doubtNanos * (3 + random.getAsDouble()) / 4);
  }

  /** How the caller is found as it is now; throws whatever the application does. */
  Optional<Computation<Caller>> of(Caller caller) {
    return authenticator.standing(caller);
  }

  /**
   * The standing of this caller, for a live connection; given back by {@link Standing#leave}.
   *
   * @param now as {@link #of} gave it
   */
  Standing enter(Caller caller, Optional<Computation<Caller>> now) {
    Standing standing;
    boolean first;
    synchronized (this) {
      standing =
          standings.compute(
              caller, (c, known) -> known == null || known.lost ? new Standing(c) : known);
      standing.users++;
      first = standing.users == 1;
    }
    if (first) {
      try {
        now.ifPresent(standing::start);
      } catch (RuntimeException | Error e) {
        // Nobody follows it, also for those who have entered meanwhile.
        left(standing);
        standing.lose(Duration.ZERO);
        throw e;
      }
    }
    return standing;
  }

  /** Whether nobody uses it any more. */
  private synchronized boolean left(Standing standing) {
    standing.users--;
    if (standing.users == 0) {
      standings.remove(standing.caller, standing);
    }
    return standing.users == 0;
  }

  synchronized int size() {
    return standings.size();
  }

  /** One caller's. */
  final class Standing {

    final Caller caller;
    private final Set<LiveConnection> connections = ConcurrentHashMap.newKeySet();
    private volatile boolean lost;
    private volatile boolean closed;
    private volatile @Nullable ReactiveComputation<Caller> running;

    /** Guarded by the lock of all. */
    private int users;

    private Standing(Caller caller) {
      this.caller = caller;
    }

    private void start(Computation<Caller> now) {
      Thread.ofVirtual().name("caller").start(() -> follow(now));
    }

    /** Whether the caller is somebody else by now, or its session's time is over. */
    boolean isOver() {
      return lost
          || caller
              .session()
              .map(session -> !Instant.now().isBefore(session.until()))
              .orElse(false);
    }

    /** Has the connection told when this is over; it may be so already. */
    void watch(LiveConnection connection) {
      connections.add(connection);
      if (lost) {
        connection.callerIsGone(Duration.ZERO);
      }
    }

    /** Idempotent. */
    void leave(LiveConnection connection) {
      if (connections.remove(connection) && left(this)) {
        closed = true;
        var computation = running;
        if (computation != null) {
          computation.close();
        }
      }
    }

    /** Until nobody has a connection any more; else it is lost then, as nobody follows it. */
    private void follow(Computation<Caller> now) {
      try (var computation = node.reactive(now);
          var tracker = computation.tracker()) {
        running = computation;
        boolean sure = false;
        long deadline = doubtedUntil(); // It was authenticated just now.
        while (!closed && !lost) {
          long left = Math.max(0, deadline - System.nanoTime());
          var seen = tracker.observe(sure ? LONG : Duration.ofNanos(left));
          boolean before = sure;
          sure = seen.map(this::isSure).orElse(before);
          if (before && !sure) {
            deadline = doubtedUntil();
          } else if (!sure && System.nanoTime() - deadline >= 0) {
            return;
          }
        }
      } catch (ComputationClosedException | NodeStoppedException e) {
        // Nothing is wrong with it.
      } finally {
        lose(WebServer.RETRY_AFTER);
      }
    }

    /** Whether it is known to be who it was; lost if it is known to be somebody else. */
    private boolean isSure(Snapshot<Caller> seen) {
      if (!(seen.result() instanceof Result.Value<Caller>(var present))) {
        return false;
      }
      if (!caller.equals(present)) {
        lose(Duration.ZERO);
      }
      return seen.freshness() == Freshness.CURRENT;
    }

    private void lose(Duration retryAfter) {
      lost = true;
      connections.forEach(connection -> connection.callerIsGone(retryAfter));
    }
  }
}
