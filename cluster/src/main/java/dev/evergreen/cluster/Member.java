package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.Comparator;
import java.util.Locale;

/**
 * A node of the cluster, as another one knows it.
 *
 * @param id its address in the cluster, {@code host:port}, and its incarnation
 * @param linkPort where it takes links, on the same host; 0 if it says none
 * @param hosts whether it hosts grains
 * @param status its part in the cluster: joining, weaklyup, up, leaving or exiting; down or removed
 *     if it has none any more
 * @param reachable false while it is not heard of
 */
public record Member(NodeId id, int linkPort, boolean hosts, String status, boolean reachable) {

  /** The role of nodes that host grains. */
  static final String HOSTS = "grains";

  private static final String LINK_PORT = "links-";
  private static final String JOIN_WITHIN = "joins-within-";
  private static final int MOST_PORT = 65_535;

  /** As Pekko orders them, which keeps the half with the first when a cluster is halved. */
  static final Comparator<NodeId> NODES_BY_ADDRESS =
      Comparator.comparing(Member::hostOf)
          .thenComparing(Member::portOf)
          .thenComparing(Comparator.naturalOrder());

  /** In the same order. */
  static final Comparator<Member> BY_ADDRESS = Comparator.comparing(Member::id, NODES_BY_ADDRESS);

  /** Its host name or address. */
  public String host() {
    return hostOf(id);
  }

  private static String hostOf(NodeId id) {
    return id.address().substring(0, id.address().lastIndexOf(':'));
  }

  private static int portOf(NodeId id) {
    return Integer.parseInt(id.address().substring(id.address().lastIndexOf(':') + 1));
  }

  /** Whether it counts when a split cluster decides who goes on. */
  boolean votes() {
    return hosts && (isUp() || isLeaving());
  }

  /** Whether it takes part fully: neither joining nor leaving. */
  public boolean isUp() {
    return status.equals("up");
  }

  /** Whether it is leaving, and others still have to take over what it has. */
  boolean isLeaving() {
    return status.equals("leaving");
  }

  /** Whether it is about to end, and has nothing left that others would ask for. */
  boolean isExiting() {
    return status.equals("exiting");
  }

  /** Whether the others have given it up, but not all have seen that yet. */
  boolean isDown() {
    return status.equals("down");
  }

  /** Whether it belongs to the cluster no more, as all have seen. */
  boolean isRemoved() {
    return status.equals("removed");
  }

  /** The same, heard of or not. */
  Member heard(boolean now) {
    return new Member(id, linkPort, hosts, status, now);
  }

  /** How a node tells the others where it takes links: all know all roles. */
  static String linkRole(int port) {
    return LINK_PORT + port;
  }

  /** How it tells them after how long its start fails. */
  static String joinRole(Duration limit) {
    return JOIN_WITHIN + limit.toSeconds();
  }

  /** After how long the start of a member fails; zero if it does not say. */
  static Duration joinWithin(org.apache.pekko.cluster.Member member) {
    return Duration.ofSeconds(told(member, JOIN_WITHIN, Integer.MAX_VALUE));
  }

  static NodeId idOf(org.apache.pekko.cluster.Member member) {
    return idOf(member.uniqueAddress());
  }

  static NodeId idOf(org.apache.pekko.cluster.UniqueAddress unique) {
    var address = unique.address();
    return new NodeId(
        address.host().getOrElse(() -> "") + ":" + address.port().getOrElse(() -> 0),
        unique.longUid());
  }

  static Member of(org.apache.pekko.cluster.Member member, boolean reachable) {
    return new Member(
        idOf(member),
        told(member, LINK_PORT, MOST_PORT),
        member.hasRole(HOSTS),
        member.status().toString().toLowerCase(Locale.ROOT),
        reachable);
  }

  /** A number that a member tells by a role; 0 if it tells none, or what none can be. */
  private static int told(org.apache.pekko.cluster.Member member, String prefix, int most) {
    return member.getRoles().stream()
        .filter(role -> role.startsWith(prefix))
        .mapToInt(role -> number(role.substring(prefix.length()), most))
        .findFirst()
        .orElse(0);
  }

  private static int number(String text, int most) {
    try {
      int number = Integer.parseInt(text);
      return number >= 0 && number <= most ? number : 0;
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
