package dev.evergreen.bench;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;

/** A grain that answers a request as large as those of design §5, and does nothing else. */
interface RemoteEcho extends Grain {

  /** The bytes of a request. */
  int REQUEST = 60;

  /** The bytes of an answer. */
  int ANSWER = 100;

  byte[] echo(byte[] request);

  /** Its implementation. */
  final class RemoteEchoGrain implements RemoteEcho {
    RemoteEchoGrain(GrainContext<String> context) {}

    @Override
    public byte[] echo(byte[] request) {
      return new byte[ANSWER];
    }
  }
}
