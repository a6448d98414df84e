package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Tunnel;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/** Passes bytes both ways between two connections that have left HTTP. */
final class Relays {

  private Relays() {}

  /**
   * Passes them until both sides have ended theirs; if one fails the other is ended, too. So it is
   * if neither has sent anything for the time that one may pause. Blocks until then.
   */
  static void run(Fibers fibers, Tunnel client, Tunnel origin) {
    var scope = CancelScope.open();
    var moved = new AtomicLong();
    var other = fibers.spawn(() -> copy(client.in(), origin.out(), moved, scope));
    copy(origin.in(), client.out(), moved, scope);
    try {
      other.join();
    } catch (InterruptedException e) {
      scope.cancel();
      Thread.currentThread().interrupt();
    }
  }

  private static void copy(BodyReader from, BodyWriter into, AtomicLong moved, CancelScope scope) {
    try {
      scope.run(
          () -> {
            var piece = ByteBuffer.allocate(16 << 10);
            for (int n = read(from, piece, moved); n >= 0; n = read(from, piece, moved)) {
              moved.addAndGet(n);
              into.write(piece.flip());
              piece.clear();
            }
            into.end();
          });
    } catch (IOException e) {
      into.abort();
      scope.cancel();
    }
  }

  /** Waits on as long as the other direction goes on. */
  private static int read(BodyReader from, ByteBuffer piece, AtomicLong moved) throws IOException {
    while (true) {
      long before = moved.get();
      try {
        return from.read(piece);
      } catch (SocketTimeoutException e) {
        if (moved.get() == before) {
          throw e;
        }
      }
    }
  }
}
