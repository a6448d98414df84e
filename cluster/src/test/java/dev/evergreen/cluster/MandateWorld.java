package dev.evergreen.cluster;

import dev.evergreen.core.sim.VirtualTime;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A cluster in virtual time, of nodes that are cut off, stand still, die, leave, give each other up
 * and come again, while their messages are late and lost, and their storage fails. What must hold
 * is looked for at every acknowledgement; when all faults have ended, somebody must acknowledge
 * again.
 */
final class MandateWorld {

  static final int PARTITIONS = 3;

  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;

  /** So soon after the last fault every partition is written, or nobody is left. */
  private static final long PATIENCE = 60 * SECOND;

  /** What goes wrong. */
  enum Faults {
    ANY,
    /** One node leaves while as many die as stay, less one: nobody comes again. */
    SOME_DIE_WHILE_ONE_LEAVES,
    /** Fewer than half cannot reach some others, whose hosts refuse them; nobody else may end. */
    FEWER_THAN_HALF_ARE_REFUSED,
    /**
     * Fewer than half stand still, are cut off from all others and reach them again, die and leave;
     * nobody else may end.
     */
    FEWER_THAN_HALF_ARE_STRUCK,
    /** The newer of two is cut off, and given up by the other, when it is to own its first one. */
    A_NEWCOMER_IS_GIVEN_UP,
    /**
     * What is rare: all stand still together, the storage is away or saves take longer than a
     * hand-off may, some reach a newcomer and others do not, operators repeat themselves, nodes
     * come again at once, wires are cut one way, or for calls only.
     */
    RARE,
    /** All at once, and go on at almost the same time; nobody may end. */
    ALL_STAND_STILL,
    /**
     * Fewer than half are cut off, reach nobody else but one who wants to join, and give up the
     * others by an operator's word; none of these may end.
     */
    A_STRANGER_COMES_BEHIND_A_CUT
  }

  /**
   * What is simulated.
   *
   * @param fenced whether the storage can fence
   * @param evidence whether nodes believe in evidence that others have ended
   * @param comeAgain whether who has ended is started again
   * @param keepsMargin whether Pekko keeps its margin as well, as it usually does
   */
  record Setting(
      int nodes,
      boolean fenced,
      boolean evidence,
      boolean comeAgain,
      boolean keepsMargin,
      Faults faults) {

    Duration byEvidence() {
      return Duration.ofMillis(evidence ? 100 : 1_000);
    }

    Duration otherwise() {
      return Duration.ofSeconds(1);
    }

    /** Whether Pekko goes on for a moment where the node has ended already. */
    boolean pekkoEndsLater() {
      return faults == Faults.RARE || faults == Faults.A_STRANGER_COMES_BEHIND_A_CUT;
    }

    /** How long after a decision of Pekko's its events come. */
    long eventNanos() {
      return 20 * MILLI;
    }

    /** One of so many looks of a coordinator moves a partition. */
    int movesOneIn() {
      return faults == Faults.A_NEWCOMER_IS_GIVEN_UP ? 8 : 150;
    }
  }

  final Setting setting;
  final VirtualTime time;
  final FencedStates states;

  private final SplittableRandom random;
  private final Map<NodeId, MandateNode> nodes = new HashMap<>();
  private final List<MandateNode> order = new ArrayList<>();
  private final Map<Integer, Set<MandateNode>> actors = new TreeMap<>();
  private final Map<Integer, Long> acknowledged = new TreeMap<>();
  private final Map<Integer, Long> writtenAt = new TreeMap<>();
  private final Set<List<String>> cut = new HashSet<>();
  private final Set<List<String>> refused = new HashSet<>();

  /** Links have connections of their own. */
  private final Set<List<String>> cutForPekko = new HashSet<>();

  private final Set<List<String>> cutForLinks = new HashSet<>();

  /** Nothing goes wrong with them. */
  private final List<MandateNode> healthy = new ArrayList<>();

