package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.ClusterNode;
import java.io.PrintWriter;
import java.io.StringWriter;
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
  void thePortMustBeGiven() {
    var said = say("node", "members");
    assertEquals(2, said.status());
    assertTrue(said.err().contains("--operator-port"), said::toString);
  }
}
