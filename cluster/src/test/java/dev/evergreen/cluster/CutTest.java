package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.evergreen.cluster.Namespaces.Cut;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Processes in network namespaces, one of which is cut off; skipped where none can be made. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
final class CutTest {

  private static final String[] NAMES = {"n1", "n2", "n3"};

  private final Path directory;

  CutTest(@TempDir Path directory) {
    this.directory = directory;
  }

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
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, options, network.places(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      cluster.probe(1);
      var ended = cluster.drop("n3"); // that with the higher address
      network.part("n1", "n3", refused);
      assertEquals(75, ended.exitValue());
      cluster.probe(2);
      network.heal("n1");
      cluster.still();
      cluster.assertAllTrue();
    }
  }

  /** Pekko hears it all the time. */
  @Test
  void aNodeThatCallsDoNotReachEndsAndTheOthersGoOn() throws Exception {
    assumeAll();
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, List.of(), network.places(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      cluster.probe(1);
      var unreached = cluster.drop("n1");
      network.silence("n1", cluster.linkPorts());
      assertEquals(75, unreached.exitValue());
      cluster.probe(2);
      network.heal("n1");
      cluster.still();
      cluster.assertAllTrue();
      cluster.start("n1");
      cluster.assertAllTrue();
    }
  }

  /** Each is sure of the other's death; the storage decides. */
  @Test
  void ofTwoThatGiveEachOtherUpOneGoesOn() throws Exception {
    assumeAll();
    String[] two = {"n1", "n2"};
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, List.of("evidence"), network.places(), two)) {
      cluster.start(two);
      cluster.write();
      cluster.probe(1);
      network.part("n1", "n2", true);
      var ended = cluster.dropTheFirstThatEnds();
      assertEquals(75, ended.exitValue());
      cluster.probe(2);
      network.heal("n1");
      cluster.still();
      cluster.assertAllTrue();
    }
  }

  @Test
  void aNodeThatIsCutOffWhileItLeavesEndsAndTheOthersGoOn() throws Exception {
    assumeAll();
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, List.of(), network.places(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      cluster.probe(1);
      var leaving = cluster.drop("n1");
      leaving.beginToLeave();
      network.cut("n1", Cut.DROPPED);
      cluster.probe(2);
      leaving.exitValue();
      network.heal("n1");
      cluster.still();
      cluster.assertAllTrue();
    }
  }

  static Stream<Arguments> takeovers() {
    return Stream.of(
        arguments(Cut.DROPPED, List.of()),
        arguments(Cut.DROPPED, List.of("pings")),
        // The others take the refusals for its end, and keep the short margin only.
        arguments(Cut.REFUSED, List.of("pings", "evidence")));
  }

  /** It is paused, too, so that the others have taken over before it finds that it is alone. */
  @ParameterizedTest
  @MethodSource("takeovers")
  void aWriteThatIsSavedWhenOthersMayHaveTakenOverIsNotAcknowledged(Cut how, List<String> options)
      throws Exception {
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, options, network.places(), NAMES)) {
      cluster.start(NAMES);
      cluster.probe(1);
      var former = cluster.drop(oneThatHasLedgers(cluster));
      former.ask("hold", "held");
      former.tell("once 7");
      former.await(0, line -> line.startsWith("saving"));
      network.cut(former.name(), how);
      former.signal("STOP");
      cluster.awaitReady();
      cluster.nodes().getFirst().report("fresh"); // loads what was saved so far
      former.resume();
      assertEquals(75, former.exitValue());
      cluster.assertAllTrue();
    }
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
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, List.of(), network.places(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      cluster.probe(1);
      network.cut("n3", Cut.DROPPED);
      network.heal("n3");
      cluster.probe(2);
      cluster.still();
      cluster.assertAllTrue();
      assertEquals(3, cluster.nodes().stream().filter(NodeProcess::alive).count());
    }
  }
}
