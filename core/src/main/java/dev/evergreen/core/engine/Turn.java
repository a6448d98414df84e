package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.GrainModel;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.Baton;
import dev.evergreen.core.work.ChainClock;
import dev.evergreen.core.work.Tasks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One operation under way on one activation: the unit of exclusion (design §3). Also the innermost
 * link of its call chain.
 */
final class Turn extends Admission.Entrant<Turn> implements Tasks.Task, Awaited {

  /** An activation, as its turns know it. */
  interface Home {
    Base base();

    GrainId id();

    GrainModel model();

    /** Which of the grain's lives it is. */
    long epoch();

    Baton baton();

    /** A turn, or one that waits for it, has become older; it may wait here. */
    void hastened(Turn turn, Tasks next);

    /** Takes a turn back; returns false if it has begun, or never will. */
    boolean withdraw(Turn turn, Tasks next);

    /** A turn goes on and waits no longer for a call: what came back here by that is shut out. */
    void expel(Awaited call);

    /** Runs a turn's body with the baton held, and saves what it changed. */
    Outcome execute(Turn turn, Body body);

    /**
     * A turn has ended: its writes mark the summaries, and others may run.
     *
     * @return whether its outcome is still wanted
     */
    boolean finished(Turn turn, Tasks next);
  }

  /** What a turn does; the state is saved and summaries are marked around it. */
  interface Body {
    @Nullable Object run(Object grainObject) throws Throwable;
  }

  /** Finds, among the calls that chains have left this node by, the turns that wait for one. */
  interface Departures {
    /** As {@link Turn#findHolders(Turn, Awaited)}, for who has made this call. */
    boolean findHolders(Turn turn, long leftBy);
  }

  /** A state that an operation replaces, and the revision that was saved then. */
  record Before(Object state, long revision) {}

  private final Home home;
  private final String name;
  private final boolean readOnly;
  private final Body body;
  private final @Nullable CallKey key;
  private final @Nullable Turn caller;
  private final List<Message.Hop> remoteChain;
  private final Consumer<Outcome> whenDone;
  private @Nullable Before stateBefore; // touched with the baton held
  private long arrived;

  /** When its chain began, or an older one that waits for it. */
  @GuardedBy("this")
  private long began;

  /** The calls that this turn waits for: they get older with it. */
  @GuardedBy("this")
  private @Nullable Set<Awaited> awaited;

  /** The turn of this activation on whose behalf this one came back to it; null if it did not. */
  private @Nullable Turn holder;

  /** The call of {@link #holder} that has led here. */
  private @Nullable Awaited way;

  private volatile boolean over;
  private volatile boolean expelled; // written with the baton held
  private volatile @Nullable String abandoned;

  /** Set before it is submitted, and then by the thread that runs it. */
  private @Nullable TraceContext trace;

  /** What nobody has called, such as a timer. */
  Turn(Home home, String name, boolean readOnly, Body body, Consumer<Outcome> whenDone) {
    this.home = home;
    this.name = name;
    this.readOnly = readOnly;
    this.body = body;
    this.key = null;
    this.caller = null;
    this.remoteChain = List.of();
    this.began = Long.MAX_VALUE;
    this.whenDone = whenDone;
  }

  /**
   * A call.
   *
   * @param caller the turn of this node that has made it, if one has
   * @param remoteChain the turns of other nodes that have led to it
   * @param began when its chain began, if that was on another node
   * @param trace where in a trace it was made; null if it is not traced
   */
  Turn(
      Home home,
      CallKey key,
      @Nullable Turn caller,
      List<Message.Hop> remoteChain,
      long began,
      @Nullable TraceContext trace,
      Consumer<Outcome> whenDone) {
    this.home = home;
    this.name = key.operation().name();
    this.readOnly = key.operation().readOnly();
    this.body = grain -> key.operation().call(grain, key.arguments(), key.grain());
    this.key = key;
    this.caller = caller;
    this.remoteChain = remoteChain;
    this.began = began > ChainClock.NONE ? began : Long.MAX_VALUE;
    this.trace = trace;
    this.whenDone = whenDone;
  }

  /** The activation that it is a turn of. */
  Home home() {
    return home;
  }

  /** Whether an operation that may write waits for this one, on whatever node, or is this one. */
  boolean isPartOfWrite() {
    for (var turn = this; turn != null; turn = turn.caller) {
      if (!turn.readOnly || turn.remoteChain.stream().anyMatch(hop -> !hop.readOnly())) {
        return true;
      }
    }
    return false;
  }

  /** The operation's name, or what else runs as a turn. */
  String name() {
    return name;
  }