  /** Of two nodes it alone is as good as a majority. */
  private final NodeId newcomer = new NodeId("m0:1", Integer.MAX_VALUE);

  private boolean newcomerIsGiven;
  private int lostOneIn;
  private int standsStillWhenGiven;
  private long lateNanos = 2 * MILLI;
  private long incarnations;
  private long numbers;

  private MandateWorld(Setting setting, long seed) {
    this.setting = setting;
    this.random = new SplittableRandom(seed);
    this.time = new VirtualTime(random.split());
    this.states = new FencedStates(time, random.split());
    for (int i = 0; i < PARTITIONS; i++) {
      actors.put(i, new LinkedHashSet<>());
    }
  }

  /** What one seed decides; whether somebody is left. */
  static boolean run(Setting setting, long seed) {
    var world = new MandateWorld(setting, seed);
    world.time.run(world::main);
    return !world.running(MandateNode::takesPart).isEmpty();
  }

  private void main() {
    var first = new ArrayList<NodeId>();
    for (int i = 0; i < setting.nodes(); i++) {
      first.add(newLife("n" + i + ":1"));
    }
    if (setting.faults() == Faults.ANY && setting.fenced()) {
      standsStillWhenGiven = random.nextInt(3) * 4; // also before it has joined the fence
    }
    first.forEach(id -> add(id, Gossip.of(first)));
    pause(random.nextLong(4 * SECOND));
    switch (setting.faults()) {
      case ANY -> anyFaults();
      case SOME_DIE_WHILE_ONE_LEAVES -> someDieWhileOneLeaves();
      case FEWER_THAN_HALF_ARE_REFUSED -> fewerThanHalfAreRefused();
      case FEWER_THAN_HALF_ARE_STRUCK -> fewerThanHalfAreStruck();
      case A_NEWCOMER_IS_GIVEN_UP -> aNewcomerIsGivenUp();
      case RARE -> rareFaults();
      case ALL_STAND_STILL -> allStandStill();
      case A_STRANGER_COMES_BEHIND_A_CUT -> aStrangerComesBehindACut();
    }
    end();
    checkAllGoesOn();
    checkTheOthersAreLeft();
  }

  private NodeId newLife(String address) {
    return new NodeId(address, ++incarnations);
  }

  private void add(NodeId id, Gossip gossip) {
    var node = new MandateNode(this, id, gossip, random.split());
    nodes.put(id, node);
    order.add(node);
    node.start();
  }

  private void pause(long nanos) {
    time.world().sleep(nanos);
  }

  private long now() {
    return time.world().nanos();
  }

  // Messages

  /** Messages overtake each other, and what is lost is so for good. */
  void send(MandateNode from, NodeId to, Consumer<MandateNode> message) {
    transmit(
        from,
        to,
        other -> {
          if (!cutForPekko.contains(wire(from, other))) {
            message.accept(other);
          }
        });
  }

  void sendByLink(MandateNode from, NodeId to, Consumer<MandateNode> message) {
    transmit(
        from,
        to,
        other -> {
          if (!cutForLinks.contains(wire(from, other))) {
            message.accept(other);
          }
        });
  }

  private void transmit(MandateNode from, NodeId to, Consumer<MandateNode> message) {
    var other = nodes.get(to);
    if (other == null || (lostOneIn > 0 && random.nextInt(lostOneIn) == 0)) {
      return;
    }
    long late = MILLI / 10 + random.nextLong(random.nextInt(40) == 0 ? 50 * lateNanos : lateNanos);
    other.process.after(
        late,
        () -> {
          if (!isCut(from, other)) {
            message.accept(other);
          }
        });
  }

  private boolean isCut(MandateNode from, MandateNode to) {
    return cut.contains(wire(from, to)) || refused.contains(wire(from, to));
  }

  private static List<String> wire(MandateNode from, MandateNode to) {
    return List.of(from.id.address(), to.id.address());
  }

