package dev.evergreen.cluster;

import dev.evergreen.core.sim.VirtualTime;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A database in virtual time. It goes on when a process that has asked it stands still or dies. A
 * save by way of the fence looks for its node, and holds it while it is under way; who gives a node
 * up waits for those, and lets no others begin.
 */
final class FencedStates {

  private static final long MOST_NANOS = 3_000_000;
  private static final long SLOW_NANOS = 1_500_000_000;

  private final VirtualTime time;
  private final SplittableRandom random;
  private final Map<GrainId, Long> revisions = new HashMap<>();
  private final Set<NodeId> alive = new HashSet<>();
  private final Map<NodeId, Integer> saving = new HashMap<>();
  private final Set<NodeId> givingUp = new HashSet<>();

  /** One of so many questions fails, with or without effect; 0 for none. */
  int failsOneIn;

  FencedStates(VirtualTime time, SplittableRandom random) {
    this.time = time;
    this.random = random;
  }

  /** The database as a process sees it, without the fence if it is no node's. */
  final class Seen implements Storage, Fence {
    private final VirtualTime.Machine process;
    private final @Nullable NodeId node;

    Seen(VirtualTime.Machine process, @Nullable NodeId node) {
      this.process = process;
      this.node = node;
    }

    private <T> T ask(Supplier<T> work) {
      var asking = Thread.currentThread();
      var answer = new Answer<T>();
      time.world()
          .start(
              () -> {
                pass();
                answer.take(failing(work));
                pass();
                answer.done = true;
                process.unpark(asking);
              });
      process.await(() -> answer.done);
      return answer.get();
    }

    private <T> Supplier<T> failing(Supplier<T> work) {
      boolean fails = failsOneIn > 0 && random.nextInt(failsOneIn) == 0;
      boolean takesEffect = random.nextBoolean();
      return () -> {
        if (!fails || takesEffect) {
          T result = work.get();
          if (!fails) {
            return result;
          }
        }
        throw new StorageException("away");
      };
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      return ask(
          () ->
              Optional.ofNullable(revisions.get(grain))
                  .map(revision -> new Stored(revision, new byte[0])));
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      return ask(
          () -> {
            if (node != null) {
              until(() -> !givingUp.contains(node));
              if (!alive.contains(node)) {
                throw new NodeGivenUpException(grain, node);
              }
              saving.merge(node, 1, Integer::sum);
              pass();
            }
            try {
              return stored(grain, expected);
            } finally {
              if (node != null) {
                saving.merge(node, -1, Integer::sum);
              }
            }
          });
    }

    @Override
    public boolean fenced() {
      return node != null;
    }

    @Override
    public Storage storageOf(NodeId of) {
      return new Seen(process, of);
    }

    @Override
    public void join(NodeId joining) {
      ask(() -> alive.add(joining));
    }

    @Override
    public Set<NodeId> alive() {
      return ask(() -> Set.copyOf(alive));
    }

    @Override
    public boolean isAlive(NodeId asked) {
      return ask(() -> alive.contains(asked));
    }

    @Override
    public boolean giveUp(NodeId other, NodeId by) {
      return ask(
          () -> {
            until(() -> !givingUp.contains(other));
            givingUp.add(other);
            until(() -> saving.getOrDefault(other, 0) == 0);
            givingUp.remove(other);
            boolean may = alive.contains(by);
            if (may) {
              alive.remove(other);
            }
            return may;
          });
    }

    @Override
    public void close() {}
  }

  private void until(BooleanSupplier holds) {
    while (!holds.getAsBoolean()) {
      time.world().sleep(MOST_NANOS);
    }
  }

  private long stored(GrainId grain, long expected) {
    long known = revisions.getOrDefault(grain, Storage.NONE);
    if (known != expected) {
      throw new RevisionConflictException("revision " + known + ", not " + expected);
    }
    revisions.put(grain, known + 1);
    return known + 1;
  }

  private void pass() {
    time.world().sleep(random.nextLong(random.nextInt(50) == 0 ? SLOW_NANOS : MOST_NANOS));
  }

  private static final class Answer<T> {
    private @Nullable T result;
    private @Nullable RuntimeException failure;
    private boolean done;

    void take(Supplier<T> work) {
      try {
        result = work.get();
      } catch (StorageException e) {
        failure = e;
      }
    }

    @SuppressWarnings("NullAway") // there is one or the other
    T get() {
      if (failure != null) {
        throw failure;
      }
      return result;
    }
  }
}
