package dev.evergreen.http;

import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Signal;
import dev.evergreen.fibers.SlowPeers;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one origin.
 *
 * <p>Each connection that there is, or is being made, has a <em>place</em>. All is guarded by the
 * pool itself, and nobody waits inside. Invariants: places are never more than the limit; somebody
 * waits only while all places are taken, no connection is kept and none by HTTP/2 has room; who
 * lets go gives what it had to the one who has waited longest.
 */
final class Pool {
  /** Who moves so many bytes a second is never too slow. */
  private static final long LEAST_RATE = 64 << 10;

  private final Origin origin;
  private final UpstreamLimits limits;
  private final Fibers fibers;

  /** Of the connections that last; null if it is that itself. */
  private final @Nullable Supplier<Pool> lasting;

  /** Those nobody uses; the last one used is taken first, so that those that are too many age. */
  private final ArrayDeque<Http1Upstream> kept = new ArrayDeque<>();

  private final ArrayDeque<Waiter> waiters = new ArrayDeque<>();

  /** Those by HTTP/2, each for many at a time. */
  private final ArrayList<Http2Upstream> shared = new ArrayList<>();

  /** Whether somebody makes a connection that others will share, so that they wait for it. */
  private boolean making;

  private final ArrayDeque<Waiter> makers = new ArrayDeque<>();

  /** What of the places those may have for whom nobody waits. */
  private static final int BACKGROUND_SHARE = 8;

  /** So often at most slow peers are looked at in the time in which each who waits does so once. */
  private static final int LOOKS = 64;

  private final Semaphore background;

  /** For whom places are taken, as long as the origin cannot answer before they have gone on. */
  private final SlowPeers slowPeers = new SlowPeers();

  private long looked = System.nanoTime();
  private int places;
  private boolean closed;
  private volatile boolean sharing;
  private volatile @Nullable IOException failure;

  Pool(Origin origin, UpstreamLimits limits, Fibers fibers, @Nullable Supplier<Pool> lasting) {
    this.origin = origin;
    this.limits = limits;
    this.fibers = fibers;
    this.lasting = lasting;
    background = new Semaphore(Math.max(1, limits.connections() / BACKGROUND_SHARE));
  }

  /** Who waits, and what it gets: its turn to make a connection, or a place, maybe with one. */
  private static final class Waiter {
    private final Signal signal;
    private boolean served;
    private @Nullable Upstream connection;

    Waiter(Fibers fibers) {
      signal = new Signal(fibers);
    }

    void serve(@Nullable Upstream given) {
      served = true;
      connection = given;
      signal.raise();
    }
  }

  /** Whether the origin speaks HTTP/2, as far as is known. */
  boolean sharing() {
    return sharing;
  }

  /** From now on the origin is known to speak HTTP/2, or not to. */
  void sharing(boolean now) {
    sharing = now;
  }

  /**
   * Waits until nobody else makes a connection.
   *
   * @throws UpstreamBusyException if that takes longer than it should
   */
  void beginMaking() throws IOException {
    var waiter = new Waiter(fibers);
    synchronized (this) {
      if (!making) {
        making = true;
        return;
      }
      makers.add(waiter);
    }
    long until = System.nanoTime() + limits.patience().toNanos();
    try {
      while (!isServed(waiter)) {
        waiter.signal.await(Duration.ofNanos(until - System.nanoTime()));
      }
    } catch (IOException e) {
      if (leave(makers, waiter)) {
        endMaking();
      }
      throw reason(e);
    }
  }

  synchronized void endMaking() {
    var next = makers.poll();
    making = next != null;
    if (next != null) {
      next.serve(null);
    }
  }

  /** Why the last connection that was to be shared was not made; null if none has failed. */
  @Nullable IOException failure() {
    return failure;
  }

  /** Tells those who wait, so that they do not all try it. */
  void failed(IOException why) {
    failure = why;
  }

  /** A connection by HTTP/2 that has room, which is taken; null if there is none. */
  synchronized @Nullable Http2Upstream share() {
    for (var each : shared) {
      if (each.tryTake()) {
        return each;
      }
    }
    return null;
  }

  /** The same; waits until each has said how much room it has. */
  @Nullable Http2Upstream awaitShare() throws IOException {
    while (true) {
      Http2Upstream unset;
      synchronized (this) {
        // Before room is looked for: one that has told it by then is found, not overlooked.
        unset = shared.stream().filter(Http2Upstream::isUnset).findFirst().orElse(null);
        var found = share();
        if (found != null || unset == null) {
          return found;
        }
      }
      boolean _ = unset.awaitSettings();
    }
  }

  /** A connection that has a place speaks HTTP/2. */
  void add(Http2Upstream connection) {
    boolean late;
    synchronized (this) {
      late = closed;
      shared.add(connection);
    }
    if (late) {
      connection.retire();
    }
  }

  /** A connection by HTTP/2 has ended. */
  void ended(Http2Upstream connection) {
    synchronized (this) {
      shared.remove(connection);
    }
    free();
  }

  /**
   * An exchange by HTTP/2 has come to its end, or the origin has said how many it takes. Those who
   * have waited longest take the room, if the connection still takes exchanges; the caller holds no
   * lock of that.
   */
  synchronized void hasRoom(Http2Upstream connection) {
    while (!waiters.isEmpty() && connection.tryTake()) {
      waiters.remove().serve(connection);
    }
  }

  SlowPeers slowPeers() {
    return slowPeers;
  }

  Semaphore background() {
    return background;
  }

  synchronized int open() {
    return places;
  }

