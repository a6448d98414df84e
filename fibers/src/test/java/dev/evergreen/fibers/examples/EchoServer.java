package dev.evergreen.fibers.examples;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import java.io.IOException;
import java.net.InetSocketAddress;

/** Sends back what it receives. */
public final class EchoServer {

  private EchoServer() {}

  /** Serves at the port that is given. */
  public static void main(String[] arguments) throws IOException {
    try (var fibers = Fibers.builder().name("echo").start();
        var listener = fibers.listen(new InetSocketAddress(Integer.parseInt(arguments[0])))) {
      System.out.println("listening at " + listener.address());
      listener.serve(EchoServer::echo);
    }
  }

  /** One connection, from the first byte to the last; it is closed when this returns or throws. */
  static void echo(Connection connection) throws IOException {
    while (true) {
      // No buffer is held while nothing comes.
      connection.awaitInput();
      try (var loan = Buffers.borrow()) {
        if (connection.tryRead(loan.buffer()) < 0) {
          return;
        }
        connection.write(loan.buffer().flip());
      }
    }
  }
}