  /** Whether the other one's host says that nobody is there. */
  boolean refuses(MandateNode asking, NodeId other) {
    var asked = nodes.get(other);
    return asked != null
        && !cut.contains(wire(asking, asked))
        && !cut.contains(wire(asked, asking))
        && (asked.process.isDead() || refused.contains(wire(asking, asked)));
  }

  Optional<MandateNode> anyMember(MandateNode joining) {
    var members = running(node -> node != joining && node.isMember());
    return members.isEmpty() ? Optional.empty() : Optional.of(any(members));
  }

  // Partitions

  /** Where a partition is, or was when its node ended, or is about to be. */
  Set<MandateNode> actors(int partition) {
    var where = actors.get(partition);
    if (where == null) {
      throw new AssertionError(partition);
    }
    return where;
  }

  /** A coordinator's word comes as soon as it can. */
  void place(MandateNode coordinator, int partition, NodeId to) {
    var node = nodes.get(to);
    if (node == null) {
      return;
    }
    actors(partition).removeIf(other -> other.process.isDead());
    actors(partition).add(node);
    if (standsStillWhenGiven > 0 && random.nextInt(standsStillWhenGiven) == 0) {
      pause(node);
    }
    if (to.equals(newcomer) && !newcomerIsGiven) {
      newcomerIsGiven = true;
      time.world().after(random.nextLong(20 * MILLI), () -> givesUpNewcomer(coordinator, node));
    }
    deliver(coordinator, partition, node);
  }

  private void deliver(MandateNode coordinator, int partition, MandateNode node) {
    node.process.after(
        MILLI / 5 + random.nextLong(lateNanos),
        () -> {
          boolean isCut = isCut(coordinator, node) || cutForPekko.contains(wire(coordinator, node));
          if (isCut && !coordinator.process.isDead()) {
            deliver(coordinator, partition, node);
          } else if (isCut || !node.startActor(partition, coordinator.id)) {
            actors(partition).remove(node);
          }
        });
  }

  long nextNumber() {
    return ++numbers;
  }

  // What must hold

  long acknowledged(int partition) {
    return acknowledged.getOrDefault(partition, 0L);
  }

  /** Nobody who owns it later has loaded what was there before; nothing acknowledged is missed. */
  void acknowledge(
      int partition, MandateNode.Activation by, long revision, long atLeast, boolean writes) {
    if (revision < atLeast) {
      throw new AssertionError(
          "%s answers by revision %d of %d, but %d was acknowledged before it was asked"
              .formatted(by.node(), revision, partition, atLeast));
    }
    for (var node : order) {
      if (node != by.node() && node.goesOn() && (isStrict() || by.node().knows(node.id))) {
        for (var other : node.activations(partition)) {
          if (other.number() > by.number() && other.isBefore(revision)) {
            throw new AssertionError(
                "%s acknowledges revision %d of %d, but %s has it by now, and loaded it before"
                    .formatted(by.node(), revision, partition, node));
          }
        }
      }
    }
    acknowledged.merge(partition, revision, Math::max);
    if (writes) {
      writtenAt.put(partition, now());
    }
  }

  /**
   * Elsewhere whom its cluster has removed may own what it likes, as long as it does not answer.
   */
  private boolean isStrict() {
    return setting.faults() == Faults.ANY;
  }

  /** Who has left in good order has agreed to who was dead. */
  void checkMayEnd(MandateNode node) {
    if (setting.faults() == Faults.SOME_DIE_WHILE_ONE_LEAVES) {
      throw new AssertionError(node + " ends as nobody is left who would agree");
    }
  }

  /** The storage may be away; nothing else fails. */
  void checkExpected(Throwable failure) {
    if (!(failure instanceof StorageException)) {
      throw new AssertionError(failure);
    }
  }

  private void checkAllGoesOn() {
    long since = now();
    while (!isGoingOn(since)) {
      if (now() - since > PATIENCE) {
        throw new AssertionError(
            "nothing goes on: "
                + running(node -> true)
                + ", actors "
                + actors
                + ", written at "
                + writtenAt
                + ", faults ended at "
                + since);
      }
      pause(SECOND / 2);
    }
  }

