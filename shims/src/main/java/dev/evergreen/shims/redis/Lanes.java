package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Fibers;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The upstreams that clients share: one for each user and version of the protocol. Only who has
 * given the password that it was made with joins one: so a client that the shim took for a user
 * whom it is not would be let in by Redis alone. Each is made by a fiber of its own, so that no
 * client is needed for what others wait for, and holds up only those who need it.
 */
final class Lanes {
  private final Fibers fibers;
  private final Opener opener;
  private final Consumer<Lane> ended;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.

  /** Those to be joined. */
  private final Map<Identity, Lane> lanes = new HashMap<>();

  /** Those to be joined no more, which clients may have. */
  private final Set<Lane> retired = new HashSet<>();

  /** Those that are read, also if they were left. */
  private final Set<Lane> all = new HashSet<>();

  /** Those that are to be waited for. */
  private final Map<Identity, Making> makings = new HashMap<>();

  /** Makes the connection of a lane. */
  interface Opener {
    /**
     * Blocks until it is made.
     *
     * @return null if Redis does not take who the identity says to be
     */
    @Nullable Lane open(Identity identity) throws IOException;
  }

  /** How somebody waits who needs a lane. */
  interface Waiter {
    /**
     * Waits until something is so; is unparked then.
     *
     * @throws IOException if it is not worth waiting any more
     */
    void await(BooleanSupplier over) throws IOException;
  }

  /** That a lane is being made. */
  private static final class Making {
    final Identity identity;
    final Set<Thread> waiting = ConcurrentHashMap.newKeySet();

    // Written before it is over.
    @Nullable Lane lane;
    @Nullable Throwable failure;

    private volatile boolean over;

    Making(Identity identity) {
      this.identity = identity;
    }

    void end(@Nullable Lane made, @Nullable Throwable why) {
      lane = made;
      failure = why;
      over = true;
      waiting.forEach(LockSupport::unpark);
    }

    void await(Waiter waiter) throws IOException {
      waiting.add(Thread.currentThread());
      try {
        waiter.await(() -> over);
      } finally {
        waiting.remove(Thread.currentThread());
      }
      var why = failure;
      if (why instanceof Exchange.RefusedException refused) {
        throw refused;
      }
      if (why != null) {
        throw new IOException("Redis cannot be reached: " + why.getMessage(), why);
      }
    }
  }

  /**
   * None yet.
   *
   * @param fibers where they are made and read
   * @param ended learns that one has ended
   */
  Lanes(Fibers fibers, Opener opener, Consumer<Lane> ended) {
    this.fibers = fibers;
    this.opener = opener;
    this.ended = ended;
  }

  /**
   * The lane of an identity, which is made if there is none; one that does not answer is left to
   * itself, and another one made.
   *
   * @return null if Redis does not take who the identity says to be
   */
  @Nullable Lane join(Identity wanted, Waiter waiter) throws IOException {
    Making making;
    lock.lock();
    try {
      var present = present(wanted);
      if (present != null) {
        return present;
      }
      making = makings.computeIfAbsent(wanted, this::begin);
    } finally {
      lock.unlock();
    }
    making.await(waiter);
    return making.lane;
  }

  /** The one that is there, if it is of use. */
  private @Nullable Lane present(Identity identity) {
    var present = lanes.get(identity);
    if (present == null || (!present.ended() && present.isFit())) {
      return present;
    }
    lanes.remove(identity);
    present.leave();
    fibers.spawn(present::tellLeft);
    return null;
  }

  private Making begin(Identity identity) {
    var making = new Making(identity);
    fibers.spawn(() -> make(making));
    return making;
  }

  private void make(Making making) {
    Lane lane;
    try {
      lane = opener.open(making.identity);
    } catch (IOException e) {
      end(making, null, e);
      return;
    } catch (RuntimeException | Error e) {
      // Also if memory is wanting: else all who need the same would wait for ever.
      end(making, null, e);
      throw e;
    }
    end(making, lane, null);
    if (lane != null) {
      try {
        lane.read();
      } finally {
        forget(lane);
        ended.accept(lane);
      }
    }
  }

  private void forget(Lane lane) {
    lock.lock();
    try {
      all.remove(lane);
    } finally {
      lock.unlock();
    }
  }

  /** Ends all that there are: they do not lead to the store any more. */
  void endAll() {
    List<Lane> present;
    lock.lock();
    try {
      present = List.copyOf(all);
    } finally {
      lock.unlock();
    }
    present.forEach(Lane::close);
  }

  private void end(Making making, @Nullable Lane lane, @Nullable Throwable failure) {
    lock.lock();
    try {
      boolean wanted = makings.remove(making.identity, making);
      if (lane != null && wanted) {
        // Else there would be more and more where each client has a password of its own.
        retire(making.identity::isOfSameUser);
        lanes.put(making.identity, lane);
      } else if (lane != null) {
        retired.add(lane);
      }
      if (lane != null) {
        all.add(lane);
      }
    } finally {
      lock.unlock();
    }
    making.end(lane, failure);
  }

  /**
   * Who may do what without a password may have changed: clients that come from now on get another
   * lane, whereas those that are there are known to Redis as they were.
   */
  void renewThoseOfNobody() {
    lock.lock();
    try {
      Predicate<Identity> ofNobody = identity -> identity.user() == null;
      retire(ofNobody);
      makings.keySet().removeIf(ofNobody);
    } finally {
      lock.unlock();
    }
  }

  private void retire(Predicate<Identity> which) {
    lanes.entrySet().removeIf(each -> which.test(each.getKey()) && retired.add(each.getValue()));
  }

  /** Ends those that are to be joined no more and that no client has. */
  void endRetired(Predicate<Lane> isUsed) {
    List<Lane> unused;
    lock.lock();
    try {
      unused = retired.stream().filter(isUsed.negate()).toList();
      retired.removeAll(unused);
    } finally {
      lock.unlock();
    }
    // Who has been given one just now finds that it was left, and joins another.
    unused.forEach(Lane::retire);
  }
}
