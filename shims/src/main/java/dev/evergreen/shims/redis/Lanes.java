package dev.evergreen.shims.redis;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The upstreams that clients share: one for each user and version of the protocol. */
final class Lanes {
  private final RedisShim shim;
  private final ReentrantLock lock = new ReentrantLock();

  /** Those to be joined. Guarded by the lock. */
  private final Map<Identity.Key, Lane> lanes = new HashMap<>();

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
    lock.lock();
    try {
      var present = lanes.get(wanted.key());
      if (present != null && !present.ended() && present.isFit()) {
        return present;
      }
      if (present != null) {
        present.leave();
        shim.fibers.spawn(present::tellLeft);
      }
      var made = open(wanted);
      if (made != null) {
        lanes.put(wanted.key(), made);
        shim.fibers.spawn(
            () -> {
              try {
                made.read();
              } finally {
                shim.ended(made);
              }
            });
      }
      return made;
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
          shim::patienceNanos);
    } catch (IOException | RuntimeException e) {
      connection.close();
      throw e;
    }
  }
}
