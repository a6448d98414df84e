package dev.evergreen.core.sim;

/** What may go wrong in a run. */
enum Profile {
  /** Nothing fails and nothing moves. */
  CALM(27, false, false),
  /** Nothing fails; grains are handed off, nodes come and leave in good order. */
  MOVING(13, false, true),
  /** Messages arrive late, repeatedly and in any order, but they arrive. */
  JUMBLED(10, false, false),
  /** Messages are lost, nothing else. */
  LEAKY(8, false, false),
  /** A few messages are lost, connections break, nodes die, the storage fails at times. */
  ROUGH(18, true, true),
  /** As {@link #ROUGH}, and many messages are lost. */
  STORM(10, true, true),
  /** Nodes pause or are cut off, are given up by the others, and do not know it yet. */
  SPLIT(14, true, true);

  private final int percent;
  private final boolean faults;
  private final boolean moves;

  Profile(int percent, boolean faults, boolean moves) {
    this.percent = percent;
    this.faults = faults;
    this.moves = moves;
  }

  /** The profile of a number from 0 to 99, each with its share of them. */
  static Profile of(int number) {
    int end = 0;
    for (var profile : values()) {
      end += profile.percent;
      if (number < end) {
        return profile;
      }
    }
    throw new IllegalArgumentException("expected a number from 0 to 99, got " + number);
  }

  /**
   * Whether renewal is needed; if not, it is off, so that it hides no lost push. What is repaired
   * without it: every push, subscription and call is repeated until it is answered.
   */
  boolean renews() {
    return faults;
  }

  /** Whether nodes and storage fail. */
  boolean faults() {
    return faults;
  }

  /** Whether two nodes may host the same grain for a while. */
  boolean split() {
    return this == SPLIT;
  }

  /** Whether partitions change their nodes. */
  boolean moves() {
    return moves;
  }

  /**
   * Whether what is not used any more is always given back. A lost farewell leaves a subscription
   * until its lease runs out, and without renewal there are no leases.
   */
  boolean reclaims() {
    return this != LEAKY;
  }
}
