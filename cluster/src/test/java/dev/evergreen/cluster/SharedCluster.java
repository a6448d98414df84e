package dev.evergreen.cluster;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Three processes that the tests of a class use one after the other, as the start of a cluster is
 * most of what such a test costs. Each test begins with all three, started again where the last one
 * has ended some. After a test that fails the next one begins with others.
 */
final class SharedCluster implements AfterAllCallback {

  static final String[] NAMES = {"n1", "n2", "n3"};

  private final boolean inNamespaces;
  private List<String> options = List.of();
  private @Nullable Namespaces network;
  private @Nullable Processes cluster;

  private SharedCluster(boolean inNamespaces) {
    this.inNamespaces = inNamespaces;
  }

  static SharedCluster onThisMachine() {
    return new SharedCluster(false);
  }

  /** Each in a network namespace of its own; without these its tests are skipped. */
  static SharedCluster inNamespaces() {
    return new SharedCluster(true);
  }

  /** What a test does with it. It leaves no wire cut, and nobody who writes. */
  interface Trial {
    void run(Processes cluster) throws Exception;
  }

  /** Runs a test with processes of these options: those of the last test, if they were the same. */
  void with(List<String> wanted, Trial trial) throws Exception {
    if (!wanted.equals(options)) {
      close();
      options = wanted;
    }
    boolean whole = false;
    try {
      var used = cluster == null ? begin() : cluster;
      used.startWhoeverIsMissing();
      trial.run(used);
      whole = true;
    } finally {
      if (!whole) {
        close();
      }
    }
  }

  private Processes begin() throws Exception {
    var places = Map.<String, Processes.Place>of();
    if (inNamespaces) {
      network = Namespaces.orSkip(NAMES);
      places = network().places();
    }
    var begun = new Processes(options, places, NAMES);
    cluster = begun;
    return begun;
  }

  /** Whose wires a test may cut. */
  Namespaces network() {
    return Objects.requireNonNull(network);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    close();
  }

  private void close() {
    try (var _ = network;
        var _ = cluster) {
      network = null;
      cluster = null;
    }
  }
}
