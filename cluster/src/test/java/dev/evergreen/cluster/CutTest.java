package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.evergreen.cluster.Namespaces.Cut;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Processes in network namespaces, one of which is cut off; skipped where none can be made. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
@TestMethodOrder(OrderAnnotation.class)
final class CutTest {

  @RegisterExtension static final SharedCluster shared = SharedCluster.inNamespaces();

  static Stream<Arguments> wires() {
    return Stream.of(arguments(false, List.of()), arguments(true, List.of("evidence")))
        .limit(Cut.all() ? 2 : 1);
  }

  private static void assumeAll() {
    Assumptions.assumeTrue(Cut.all(), "runs with all cuts, as it takes long");
  }

  /** The third one hears both. */
  @ParameterizedTest
  @MethodSource("wires")
  void ofTwoThatDoNotHearEachOtherOneEndsAndTheOthersGoOn(boolean refused, List<String> options)
      throws Exception {
    shared.with(
        options,
        cluster -> {
          cluster.write();
          cluster.probe();
          var ended = cluster.drop("n3"); // that with the higher address
          shared.network().part("n1", "n3", refused);
          assertEquals(75, ended.exitValue());
          cluster.probe();
          shared.network().heal("n1");
          cluster.still();
          cluster.assertAllTrue();
        });
  }

  /** Pekko hears it all the time. */
  @Test
  void aNodeThatCallsDoNotReachEndsAndTheOthersGoOn() throws Exception {
    assumeAll();
    shared.with(
        List.of(),
        cluster -> {
          cluster.write();
          cluster.probe();
          var name = cluster.oldest().name();
          var unreached = cluster.drop(name);
          shared.network().silence(name, cluster.linkPorts());
          assertEquals(75, unreached.exitValue());
          cluster.probe();
          shared.network().heal(name);
          cluster.still();
          cluster.assertAllTrue();
          cluster.start(name);
          cluster.assertAllTrue();
        });
  }

  /** Each is sure of the other's death; the storage decides. */
  @Test
  void ofTwoThatGiveEachOtherUpOneGoesOn() throws Exception {
    assumeAll();
    String[] two = {"n1", "n2"};
    try (var network = Namespaces.orSkip(two);
        var cluster = new Processes(List.of("evidence"), network.places(), two)) {
      cluster.start(two);
      cluster.write();
      cluster.probe();
      network.part("n1", "n2", true);
      var ended = cluster.dropTheFirstThatEnds();
      assertEquals(75, ended.exitValue());
      cluster.probe();
      network.heal("n1");
      cluster.still();
      cluster.assertAllTrue();
    }
  }

  @Test
  void aNodeThatIsCutOffWhileItLeavesEndsAndTheOthersGoOn() throws Exception {
    assumeAll();
    shared.with(
        List.of(),
        cluster -> {
          cluster.write();
          cluster.probe();
          var leaving = cluster.drop(cluster.oldest().name());
          leaving.beginToLeave();
          shared.network().cut(leaving.name(), Cut.DROPPED);
          cluster.probe();
          leaving.exitValue();
          shared.network().heal(leaving.name());
          cluster.still();
          cluster.assertAllTrue();
        });
  }

  static Stream<Arguments> takeovers() {
    return Stream.of(
        arguments(Cut.DROPPED, List.of("pings")),
        // The others take the refusals for its end, and keep the short margin only.
        arguments(Cut.REFUSED, List.of("pings", "evidence")),
        arguments(Cut.DROPPED, List.of()));
  }

  /** It is paused, too, so that the others have taken over before it finds that it is alone. */
  @Order(1) // the others share the cluster of its last
  @ParameterizedTest
  @MethodSource("takeovers")
  void aWriteThatIsSavedWhenOthersMayHaveTakenOverIsNotAcknowledged(Cut how, List<String> options)
      throws Exception {
    shared.with(
        options,
        cluster -> {
          cluster.probe();
          var former = cluster.drop(oneThatHasLedgers(cluster));
          former.ask("hold", "held");
          former.tell("once 7");
          former.await(0, line -> line.startsWith("saving"));
          shared.network().cut(former.name(), how);
          former.signal("STOP");
          cluster.awaitReady();
          cluster.nodes().getFirst().report("fresh"); // loads what was saved so far
          former.resume();
          assertEquals(75, former.exitValue());
          shared.network().heal(former.name());
          cluster.assertAllTrue();
        });
  }

  /** All ledgers were written. */
  private static String oneThatHasLedgers(Processes cluster) {
    return cluster.nodes().stream()
        .filter(node -> !node.ask("state", "state").contains(" saves=0 "))
        .findFirst()
        .orElseThrow()
        .name();
  }

  @Test
  void aShortCutEndsNothing() throws Exception {
    shared.with(
        List.of(),
        cluster -> {
          cluster.write();
          cluster.probe();
          shared.network().cut("n3", Cut.DROPPED);
          shared.network().heal("n3");
          cluster.probe();
          cluster.still();
          cluster.assertAllTrue();
          assertEquals(3, cluster.nodes().stream().filter(NodeProcess::alive).count());
        });
  }
}
