package dev.evergreen.bench.polymix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class WorkloadTest {

  /** It has nothing that it made before it was asked; a 304 of its own is told from a proxy's. */
  @Test
  void withoutAProxyAllIsAnsweredAndNothingIsAHit() throws Exception {
    try (var workload = new Workload(2, 200)) {
      workload.fill(workload.port(), 1 << 20);
      var result = workload.run("none", workload.port(), 200, 0);
      assertEquals(0, result.lost());
      assertEquals(0, result.hits());
      assertTrue(result.ofMisses() > 0);
    }
  }

  @Test
  void whatNobodyAnswersIsLost() throws Exception {
    int port;
    try (var socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }
    try (var workload = new Workload(1, 100)) {
      var result = workload.run("nobody", port, 100, 0);
      assertEquals(67, result.lost());
    }
  }
}
