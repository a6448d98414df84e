package dev.evergreen.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import org.junit.jupiter.api.Test;

final class FreePortsTest {

  private static final Path FOR_CONNECTIONS = Path.of("/proc/sys/net/ipv4/ip_local_port_range");

  @Test
  void noConnectionGetsOne() throws IOException {
    assumeTrue(Files.exists(FOR_CONNECTIONS), "this system does not say which those are");
    int first = firstForConnections();
    assumeTrue(first >= 32_768, "this system was told to give others");
    for (int port : FreePorts.next(20)) {
      assertTrue(port >= 1_024 && port < first, "" + port);
    }
  }

  /** All of it is read at once, as the system says it once only. */
  private static int firstForConnections() throws IOException {
    try (var reader = Files.newBufferedReader(FOR_CONNECTIONS)) {
      return Integer.parseInt(reader.readLine().split("\\s+", -1)[0]);
    }
  }

  /** Also when all were gone through. */
  @Test
  void eachIsAnotherAndNobodyListensThere() throws IOException {
    var taken = new ArrayList<ServerSocket>();
    try {
      var ports = FreePorts.next(20);
      for (int port : ports) {
        taken.add(new ServerSocket(port, 1, InetAddress.getLoopbackAddress()));
      }
      var all = new HashSet<Integer>();
      int port = FreePorts.next();
      while (all.add(port)) {
        assertFalse(ports.contains(port), "" + port);
        port = FreePorts.next();
      }
      assertEquals(20, new HashSet<>(ports).size());
    } finally {
      for (var socket : taken) {
        socket.close();
      }
    }
  }
}
