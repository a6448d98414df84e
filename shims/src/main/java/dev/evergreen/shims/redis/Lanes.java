package dev.evergreen.shims.redis;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The upstreams that clients share: one for each user and version of the protocol. Who makes one
 * holds up only those who need the same.
 */
final class Lanes {
  private final RedisShim shim;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Condition made = lock.newCondition();

  /** Those to be joined. */
  private final Map<Identity.Key, Lane> lanes = new HashMap<>();

  /** Those that are to be waited for. */
  private final Map<Identity.Key, Making> makings = new HashMap<>();

  /** That somebody makes a lane, for others, too. */
  private static final class Making {
    final Identity identity;

    // Guarded by the lock.
    boolean over;
    @Nullable Lane lane;
    @Nullable Throwable failure;

    Making(Identity identity) {
      this.identity = identity;
    }
  }

  Lanes(RedisShim shim) {
    this.shim = shim;
  }

  /**
   * The lane of an identity, which is made if there is none; one that does not answer is left to
   * itself, and another one made.
   *
   * @return null if Redis does not take who the identity says to be
   */
  @Nullable Lane join(Identity wanted) throws IOException {
    while (true) {
      Making mine;
      lock.lock();
      try {
        var present = present(wanted.key());
        if (present != null) {
          return present;
        }
        var other = makings.get(wanted.key());
        if (other != null) {
          await(other);
          if (other.lane != null || other.identity.equals(wanted)) {
            return other.lane;
          }
          // Somebody of this name was refused, with another password.
          continue;
        }
        mine = new Making(wanted);
        makings.put(wanted.key(), mine);
      } finally {
        lock.unlock();
      }
      return make(mine);
    }
  }

  /** The one that is there, if it is of use. */
  private @Nullable Lane present(Identity.Key key) {
    var present = lanes.get(key);
    if (present == null || (!present.ended() && present.isFit())) {
      return present;
    }
    lanes.remove(key);
    present.leave();
    shim.fibers.spawn(present::tellLeft);
    return null;
  }

  private void await(Making making) throws IOException {
    try {
      while (!making.over) {
        made.await();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the shim ends");
    }
    var failure = making.failure;
    if (failure != null) {
      throw new IOException("Redis cannot be reached: " + failure.getMessage(), failure);
    }
  }

  private @Nullable Lane make(Making making) throws IOException {
    try {
      var lane = open(making.identity);
      end(making, lane, null);
      if (lane != null) {
        shim.fibers.spawn(
            () -> {
              try {
                lane.read();
              } finally {
                shim.ended(lane);
              }
            });
      }
      return lane;
    } catch (IOException | RuntimeException | Error e) {
      // Also if memory is wanting: else all who need the same would wait for ever.
      end(making, null, e);
      throw e;
    }
  }

  private void end(Making making, @Nullable Lane lane, @Nullable Throwable failure) {
    lock.lock();
    try {
      making.over = true;
      making.lane = lane;
      making.failure = failure;
      boolean wanted = makings.remove(making.identity.key(), making);
      if (wanted && lane != null) {
        lanes.put(making.identity.key(), lane);
      }
      made.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Who may do what without a password may have changed: clients that come from now on get another
   * lane, whereas those that are there are known to Redis as they were.
   */
  void renewThoseOfNobody() {
    lock.lock();
    try {
      lanes.keySet().removeIf(key -> key.user() == null);
      makings.keySet().removeIf(key -> key.user() == null);
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Lane open(Identity identity) throws IOException {
    var connection = shim.connect();
    try {
      var requests = new ArrayList<>(identity.introduction());
      requests.add(Identity.request("PING"));
      var replies = Exchange.ask(connection, requests);
      var pong = replies.removeLast();
      if (replies.stream().anyMatch(Exchange.Reply::isError)) {
        connection.close();
        return null;
      }
      return new Lane(
          connection,
          pong.text().startsWith("-NOAUTH"),
          "shared by " + identity,
          shim.tape,
          shim::patienceNanos,
          shim.fibers);
    } catch (IOException | RuntimeException | Error e) {
      connection.close();
      throw e;
    }
  }
}
