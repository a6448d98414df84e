package dev.evergreen.cluster;

import java.time.Duration;

/** What becomes of two members that hear each other by Pekko, while no calls pass between them. */
final class Unreached {

  private Unreached() {}

  /** Two that host no grains need each other only to report. */
  static boolean needEachOther(Member one, Member other) {
    return one.hosts() || other.hosts();
  }

  /**
   * How long nobody ends where calls have never passed between the two: one that has just come may
   * be about to fail at its start by that, and no other is to end meanwhile.
   */
  static Duration patience(Duration joinWithin, Duration joinWithinOfOther) {
    return joinWithin.compareTo(joinWithinOfOther) < 0 ? joinWithinOfOther : joinWithin;
  }

  /**
   * Whether it is this node that ends where calls have never passed between the two. It is not for
   * the others to decide: they reach both, and by their rules for who is missed a node that came
   * last, behind a firewall, could take those with it that it does not reach.
   *
   * <p>At most one of the two ends: of a host and a guest the guest, of two hosts the younger.
   *
   * @param isOlder whether the other one came up before
   * @param reachesAnotherHost whether calls reach a host that is neither of the two: else it may be
   *     a host that nobody reaches, and no guest is to end by it
   */
  static boolean endsItself(
      Member self, Member other, boolean isOlder, boolean reachesAnotherHost) {
    return other.hosts() && (self.hosts() ? isOlder : reachesAnotherHost);
  }
}
