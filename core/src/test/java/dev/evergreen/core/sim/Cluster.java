package dev.evergreen.core.sim;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.engine.CoreRuntime;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.core.spi.Tracing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The engine of the simulated nodes and the authority over them: which nodes are members, which of
 * them hosts which partition, and what becomes of both when nodes come, leave, die, pause or are
 * cut off. It does what an engine over cluster sharding does (design §5), at the worst moments that
 * such an engine allows.
 */
final class Cluster {

  private static final long ANSWER_NANOS = 20_000_000;
  private static final long ASK_AGAIN_NANOS = 50_000_000;
  private static final long TELL_NANOS = 1_000_000_000;
  private static final long CONFIRM_NANOS = 10_000_000_000L;

  private final Scheduler scheduler;
  private final SplittableRandom random;
  private final Scenario scenario;
  private final SimNetwork network;
  private final SimStorage storage;
  private final Optional<Fence> fence;
  private final Function<String, GrainTypes> types;
  private final List<SimNode> nodes = new ArrayList<>();
  private final Map<NodeId, SimNode> byId = new HashMap<>();
  private final List<NodeId> removed = new ArrayList<>();
  private final List<SimNode> isolated = new ArrayList<>();
  private final @Nullable SimNode[] owners;
  private long incarnations;
  private int underWay;
  private boolean refuses;

  Cluster(
      Scheduler scheduler,
      SplittableRandom random,
      Scenario scenario,
      SimNetwork network,
      SimStorage storage,
      Function<String, GrainTypes> types) {
    this.scheduler = scheduler;
    this.random = random;
    this.scenario = scenario;
    this.network = network;
    this.storage = storage;
    this.fence = storage.fence("cluster").filter(present -> scenario.fenced());
    this.types = types;
    this.owners = new SimNode[scenario.partitions()];
  }

  /** The nodes that start from now on are refused some of their threads and timers. */
  void refuseSome() {
    refuses = true;
  }

  // Membership

  /** Starts a node at an address. It hosts nothing yet. */
  SimNode start(String address) {
    var id = new NodeId(address, ++incarnations);
    var life = new Life(id.toString());
    double rate = scenario.skewedClocks() ? 1 + (random.nextDouble() - 0.5) / 50 : 1;
    var clock =
        new SimClock(
            scheduler,
            life,
            rate,
            random.nextLong(1L << 40),
            Duration.ofSeconds(random.nextInt(60)));
    var node = new SimNode(id, life, clock, new SimPlacement(id, this, owners.length));
    removed.forEach(node::refuse);
    network.attach(node);
    nodes.add(node);
    byId.put(id, node);
    trace(node, "starts");
    fence.ifPresent(present -> present.join(id));
    var threads = new SimThreads(scheduler, life, clock);
    var refusing = refuses ? new Refusing(clock, threads, random.split()) : null;
    var engine =
        new Engine(
            id,
            refusing != null ? refusing : clock,
            refusing != null ? refusing : threads,
            (to, message) -> sendFrom(node, to, message),
            node.placement(),
            fence.map(present -> present.storageOf(id)).orElse(storage),
            random.split());
    node.started(
        CoreRuntime.start(
            engine,
            types.apply(address),
            scenario.settings(),
            Tracing.NONE,
            NodeObserver.Provider.NONE));
    return node;
  }

  private boolean sendFrom(SimNode node, NodeId to, Message message) {
    return !node.life().dead() && network.send(node.id(), to, message);
  }

  /** Starts the first nodes, with all partitions spread over them. */
  void startAll(int count) {
    startAll(count, partition -> random.nextInt(count));
  }

  /** Starts the first nodes; {@code first} says which of them, from 0 on, has which partition. */
  void startAll(int count, IntUnaryOperator first) {
    for (int i = 1; i <= count; i++) {
      start("n" + i);
    }
    for (int i = 0; i < owners.length; i++) {
      give(i, nodes.get(first.applyAsInt(i)));
    }
    for (var node : nodes) {
      for (int i = 0; i < owners.length; i++) {
        var owner = owners[i];
        if (owner != null && random.nextBoolean()) {
          node.placement().hint(i, owner.id());
        }
      }
    }
  }

  /** The nodes that take part, in the order in which they started. */
  List<SimNode> serving() {
    return nodes.stream().filter(SimNode::serves).toList();
  }

  /** The nodes that take part and will go on to. */
  List<SimNode> staying() {
    return nodes.stream().filter(SimNode::stays).toList();
  }

  /** Whether nothing is being moved or brought down any more. */
  boolean settled() {
    return underWay == 0;
  }

