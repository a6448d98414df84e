package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.State;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.engine.Publication.Follower;
import dev.evergreen.core.engine.Publication.Subscribed;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.GrainModel;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.Baton;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Waiters;
import dev.evergreen.core.work.Workers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One life of one grain on this node: its object, the turns that run or wait, and the summaries of
 * its operations.
 *
 * <p><b>Who runs.</b> The rule of {@link Admission} says which turns are admitted. Among those the
 * {@link Baton} decides who runs at a moment, and changes hands only at blocking points.
 *
 * <p><b>Who comes back</b> to where its chain is inside and waited for begins at once. If the turn
 * that waited goes on without it, what it did is undone and it can do no more ({@link #expel}).
 *
 * <p><b>Summaries</b> come with their first subscriber and go with their last. Every turn that may
 * write marks all of them when it ends, before its caller knows. They run between the writes, by
 * the rule of {@link Runs}.
 *
 * <p><b>The end.</b> Whoever closes an activation lets nothing begin, waits a while for what runs,
 * and then ends it: what waits is answered that it did not start, what still runs that its outcome
 * is unknown, and subscribers that the grain is elsewhere.
 *
 * <p>The object and its state cell belong to who holds the baton. No thread waits while it holds
 * the monitor.
 */
final class Activation implements Summary.Home {

  private enum Phase {
    /** The object is being made: turns wait. */
    OPENING,
    OPEN,
    /** Turns that run go on, and what they call may come back; all else is refused. */
    CLOSING,
    /** For good: whatever still runs saves nothing. */
    CLOSED
  }

  /** What is inside: the grain's object, and what that has asked for. */
  interface Inside {

    /** Makes the grain's object. */
    Object construct();

    /** Whether the calling thread does so. */
    boolean isConstructing();

    /** The activation has ended. */
    void close();
  }

  private final Propagation parts;
  private final Base base;
  private final Workers workers;
  private final GrainModel model;
  private final GrainId id;
  private final long epoch;
  private final Baton baton;
  private final Inside inside;
  private final Consumer<Activation> whenClosed;

  private volatile @Nullable Object object;
  private @Nullable StateCell<?> state;

  @GuardedBy("this")
  private Phase phase = Phase.OPENING;

  @GuardedBy("this")
  private final Admission<Turn> admission = new Admission<>();

  @GuardedBy("this")
  private final Map<CallKey, GrainSummary> summaries = new LinkedHashMap<>(2);

  @GuardedBy("this")
  private final Set<RootComputation<?>> owned = new LinkedHashSet<>(2);

  @GuardedBy("this")
  private final Runs runs;

  /** How many {@link NextRun}s wait for the baton. */
  @GuardedBy("this")
  private int runsDue;

  /** Whether a timer is set, or about to be, for when the protection of runs ends. */
  @GuardedBy("this")
  private boolean looksAgain;

  @GuardedBy("this")
  private long sequence;

  @GuardedBy("this")
  private long lastUsed;

  @GuardedBy("this")
  private @Nullable String closeReason;

  @GuardedBy("this")
  private boolean saving;

  /** Threads that close this activation, and wait for what is under way. */
  private final Waiters closers = new Waiters();

  /**
   * @param inside makes what is inside of it
   * @param whenClosed called once
   */
  Activation(
      Propagation parts,
      GrainModel model,
      GrainId id,
      long epoch,
      Function<Activation, Inside> inside,
      Consumer<Activation> whenClosed) {
    this.parts = parts;
    this.base = parts.base();
    this.workers = base.workers();
    this.model = model;
    this.id = id;
    this.epoch = epoch;
    this.baton = new Baton(workers.threads());
    this.runs = new Runs(workers, base.settings().writeDelay());
    this.whenClosed = whenClosed;
    this.lastUsed = workers.nanos();
    this.inside = inside.apply(this);
  }

  @Override
  public Base base() {
    return base;
  }

  @Override
  public GrainModel model() {
    return model;
  }

  @Override
  public GrainId id() {
    return id;
  }

  @Override
  public long epoch() {
    return epoch;
  }

  @Override
  public Baton baton() {
    return baton;
  }

  @Override
  public Object object() {
    var grain = object;
    if (grain == null) {
      throw new Scope.Unwanted();
    }
    return grain;
  }

  // Opening

  /**
   * Makes the grain's object; the first task of every activation. It needs no baton: before there
   * is an object nobody else is let in.
   */
  void open(Tasks next) {
    ActivationException problem = null;
    var opening = base.observer().activationBegins(id);
    try {
      object = inside.construct();
    } catch (Throwable t) {
      problem = new ActivationException(id + " could not be activated: " + Failures.describe(t), t);
    }
    opening.end(problem);
    if (problem != null) {
      close(String.valueOf(problem.getMessage()), problem, next);
      return;
    }
    synchronized (this) {
      if (phase == Phase.OPENING) {
        phase = Phase.OPEN;
        admit(next);
      }
    }
  }

  /** Called by the context while the object is constructed. */
  <S> State<S> stateCell(Class<S> type, S initial) {
    if (state != null) {
      throw new InvalidGrainException(
          id + ": context.state(...) was called twice; a grain has one state, use a record");
    }
    var cell = new StateCell<>(base, id, base.models().values(type), initial, this::checkInside);
    state = cell;
    return cell;
  }

  // Turns

  /** Takes a turn: it runs, waits, or is refused. */
  void submit(Turn turn, Tasks next) {
    String refusal = null;
    boolean again = false;
    synchronized (this) {
      long now = workers.nanos();
      lastUsed = turn.isCall() ? now : lastUsed;
      turn.arrive(now);
      boolean comesBack = turn.isWaitedForBy(admission);
      if ((phase == Phase.OPEN || phase == Phase.CLOSING) && mayComeBack(turn)) {
        // While this activation is closing, turns that run go on, and so do their chains.
        begin(turn, next);
      } else if (phase == Phase.CLOSING || phase == Phase.CLOSED) {
        refusal = closeReason != null ? closeReason : id + " is being deactivated";
        again = true;
      } else if (turn.isCall()
          && !comesBack
          && admission.waiting() >= base.settings().maxWaitingCalls()) {
        refusal =
            id
                + " has "
                + admission.waiting()
                + " calls waiting, which is the limit (NodeSettings.maxWaitingCalls); call again"
                + " later";
      } else {
        admission.await(turn, next);
        admit(next);
      }
    }
    if (refusal != null) {
      turn.refuse(refusal, again);
    }
  }

  @Override
  public synchronized void hastened(Turn turn, Tasks next) {
    admission.hastened(turn, next);
    admit(next);
  }

  @Override
  public synchronized boolean isWritten() {
    return admission.isWritten();
  }

  @GuardedBy("this")
  private boolean mayComeBack(Turn turn) {
    return turn.isWaitedForBy(admission) && !(model.reentrant() && turn.isBesideAnother(admission));
  }

  /** One that came back is not inside any more: others may have waited for that. */
  @GuardedBy("this")
  private void letComeBack(Tasks next) {
    for (var turn : admission.inOrder()) {
      if (phase == Phase.OPEN && mayComeBack(turn)) {
        begin(turn, next);
      }
    }
  }

  @Override
  public synchronized boolean withdraw(Turn turn, Tasks next) {
    boolean waited = admission.withdraw(turn);
    admit(next);
    return waited;
  }

  /**
   * A turn of this activation goes on and waits no longer for a call. What came back here by that
   * call and is not done must not mix with it: its changes are undone, and it makes no more. With
   * the baton held.
   */
  @Override
  public void expel(Awaited call) {
    if (!model.reentrant()) {
      return;
    }
    var expelled = new ArrayList<Turn>();
    synchronized (this) {
      for (var turn : admission.inside()) {
        if (turn.cameBy(call, expelled)) {
          expelled.add(turn);
        }
      }
    }
    for (var turn : expelled.reversed()) {
      rollBack(turn);
      turn.expel();
    }
    if (!expelled.isEmpty()) {
      var next = new Tasks();
      synchronized (this) {
        letComeBack(next);
      }
      workers.fork(next);
    }
  }

  private void rollBack(Turn turn) {
    if (!turn.readOnly() && state != null && !turn.expelled()) {
      state.rollBack(turn);
    }
  }

  @Override
  public Outcome execute(Turn turn, Turn.Body body) {
    var grain = object;
    if (grain == null) {
      return new Outcome.NotStarted(id + " is not active", true);
    }
    try {
      var scope = new Scope(workers, this, turn, null, baton, null, null);
      var result = scope.call(() -> body.run(grain));
      // User code that interrupted its own thread must not disturb the storage.
      Thread.interrupted();
      if (turn.expelled()) {
        return Outcome.Threw.of(turn.expulsion());
      }
      var problem = turn.readOnly() ? null : save();
      return problem == null ? new Outcome.Returned(result) : Outcome.Threw.of(problem);
    } catch (Throwable t) {
      rollBack(turn);
      return Outcome.Threw.of(t instanceof NotStartedException e ? startedAllTheSame(turn, e) : t);
    }
  }

  /**
   * What an operation called did not start. To its own caller that must not look as if the
   * operation had not started either, since such a call may be repeated without a thought.
   */
  private static OutcomeUnknownException startedAllTheSame(Turn turn, NotStartedException cause) {
    return new OutcomeUnknownException(
        turn
            + " failed, since what it called did not start: "
            + cause.getMessage()
            + " What it had others do before stays. Ask the grain, or call again if the operation"
            + " is idempotent",
        cause);
  }

  private @Nullable StateNotSavedException save() {
    if (state == null) {
      return null;
    }
    synchronized (this) {
      if (phase == Phase.CLOSED) {
        return new StateNotSavedException(
            id + " was deactivated while the operation ran; what it did is not saved");
      }
      saving = true;
    }
    StateNotSavedException problem;
    try {
      problem = state.save();
    } finally {
      synchronized (this) {
        saving = false; // whoever waits for that is woken when the turn has ended
      }
    }
    if (problem != null) {
      closeAfterTurn(String.valueOf(problem.getMessage()));
    }
    return problem;
  }

  @Override
  public boolean finished(Turn turn, Tasks next) {
    String close;
    boolean wanted;
    synchronized (this) {
      wanted = admission.leave(turn);
      if (turn.isCall()) {
        lastUsed = workers.nanos();
      }
      if (!turn.readOnly()) {
        markAll(turn.trace());
      }
      close = closeReason;
      if (close != null && phase == Phase.OPEN) {
        // Nothing may see or build upon a state that was not saved.
        phase = Phase.CLOSING;
      }
      if (turn.cameBack() && model.reentrant()) {
        letComeBack(next);
      }
      admit(next);
      if (nothingRuns()) {
        closers.wake(workers);
      }
    }
    if (close != null) {
      beginClosing(close);
      if (nothingRuns()) {
        close(close, null, next);
      }
    }
    return wanted;
  }

  @GuardedBy("this")
  private void begin(Turn turn, Tasks next) {
    admission.enter(turn);
    if (!turn.readOnly()) {
      runs.makeWay();
    }
    next.add(turn);
  }

  @Override
  public synchronized void admit(Tasks next) {
    if (phase != Phase.OPEN) {
      return;
    }
    var turn = admission.next();
    while (turn != null && (turn.readOnly() || !heldUpByRuns(next))) {
      begin(turn, next);
      turn = admission.next();
    }
    while (!admission.isWritten() && runsDue < runs.due()) {
      next.add(new NextRun());
      runsDue++;
    }
  }

  // Runs of summaries

  @GuardedBy("this")
  private boolean heldUpByRuns(Tasks next) {
    long nanos = runs.protectedFor();
    if (nanos > 0 && !looksAgain) {
      looksAgain = true;
      next.add(then -> workers.after(nanos, this::lookAgain));
    }
    return nanos > 0;
  }

  private synchronized void lookAgain(Tasks next) {
    looksAgain = false;
    admit(next);
  }

  /** The next run, whichever it is by the time that the baton comes to it. */
  private final class NextRun implements Tasks.Task {

    @Override
    public boolean prepare() {
      boolean held = baton.acquireFor(this);
      if (held) {
        granted();
      }
      return held;
    }

    /** Only now it waits for a processor, and no longer for a turn or another run. */
    @Override
    public void granted() {
      parts.backlog().runScheduled();
    }

    @Override
    public void run(Tasks next) {
      Summary.Run run = null;
      try {
        run = begin();
      } finally {
        if (run == null) {
          parts.backlog().runBegins();
          next.addPrepared(baton.release());
        }
      }
      if (run != null) {
        try {
          dueAgain();
        } finally {
          run.run(next);
        }
      }
    }

    /**
     * The baton is held: who waits for it now gets it when the run ends, or blocks. Not where none
     * begins, or they would follow each other without end while a write is inside that waits.
     */
    private void dueAgain() {
      if (tooFewAreDue()) {
        prepare();
        synchronized (Activation.this) {
          runsDue++;
        }
      }
    }

    private boolean tooFewAreDue() {
      synchronized (Activation.this) {
        return runsDue < runs.due();
      }
    }

    private Summary.@Nullable Run begin() {
      synchronized (Activation.this) {
        runsDue--;
        return phase == Phase.OPEN && !admission.isWritten() ? runs.begin() : null;
      }
    }
  }

  /** Marks every summary, for a write or for a change that the runtime cannot see. */
  @GuardedBy("this")
  private void markAll(@Nullable TraceContext cause) {
    for (var summary : summaries.values()) {
      summary.mark(cause);
      runs.await(summary);
    }
    for (var root : owned) {
      root.mark(cause);
      runs.await(root);
    }
  }

  void markChanged(Tasks next) {
    synchronized (this) {
      markAll(null);
      admit(next);
    }
  }

  @Override
  public synchronized void schedule(Summary summary, Tasks next) {
    runs.await(summary);
    admit(next);
  }

  @Override
  public synchronized boolean ended(Summary.Run run) {
    return runs.ended(run) && phase != Phase.CLOSED;
  }

  @Override
  public synchronized long nextSequence() {
    return ++sequence;
  }

  // Subscriptions

  /** Registers or renews a subscription of a node's cache. */
  Subscribed subscribe(CallKey key, Follower follower, Tasks next) {
    if (base.models().graph().isReads(key)) {
      var followed = summary(key);
      return followed == null ? Subscribed.NOWHERE : followed.followReads(follower, next);
    }
    GrainSummary summary;
    boolean owed;
    synchronized (this) {
      if (phase == Phase.CLOSING || phase == Phase.CLOSED) {
        return Subscribed.NOT_HERE;
      }
      summary = summaries.get(key);
      if (summary == null) {
        summary = new GrainSummary(parts, this, key);
        summaries.put(key, summary);
        runs.await(summary);
      }
      owed = summary.results().subscribe(follower);
      admit(next);
    }
    if (summary.settledOn(false) != null) {
      summary.results().pushOwed(next);
    }
    return Subscribed.of(owed);
  }

  /** Ends a subscription; a summary without any goes (004 §4.2). */
  void unsubscribe(CallKey key, Follower follower) {
    if (base.models().graph().isReads(key)) {
      var followed = summary(key);
      if (followed != null) {
        followed.unfollowReads(follower);
      }
      return;
    }
    GrainSummary gone = null;
    synchronized (this) {
      var summary = summaries.get(key);
      if (summary != null && summary.results().unsubscribe(follower)) {
        remove(summary);
        gone = summary;
      }
    }
    if (gone != null) {
      gone.releaseReads();
    }
  }

  @GuardedBy("this")
  private void remove(GrainSummary summary) {
    summaries.remove(summary.key());
    runs.withdraw(summary);
    runs.ended(summary.remove());
    lastUsed = workers.nanos();
  }

  /** Drops subscriptions that are over. */
  void expire(Predicate<Publication.Subscriber> over) {
    var gone = new ArrayList<GrainSummary>();
    synchronized (this) {
      for (var summary : List.copyOf(summaries.values())) {
        if (summary.expire(over)) {
          remove(summary);
          gone.add(summary);
        }
      }
    }
    gone.forEach(GrainSummary::releaseReads);
  }

  /** The summary of a call, or whose reads it asks for; null if it is not here. */
  @Nullable GrainSummary summary(CallKey call) {
    var graph = base.models().graph();
    // Outside of the monitor, as it may make the arguments anew.
    var key = graph.isReads(call) ? base.models().knownCallKey(graph.summaryOf(call)) : call;
    synchronized (this) {
      return key == null ? null : summaries.get(key);
    }
  }

  synchronized List<GrainSummary> summaries() {
    return List.copyOf(summaries.values());
  }

  /** How many turns wait to be admitted. */
  synchronized int waiting() {
    return admission.waiting();
  }

  /** A computation made by this grain: it ends with the activation at the latest. */
  void own(RootComputation<?> root) {
    synchronized (this) {
      if (phase != Phase.CLOSED) {
        owned.add(root);
        return;
      }
    }
    throw new ActivationException(id + " is deactivated and makes no computation any more");
  }

  void disown(RootComputation<?> root) {
    synchronized (this) {
      owned.remove(root);
      runs.withdraw(root);
    }
  }

  // Closing

  /** Lets nothing begin any more if nothing has used this activation since {@code nanos}. */
  synchronized boolean beginClosingIfIdle(long nanos) {
    boolean idle =
        phase == Phase.OPEN
            && nothingRuns()
            && admission.waiting() == 0
            && summaries.isEmpty()
            && owned.isEmpty()
            && lastUsed - nanos < 0;
    if (idle) {
      phase = Phase.CLOSING;
    }
    return idle;
  }

  private synchronized boolean nothingRuns() {
    return admission.isEmpty();
  }

  /** Closes as soon as the turns that run have ended. */
  synchronized void closeAfterTurn(String reason) {
    closeReason = reason;
  }

  /** Refuses what waits from now on; running turns go on. */
  void beginClosing(String reason) {
    List<Turn> refused;
    synchronized (this) {
      if (phase == Phase.CLOSED) {
        return;
      }
      phase = Phase.CLOSING;
      closeReason = reason;
      refused = admission.withdrawAll();
    }
    refused.forEach(turn -> turn.refuse(reason, true));
  }

  /** Waits until no turn runs, or until {@code deadline}, or until it is interrupted. */
  void awaitIdle(long deadline) {
    awaitEnd(this::nothingRuns, deadline);
  }

  /**
   * Waits until a save that was under way when this was closed has ended, or until it is
   * interrupted. What was saved until then is what the next activation loads.
   */
  void awaitSaved() {
    awaitEnd(this::savesNothing, workers.nanos() + Long.MAX_VALUE / 2);
  }

  private synchronized boolean savesNothing() {
    return !saving;
  }

  private void awaitEnd(BooleanSupplier end, long deadline) {
    closers.add(Thread.currentThread());
    try {
      workers.await(end, deadline, false);
    } catch (CallInterruptedException e) {
      // Whoever closes in a hurry waits for nothing, but still closes; the interruption is kept.
      return;
    } finally {
      closers.remove(Thread.currentThread());
    }
  }

  /**
   * Ends this activation at once: what waits is refused, what runs can no longer save, subscribers
   * are told to look for the grain again.
   *
   * @param failed why it never became active; null if it did
   */
  void close(String reason, @Nullable ActivationException failed, Tasks next) {
    List<Turn> refused;
    List<Turn> abandoned;
    List<GrainSummary> ended;
    List<RootComputation<?>> roots;
    synchronized (this) {
      if (phase == Phase.CLOSED) {
        return;
      }
      phase = Phase.CLOSED;
      closeReason = reason;
      refused = admission.withdrawAll();
      abandoned = admission.leaveAll();
      closers.wake(workers);
      ended = List.copyOf(summaries.values());
      summaries.clear();
      roots = List.copyOf(owned);
    }
    inside.close();
    whenClosed.accept(this);
    if (object != null) {
      base.observer().deactivated(id, reason);
    }
    for (var turn : refused) {
      if (failed != null) {
        turn.fail(failed);
      } else {
        turn.refuse(reason, true);
      }
    }
    abandoned.forEach(turn -> turn.abandon(reason));
    roots.forEach(RootComputation::close);
    for (var summary : ended) {
      summary.end(failed == null ? null : Outcome.Threw.of(failed), next);
    }
  }

  // Checks

  /**
   * That the calling thread runs code of this activation.
   *
   * @return its scope; null while the object is constructed
   */
  @Nullable Scope checkInside(String what) {
    var scope = Scope.current();
    if (scope != null && scope.home() == this) {
      return scope;
    }
    if (inside.isConstructing()) {
      return null;
    }
    throw new InvalidGrainException(
        id
            + ": "
            + what
            + " was used by a thread that holds no turn of this grain; use it in operations,"
            + " timers and computations of the grain, or the node's references outside");
  }
}
