package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Storage that all nodes share: slow, and at times failing, before or after the effect. A save that
 * was sent takes effect also if its sender is dead or paused by then, but not if it was given up.
 */
final class SimStorage implements Storage {

  /** What becomes of a save. */
  enum Fate {
    DONE,
    /** It fails, and nothing is changed. */
    FAILS,
    /** It takes effect, but who asked for it is told that it failed. */
    DONE_BUT_FAILS
  }

  private final Scheduler scheduler;
  private final SplittableRandom random;
  private final long maxNanos;
  private final Map<GrainId, Stored> states = new HashMap<>();
  private final Map<GrainId, Integer> saves = new HashMap<>();
  private final Set<NodeId> alive = new TreeSet<>();
  private final Map<GrainId, Long> unreadable = new HashMap<>();
  private double failures;
  private Supplier<Fate> fates = this::byFailures;

  /**
   * @param maxNanos the most virtual time that an operation takes
   */
  SimStorage(Scheduler scheduler, SplittableRandom random, long maxNanos) {
    this.scheduler = scheduler;
    this.random = random;
    this.maxNanos = maxNanos;
  }

  /** Sets the part of the operations that fail. */
  void failures(double part) {
    failures = part;
  }

  /** What becomes of each save from now on, instead of what the part says that fails. */
  void fates(Supplier<Fate> now) {
    fates = now;
  }

  private Fate byFailures() {
    boolean fails = random.nextDouble() < failures;
    boolean before = fails && random.nextBoolean();
    return !fails ? Fate.DONE : before ? Fate.FAILS : Fate.DONE_BUT_FAILS;
  }

  /** A grain's state cannot be loaded: that fails after so long. */
  void unreadable(GrainId grain, long nanos) {
    unreadable.put(grain, nanos);
  }

  void readable(GrainId grain) {
    unreadable.remove(grain);
  }

  /** How many saves of a grain have taken effect. */
  int saves(GrainId grain) {
    return saves.getOrDefault(grain, 0);
  }

  @Override
  public Optional<Stored> load(GrainId grain) {
    scheduler.touchShared();
    scheduler.sleep(unreadable.getOrDefault(grain, 0L));
    boolean fails = unreadable.containsKey(grain) || random.nextDouble() < failures;
    delay();
    var stored = Optional.ofNullable(states.get(grain));
    delay();
    if (fails) {
      trace("load " + grain + " fails");
      throw new StorageException(grain + ": simulated failure of a load");
    }
    trace("load " + grain + " revision " + stored.map(Stored::revision).orElse(NONE));
    return stored.map(state -> new Stored(state.revision(), state.state().clone()));
  }

  @Override
  public long save(GrainId grain, long expected, byte[] state) {
    return save(grain, expected, state, null);
  }

  private long save(GrainId grain, long expected, byte[] state, @Nullable NodeId by) {
    scheduler.touchShared();
    var fate = fates.get();
    var save = new Save(grain, expected, state.clone(), by, fate == Fate.FAILS);
    scheduler.after(random.nextLong(maxNanos + 1), scheduler.world(), save::takeEffect);
    delay();
    // Its time has come, but perhaps not yet its turn.
    save.takeEffect();
    delay();
    if (fate != Fate.DONE) {
      trace("save " + grain + " fails: " + fate);
      throw new StorageException(grain + ": simulated failure of a save");
    }
    return save.revision();
  }

  private void delay() {
    scheduler.touchShared();
    scheduler.sleep(random.nextLong(maxNanos + 1));
  }

  @Override
  public Optional<Fence> fence(String cluster) {
    return Optional.of(new SimFence());
  }

  /** Whether a save by this node, or by nobody, may take effect. */
  boolean mayAct(@Nullable NodeId by) {
    return by == null || alive.contains(by);
  }

  @Override
  public void close() {}

  private void trace(String what) {
    scheduler.trace().add(scheduler.now(), "storage", what);
  }

  /** A save under way. */
  private final class Save {
    private final GrainId grain;
    private final long expected;
    private final byte[] state;
    private final @Nullable NodeId by;
    private final boolean fails;
    private boolean done;
    private long revision;
    private @Nullable StorageException refusal;

    Save(GrainId grain, long expected, byte[] state, @Nullable NodeId by, boolean fails) {
      this.grain = grain;
      this.expected = expected;
      this.state = state;
      this.by = by;
      this.fails = fails;
    }

    void takeEffect() {
      if (done) {
        return;
      }
      done = true;
      var present = states.get(grain);
      long found = present == null ? NONE : present.revision();
      if (fails) {
        return;
      }
      if (!mayAct(by)) {
        trace("save " + grain + " by " + by + ", which was given up");
        refusal = new NodeGivenUpException(grain, Objects.requireNonNull(by));
        return;
      }
      if (found != expected) {
        trace("save " + grain + " expects " + expected + ", finds " + found);
        refusal =
            new RevisionConflictException(
                grain + ": expected revision " + expected + ", found " + found);
        return;
      }
      revision = found + 1 + random.nextInt(3);
      states.put(grain, new Stored(revision, state));
      saves.merge(grain, 1, Integer::sum);
      trace("save " + grain + " revision " + expected + " -> " + revision);
    }

    long revision() {
      if (refusal != null) {
        throw refusal;
      }
      return revision;
    }
  }

  /** Changes at once what takes time to be told. */
  private final class SimFence implements Fence {

    @Override
    public Storage storageOf(NodeId node) {
      return new OfOneNode(node);
    }

    /** At once, as nodes are started by the cluster. */
    @Override
    public void join(NodeId node) {
      alive.add(node);
    }

    @Override
    public Set<NodeId> alive() {
      delay();
      scheduler.touchShared();
      return new TreeSet<>(alive);
    }

    @Override
    public boolean isAlive(NodeId node) {
      scheduler.touchShared();
      boolean fails = random.nextDouble() < failures;
      delay();
      boolean is = mayAct(node);
      delay();
      if (fails) {
        throw new StorageException("simulated failure of a question for " + node);
      }
      return is;
    }

    @Override
    public boolean giveUp(NodeId node, NodeId by) {
      delay();
      boolean may = alive.contains(by);
      if (may) {
        alive.remove(node);
        trace(node + " is given up");
      }
      delay();
      return may;
    }
  }

  /** The storage as one node uses it. */
  private final class OfOneNode implements Storage {
    private final NodeId node;

    OfOneNode(NodeId node) {
      this.node = node;
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      return SimStorage.this.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      return SimStorage.this.save(grain, expected, state, node);
    }

    @Override
    public boolean fenced() {
      return true;
    }

    @Override
    public void close() {}
  }
}
