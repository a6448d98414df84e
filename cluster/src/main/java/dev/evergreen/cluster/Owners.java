package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.apache.pekko.actor.AbstractActorWithTimers;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;

/**
 * Asks for the owners of partitions, one question per partition at a time, again while there is no
 * answer: sharding drops questions that meet a hand-off. A node that leaves asks by way of another
 * node, as its own region would keep questions and wait for their answers before it ends. What the
 * region was asked before it need not wait for either: it is stopped when this node owns nothing.
 */
final class Owners extends AbstractActorWithTimers {

  static final String NAME = "owners";

  private static final Duration AGAIN_AFTER = Duration.ofMillis(250);

  /** Somebody here wants to know the owner of a partition. */
  record Wanted(int partition) {}

  /** This node leaves from now on. */
  enum Leave {
    NOW
  }

  private enum Again {
    TICK
  }

  private final ActorRef region;
  private final Partitions partitions;
  private final Set<Integer> open = new HashSet<>();
  private boolean leaving;

  Owners(ActorRef region, Partitions partitions) {
    this.region = region;
    this.partitions = partitions;
  }

  /** An owner's answer, in a form that Pekko can send; {@link #answered} reads it. */
  static String answer(NodeId owner, int partition) {
    return owner.address() + " " + owner.incarnation() + " " + partition;
  }

  @Override
  public void preStart() {
    getTimers().startTimerWithFixedDelay(Again.TICK, Again.TICK, AGAIN_AFTER);
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(Wanted.class, wanted -> want(wanted.partition()))
        .match(String.class, this::answered)
        .match(Integer.class, this::forward)
        .matchEquals(Again.TICK, tick -> askAgain())
        .matchEquals(Leave.NOW, leave -> leaving = true)
        .build();
  }

  private void want(int partition) {
    if (!partitions.isKnown(partition) && open.add(partition)) {
      ask(partition);
    }
  }

  private void askAgain() {
    if (leaving && partitions.owned() == 0) {
      getContext().getSystem().stop(region);
    }
    open.removeIf(partitions::isKnown);
    open.forEach(this::ask);
  }

  private void ask(int partition) {
    if (leaving) {
      another().ifPresent(member -> askBy(member, partition));
    } else {
      region.tell(partition, getSelf());
    }
  }

  private void askBy(Member member, int partition) {
    var path = getSelf().path().toStringWithAddress(member.address());
    getContext().actorSelection(path).tell(partition, getSelf());
  }

  /** A node that leaves asks by way of this one. */
  private void forward(int partition) {
    if (!leaving) {
      region.tell(partition, getSender());
    }
  }

  private Optional<Member> another() {
    var cluster = Cluster.get(getContext().getSystem());
    return StreamSupport.stream(cluster.state().getMembers().spliterator(), false)
        .filter(member -> member.status().equals(MemberStatus.up()))
        .filter(member -> !member.uniqueAddress().equals(cluster.selfUniqueAddress()))
        .findFirst();
  }

  private void answered(String answer) {
    var parts = answer.split(" ", -1);
    int partition = Integer.parseInt(parts[2]);
    partitions.hint(partition, new NodeId(parts[0], Long.parseLong(parts[1])));
    if (partitions.isKnown(partition)) {
      open.remove(partition);
    }
  }
}
