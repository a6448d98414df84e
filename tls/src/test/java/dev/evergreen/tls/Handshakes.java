package dev.evergreen.tls;

import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSession;

/** Lets two engines talk to each other in memory. */
final class Handshakes {

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private Handshakes() {}

  /** What the client knows of the server, and the server of the client. */
  record Both(SSLSession ofServer, SSLSession ofClient) {}

  /**
   * Shakes hands, and has the client hear a byte of the server, before which it does not know that
   * its certificate was taken.
   *
   * @throws SSLException if one refuses the other
   */
  static Both shake(SSLEngine client, SSLEngine server) throws SSLException {
    var toServer = ByteBuffer.allocate(64 << 10);
    var toClient = ByteBuffer.allocate(64 << 10);
    boolean heard = false;
    for (int i = 0; !heard && i < 100; i++) {
      step(client, toServer, toClient);
      step(server, toClient, toServer);
      if (isDone(client) && isDone(server)) {
        server.wrap(ByteBuffer.wrap(new byte[1]), toClient);
        heard = isHeard(client, toClient);
      }
    }
    if (!heard) {
      throw new SSLException("the handshake does not come to an end");
    }
    return new Both(client.getSession(), server.getSession());
  }

  private static boolean isDone(SSLEngine engine) {
    return engine.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING;
  }

  private static boolean isHeard(SSLEngine engine, ByteBuffer in) throws SSLException {
    var plain = ByteBuffer.allocate(64 << 10);
    in.flip();
    while (in.hasRemaining() && plain.position() == 0) {
      engine.unwrap(in, plain);
    }
    in.compact();
    return plain.position() > 0;
  }

  private static void step(SSLEngine engine, ByteBuffer out, ByteBuffer in) throws SSLException {
    switch (engine.getHandshakeStatus()) {
      case NEED_TASK -> {
        for (var task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
          task.run();
        }
      }
      case NEED_WRAP -> engine.wrap(NOTHING, out);
      default -> {
        in.flip();
        engine.unwrap(in, ByteBuffer.allocate(64 << 10));
        in.compact();
      }
    }
  }
}
