package dev.evergreen.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.ClusterNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The command for operators, with a node. */
@Timeout(60)
class OperatorCommandTest {

  private record Said(int status, String out, String err) {}

  private static Said say(String... arguments) {
    var out = new StringWriter();
    var err = new StringWriter();
    int status =
        Main.commandLine()
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err))
            .execute(arguments);
    return new Said(status, out.toString(), err.toString());
  }

  @Test
  void membersAreShownErrorsAreToldAndTheNodeLeaves() {
    try (var node =
        ClusterNode.builder().listen("127.0.0.1", 0).memoryOfEachProcess().operator(0).start()) {
      var port = Integer.toString(node.operatorPort().orElseThrow());
      var members = say("node", "-p", port, "members");
      assertEquals(0, members.status());
      assertTrue(members.out().contains(node.self() + " up reachable hosts"), members::toString);
      var down = say("node", "-p", port, "down", "10.0.0.9:1");
      assertEquals(1, down.status());
      assertTrue(down.err().contains("'10.0.0.9:1' is no member"), down::toString);
      var drain = say("node", "-p", port, "drain");
      assertEquals(0, drain.status(), drain::toString);
      assertFalse(node.live());
      var after = say("node", "-p", port, "members");
      assertEquals(1, after.status());
      assertTrue(after.err().contains("127.0.0.1:" + port), after::toString);
    }
  }

  @Test
  void whatIsNoAddressIsNamed() {
    for (var arguments :
        List.of(
            List.of("node", "-p", "70000", "members"),
            List.of("node", "-p", "-5", "members"),
            List.of("proxy", "log", "--admin", "a b"),
            List.of("proxy", "stat", "--admin", ":9080"))) {
      var said = say(arguments.toArray(String[]::new));
      assertEquals(1, said.status(), said::toString);
      assertTrue(said.err().contains(" is no address of a "), said::toString);
    }
  }

  /** A server that goes away in the middle of an answer. */
  @Test
  void anAnswerWithoutItsEndIsAnError() throws Exception {
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var half =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (var socket = server.accept()) {
                      var in =
                          new BufferedReader(
                              new InputStreamReader(socket.getInputStream(), US_ASCII));
                      while (!in.readLine().isEmpty()) {
                        // the request
                      }
                      var answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1}\n{";
                      socket.getOutputStream().write(answer.getBytes(US_ASCII));
                    } catch (IOException e) {
                      throw new UncheckedIOException(e);
                    }
                  });
      var said = say("proxy", "log", "-f", "--admin", "127.0.0.1:" + server.getLocalPort());
      half.join();
      assertEquals(1, said.status(), said::toString);
      assertTrue(said.out().startsWith("{\"a\":1}"), said::toString);
      assertTrue(said.err().contains("did not answer"), said::toString);
    }
  }

  @Test
  void thePortMustBeGiven() {
    var said = say("node", "members");
    assertEquals(2, said.status());
    assertTrue(said.err().contains("--operator-port"), said::toString);
  }
}
