package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Tunnel;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Passes bytes both ways between two connections that have left HTTP. */
final class Relays {

  private Relays() {}

  /**
   * Passes them until both sides have ended theirs; if one fails the other is ended, too. Blocks
   * until then.
   */
  static void run(Fibers fibers, Tunnel client, Tunnel origin) {
    var scope = CancelScope.open();
    var other = fibers.spawn(() -> copy(client.in(), origin.out(), scope));
    copy(origin.in(), client.out(), scope);
    try {
      other.join();
    } catch (InterruptedException e) {
      scope.cancel();
      Thread.currentThread().interrupt();
    }
  }

  private static void copy(BodyReader from, BodyWriter into, CancelScope scope) {
    try {
      scope.run(
          () -> {
            var piece = ByteBuffer.allocate(16 << 10);
            while (from.read(piece) >= 0) {
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
}
