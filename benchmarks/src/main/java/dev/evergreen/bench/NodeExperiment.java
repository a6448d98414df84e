package dev.evergreen.bench;

import java.util.List;

/** Variants that are measured in turns over several processes, and what is said about them. */
interface NodeExperiment {

  /** The name by which {@code --only} chooses it. */
  String name();

  /** What the measuring process is in the cluster that is measured. */
  BenchCluster.Role role();

  /**
   * Measures. Blocks for about as long as {@code effort} allows.
   *
   * @return the lines of the report
   */
  List<Line> measure(BenchCluster cluster, Effort effort) throws Exception;
}
