package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.cluster.links.Reach;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RealTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Of node a. */
final class LinkEvidenceTest implements LinkEvidence.Node, Reach {

  private static final NodeId A = node("a");
  private static final NodeId B = node("b");
  private static final NodeId C = node("c");
  private static final NodeId D = node("d");

  private final RealTime time = RealTime.create();
  private final ConcurrentHashMap<NodeId, Member> members = new ConcurrentHashMap<>();
  private final Set<NodeId> connected = new HashSet<>();
  private final List<NodeId> missed = new ArrayList<>();
  private final List<NodeId> given = new ArrayList<>();
  private final LinkEvidence evidence =
      new LinkEvidence(
          A,
          members,
          ConcurrentHashMap.newKeySet(),
          Duration.ofSeconds(15),
          new Tenure(
              A, Duration.ofSeconds(1), Duration.ofSeconds(1), (to, token) -> {}, RealWorkers.REAL),
          time,
          this,
          this);

  private static NodeId node(String name) {
    return new NodeId(name + ":1", 1);
  }

  @AfterEach
  void end() {
    time.close();
  }

  private void member(NodeId id, String status) {
    members.put(id, new Member(id, 2, true, status, true));
  }

  /** The process of b has ended, or its host says so. */
  private void refusesB() {
    evidence.broken(B);
    evidence.refused(B);
    evidence.missed(Map.of(B, Set.of(A)));
  }

  @Test
  void whoReachesMoreThanHalfGivesUpWhomTheOthersMissToo() {
    List.of(A, B, C).forEach(id -> member(id, "up"));
    connected.add(C);
    refusesB();
    assertEquals(List.of(B), missed);
    assertEquals(List.of(), given, "c still hears it");
    evidence.missed(Map.of(B, Set.of(A, C)));
    assertEquals(List.of(B), given);
  }

  /** It may be cut off with d, which nobody else knows yet. */
  @Test
  void whoIsJoiningDoesNotHelpToJudge() {
    List.of(A, B, C).forEach(id -> member(id, "up"));
    for (var status : List.of("joining", "weaklyup", "exiting")) {
      member(D, status);
      connected.add(D);
      refusesB();
      assertEquals(List.of(), missed, "by d, which is " + status);
      assertEquals(List.of(), given);
    }
  }

  @Test
  void whoIsLeavingStillCounts() {
    List.of(A, B).forEach(id -> member(id, "up"));
    member(C, "leaving");
    refusesB();
    assertEquals(List.of(), missed, "c may reach b");
    connected.add(C);
    refusesB();
    assertEquals(List.of(B), missed);
  }

  @Override
  public boolean isLeaving() {
    return false;
  }

  @Override
  public Collection<NodeId> all() {
    return List.copyOf(members.keySet());
  }

  @Override
  public void misses(Member other, boolean asItsHostRefuses) {
    missed.add(other.id());
  }

  @Override
  public void neverReached(Member own, Member other, long nanos) {}

  @Override
  public void giveUp(NodeId other) {
    given.add(other);
  }

  @Override
  public boolean isConnected(NodeId node) {
    return connected.contains(node);
  }

  @Override
  public boolean wasConnected(NodeId node) {
    return true;
  }

  @Override
  public long brokenNanos(NodeId node) {
    return 0;
  }
}
