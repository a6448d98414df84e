package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a client has said and has not had its turn. Of that which came with what is dealt with at
 * present, what is behind a place may be looked at, as may what is read {@linkplain Ahead ahead}.
 * Of the client's fiber.
 */
final class Coming {
  private static final int NOWHERE = -1;

  private @Nullable ByteBuffer came;
  private int cameTo;
  private int later = NOWHERE;

  /** What was looked at before its turn. */
  private @Nullable Ahead ahead;

  /** So much of a buffer has come. */
  void begin(ByteBuffer bytes, int to) {
    came = bytes;
    cameTo = to;
  }

  /** All of that has had its turn. */
  void end() {
    came = null;
    hides();
  }

  /** What is behind that place may be looked at. */
  void showsFrom(int place) {
    later = place;
  }

  /** Nothing may be looked at. */
  void hides() {
    later = NOWHERE;
  }

  /** Whether something was read ahead that is to have its turn. */
  boolean holds() {
    return ahead != null && ahead.holds();
  }

  /** What was read ahead comes first; else reads what there is. Below 0 at the end. */
  int takeInto(ByteBuffer bytes, Connection connection) throws IOException {
    var read = ahead;
    if (read != null && read.holds()) {
      return read.moveTo(bytes);
    }
    if (read != null && !read.hasEarly()) {
      ahead = null;
    }
    return connection.tryRead(bytes);
  }

  /** Whether more may be looked at. */
  boolean mayShow() {
    return later != NOWHERE && (ahead == null || ahead.mayRead());
  }

  /** Those that may be carried out before their turn. */
  List<Ahead.Early> early() {
    return ahead().find(Objects.requireNonNull(came), later, cameTo);
  }

  /** One of them was. */
  void add(Expected.Kept reply) {
    ahead().add(reply);
  }

  /** Reads what there is ahead of its turn. */
  void read(Connection connection) throws IOException {
    ahead().read(connection);
  }

  private Ahead ahead() {
    var present = ahead == null ? new Ahead() : ahead;
    ahead = present;
    return present;
  }

  /** Whether the next request that could be was carried out before its turn. */
  boolean hasEarly() {
    return ahead != null && ahead.hasEarly();
  }

  /** The reply to it. */
  Expected.Kept takeEarly() {
    return ahead().takeEarly();
  }
}
