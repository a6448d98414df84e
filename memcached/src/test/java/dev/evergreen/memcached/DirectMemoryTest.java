package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Fibers.Mode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers that have little memory for buffers, in JVMs of their own. */
@Timeout(120)
class DirectMemoryTest {

  /** Seen: the memory was gone before any was slow, and all who asked for something were closed. */
  @ParameterizedTest
  @EnumSource
  void manyThatPipelineAndDoNotReadTakeNoMemoryFromOthers(Mode mode) throws Exception {
    assertEquals("all was read\n", run(Deaf.class, mode));
  }

  /** Seen: each kept a buffer with the rest of its requests while others had their turns. */
  @ParameterizedTest
  @EnumSource
  void manyThatPipelineAndReadAreAllServed(Mode mode) throws Exception {
    assertEquals("all was read\n", run(Busy.class, mode));
  }

  private static String run(Class<?> main, Mode mode) throws Exception {
    var command = new ArrayList<String>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(List.of("--add-opens", "java.base/java.lang=ALL-UNNAMED"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-Xmx200m"));
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=32m", "-cp"));
    command.addAll(List.of(System.getProperty("java.class.path"), main.getName()));
    command.add(mode.name());
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, process.waitFor(), output);
      return output;
    } finally {
      process.destroyForcibly();
    }
  }

  /** Twice as many clients as there is memory for do not read; then one does. */
  static final class Deaf {
    private static final int CLIENTS = 500;
    private static final int COMMANDS = 5_000;

    private Deaf() {}

    public static void main(String[] arguments) throws Exception {
      var settings =
          TestServer.settings(Mode.valueOf(arguments[0]))
              .withWriteTimeout(Duration.ofHours(1))
              .withGrace(Duration.ofSeconds(2));
      try (var server = TestServer.start(settings);
          var reader = server.connect()) {
        reader.exchange("set k 0 0 7000\r\n" + "x".repeat(7000) + "\r\n");
        var deaf = new ArrayList<Client>();
        for (int i = 0; i < CLIENTS; i++) {
          deaf.add(server.connectWithSmallBuffer());
          deaf.getLast().send("get k\r\n".repeat(COMMANDS));
        }
        reader.send("get k\r\n".repeat(COMMANDS));
        var expected = "VALUE k 0 7000\r\n" + "x".repeat(7000) + "\r\nEND\r\n";
        for (int i = 0; i < COMMANDS; i++) {
          if (!reader.read(expected.length()).equals(expected)) {
            throw new AssertionError("reply " + i);
          }
        }
        System.out.println("all was read");
        for (var client : deaf) {
          client.close();
        }
      }
    }
  }

  /** More clients than there is memory for send a buffer full of requests each. */
  static final class Busy {
    private static final int CLIENTS = 700;
    private static final int COMMANDS = 9_000;

    private Busy() {}

    public static void main(String[] arguments) throws Exception {
      var settings = TestServer.settings(Mode.valueOf(arguments[0])).withProcessors(1);
      try (var server = TestServer.start(settings)) {
        var clients = new ArrayList<Client>();
        for (int i = 0; i < CLIENTS; i++) {
          clients.add(server.connect());
        }
        while (server.server().limit.served() < CLIENTS) {
          Thread.sleep(1);
        }
        // All have sent theirs before the first of them is served.
        var sent = new CountDownLatch(1);
        server.server().spawn(() -> hold(sent));
        for (var client : clients) {
          client.send("get k\r\n".repeat(COMMANDS));
        }
        sent.countDown();
        var expected = "END\r\n".repeat(COMMANDS);
        for (var client : clients) {
          if (!client.read(expected.length()).equals(expected)) {
            throw new AssertionError("other replies");
          }
        }
        System.out.println("all was read");
      }
    }

    private static void hold(CountDownLatch sent) {
      while (sent.getCount() > 0) {
        Thread.onSpinWait();
      }
    }
  }
}
