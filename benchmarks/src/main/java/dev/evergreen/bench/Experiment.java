package dev.evergreen.bench;

import java.util.List;

/** Variants that are measured in turns, and what is said about them. */
interface Experiment {

  /** The name by which {@code --only} chooses it. */
  String name();

  /**
   * Measures. Blocks for about as long as {@code effort} allows.
   *
   * @return the lines of the report
   */
  List<Line> measure(Effort effort) throws Exception;
}
