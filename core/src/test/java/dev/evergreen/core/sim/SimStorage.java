package dev.evergreen.core.sim;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Storage that all nodes share: slow, and at times failing, before or after the effect. A save that
 * was sent takes effect also if its sender is dead or paused by then.
 */
final class SimStorage implements Storage {

  private final Scheduler scheduler;
  private final SplittableRandom random;
  private final long maxNanos;
  private final Map<GrainId, Stored> states = new HashMap<>();
  private final Map<GrainId, Integer> saves = new HashMap<>();
  private final Map<GrainId, Long> unreadable = new HashMap<>();
  private double failures;

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
    boolean fails = random.nextDouble() < failures;
    boolean before = fails && random.nextBoolean();
    var save = new Save(grain, expected, state.clone(), before);
    scheduler.after(random.nextLong(maxNanos + 1), scheduler.world(), save::takeEffect);
    delay();
    // Its time has come, but perhaps not yet its turn.
    save.takeEffect();
    delay();
    if (fails) {
      trace("save " + grain + " fails " + (before ? "without" : "after its") + " effect");
      throw new StorageException(grain + ": simulated failure of a save");
    }
    return save.revision();
  }

  private void delay() {
    scheduler.sleep(random.nextLong(maxNanos + 1));
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
    private final boolean fails;
    private boolean done;
    private long revision;
    private @Nullable RevisionConflictException conflict;

    Save(GrainId grain, long expected, byte[] state, boolean fails) {
      this.grain = grain;
      this.expected = expected;
      this.state = state;
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
      if (found != expected) {
        trace("save " + grain + " expects " + expected + ", finds " + found);
        conflict =
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
      if (conflict != null) {
        throw conflict;
      }
      return revision;
    }
  }
}