  private boolean isGoingOn(long since) {
    // Who wants to join waits until there is somebody.
    return running(MandateNode::takesPart).isEmpty()
        || (actors.keySet().stream().allMatch(p -> writtenAt.getOrDefault(p, 0L) > since)
            && running(node -> node.takesPart() && node.leaves()).isEmpty());
  }

  // Faults

  private List<MandateNode> running(Predicate<MandateNode> which) {
    return order.stream().filter(node -> node.goesOn() && which.test(node)).toList();
  }

  private <T> T any(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  private void anyFaults() {
    standsStillWhenGiven = random.nextInt(3) * 4;
    long until = now() + random.nextLong(8, 20) * SECOND;
    while (now() < until) {
      pause(random.nextLong(2_500 * MILLI));
      var running = running(node -> true);
      if (!running.isEmpty()) {
        fault(any(running), any(running));
      }
      if (setting.comeAgain()) {
        comeAgain();
      }
    }
  }

  private void fault(MandateNode one, MandateNode other) {
    switch (random.nextInt(16)) {
      case 0 -> cut.add(wire(one, other));
      case 1 -> cutOff(one, cutForPekko);
      case 2 -> {
        cut.add(wire(one, other));
        cut.add(wire(other, one));
      }
      case 3, 4 -> cutOff(one, cut);
      case 5 -> {
        cut.clear();
        cutForPekko.clear();
      }
      case 6 -> {
        if (setting.evidence()) {
          refused.add(wire(one, other));
        }
      }
      case 7, 8 -> pause(one);
      case 9 -> one.process.kill();
      case 10 -> one.leave();
      case 11 -> giveUp(one, other);
      case 12 -> {
        lostOneIn = random.nextInt(3) == 0 ? 3 : random.nextInt(2) * 10;
        lateNanos = random.nextInt(3) == 0 ? 30 * MILLI : 2 * MILLI;
      }
      case 13, 14 -> givesUpInVain(other);
      default -> states.failsOneIn = random.nextInt(3) == 0 ? 0 : random.nextInt(4, 30);
    }
  }

  private void rareFaults() {
    standsStillWhenGiven = random.nextInt(3) * 4;
    long until = now() + random.nextLong(8, 25) * SECOND;
    while (now() < until) {
      pause(random.nextLong(3 * SECOND));
      var running = running(node -> true);
      if (!running.isEmpty()) {
        rareFault(running, any(running), any(running));
      }
      if (setting.comeAgain()) {
        comeAgain();
      }
    }
  }

  private void rareFault(List<MandateNode> running, MandateNode one, MandateNode other) {
    switch (random.nextInt(17)) {
      case 0 -> running.forEach(this::pause);
      case 1 -> running.stream().filter(node -> random.nextBoolean()).forEach(this::pause);
      case 2 -> storageIsAway();
      case 3 -> states.slowOneIn = random.nextBoolean() ? 0 : random.nextInt(3, 12);
      case 4, 5 -> aStrangerComes(running);
      case 6 -> {
        one.process.kill();
        add(newLife(one.id.address()), Gossip.of(List.of()));
      }
      case 7 -> {
        for (int i = random.nextInt(4); i >= 0; i--) {
          var by = any(running);
          time.world().after(random.nextLong(SECOND), () -> giveUp(by, other));
        }
      }
      case 8 -> {
        giveUp(one, other);
        giveUp(other, one);
      }
      case 9 -> {
        time.world().after(random.nextLong(SECOND), () -> giveUp(one, other));
        time.world().after(random.nextLong(SECOND), other::leave);
      }
      case 10 -> cutOffOneWay(one, true);
      case 11 -> cutOffOneWay(one, false);
      case 12 -> {
        cutForLinks.add(wire(one, other));
        if (random.nextBoolean()) {
          cutForLinks.add(wire(other, one));
        }
      }
      case 13 -> {
        for (var wires : List.of(cut, cutForPekko, cutForLinks, refused)) {
          wires.removeIf(wire -> random.nextBoolean());
        }
      }
      case 14 -> {
        cut.clear();
        cutForPekko.clear();
        cutForLinks.clear();
        refused.clear();
      }
      default -> fault(one, other);
    }
  }

  private void allStandStill() {
    healthy.addAll(order);
    long howLong = random.nextLong(20 * SECOND);
    for (var node : order) {
      node.process.pause(setting.fenced() && random.nextBoolean());
      time.world().after(howLong + random.nextLong(SECOND / 2), node.process::resume);
    }
    pause(howLong + 10 * SECOND);
  }

  private void aStrangerComesBehindACut() {
    healthy.addAll(order);
    var few = new ArrayList<MandateNode>();
    for (int i = random.nextInt(dying()); i >= 0; i--) {
      few.add(healthy.remove(random.nextInt(healthy.size())));
    }
    add(newLife("s" + random.nextInt(100) + ":1"), Gossip.of(List.of()));
    var inside = new ArrayList<>(few);
    inside.add(order.getLast());
    for (var one : inside) {
      for (var other : healthy) {
        cut.add(wire(one, other));
        cut.add(wire(other, one));
      }
    }
    pause(random.nextLong(4 * SECOND));
    for (var other : healthy) {
      time.world().after(random.nextLong(2 * SECOND), () -> giveUp(any(few), other));
    }
    pause(12 * SECOND);
  }

  private void storageIsAway() {
    states.failsOneIn = 1;
    time.world().after(random.nextLong(12 * SECOND), () -> states.failsOneIn = 0);
  }

  /** At an address of its own; some of the others do not reach it, and it does not reach them. */
  private void aStrangerComes(List<MandateNode> running) {
    if (running.size() < setting.nodes() + 2) {
      var id = newLife("s" + random.nextInt(100) + ":1");
      add(id, Gossip.of(List.of()));
      var stranger = order.getLast();
      for (var known : running) {
        if (random.nextBoolean()) {
          cut.add(wire(known, stranger));
          cut.add(wire(stranger, known));
        }
      }
    }
  }

  private void cutOffOneWay(MandateNode one, boolean out) {
    for (var other : order) {
      if (other != one) {
        cut.add(out ? wire(one, other) : wire(other, one));
      }
    }
  }

  private void giveUp(MandateNode one, MandateNode other) {
    if (one != other && one.isMember()) {
      one.process.after(0, () -> one.giveUp(other.id));
    }
  }

  /**
   * Of two nodes each may give up the other by itself. Where the storage cannot fence, it must be
   * certain then that the other's process has ended.
   */
  boolean mayGiveUp(MandateNode one, NodeId other) {
    var given = nodes.get(other);
    return setting.fenced() || !one.countsTwo() || (given != null && given.process.isDead());
  }

  /** The first is cut off, gives up another one by itself, and may then stand still. */
  private void givesUpInVain(MandateNode other) {
    var one =
        running(node -> true).stream()
            .min(Comparator.comparing(node -> node.id, Member.NODES_BY_ADDRESS))
            .orElseThrow();
    cutOff(one, cut);
    time.world()
        .after(
            random.nextLong(2 * SECOND),
            () -> {
              giveUp(one, other);
              if (random.nextInt(4) > 0) {
                time.world().after(random.nextLong(SECOND), () -> pause(one));
              }
            });
  }

  /** It may join the fence late, as the storage fails. */
  private void aNewcomerIsGivenUp() {
    states.failsOneIn = 2;
    add(newcomer, Gossip.of(List.of()));
    pause(15 * SECOND);
  }

  private void givesUpNewcomer(MandateNode coordinator, MandateNode node) {
    cutOff(node, cut);
    giveUp(coordinator, node);
    pause(node, 4 * SECOND);
  }

  private void cutOff(MandateNode one, Set<List<String>> wires) {
    for (var other : order) {
      if (other != one) {
        wires.add(wire(one, other));
        wires.add(wire(other, one));
      }
    }
  }

  private void pause(MandateNode node) {
    pause(node, 10 * SECOND);
  }

  private void pause(MandateNode node, long mostNanos) {
    node.process.pause(setting.fenced() && random.nextBoolean());
    time.world().after(random.nextLong(mostNanos), node.process::resume);
  }

  private void comeAgain() {
    var addresses = new LinkedHashSet<String>();
    order.forEach(node -> addresses.add(node.id.address()));
    order.stream()
        .filter(node -> !node.process.isDead())
        .forEach(n -> addresses.remove(n.id.address()));
    boolean someAreLeft = !running(MandateNode::isMember).isEmpty();
    if (!addresses.isEmpty() && someAreLeft && random.nextBoolean()) {
      add(newLife(any(List.copyOf(addresses))), Gossip.of(List.of()));
    }
  }

  private void someDieWhileOneLeaves() {
    var leaves = any(fewerThanHalfAreKilled());
    time.world().after(random.nextLong(6 * SECOND), leaves::leave);
    pause(6 * SECOND);
  }

  /**
   * Wire by wire, but so soon that nobody has decided by then: some wires, or all to those outside.
   */
  private void fewerThanHalfAreRefused() {
    var outside = new ArrayList<>(order);
    var few = new ArrayList<MandateNode>();
    for (int i = random.nextInt(dying()); i >= 0; i--) {
      few.add(outside.remove(random.nextInt(outside.size())));
    }
    boolean all = random.nextBoolean();
    for (var one : few) {
      for (var other : outside) {
        if (all || random.nextBoolean()) {
          time.world()
              .after(
                  random.nextLong(SECOND / 4),
                  () -> {
                    refused.add(wire(one, other));
                    refused.add(wire(other, one));
                  });
        }
      }
    }
    pause(12 * SECOND);
  }

  private void fewerThanHalfAreStruck() {
    healthy.addAll(order);
    Collections.shuffle(healthy, random);
    var few = new ArrayList<MandateNode>();
    for (int i = 0; i < dying(); i++) {
      few.add(healthy.removeLast());
    }
    long until = now() + random.nextLong(8, 20) * SECOND;
    while (now() < until) {
      pause(random.nextLong(SECOND / 2));
      strike(any(few));
    }
  }

  private void strike(MandateNode one) {
    switch (random.nextInt(32)) {
      case 0 -> cutOff(one, cutForPekko);
      case 1 -> cutOff(one, cut);
      case 2, 3 -> {
        for (var wires : List.of(cut, cutForPekko)) {
          wires.removeIf(wire -> wire.contains(one.id.address()));
        }
      }
      case 4 -> one.process.kill();
      case 5 -> one.leave();
      default -> {
        if (one.process.isRunning()) {
          pause(one, 4 * SECOND);
        }
      }
    }
  }

  /** Each within three seconds; answers who is left. */
  private List<MandateNode> fewerThanHalfAreKilled() {
    var left = new ArrayList<>(order);
    for (int i = 0; i < dying(); i++) {
      var dies = any(left);
      left.remove(dies);
      time.world().after(random.nextLong(3 * SECOND), dies.process::kill);
    }
    return left;
  }

  private int dying() {
    return (setting.nodes() - 1) / 2;
  }

  private void checkTheOthersAreLeft() {
    var left = running(MandateNode::takesPart);
    boolean fewer = setting.faults() == Faults.FEWER_THAN_HALF_ARE_REFUSED;
    if (!left.containsAll(healthy) || (fewer && left.size() < setting.nodes() - dying())) {
      throw new AssertionError("healthy ones have ended: left are " + left + " of " + healthy);
    }
  }

  private void end() {
    cut.clear();
    cutForPekko.clear();
    cutForLinks.clear();
    refused.clear();
    states.slowOneIn = 0;
    lostOneIn = 0;
    standsStillWhenGiven = 0;
    lateNanos = 2 * MILLI;
    states.failsOneIn = 0;
    order.forEach(node -> node.process.resume());
  }
}
