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
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A database in virtual time, which goes on when a process that has asked it stands still or dies.
 *
 * <p>A save by way of the fence sees its node as it was when it began, and may be late. So a node
 * is given up as in PostgreSQL, in three steps, each of which may be the last one: it is marked;
 * the saves that are under way are waited for; it is gone, which it stays.
 */
final class FencedStates {

  private static final long MOST_NANOS = 3_000_000;
  private static final long SLOW_NANOS = 1_500_000_000;
  private static final long LATE_NANOS = 8_000_000_000L;
  private static final long STUCK_NANOS = 12_000_000_000L;
  private static final long CALLERS_NANOS = 3_000_000_000L;
  private static final long PATIENCE_NANOS = 500_000_000;

  /** What is known of a node that has joined. */
  private enum Row {
    ALIVE,
    /** It saves no more, but for what is under way. */
    GIVEN_UP,
    GONE
  }

  private final VirtualTime time;
  private final SplittableRandom random;
  private final Map<GrainId, Long> revisions = new HashMap<>();
  private final Map<NodeId, Row> rows = new HashMap<>();

  /** Those that have looked for their node. */
  private final Set<Object> saving = new HashSet<>();

  /** One of so many questions fails, with effect, sooner or later, or without; 0 for none. */
  int failsOneIn;

  /**
   * One of so many saves takes long, and others wait for it as long as their patience; 0 for none.
   */
  int slowOneIn;

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
                answer.take(fails() ? failing(work) : work);
                pass();
                answer.done = true;
                process.unpark(asking);
              });
      awaitAnswer(answer);
      return answer.get();
    }

    private void awaitAnswer(Answer<?> answer) {
      if (slowOneIn == 0) {
        process.await(() -> answer.done);
        return;
      }
      long begin = process.nanos();
      while (!answer.done) {
        long left = CALLERS_NANOS - (process.nanos() - begin);
        if (left <= 0) {
          throw new StorageException("no answer; whether anything was written is unknown");
        }
        process.parkNanos(left);
      }
    }

    private <T> Supplier<T> failing(Supplier<T> work) {
      return () -> {
        switch (random.nextInt(3)) {
          case 0 -> new Answer<T>().take(work);
          case 1 -> doLate(work);
          default -> {}
        }
        throw new StorageException("away");
      };
    }

    /** As what was on its way when its connection broke. */
    private <T> void doLate(Supplier<T> work) {
      time.world()
          .start(
              () -> {
                time.world().sleep(random.nextLong(LATE_NANOS));
                new Answer<T>().take(work);
              });
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
            if (node == null) {
              return stored(grain, expected);
            }
            if (rows.get(node) != Row.ALIVE) {
              throw new NodeGivenUpException(grain, node);
            }
            var save = new Object();
            saving.add(save);
            try {
              pass();
              if (slowOneIn > 0 && random.nextInt(slowOneIn) == 0) {
                time.world().sleep(random.nextLong(STUCK_NANOS));
              }
              return stored(grain, expected);
            } finally {
              saving.remove(save);
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
      ask(() -> rows.putIfAbsent(joining, Row.ALIVE));
    }

    @Override
    public Set<NodeId> alive() {
      return ask(
          () ->
              rows.keySet().stream()
                  .filter(one -> rows.get(one) != Row.GONE)
                  .collect(Collectors.toSet()));
    }

    @Override
    public boolean isAlive(NodeId asked) {
      return ask(() -> rows.get(asked) == Row.ALIVE);
    }

    @Override
    public boolean giveUp(NodeId other, NodeId by) {
      return ask(
          () -> {
            boolean may = rows.get(by) == Row.ALIVE;
            if (may) {
              rows.replace(other, Row.ALIVE, Row.GIVEN_UP);
            }
            if (may || rows.get(other) == Row.GIVEN_UP) {
              goOn();
              awaitSavesUnderWay();
              goOn();
              rows.replace(other, Row.GIVEN_UP, Row.GONE);
            }
            return may;
          });
    }

    @Override
    public void close() {}
  }

  private boolean fails() {
    return failsOneIn > 0 && random.nextInt(failsOneIn) == 0;
  }

  /** From one step to the next one. */
  private void goOn() {
    pass();
    if (fails()) {
      throw new StorageException("away");
    }
  }

  private void awaitSavesUnderWay() {
    long begin = time.world().nanos();
    var left = new HashSet<>(saving);
    while (!left.isEmpty()) {
      if (time.world().nanos() - begin >= PATIENCE_NANOS) {
        throw new StorageException("saves do not end");
      }
      time.world().sleep(MOST_NANOS);
      left.retainAll(saving);
    }
  }

  /** What is there at this moment. */
  long revision(GrainId grain) {
    return revisions.getOrDefault(grain, Storage.NONE);
  }

  private long stored(GrainId grain, long expected) {
    long known = revision(grain);
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
