package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocol.ERROR;

import dev.evergreen.memcached.TextProtocol.Step;
import java.io.IOException;

/** The commands of operators. */
final class AdminCommands {
  static final String VERSION = "1.6.40";

  private final TextProtocol protocol;

  AdminCommands(TextProtocol protocol, Session session) {
    this.protocol = protocol;
  }

  Step answer(String name) throws IOException {
    return switch (name) {
      case "version" -> protocol.reply(TextProtocol.bytes("VERSION " + VERSION));
      default -> protocol.reply(ERROR);
    };
  }
}