  /**
   * Takes a place with a connection that is alive, or one to make a connection for; or room on a
   * connection by HTTP/2, if that is what others let go.
   *
   * @param fresh whether a connection of HTTP/1.1 that is kept will not do
   */
  @Nullable Upstream take(boolean fresh) throws IOException {
    while (true) {
      Upstream found;
      Waiter waiter = null;
      synchronized (this) {
        found = fresh ? kept.pollFirst() : kept.pollLast();
        if (found == null) {
          if (places < limits.connections()) {
            places++;
            return null;
          }
          // One may have got room since its caller has looked, when nobody waited for that.
          var roomy = share();
          if (roomy != null) {
            return roomy;
          }
          if (waiters.size() >= limits.waiters()) {
            throw new UpstreamBusyException(origin);
          }
          waiter = new Waiter(fibers);
          waiters.add(waiter);
        }
      }
      if (waiter != null) {
        found = await(waiter);
      }
      if (!(found instanceof Http1Upstream kept)) {
        return found;
      }
      if (!fresh && kept.isAlive(limits.idle())) {
        return kept;
      }
      kept.closeConnection();
      if (fresh || waiter != null) {
        return null; // It has waited for the place.
      }
      free();
    }
  }

  private @Nullable Upstream await(Waiter waiter) throws IOException {
    try {
      awaitTurn(waiter);
      return waiter.connection;
    } catch (IOException e) {
      if (leave(waiters, waiter)) {
        giveBack(waiter.connection);
      }
      throw reason(e);
    }
  }

  /** Whether who gives up was served meanwhile. */
  private synchronized boolean leave(ArrayDeque<Waiter> all, Waiter waiter) {
    all.remove(waiter);
    return waiter.served;
  }

  private IOException reason(IOException why) {
    return why instanceof SocketTimeoutException ? new UpstreamBusyException(origin) : why;
  }

  /**
   * When somebody has waited in vain for a part of its patience, the slowest of those pays for whom
   * a place is taken; if it was waited for half of the patience, and for longer than its bytes take
   * at a modest rate.
   */
  private void awaitTurn(Waiter waiter) throws IOException {
    long patience = limits.patience().toNanos();
    long until = System.nanoTime() + patience;
    long look = patience / 4;
    while (!isServed(waiter)) {
      long left = until - System.nanoTime();
      try {
        waiter.signal.await(Duration.ofNanos(Math.min(left, look)));
      } catch (DeadlineException e) {
        throw e; // It has passed for every other wait, too.
      } catch (SocketTimeoutException e) {
        if (left <= look) {
          throw e;
        }
        if (!isServed(waiter) && isTimeToLook(look / LOOKS)) {
          int _ = slowPeers.hangUp(1, limits.patience().dividedBy(2), LEAST_RATE);
        }
      }
    }
  }

  /** Each look is at all slow peers, and there may be as many who wait. */
  private synchronized boolean isTimeToLook(long pause) {
    long now = System.nanoTime();
    if (now - looked < pause) {
      return false;
    }
    looked = now;
    return true;
  }

  private synchronized boolean isServed(Waiter waiter) {
    return waiter.served;
  }

  private void giveBack(@Nullable Upstream had) {
    switch (had) {
      case null -> free();
      case Http1Upstream connection -> keep(connection);
      case Http2Upstream connection -> connection.answered();
    }
  }

  /** A connection can be used again. */
  void keep(Http1Upstream connection) {
    synchronized (this) {
      if (!closed) {
        var waiter = waiters.poll();
        if (waiter == null) {
          kept.addLast(connection);
        } else {
          waiter.serve(connection);
        }
        return;
      }
    }
    connection.closeConnection();
    free();
  }

  /**
   * A connection that has a place here may leave HTTP, and would last then: takes a place for that.
   *
   * @return where it has that place, to be {@linkplain #free freed} there; this pool if that is the
   *     place which it has already
   * @throws UpstreamBusyException if there are too many that last
   */
  Pool takeLastingPlace() throws UpstreamBusyException {
    var other = lasting == null ? this : lasting.get();
    if (other != this && !other.tryTakePlace()) {
      throw new UpstreamBusyException(origin);
    }
    return other;
  }

  private synchronized boolean tryTakePlace() {
    boolean free = places < limits.connections();
    places += free ? 1 : 0;
    return free;
  }

  /** A place has no connection any more, or got none. */
  synchronized void free() {
    var waiter = waiters.poll();
    if (waiter == null) {
      places--;
    } else {
      waiter.serve(null);
    }
  }

  void sweep() {
    var gone = new ArrayList<Http1Upstream>();
    synchronized (this) {
      // Nobody else has those that are kept, so to look at them does not wait.
      kept.removeIf(connection -> !connection.isAlive(limits.idle()) && gone.add(connection));
    }
    gone.forEach(this::discard);
    ArrayList<Http2Upstream> all;
    synchronized (this) {
      all = new ArrayList<>(shared);
    }
    all.stream().filter(each -> each.isIdle(limits.idle())).forEach(Http2Upstream::retire);
  }

  private void discard(Http1Upstream connection) {
    connection.closeConnection();
    free();
  }

  /** Ends it if there are no connections, nor any to come; says whether it did. */
  synchronized boolean closeIfUnused() {
    closed |= places == 0;
    return closed;
  }

  void close() {
    ArrayList<Http1Upstream> all;
    ArrayList<Http2Upstream> many;
    synchronized (this) {
      closed = true;
      all = new ArrayList<>(kept);
      kept.clear();
      many = new ArrayList<>(shared);
    }
    all.forEach(this::discard);
    many.forEach(Http2Upstream::retire);
  }
}
