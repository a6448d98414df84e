package dev.evergreen.server;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * The file that the variable MEMCACHED_PORT_FILENAME names, in memcached's form: test suites, of
 * memcached and of its clients, start a server at any free port and read there which one it is.
 */
final class PortFile {
  private PortFile() {}

  /** Writes the ports, all at once, if a file is named. */
  static void write(List<SocketAddress> addresses) throws IOException {
    var name = System.getenv("MEMCACHED_PORT_FILENAME");
    if (name == null) {
      return;
    }
    var begun = Path.of(name + ".lck");
    Files.write(begun, addresses.stream().flatMap(PortFile::line).toList());
    Files.move(begun, Path.of(name), StandardCopyOption.ATOMIC_MOVE);
  }

  /** None for a UNIX socket. */
  private static Stream<String> line(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? Stream.of(
            (inet.getAddress() instanceof Inet6Address ? "TCP INET6: " : "TCP INET: ")
                + inet.getPort())
        : Stream.of();
  }
}