  /** A node dies at once; the others find out after a while. */
  void kill(SimNode node) {
    trace(node, "dies");
    scheduler.kill(node.life());
    if (random.nextBoolean()) {
      others(node).forEach(other -> network.breakConnection(other.id(), node.id()));
    }
    inBackground(
        "find the death of " + node,
        () -> {
          scheduler.sleep(scenario.detectionNanos(random));
          remove(node);
        });
  }

  /** A node moves its partitions to the others and stops. */
  void leave(SimNode node) {
    trace(node, "leaves");
    node.leaves();
    inBackground(
        "let " + node + " leave",
        () -> {
          var all = new BitSet();
          for (int i = 0; i < owners.length; i++) {
            all.set(i, owners[i] == node);
          }
          moveNow(node, all, null);
          stop(node);
          remove(node);
        });
  }

  /** Closes a node and waits until it is done. */
  void stop(SimNode node) {
    node.leaves();
    await(node, "close", () -> node.engine().close());
    trace(node, "has stopped");
    scheduler.kill(node.life());
  }

  /**
   * Nothing of a node goes on for a while.
   *
   * @param downed whether the others give it up meanwhile
   */
  void pause(SimNode node, long nanos, boolean downed) {
    trace(node, "is paused" + (downed ? " and given up" : ""));
    scheduler.pause(node.life());
    doom(node, downed);
    inBackground(
        "wake " + node,
        () -> {
          if (downed) {
            scheduler.sleep(scenario.detectionNanos(random));
            remove(node);
          }
          scheduler.sleep(nanos);
          trace(node, "goes on");
          scheduler.resume(node.life());
          if (downed) {
            scheduler.sleep(random.nextLong(500_000_000));
            fence(node);
          }
        });
  }

  /**
   * A node hears nothing of the others for a while, nor they of it.
   *
   * @param downed whether the others, and it itself, give it up
   */
  void isolate(SimNode node, long nanos, boolean downed) {
    trace(node, "is cut off" + (downed ? " and given up" : ""));
    isolated.add(node);
    doom(node, downed);
    others(node).forEach(other -> network.cut(node.id(), other.id()));
    inBackground(
        "join " + node,
        () -> {
          if (downed) {
            long notices = scenario.detectionNanos(random);
            long gives = scenario.detectionNanos(random);
            scheduler.sleep(Math.min(notices, gives));
            if (gives <= notices) {
              remove(node);
              scheduler.sleep(notices - gives);
              fence(node);
            } else {
              fence(node);
              scheduler.sleep(gives - notices);
              remove(node);
            }
          } else {
            scheduler.sleep(nanos);
            trace(node, "is connected again");
          }
          isolated.remove(node);
          nodes.forEach(other -> network.join(node.id(), other.id()));
        });
  }

  private static void doom(SimNode node, boolean downed) {
    if (downed) {
      node.doom();
    }
  }

  private void fence(SimNode node) {
    if (node.life().dead()) {
      return;
    }
    trace(node, "is fenced");
    node.markFenced();
    scheduler.after(0, node.life(), () -> node.engine().fence("the others regard it as gone"));
    scheduler.sleep(random.nextLong(2_000_000_000));
    trace(node, "exits");
    scheduler.kill(node.life());
  }

  private void remove(SimNode gone) {
    if (gone.removed()) {
      return;
    }
    trace(gone, "is removed");
    gone.markRemoved();
    removed.add(gone.id());
    for (var other : others(gone)) {
      // Nothing is given away before all who stay refuse it; what follows for them may take a
      // while.
      other.refuse(gone.id());
      scheduler.after(
          random.nextLong(TELL_NANOS),
          other.life(),
          () -> {
            other.placement().forget(gone.id());
            trace(other, "removes " + gone);
            other.engine().nodesRemoved(Set.of(gone.id()));
          });
    }
    inBackground(
        "move what " + gone + " had",
        () -> {
          scheduler.sleep(random.nextLong(TELL_NANOS));
          for (int i = 0; i < owners.length; i++) {
            if (owners[i] == gone) {
              owners[i] = null;
              give(i, null);
              scheduler.sleep(random.nextLong(50_000_000));
            }
          }
        });
  }

  /** Whether a node still belongs to the others, as the fence says or they themselves. */
  boolean confirms(NodeId self) {
    try {
      return fence.map(present -> present.isAlive(self)).orElseGet(() -> othersConfirm(self));
    } catch (StorageException e) {
      return false;
    }
  }

  /** It waits while it hears nothing of them. */
  private boolean othersConfirm(NodeId self) {
    var node = byId.get(self);
    long deadline = scheduler.now() + CONFIRM_NANOS;
    while (node != null
        && isolated.contains(node)
        && !node.fenced()
        && scheduler.now() < deadline) {
      scheduler.parkNanos(ASK_AGAIN_NANOS);
    }
    return node != null && !isolated.contains(node) && !node.removed();
  }