  @Override
  boolean readOnly() {
    return readOnly;
  }

  /** Whether somebody called; timers neither keep a grain active nor are refused. */
  boolean isCall() {
    return key != null;
  }

  /** Remembers what the state was before this turn set it first. */
  void keep(Before before) {
    if (stateBefore == null) {
      stateBefore = before;
    }
  }

  /** What the state was before this turn set it; null if it has not. */
  @Nullable Before stateBefore() {
    return stateBefore;
  }

  /** Where in a trace this turn is; null if it is not traced. */
  @Nullable TraceContext trace() {
    return trace;
  }

  /** This turn arrives at its activation; its chain begins here, unless it has begun before. */
  void arrive(long nanos) {
    arrived = nanos;
    long chainBegan = caller == null ? home.base().chainClock().at(nanos) : caller.began();
    synchronized (this) {
      began = Math.min(began, chainBegan);
    }
  }

  // Age

  @Override
  synchronized long began() {
    return began;
  }

  @Override
  public void hasten(long older, Tasks next) {
    List<Awaited> told;
    synchronized (this) {
      if (older >= began) {
        return;
      }
      began = older;
      told = awaited == null ? List.of() : List.copyOf(awaited);
    }
    home.hastened(this, next);
    told.forEach(call -> next.add(then -> call.hasten(older, then)));
  }

  /**
   * This turn is about to make a call. Who looks at {@link #began} afterwards, or is told by {@link
   * Awaited#hasten}, misses nothing.
   */
  synchronized void awaits(Awaited call) {
    if (awaited == null) {
      awaited = new LinkedHashSet<>(2);
    }
    awaited.add(call);
  }

  /** This turn goes on, with the outcome of a call or without. */
  void goesOn(Awaited call) {
    call.goOnWithout();
    synchronized (this) {
      if (awaited != null) {
        awaited.remove(call);
      }
    }
    home.expel(call);
  }

  // The chain

  /**
   * Whether the turn on whose behalf this one came back to its activation still waits for the call
   * that led here.
   */
  boolean isWaitedForBy(Admission<Turn> admission) {
    return holder != null && way != null && !way.over() && admission.isInside(holder);
  }

  /** Whether this turn came back to its activation. */
  boolean cameBack() {
    return holder != null;
  }

  /**
   * Whether another turn is inside that came back, too, and not for this one: what one of them
   * leaves half-done is nothing that the other may see or save.
   */
  boolean isBesideAnother(Admission<Turn> admission) {
    for (var other : admission.inside()) {
      boolean excludes = !other.readOnly || !readOnly;
      if (excludes && other.cameBack() && !other.expelled() && !isOnBehalfOf(other)) {
        return true;
      }
    }
    return false;
  }

  private boolean isOnBehalfOf(Turn other) {
    var turn = holder;
    while (turn != null && turn != other) {
      turn = turn.holder;
    }
    return turn != null;
  }

  /** Whether this turn came back to its activation by a call, or for a turn that did. */
  boolean cameBy(Awaited call, Collection<Turn> others) {
    return way == call || (holder != null && others.contains(holder));
  }

  @Override
  public void goOnWithout() {
    over = true;
  }

  @Override
  public boolean over() {
    return over;
  }

  /** The turn for which this one was let in goes on without it; called with the baton held. */
  void expel() {
    expelled = true;
  }

  /** Whether nobody waits for it: that is so as well if it came back for a turn that is. */
  boolean expelled() {
    return expelled || (holder != null && way != null && !way.over() && holder.expelled());
  }

  /** What a turn gets that was expelled. */
  OutcomeUnknownException expulsion() {
    return new OutcomeUnknownException(
        this
            + " came back to its grain for an operation that has gone on without it; what it did to"
            + " the state is undone. Ask the grain, or call again if the operation is idempotent");
  }

  /**
   * Finds out whether the chain that led here holds this activation already, so that the turn must
   * not wait for it. A turn holds it for those only whose calls it still waits for.
   *
   * @throws CycleException if it may not be entered again (design §3)
   */
  void checkChain(Departures departures) {
    if (caller == null && remoteChain.isEmpty()) {
      return;
    }
    boolean heldByWrite = findHolders(caller, this);
    for (var hop : outermostCaller().remoteChain) {
      if (hop.grain().equals(home.id())) {
        refuseSameCall(hop.call());
        if (hop.epoch() == home.epoch()) {
          heldByWrite |= departures.findHolders(this, hop.leftBy());
        }
      }
    }
    if (holder != null && (heldByWrite || !readOnly) && !home.model().reentrant()) {
      throw cycle();
    }
  }

