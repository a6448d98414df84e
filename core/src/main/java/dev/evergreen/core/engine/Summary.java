package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.Baton;
import dev.evergreen.core.work.Chain;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Waiters;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An operation with its last result (004 §4.1): of a grain ({@link GrainSummary}), or at the root
 * of a reactive computation ({@link RootComputation}). It depends on the caches that its last
 * accepted run has read.
 *
 * <p>Marked many times it runs once; marked during a run it runs once more (004 §4.1.1). It is
 * guarded by its activation if it has one, whose chain of what waits to run it is a link of.
 */
abstract class Summary extends Chain.Link<Summary> implements Reads.Owner {

  private static final int MOST_REPEATED = 3;

  /** An activation, as its summaries know it. Its monitor is theirs. */
  interface Home extends Turn.Home {

    /** The grain's object; for who holds the baton of an open activation. */
    Object object();

    /** The next sequence number of this activation's results. */
    long nextSequence();

    /** Lets a marked summary run as soon as it may. */
    void schedule(Summary summary, Tasks next);

    /** Lets begin what may. */
    void admit(Tasks next);

    /** A run has ended; returns whether its result may be accepted. */
    boolean ended(Run run);

    /** Whether an operation is under way that may have changed what is not committed yet. */
    boolean isWritten();
  }

  final Propagation parts;
  final Base base;

  /** The activation as whose read-only turns it runs; null for a computation outside of grains. */
  final @Nullable Home owner;

  final Object guard;

  @GuardedBy("guard")
  boolean marked;

  @GuardedBy("guard")
  @Nullable Run underWay;

  /** What the accepted run has read. */
  @GuardedBy("guard")
  Edges edges = Edges.NONE;

  /** How often in a row writes have discarded its run. */
  @GuardedBy("guard")
  private int discards;

  /** How often in a row its run has had no result, and writes were not why. */
  @GuardedBy("guard")
  private int repeats;

  /** Where in a trace the write was that has marked it last, if that is traced. */
  @GuardedBy("guard")
  private @Nullable TraceContext cause;

  @GuardedBy("guard")
  private long runs;

  /** Threads that wait until this has settled, or is over. */
  final Waiters watchers = new Waiters();

  Summary(Propagation parts, @Nullable Home owner) {
    this.parts = parts;
    this.base = parts.base();
    this.owner = owner;
    this.guard = owner == null ? this : owner;
  }

  /** Runs the user's code, once. */
  abstract @Nullable Object compute() throws Throwable;

  /**
   * Takes the result of a run.
   *
   * @param outcome null if there is none, since the run was discarded
   */
  abstract void accept(Run run, @Nullable Outcome outcome, Tasks next);

  /** Whether it is gone and runs no more. */
  @GuardedBy("guard")
  abstract boolean over();

  /** What the present result, or the list of its reads, was computed from; null if none is. */
  @GuardedBy("guard")
  abstract @Nullable List<Cache> computedFrom(boolean isList);

  @Override
  public void hasRead() {}

  // Running

  @Override
  public void mark(@Nullable TraceContext from) {
    synchronized (guard) {
      marked = !over();
      cause = from;
    }
  }

  /** Starts a run if it is marked and none is under way, and clears the mark; else null. */
  final @Nullable Run begin() {
    synchronized (guard) {
      if (!marked || underWay != null || over()) {
        return null;
      }
      var run = new Run(cause, discards, repeats < MOST_REPEATED);
      marked = false;
      underWay = run;
      cause = null;
      runs++;
      base.observer().runScheduled();
      return run;
    }
  }

  /** How often it has run. */
  final long runs() {
    synchronized (guard) {
      return runs;
    }
  }

  /** A run has ended; without a result it is to be repeated. */
  @GuardedBy("guard")
  final void ended(Run run, boolean repeat) {
    if (underWay == run) {
      underWay = null;
      marked |= repeat;
      repeats = repeat ? repeats + 1 : 0;
      cause = repeat && cause == null ? run.cause : cause;
      watchers.wake(base.workers());
    }
  }

  /** Takes what a run has read as the edges from now on; returns those until now. */
  @GuardedBy("guard")
  final Edges accepted(Edges read) {
    var until = edges;
    edges = read;
    discards = 0;
    return until;
  }

  /**
   * It is over: what runs is not wanted any more, and nobody need wait for it.
   *
   * @return the run that was under way
   */
  @GuardedBy("guard")
  final @Nullable Run stop() {
    var run = underWay;
    if (run != null) {
      run.discard();
    }
    underWay = null;
    marked = false;
    watchers.wake(base.workers());
    return run;
  }

  // Settling

  final boolean isOver() {
    synchronized (guard) {
      return over();
    }
  }

