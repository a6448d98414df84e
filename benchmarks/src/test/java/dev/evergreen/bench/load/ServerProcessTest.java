package dev.evergreen.bench.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.bench.load.ServerProcess.Plan;
import dev.evergreen.bench.load.ServerProcess.Probe;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Servers as children, by the one that every JDK has. */
class ServerProcessTest {

  private static Plan files() {
    var program = System.getProperty("java.home") + "/bin/jwebserver";
    return Plan.of(
        "files", List.of(program, "-b", "127.0.0.1", "-p", ServerProcess.PORT), Probe.HTTP);
  }

  @Test
  void aServerIsThereUntilItIsClosed() throws Exception {
    int port = Programs.freePort();
    var server = files().at(port).start();
    try (server) {
      assertEquals(port, server.port());
      assertTrue(server.process().isAlive());
      assertTrue(server.processorMicros() > 0);
    }
    assertFalse(server.process().isAlive());
  }

  @Test
  void onceClosedAPausedOneIsGoneToo() throws Exception {
    var server = files().start();
    server.pause();
    server.close();
    assertFalse(server.process().isAlive());
  }

  @Test
  void oneThatEndsHasNotStarted() {
    var refused =
        assertThrows(
            IOException.class, () -> Plan.of("none", List.of("false"), Probe.CONNECTION).start());
    assertEquals("the server none did not start", refused.getMessage());
  }

  @Test
  void aProgramOutsideOfThePathIsFound() throws Exception {
    assertTrue(Programs.has("sh"));
    assertFalse(Programs.has("no-such-program"));
    assertEquals("no-such-program", Programs.path("no-such-program"));
    assertEquals("./evergreen", Programs.path("./evergreen"));
    assertEquals("hello\n", Programs.run(List.of("echo", "hello")));
    assertThrows(IOException.class, () -> Programs.run(List.of("false")));
  }
}