  /**
   * Looks for turns of this activation among a caller and those that wait for it.
   *
   * @param call what the caller waits for
   * @return whether one of them writes
   */
  boolean findHolders(@Nullable Turn from, Awaited call) {
    boolean byWrite = false;
    var leadsHere = call;
    for (var turn = from; turn != null && !leadsHere.over(); turn = turn.caller) {
      if (turn.home == home) {
        if (turn.key != null) {
          refuseSameCall(turn.key);
        }
        if (holder == null) {
          holder = turn;
          way = leadsHere;
        }
        byWrite |= !turn.readOnly;
      }
      leadsHere = turn;
    }
    return byWrite;
  }

  private void refuseSameCall(CallKey other) {
    if (readOnly && other.equals(key)) {
      throw cycle();
    }
  }

  private void refuseSameCall(byte[] otherDigest) {
    if (readOnly && key != null && Arrays.equals(otherDigest, key.digest())) {
      throw cycle();
    }
  }

  /**
   * The activation ends while this turn runs: its caller is not kept waiting, and what it still
   * calls fails.
   */
  void abandon(String reason) {
    abandoned = reason;
    whenDone.accept(
        readOnly
            ? new Outcome.NotStarted(reason, true)
            : Outcome.Threw.of(
                new OutcomeUnknownException(
                    this
                        + " still ran when its activation ended ("
                        + reason
                        + "); whether it took effect is unknown. Ask the grain, or call again if"
                        + " the operation is idempotent")));
  }

  /**
   * To be called before each attempt of a call on behalf of this turn.
   *
   * @throws NotStartedException if its activation has ended meanwhile
   */
  void checkNotAbandoned() {
    var reason = abandoned;
    if (reason != null) {
      throw new NotStartedException(
          this + " goes on after the end of its activation and may call nobody: " + reason);
    }
  }

  private Turn outermostCaller() {
    var turn = this;
    while (turn.caller != null) {
      turn = turn.caller;
    }
    return turn;
  }

  private CycleException cycle() {
    home.base().observer().circleFound();
    var path = new ArrayList<String>();
    for (var hop : chain(0)) {
      path.addFirst(hop.grain() + "." + hop.operation());
    }
    return new CycleException(
        "the call chain "
            + String.join(" -> ", path)
            + " comes back to "
            + home.id()
            + ", which waits for it; break the cycle, make the operations @ReadOnly, or declare "
            + home.model().type().getSimpleName()
            + " @Reentrant");
  }

  /**
   * This turn and those that led to it, innermost first, as other nodes are told.
   *
   * @param leftBy the call by which the chain leaves this node
   */
  List<Message.Hop> chain(long leftBy) {
    var chain = new ArrayList<Message.Hop>();
    Turn outermost = this;
    for (var turn = this; turn != null; turn = turn.caller) {
      chain.add(
          new Message.Hop(
              turn.home.id(),
              turn.name,
              turn.key == null ? new byte[0] : turn.key.digest(),
              turn.readOnly,
              turn.home.epoch(),
              leftBy));
      outermost = turn;
    }
    chain.addAll(outermost.remoteChain);
    return chain;
  }

  @Override
  public boolean prepare() {
    return home.baton().acquireFor(this);
  }

  /** Runs the operation, which the activation has admitted, with the baton held. */
  @Override
  public void run(Tasks next) {
    var observer = home.base().observer();
    var span = observer.turnBegins(home.id(), name, readOnly, arrived);
    Outcome outcome;
    try {
      outcome = trace == null ? home.execute(this, body) : executeTraced(trace);
      span.end(outcome instanceof Outcome.Returned);
    } finally {
      next.addPrepared(home.baton().release());
    }
    if (home.finished(this, next)) {
      whenDone.accept(outcome);
    }
  }

  private Outcome executeTraced(TraceContext caller) {
    var span = home.base().tracing().turn(caller, home.id(), name);
    if (span == null) {
      return home.execute(this, body);
    }
    trace = span.context();
    Outcome outcome = null;
    try {
      outcome = home.execute(this, body);
      return outcome;
    } finally {
      span.end(outcome instanceof Outcome.Threw(var failure, var original) ? failure.type() : null);
    }
  }

  /** The turn will not run. */
  void refuse(String reason, boolean again) {
    whenDone.accept(new Outcome.NotStarted(reason, again));
  }

  /** The turn will not run, since the activation has failed. */
  void fail(Exception failure) {
    whenDone.accept(Outcome.Threw.of(failure));
  }

  @Override
  public String toString() {
    return home.id() + "." + name;
  }
}
