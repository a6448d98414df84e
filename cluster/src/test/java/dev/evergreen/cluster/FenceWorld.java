package dev.evergreen.cluster;

import dev.evergreen.core.sim.VirtualTime;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Nodes that save by way of the fence of {@link FencedStates} and give each other up, at random,
 * whatever they know. Who was given up, or is seen not to be alive, saves nothing more; and one of
 * them stays.
 */
final class FenceWorld {

  private static final long MILLI = 1_000_000;
  private static final long DURATION = 12_000 * MILLI;
  private static final long TURN = 700 * MILLI;
  private static final int NODES = 6;
  private static final int SAVERS = 2;

  private final VirtualTime time;
  private final SplittableRandom random;
  private final FencedStates states;
  private final List<Node> nodes = new ArrayList<>();
  private final Set<NodeId> joined = new HashSet<>();

  /** What was there of whom nothing more may come. */
  private final Map<GrainId, Long> last = new HashMap<>();

  private FenceWorld(long seed) {
    this.random = new SplittableRandom(seed);
    this.time = new VirtualTime(random.split());
    this.states = new FencedStates(time, random.split());
  }

  /** What one seed decides. */
  static void run(long seed) {
    var world = new FenceWorld(seed);
    world.time.run(world::main);
  }

  private void main() {
    states.failsOneIn = random.nextInt(3) == 0 ? 0 : random.nextInt(4, 30);
    for (int i = 0; i < NODES; i++) {
      nodes.add(new Node(new NodeId("n" + i + ":1", i)));
    }
    nodes.forEach(Node::start);
    time.world().sleep(DURATION);
    check();
    states.failsOneIn = 0;
    var seen = states.new Seen(time.world(), null);
    if (joined.size() == NODES && nodes.stream().noneMatch(node -> seen.isAlive(node.id))) {
      throw new AssertionError("all are given up");
    }
  }

  /** Nothing of this one is to be saved from now on. */
  private void isGone(NodeId id) {
    for (int saver = 0; saver < SAVERS; saver++) {
      var grain = grain(id, saver);
      last.putIfAbsent(grain, states.revision(grain));
    }
    check();
  }

  private void check() {
    last.forEach(
        (grain, revision) -> {
          if (states.revision(grain) != revision) {
            throw new AssertionError(grain + " is saved, but its node was gone");
          }
        });
  }

  private static GrainId grain(NodeId id, int saver) {
    return new GrainId("G", id + "-" + saver);
  }

  private final class Node {
    private final NodeId id;
    private final VirtualTime.Machine process;
    private final FencedStates.Seen seen;

    Node(NodeId id) {
      this.id = id;
      this.process = time.machine(id.toString());
      this.seen = states.new Seen(process, null);
    }

    void start() {
      process.start(
          () -> {
            while (!did(() -> seen.join(id))) {
              rest(100);
            }
            joined.add(id);
            for (int saver = 0; saver < SAVERS; saver++) {
              var grain = grain(id, saver);
              process.start(() -> save(grain));
            }
            process.start(this::look);
            process.start(this::giveUp);
          });
    }

    private void rest(long millis) {
      process.sleep(random.nextLong(millis * MILLI));
    }

    private boolean did(Runnable what) {
      try {
        what.run();
        return true;
      } catch (StorageException e) {
        return false; // also if it is not alive any more
      }
    }

    private void save(GrainId grain) {
      var storage = seen.storageOf(id);
      while (true) {
        did(() -> storage.save(grain, revision(grain), new byte[0]));
        rest(50);
      }
    }

    private long revision(GrainId grain) {
      return seen.load(grain).map(Storage.Stored::revision).orElse(Storage.NONE);
    }

    private void look() {
      while (true) {
        var before = Set.copyOf(joined);
        did(
            () -> {
              var gone = new HashSet<>(before);
              gone.removeAll(seen.alive());
              gone.forEach(FenceWorld.this::isGone);
            });
        rest(300);
      }
    }

    /** All give up the same one, at about the same time. */
    private void giveUp() {
      while (true) {
        rest(300);
        var other = nodes.get((int) (process.nanos() / TURN % NODES)).id;
        boolean wasThere = joined.contains(other);
        did(
            () -> {
              if (!other.equals(id) && seen.giveUp(other, id) && wasThere) {
                isGone(other);
              }
            });
      }
    }
  }
}
