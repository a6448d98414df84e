package dev.evergreen.web;

import dev.evergreen.core.Computation;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Node;
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
import org.jspecify.annotations.Nullable;

/**
 * Whether the callers of live connections still are who they were when they were authenticated. A
 * caller's standing is followed once, however many connections it has. Where it cannot be found out
 * for too long, nobody knows whether it was withdrawn, so the connections end.
 */
final class Standings {

  private static final Duration LONG = Duration.ofDays(1);

  private final Node node;
  private final Authenticator authenticator;
  private final long doubtNanos;

  /** Guarded by this object's lock, as are their users. */
  private final Map<Caller, Standing> standings = new HashMap<>();

  Standings(Node node, Authenticator authenticator, WebSettings settings) {
    this.node = node;
    this.authenticator = authenticator;
    this.doubtNanos = settings.callerDoubtFor().toNanos();
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
        standing.lose();
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
        connection.callerIsGone();
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

    private void follow(Computation<Caller> now) {
      try (var computation = node.reactive(now);
          var tracker = computation.tracker()) {
        running = computation;
        boolean sure = false;
        long deadline = System.nanoTime() + doubtNanos; // It was authenticated just now.
        while (!closed && !lost) {
          long left = Math.max(0, deadline - System.nanoTime());
          var seen = tracker.observe(sure ? LONG : Duration.ofNanos(left));
          boolean before = sure;
          sure = seen.map(this::isSure).orElse(before);
          if (before && !sure) {
            deadline = System.nanoTime() + doubtNanos;
          } else if (!sure && System.nanoTime() - deadline >= 0) {
            lose();
          }
        }
      } catch (GrainException e) {
        // Nobody has a connection any more, or the node stops, and with it the connections.
      } catch (RuntimeException | Error e) {
        lose(); // Nobody follows it any more.
        throw e;
      }
    }

    /** Whether it is known to be who it was; lost if it is known to be somebody else. */
    private boolean isSure(Snapshot<Caller> seen) {
      if (!(seen.result() instanceof Result.Value<Caller>(var present))) {
        return false;
      }
      if (!caller.equals(present)) {
        lose();
      }
      return seen.freshness() == Freshness.CURRENT;
    }

    private void lose() {
      lost = true;
      connections.forEach(LiveConnection::callerIsGone);
    }
  }
}
