package dev.evergreen.cluster;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Which settings of Pekko a system property may not change: those that Evergreen's promises rest
 * on, and those that follow from the settings of the node.
 */
final class PekkoRules {

  static final String MARGIN = "pekko.cluster.down-removal-margin";

  static final String STABLE = "pekko.cluster.split-brain-resolver.stable-after";
  private static final String ALONE = "pekko.cluster.seed-node-timeout";
  private static final String DETECTOR = "pekko.cluster.failure-detector.implementation-class";
  private static final String MIN_NODES = "min-nr-of-members";
  private static final String WAITS =
      "a node takes part as soon as it is let in, and its start would wait for others";

  /**
   * What a setting must be.
   *
   * @param why what would become of the cluster otherwise
   */
  private record Rule(String key, String expected, String why) {}

  private static final List<Rule> RULES =
      List.of(
          new Rule("pekko.actor.provider", "cluster", "the node would be alone"),
          new Rule(
              "pekko.cluster.downing-provider-class",
              Downing.class.getName(),
              "nobody would decide who goes on when nodes die or the network is cut"),
          new Rule(
              "pekko.cluster.split-brain-resolver.active-strategy",
              "keep-majority",
              "writes are acknowledged by a majority, which another strategy may shut down"),
          new Rule(
              "pekko.cluster.split-brain-resolver.keep-majority.role",
              Member.HOSTS,
              "writes are acknowledged by a majority of the nodes that host grains, so they decide"),
          new Rule(
              "pekko.cluster.run-coordinated-shutdown-when-down",
              "on",
              "a node that was given up would go on"),
          new Rule("pekko.cluster." + MIN_NODES, "1", WAITS),
          new Rule(
              "pekko.cluster.split-brain-resolver.down-all-when-unstable",
              "off",
              "all nodes would be given up while some come and go"),
          new Rule(
              "pekko.cluster.configuration-compatibility-check.checkers.evergreen",
              SamePartitions.class.getName(),
              "a node with another number of partitions would be let in"),
          new Rule(
              "pekko.cluster.configuration-compatibility-check.enforce-on-join",
              "on",
              "a node with another number of partitions would be let in"),
          new Rule(
              "pekko.cluster.multi-data-center.self-data-center",
              "default",
              "each data center would decide by itself who is a member"),
          new Rule(
              "pekko.cluster.sharding.state-store-mode", "ddata", "there is no journal to keep it"),
          new Rule(
              "pekko.cluster.sharding.remember-entities", "off", "there is nothing to remember"),
          new Rule(
              "pekko.cluster.sharding.passivation.strategy",
              "none",
              "partitions would be taken from nodes that are up"),
          new Rule(
              "pekko.cluster.sharding.passivate-idle-entity-after",
              "null",
              "partitions would be taken from nodes that are up"),
          new Rule(
              "pekko.coordinated-shutdown.run-by-jvm-shutdown-hook",
              "off",
              "the node would be cut off from those that it hands its grains to"),
          new Rule(
              "pekko.jvm-shutdown-hooks",
              "off",
              "the node would be cut off from those that it hands its grains to"));

  private PekkoRules() {}

  /**
   * Looks at what Pekko is about to be started with.
   *
   * @param ours what follows from the settings
   * @throws IllegalArgumentException if something may not be so; the message names it
   */
  static void check(Config config, Config ours, ClusterSettings settings) {
    for (var entry : ours.entrySet()) {
      var key = entry.getKey();
      var expected = String.valueOf(entry.getValue().unwrapped());
      if (!key.equals(MARGIN) && !value(config, key).equals(expected)) {
        throw refusal(
            key,
            expected,
            value(config, key),
            "it follows from the settings of the node; change it by ClusterNode.builder()");
      }
    }
    for (var rule : RULES) {
      if (!same(rule.expected(), value(config, rule.key()))) {
        throw refusal(rule.key(), rule.expected(), value(config, rule.key()), rule.why());
      }
    }
    checkRoles(config);
    checkDetector(config);
    atLeast(config, MARGIN, Duration.ofNanos(1), "what a node had is others' only after it");
    atLeast(config, STABLE, Duration.ofNanos(1), "parts of a split cluster decide after it");
    atLeast(
        config,
        ALONE,
        settings.joinWithin(),
        "the first seed would begin a cluster beside one that it cannot reach");
  }

  private static void checkRoles(Config config) {
    for (Map.Entry<String, ?> role : config.getObject("pekko.cluster.role").entrySet()) {
      var key = "pekko.cluster.role." + role.getKey() + "." + MIN_NODES;
      if (config.hasPath(key) && config.getInt(key) > 1) {
        throw refusal(key, "1", value(config, key), WAITS);
      }
    }
  }

  private static void checkDetector(Config config) {
    var given = value(config, DETECTOR);
    if (!isOurs(given)) {
      throw refusal(
          DETECTOR,
          CrashDetector.class.getName(),
          given,
          "a node that calls do not reach would keep its grains");
    }
  }

  /** A class that extends ours may hear less, but believes what the links know. */
  private static boolean isOurs(String name) {
    try {
      var loader = CrashDetector.class.getClassLoader();
      return CrashDetector.class.isAssignableFrom(Class.forName(name, false, loader));
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }

  private static void atLeast(Config config, String key, Duration least, String why) {
    boolean enough;
    try {
      enough = config.getDuration(key).compareTo(least) >= 0;
    } catch (ConfigException e) {
      enough = false;
    }
    if (!enough) {
      var expected =
          least.toSeconds() == 0 ? "a time above 0" : "at least " + least.toSeconds() + " s";
      throw refusal(key, expected, value(config, key), why);
    }
  }

  private static String value(Config config, String key) {
    return config.hasPath(key) ? String.valueOf(config.getAnyRef(key)) : "null";
  }

  /** HOCON has several words for yes and no. */
  private static boolean same(String expected, String given) {
    return switch (given) {
      case "true", "yes" -> expected.equals("on");
      case "false", "no" -> expected.equals("off");
      default -> expected.equals(given);
    };
  }

  private static IllegalArgumentException refusal(
      String key, String expected, String given, String why) {
    return new IllegalArgumentException(
        "%s must be %s, but is %s: %s. Take the system property away"
            .formatted(key, expected, given, why));
  }
}