  // Placement

  /** Moves partitions of a node to another, or to any other. */
  void move(SimNode from, BitSet partitions, @Nullable SimNode to) {
    inBackground("move partitions of " + from, () -> moveNow(from, partitions, to));
  }

  /** Gives a new node its part. */
  void rebalance(SimNode to) {
    inBackground(
        "rebalance to " + to,
        () -> {
          for (int i = 0; i < owners.length; i++) {
            var from = owners[i];
            if (from != null && from != to && random.nextInt(nodes.size()) == 0) {
              var one = new BitSet();
              one.set(i);
              moveNow(from, one, to);
            }
          }
        });
  }

  private void moveNow(SimNode from, BitSet wanted, @Nullable SimNode to) {
    var partitions = new BitSet();
    wanted.stream().filter(i -> owners[i] == from).forEach(partitions::set);
    if (partitions.isEmpty()) {
      return;
    }
    trace(from, "hands off " + partitions);
    partitions.stream()
        .forEach(
            i -> {
              owners[i] = null;
              from.placement().lose(i);
            });
    await(from, "release", () -> from.engine().release(partitions.stream().toArray()));
    trace(from, "has handed off " + partitions);
    partitions.stream()
        .forEach(
            i -> {
              scheduler.sleep(random.nextLong(20_000_000));
              give(i, to);
            });
  }

  /** Runs something that blocks on a thread of a node; returns when it is done or the node gone. */
  private void await(SimNode node, String what, Runnable task) {
    var waiter = Thread.currentThread();
    var done = new boolean[1];
    scheduler.start(
        node.life(),
        what,
        () -> {
          task.run();
          done[0] = true;
          scheduler.unpark(waiter);
        });
    while (!done[0] && !node.removed()) {
      scheduler.parkNanos(ASK_AGAIN_NANOS);
    }
  }

  /**
   * Gives away what nobody owns: whoever does so has taken it from its owner, since it may take a
   * while, and must not be done twice.
   */
  private void give(int partition, @Nullable SimNode wanted) {
    fence.ifPresent(this::takeOver);
    var owner = wanted != null && wanted.candidate() ? wanted : anyCandidate();
    while (owner == null) {
      scheduler.sleep(ASK_AGAIN_NANOS);
      owner = anyCandidate();
    }
    owners[partition] = owner;
    fence.ifPresent(present -> checkNobodyElseHolds(partition));
    owner.placement().gain(partition);
    trace(owner, "hosts partition " + partition);
  }

  /** Before a node owns what another had, it gives up whom the cluster has removed. */
  private void takeOver(Fence present) {
    for (var id : present.alive()) {
      var node = byId.get(id);
      if (node != null && node.removed()) {
        present.giveUp(id);
      }
    }
  }

  /** There is one holder of each partition whose saves can succeed, at every moment. */
  private void checkNobodyElseHolds(int partition) {
    for (var node : nodes) {
      if (node.placement().hosts(partition) && storage.mayAct(node.id())) {
        throw new SimulationFailure(
            "violated 3: partition " + partition + " is given away while " + node + " may save");
      }
    }
  }

  private @Nullable SimNode anyCandidate() {
    var candidates = nodes.stream().filter(SimNode::candidate).toList();
    return candidates.isEmpty() ? null : candidates.get(random.nextInt(candidates.size()));
  }

  /** Lets others run now and then, where a node asks for a place. */
  void preempt() {
    scheduler.preempt();
  }

  /** Tells a node sooner or later where a partition is. */
  void ask(NodeId self, int partition) {
    var node = byId.get(self);
    if (node != null) {
      scheduler.touchShared();
      scheduler.after(random.nextLong(ANSWER_NANOS), node.life(), () -> answer(node, partition));
    }
  }

  private void answer(SimNode node, int partition) {
    var owner = owners[partition];
    if (owner != null && !isolated.contains(node) && !node.refuses(owner.id())) {
      node.placement().hint(partition, owner == node ? null : owner.id());
      node.engine().found(grain -> node.placement().partition(grain) == partition);
    } else if (!node.removed()) {
      scheduler.after(ASK_AGAIN_NANOS, node.life(), () -> answer(node, partition));
    }
  }

  private List<SimNode> others(SimNode node) {
    return nodes.stream()
        .filter(other -> other != node && !other.life().dead() && !other.removed())
        .toList();
  }

  private void inBackground(String what, Runnable task) {
    underWay++;
    scheduler.start(
        scheduler.world(),
        what.replace(' ', '-'),
        () -> {
          task.run();
          underWay--;
        });
  }

  private void trace(SimNode node, String what) {
    scheduler.trace().add(scheduler.now(), node.toString(), what);
  }
}
