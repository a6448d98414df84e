package dev.evergreen.core;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.TraceContext;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One operation under way on one activation: the unit of exclusion (design §3). Also the innermost
 * link of its call chain.
 */
final class Turn extends Chain.Link<Turn> implements Tasks.Task {

  /** What a turn does; the state is saved and summaries are marked around it. */
  interface Body {
    @Nullable Object run(Object grainObject) throws Throwable;
  }

  private final Activation activation;
  private final String name;
  private final boolean readOnly;
  private final Body body;
  private final @Nullable CallKey key;
  private final @Nullable Turn caller;
  private final List<Message.Hop> remoteChain;
  private final Consumer<Outcome> whenDone;
  private boolean admittedByChain;
  private StateCell.@Nullable Before<?> stateBefore; // touched with the baton held
  private long arrived;
  private volatile @Nullable String abandoned;

  /** Set before it is submitted, and then by the thread that runs it. */
  private @Nullable TraceContext trace;

  Turn(
      Activation activation,
      String name,
      boolean readOnly,
      Body body,
      @Nullable CallKey key,
      @Nullable Turn caller,
      List<Message.Hop> remoteChain,
      Consumer<Outcome> whenDone) {
    this.activation = activation;
    this.name = name;
    this.readOnly = readOnly;
    this.body = body;
    this.key = key;
    this.caller = caller;
    this.remoteChain = remoteChain;
    this.whenDone = whenDone;
  }

  Activation activation() {
    return activation;
  }

  /** The operation's name, or what else runs as a turn. */
  String name() {
    return name;
  }

  boolean readOnly() {
    return readOnly;
  }

  /** Whether somebody called; timers neither keep a grain active nor are refused. */
  boolean isCall() {
    return key != null;
  }

  /** Remembers what the state was before this turn set it first. */
  void keep(StateCell.Before<?> before) {
    if (stateBefore == null) {
      stateBefore = before;
    }
  }

  /** What the state was before this turn set it; null if it has not. */
  StateCell.@Nullable Before<?> stateBefore() {
    return stateBefore;
  }

  boolean admittedByChain() {
    return admittedByChain;
  }

  /** Before it is submitted: where in a trace the call was made. */
  Turn tracedAs(@Nullable TraceContext caller) {
    trace = caller;
    return this;
  }

  /** Where in a trace this turn is; null if it is not traced. */
  @Nullable TraceContext trace() {
    return trace;
  }

  /** This turn arrives at its activation. */
  void arrive(long nanos) {
    arrived = nanos;
  }

  /**
   * Whether this is a read on behalf of an operation that began before a write arrived: the write
   * may have to wait, here or elsewhere, for what that operation holds. For a chain that came from
   * another node it is not known, and assumed.
   */
  boolean mayPass(Turn write) {
    var outermost = outermostCaller();
    return readOnly && (!outermost.remoteChain.isEmpty() || outermost.arrived - write.arrived < 0);
  }

  /**
   * Whether the chain that led here holds this activation already, so that the turn must not wait
   * for it.
   *
   * @throws CycleException if it may not be entered again (design §3)
   */
  void checkChain() {
    if (caller == null && remoteChain.isEmpty()) {
      return;
    }
    boolean held = false;
    boolean heldByWrite = false;
    for (var turn = caller; turn != null; turn = turn.caller) {
      if (turn.activation == activation) {
        held = true;
        heldByWrite |= !turn.readOnly;
        if (readOnly && key != null && key.equals(turn.key)) {
          throw cycle();
        }
      }
    }
    for (var hop : outermostCaller().remoteChain) {
      if (hop.grain().equals(activation.id())) {
        held = true;
        heldByWrite |= !hop.readOnly();
        if (readOnly && key != null && Arrays.equals(hop.call(), digest(key))) {
          throw cycle();
        }
      }
    }
    if (held && (heldByWrite || !readOnly) && !activation.model().reentrant()) {
      throw cycle();
    }
    admittedByChain = held;
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
                        + "); whether it took effect is unknown. Ask the grain, or call again if the"
                        + " operation is idempotent")));
  }

  /**
   * To be called before a call on behalf of this turn.
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
    activation.node().meters().cycles.increment();
    var path = new ArrayList<String>();
    for (var hop : chain()) {
      path.addFirst(hop.grain() + "." + hop.operation());
    }
    return new CycleException(
        "the call chain "
            + String.join(" -> ", path)
            + " comes back to "
            + activation.id()
            + ", which waits for it; break the cycle, make the operations @ReadOnly, or declare "
            + activation.model().type().getSimpleName()
            + " @Reentrant");
  }

  /** This turn and those that led to it, innermost first, as other nodes are told. */
  List<Message.Hop> chain() {
    var chain = new ArrayList<Message.Hop>();
    Turn outermost = this;
    for (var turn = this; turn != null; turn = turn.caller) {
      chain.add(
          new Message.Hop(
              turn.activation.id(),
              turn.name,
              turn.key == null ? new byte[0] : digest(turn.key),
              turn.readOnly));
      outermost = turn;
    }
    chain.addAll(outermost.remoteChain);
    return chain;
  }

  private static byte[] digest(CallKey key) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(key.operation().signature().getBytes(java.nio.charset.StandardCharsets.UTF_8));
      return sha.digest(key.encodedArguments());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  @Override
  public boolean prepare() {
    return activation.baton().acquireFor(this);
  }

  /** Runs the operation, which the activation has admitted, with the baton held. */
  @Override
  public void run(Tasks next) {
    var event = new Events.TurnRan();
    event.waited = event.isEnabled() ? activation.node().clock().nanos() - arrived : 0;
    event.begin();
    Outcome outcome;
    try {
      outcome = trace == null ? activation.execute(this, body) : executeTraced(trace);
      event.end();
    } finally {
      next.addPrepared(activation.baton().release());
    }
    event.commitFor(this, outcome instanceof Outcome.Returned);
    if (activation.finished(this, next)) {
      whenDone.accept(outcome);
    }
  }

  private Outcome executeTraced(TraceContext caller) {
    var span = activation.node().tracing().turn(caller, activation.id(), name);
    if (span == null) {
      return activation.execute(this, body);
    }
    trace = span.context();
    Outcome outcome = null;
    try {
      outcome = activation.execute(this, body);
      return outcome;
    } finally {
      span.end(outcome instanceof Outcome.Threw(var failure, var original) ? failure.type() : null);
    }
  }

  /** The turn will not run. */
  void refuse(String reason, boolean moved) {
    whenDone.accept(new Outcome.NotStarted(reason, moved));
  }

  /** The turn will not run, since the activation has failed. */
  void fail(Exception failure) {
    whenDone.accept(Outcome.Threw.of(failure));
  }

  @Override
  public String toString() {
    return activation.id() + "." + name;
  }
}
