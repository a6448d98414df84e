package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class UnreachedTest {

  private static final Member HOST = member("a:1", true);
  private static final Member OTHER_HOST = member("b:1", true);
  private static final Member GUEST = member("c:1", false);
  private static final Member OTHER_GUEST = member("d:1", false);

  private static Member member(String address, boolean hosts) {
    return new Member(new NodeId(address, 1), 2, hosts, "up", true);
  }

  @Test
  void ofTwoHostsTheYoungerEnds() {
    for (boolean reachesAnother : new boolean[] {false, true}) {
      assertTrue(Unreached.endsItself(HOST, OTHER_HOST, true, reachesAnother));
      assertFalse(Unreached.endsItself(HOST, OTHER_HOST, false, reachesAnother));
    }
  }

  /** Whichever is older. */
  @Test
  void ofAHostAndAGuestTheGuestEndsIfItReachesAnotherHost() {
    for (boolean isOlder : new boolean[] {false, true}) {
      for (boolean reachesAnother : new boolean[] {false, true}) {
        assertFalse(Unreached.endsItself(HOST, GUEST, isOlder, reachesAnother));
        assertEquals(reachesAnother, Unreached.endsItself(GUEST, HOST, isOlder, reachesAnother));
      }
    }
  }

  /** Else guests end one after the other by a host that nobody reaches, before its start fails. */
  @Test
  void theLongerPatienceOfTheTwoCounts() {
    var minute = Duration.ofMinutes(1);
    assertEquals(minute, Unreached.patience(Duration.ZERO, minute));
    assertEquals(minute, Unreached.patience(minute, Duration.ofSeconds(30)));
  }

  @Test
  void twoGuestsNeedNoLink() {
    assertFalse(Unreached.needEachOther(GUEST, OTHER_GUEST));
    assertFalse(Unreached.endsItself(GUEST, OTHER_GUEST, true, true));
    assertTrue(Unreached.needEachOther(GUEST, HOST));
    assertTrue(Unreached.needEachOther(HOST, GUEST));
    assertTrue(Unreached.needEachOther(HOST, OTHER_HOST));
  }
}