  /** As {@link #computedFrom}; null also if it is marked, or being computed again. */
  final @Nullable List<Cache> settledOn(boolean isList) {
    synchronized (guard) {
      return marked || underWay != null || over() ? null : computedFrom(isList);
    }
  }

  /** One execution of this summary. */
  final class Run extends Chain.Link<Run> implements Tasks.Task {
    private final Reads reads = new Reads(parts, Summary.this);
    private final Baton baton;

    /** Where in a trace the write was that has led to this run. */
    private final @Nullable TraceContext cause;

    /** How many runs before this one writes have discarded. */
    private final int discardedBefore;

    private final boolean mayBeRepeated;

    private Run(@Nullable TraceContext cause, int discardedBefore, boolean mayBeRepeated) {
      this.cause = cause;
      this.discardedBefore = discardedBefore;
      this.mayBeRepeated = mayBeRepeated;
      this.baton = owner == null ? new Baton(base.workers().threads()) : owner.baton();
    }

    Summary summary() {
      return Summary.this;
    }

    Reads reads() {
      return reads;
    }

    @Nullable TraceContext cause() {
      return cause;
    }

    int discardedBefore() {
      return discardedBefore;
    }

    boolean discarded() {
      return reads.cancellation().cancelled();
    }

    /** The result is not wanted: the run ends at its next blocking point. */
    void discard() {
      reads.cancellation().cancel(base.workers());
    }

    /** A write has made the result worthless: the summary runs again after that. */
    void discardForWrite() {
      discard();
      synchronized (guard) {
        underWay = null;
        marked = true;
        discards++;
      }
      base.observer().runDiscarded();
    }

    /** One outside of grains: its baton is its own, so that it waits for a processor only. */
    @Override
    public boolean prepare() {
      parts.backlog().runScheduled();
      return baton.acquireFor(this);
    }

    /** Executes on a thread of its own, or at the end of another task's, with the baton held. */
    @Override
    public void run(Tasks next) {
      var outcome = executeAlone();
      // User code that interrupted its own thread must not disturb the runtime's waiting.
      Thread.interrupted();
      accept(this, outcome, next);
    }

    /**
     * Executes on a thread that the application lent. Its interruption is the application's affair,
     * and so is how much of its stack is left: what comes of the run then, be it that the
     * computation catches it, is no result, and the computation runs again on another thread.
     */
    void runLent(Tasks next) {
      baton.acquire();
      var outcome = executeAlone();
      boolean failed =
          Thread.currentThread().isInterrupted()
              || (outcome instanceof Outcome.Threw(var failure, var original)
                  && original instanceof StackOverflowError);
      accept(this, failed ? null : outcome, next);
    }

    private @Nullable Outcome executeAlone() {
      parts.backlog().runBegins();
      try {
        return execute(null);
      } finally {
        // Not on this thread: to accept a result may take the time to ask other nodes.
        base.workers().startPrepared(baton.release());
      }
    }

    /** Executes on the calling thread, which holds the baton; inside of a turn, if it is in one. */
    @Nullable Outcome execute(@Nullable Scope lender) {
      if (discarded()) {
        return null;
      }
      var observed = base.observer().runBegins();
      var span = cause == null ? null : base.tracing().run(cause, toString());
      String failure = null;
      // An interrupt that came to the turn before is the turn's, and not of this run.
      boolean earlier = lender != null && Thread.interrupted();
      try {
        var turn = lender == null ? null : lender.turn();
        var scope = new Scope(base.workers(), owner, turn, reads, baton, null, lender);
        var result = scope.call(Summary.this::compute);
        scope.checkAlive(); // its code may have passed over that
        return isCut(null) ? null : new Outcome.Returned(result);
      } catch (Scope.Unwanted e) {
        return null;
      } catch (Throwable t) {
        failure = t.getClass().getName();
        var threw = new Outcome.Threw(Failures.of(t), key() == null ? t : null);
        return discarded() || isCut(threw.failure()) ? null : threw;
      } finally {
        if (earlier) {
          Thread.currentThread().interrupt();
        }
        if (span != null) {
          span.end(failure);
        }
        observed.end(this, reads.hits(), reads.misses(), discarded());
      }
    }

    /** Whether an interrupt has come to it, and it says nothing therefore: it is repeated. */
    private boolean isCut(@Nullable Failure failure) {
      boolean interrupted = reads.cancellation().isCut() || Failures.tellOfInterrupt(failure);
      // Only the write sees what is computed inside of it, and that it failed.
      boolean told = failure != null && owner != null && owner.isWritten();
      return interrupted && mayBeRepeated && !told && !reads.edges().areOpen();
    }

    /** What runs, as people who watch name it. */
    @Override
    public String toString() {
      var key = key();
      return key == null ? "reactive computation" : key.grain() + "." + key.operation().name();
    }
  }
}
