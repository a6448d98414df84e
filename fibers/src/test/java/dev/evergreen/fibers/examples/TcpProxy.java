package dev.evergreen.fibers.examples;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.ConnectionLimit;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.tls.ClientTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Optional;

/** Passes connections on to a host, with TLS if the PEM file of an authority is given. */
public final class TcpProxy {

  private final Fibers fibers;
  private final String host;
  private final int port;
  private final Optional<ClientTls> tls;

  TcpProxy(Fibers fibers, String host, int port, Optional<ClientTls> tls) {
    this.fibers = fibers;
    this.host = host;
    this.port = port;
    this.tls = tls;
  }

  /** Arguments: the port to listen at, the host and port to pass on to, and maybe a PEM file. */
  public static void main(String[] arguments) throws IOException, GeneralSecurityException {
    var tls =
        arguments.length > 3
            ? Optional.of(ClientTls.trusting(Path.of(arguments[3])))
            : Optional.<ClientTls>empty();
    try (var fibers = Fibers.builder().name("proxy").start();
        var listener = fibers.listen(new InetSocketAddress(Integer.parseInt(arguments[0])))) {
      var proxy = new TcpProxy(fibers, arguments[1], Integer.parseInt(arguments[2]), tls);
      System.out.println("listening at " + listener.address());
      Runtime.getRuntime()
          .addShutdownHook(new Thread(() -> listener.drain(Duration.ofSeconds(10))));
      listener.serve(proxy::pass, new ConnectionLimit(10_000), _ -> {});
    }
  }

  /**
   * The fiber of the client's connection passes its bytes on, a second one those that come back.
   */
  void pass(Connection client) throws IOException {
    try (var upstream = connect()) {
      var back = fibers.spawn(() -> copyOrReset(upstream, client));
      copyOrReset(client, upstream);
      back.join();
    } catch (InterruptedException e) {
      client.reset();
    }
  }

  private Connection connect() throws IOException {
    var raw = Dialer.of(fibers).dial(host, port);
    return tls.isEmpty() ? raw : raw.overTls(tls.get().engine(host, port), Duration.ofSeconds(10));
  }

  private static void copyOrReset(Connection from, Connection to) {
    try {
      copy(from, to);
    } catch (IOException e) {
      // Neither side shall take a failure for an end.
      from.reset();
      to.reset();
    }
  }

  private static void copy(Connection from, Connection to) throws IOException {
    int n = 0;
    while (n >= 0) {
      from.awaitInput();
      try (var loan = Buffers.borrow()) {
        n = from.tryRead(loan.buffer());
        to.write(loan.buffer().flip());
      }
    }
    to.shutdownOutput();
  }
}
