package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.ChainClock;
import dev.evergreen.core.work.Nanos;
import dev.evergreen.core.work.NumberedCalls;
import dev.evergreen.core.work.Room;
import dev.evergreen.core.work.SeenCalls;
import dev.evergreen.core.work.StackRoom;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Calls of operations, on this node and on others: at most once, no order promised, each with a
 * time limit (004 §2.2).
 *
 * <p><b>Again.</b> A call that certainly did not start is made again inside its limit, wherever the
 * grain is by then; one that may have started only if it is read-only. The limit ends the waiting,
 * not what was called.
 *
 * <p><b>Once.</b> The calls of a node to others are numbered ({@link NumberedCalls}). Who serves
 * them remembers the numbers ({@link SeenCalls}) from the caller's oldest open call on, which each
 * call tells.
 *
 * <p><b>Chains.</b> A call carries the turns that have led to it, each with the call by which it
 * left its node. Where it comes back to a grain it is looked up whether a turn there still waits
 * for that call, so that it need not wait for its place. The age of a chain goes along, and after
 * it when it grows older.
 *
 * <p><b>Room.</b> Those from outside of grains wait while too many calls to a node are open ({@link
 * Room}).
 */
final class Calls implements Turn.Departures {

  private static final long FIRST_PAUSE_NANOS = 1_000_000;
  private static final long LONGEST_PAUSE_NANOS = 100_000_000;
  private static final long LONGEST_HASTE_NANOS = 1_000_000_000;

  /** A call of another node. */
  private record Served(NodeId from, long id) {}

  private final Base base;
  private final Workers workers;
  private final Activations activations;
  private final NumberedCalls<Attempt> pending = new NumberedCalls<>();

  @GuardedBy("seen")
  private final Map<NodeId, SeenCalls> seen = new HashMap<>();

  private final Map<Served, Turn> served = new ConcurrentHashMap<>();
  private final Map<NodeId, Room> rooms = new ConcurrentHashMap<>();
  private final AtomicInteger serving = new AtomicInteger();

  Calls(Base base, Activations activations) {
    this.base = base;
    this.workers = base.workers();
    this.activations = activations;
  }

  /** Calls from outside or other nodes that are not answered. */
  int open() {
    return serving.get();
  }

  /**
   * Calls an operation and waits for its outcome.
   *
   * @param scope of the calling thread, if it runs a grain's code
   * @throws Exception what the operation threw, or a {@link GrainException} of the runtime
   */
  @Nullable Object call(@Nullable Scope scope, CallKey key, Duration timeout) throws Exception {
    if (!Thread.currentThread().isVirtual()) {
      StackRoom.check(); // it costs less than such a thread's waiting
    }
    if (scope != null) {
      scope.checkAlive();
      return measured(scope, key, timeout);
    }
    serving.incrementAndGet();
    try {
      return measured(null, key, timeout);
    } finally {
      serving.decrementAndGet();
    }
  }

  private @Nullable Object measured(@Nullable Scope scope, CallKey key, Duration timeout)
      throws Exception {
    long begun = workers.nanos();
    var caller = scope == null ? null : scope.turn();
    var inside = caller == null ? null : caller.trace();
    var span = base.tracing().call(inside, key.grain(), key.operation().name());
    var trace = span == null ? null : span.context();
    Exception failure = null;
    try {
      return new Outgoing(scope, key, timeout, begun + Nanos.of(timeout), trace).result();
    } catch (Exception e) {
      failure = e;
      throw e;
    } finally {
      base.observer().callEnded(workers.nanos() - begun, failure);
      if (span != null) {
        span.end(failure == null ? null : failure.getClass().getName());
      }
    }
  }

  private void pause(@Nullable Scope scope, long nanos) {
    Scope.await(workers, scope, base.lifetime()::stopped, workers.nanos() + nanos, false);
  }

  /** A call of this node's, with all attempts to make it. */
  private final class Outgoing {
    private final @Nullable Scope scope;
    private final @Nullable Turn caller;
    private final CallKey key;
    private final Duration timeout;
    private final long deadline;
    private final @Nullable TraceContext trace;

    Outgoing(
        @Nullable Scope scope,
        CallKey key,
        Duration timeout,
        long deadline,
        @Nullable TraceContext trace) {
      this.scope = scope;
      this.caller = scope == null ? null : scope.turn();
      this.key = key;
      this.timeout = timeout;
      this.deadline = deadline;
      this.trace = trace;
    }

    @Nullable Object result() throws Exception {
      for (long pause = FIRST_PAUSE_NANOS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS)) {
        base.lifetime().checkRunning(scope != null);
        if (caller != null) {
          caller.checkNotAbandoned();
        }
        String trouble;
        switch (base.placement().isHere(key.grain()) ? here() : there()) {
          case Outcome.Returned(var value) -> {
            return value;
          }
          case Outcome.Threw(var failure, var original) -> throw Failures.rebuild(failure, key);
          case Outcome.NotStarted(var reason, var again) -> {
            if (!again) {
              throw new NotStartedException(key + " did not start: " + reason);
            }
            trouble = reason;
          }
        }
        long remaining = deadline - workers.nanos();
        if (remaining <= 0) {
          throw new NotStartedException(
              key
                  + " did not start within "
                  + Nanos.text(timeout)
                  + ": "
                  + trouble
                  + "; call again");
        }
        base.observer().callRetried();
        pause(scope, Math.min(remaining, pause / 2 + workers.randomBelow(pause / 2 + 1)));
      }
    }

    private Outcome here() {
      var next = new Tasks();
      var activation = activations.open(key.model(), key.grain(), next);
      var attempt = new Attempt(this, null);
      var turn = new Turn(activation, key, caller, List.of(), ChainClock.NONE, trace, attempt);
      begins(turn);
      try {
        try {
          turn.checkChain(Calls.this);
          activation.submit(turn, next);
        } finally {
          // Also when the call is refused: it may be the one that opens the activation.
          workers.fork(next);
        }
        Scope.await(workers, scope, attempt::ended, deadline, false);
      } finally {
        ends(turn);
        if (attempt.outcome == null) { // Whatever has ended the wait, nobody wants it to begin now.
          activation.withdraw(turn, next);
          workers.fork(next);
        }
      }
      return inTime(attempt.outcome);
    }

    private Outcome there() {
      var to = base.placement().locate(key.grain());
      if (to == null) {
        return new Outcome.NotStarted("no node is known that hosts " + key.grain(), true);
      }
      if (to.equals(base.peers().self())) {
        return new Outcome.NotStarted(key.grain() + " is on its way to this node", true);
      }
      var attempt = new Attempt(this, to);
      var room =
          rooms.computeIfAbsent(to, n -> new Room(workers, base.settings().maxCallsInFlight()));
      if (scope != null) {
        room.enterAnyway();
      } else if (!room.enter(deadline)) {
        return new Outcome.NotStarted(
            base.settings().maxCallsInFlight() + " calls to " + to + " wait for their answers",
            true);
      }
      try {
        var unsent = ask(attempt, to);
        if (unsent != null) {
          return unsent;
        }
      } finally {
        room.leave();
      }
      return outcome(attempt, to);
    }

    /**
     * Waits for an answer, or for the end of the line; returns why it was not sent, if it was not.
     */
    private @Nullable Outcome ask(Attempt attempt, NodeId to) {
      attempt.id = pending.add(attempt);
      begins(attempt);
      try {
        // Checked when whoever ends the calls of a node, or all calls, can see this one.
        base.lifetime().checkRunning(scope != null);
        if (base.peers().isGone(to)) {
          base.placement().notThere(key.grain(), to);
          return new Outcome.NotStarted(to + " is gone", true);
        }
        if (!send(attempt.id, to)) {
          return new Outcome.NotStarted("there is no connection to " + to, true);
        }
        Scope.await(workers, scope, attempt::ended, deadline, true);
      } finally {
        pending.remove(attempt.id);
        ends(attempt);
        if (attempt.answer == null) { // as in here(); it may have gone by the next link
          base.peers().send(to, new Message.Withdraw(attempt.id));
        }
      }
      return null;
    }

    private Outcome outcome(Attempt attempt, NodeId to) {
      var answer = attempt.answer;
      if (answer == null && attempt.broken) {
        return broken(to);
      }
      // Its constructors are the user's code: others wait for what the link's thread does next.
      var outcome = Outcome.decode(inTime(answer), key.operation());
      if (outcome instanceof Outcome.NotStarted(var reason, var again) && again) {
        base.placement().notThere(key.grain(), to);
      }
      return outcome;
    }

    private boolean send(long id, NodeId to) {
      var message =
          new Message.Call(
              id,
              pending.oldest(),
              key.grain(),
              key.operation().signature(),
              key.encodedArguments(),
              key.operation().readOnly(),
              caller == null ? List.of() : caller.chain(id),
              caller == null ? ChainClock.NONE : caller.began(),
              trace);
      try {
        return base.peers().send(to, message);
      } catch (IllegalArgumentException e) {
        throw key.operation().argumentsTooLarge(key.grain(), e);
      }
    }

    private void begins(Awaited call) {
      if (caller != null) {
        caller.awaits(call);
      }
    }

    private void ends(Awaited call) {
      if (caller != null) {
        caller.goesOn(call);
      }
    }

    private <T> T inTime(@Nullable T outcome) {
      if (outcome != null) {
        return outcome;
      }
      base.lifetime().checkRunning(scope != null);
      throw new GrainTimeoutException(
          key
              + " gave no answer within "
              + Nanos.text(timeout)
              + "; whether it took effect is unknown. Ask the grain, or call again if the operation"
              + " is idempotent");
    }

    private Outcome broken(NodeId to) {
      if (key.operation().readOnly()) {
        return new Outcome.NotStarted("the connection to " + to + " broke", true);
      }
      throw new OutcomeUnknownException(
          key
              + ": the connection to "
              + to
              + " broke before the answer; whether it took effect is unknown. Ask the grain, or"
              + " call again if the operation is idempotent");
    }
  }

  /** One attempt under way: who waits for it, and its outcome. */
  private final class Attempt implements Consumer<Outcome>, Awaited {
    private final Thread waiter = Thread.currentThread();
    private final Outgoing call;
    private final @Nullable NodeId to;
    private volatile @Nullable Outcome outcome;

    /** The outcome, of another node. */
    private volatile Message.@Nullable Answer answer;

    private volatile boolean broken;
    private volatile boolean over;

    /** Set before anybody can hasten it. */
    private long id;

    private final AtomicBoolean hastened = new AtomicBoolean();

    Attempt(Outgoing call, @Nullable NodeId to) {
      this.call = call;
      this.to = to;
    }

    @Override
    public void accept(Outcome result) {
      outcome = result;
      workers.unpark(waiter);
    }

    void answered(Message.Answer by) {
      answer = by;
      workers.unpark(waiter);
    }

    void breakOff() {
      broken = true;
      workers.unpark(waiter);
    }

    boolean ended() {
      return outcome != null || answer != null || broken;
    }

    // As what a turn waits for, where another node is called

    @Override
    public void goOnWithout() {
      over = true;
    }

    @Override
    public boolean over() {
      return over;
    }

    @Override
    public void hasten(long older, Tasks next) {
      if (hastened.getAndSet(true)) {
        sendAge();
      } else {
        keepSendingAge(FIRST_PAUSE_NANOS);
      }
    }

    /** A message may be lost, or overtake the call. */
    private void keepSendingAge(long pause) {
      if (sendAge()) {
        workers.after(pause, next -> keepSendingAge(Math.min(2 * pause, LONGEST_HASTE_NANOS)));
      }
    }

    /** Returns whether the call is open. */
    private boolean sendAge() {
      var caller = call.caller;
      if (over || to == null || caller == null) {
        return false;
      }
      base.peers().send(to, new Message.Hasten(id, caller.began()));
      return true;
    }
  }

  /** For how many calls of other nodes there is room to remember that they were seen. */
  int remembered() {
    synchronized (seen) {
      return seen.values().stream().mapToInt(SeenCalls::size).sum();
    }
  }

  /** The links to nodes are gone: calls on them end at once, and theirs here are not answered. */
  void breakOff(Predicate<NodeId> gone) {
    for (var attempt : pending.all()) {
      if (attempt.to != null && gone.test(attempt.to)) {
        attempt.breakOff();
      }
    }
    var theirs = served.keySet().stream().filter(call -> gone.test(call.from())).toList();
    theirs.forEach(call -> workers.now(next -> withdraw(call, next)));
  }

  /** Nodes will not be heard of again. */
  void forget(Set<NodeId> gone) {
    rooms.keySet().removeAll(gone);
    synchronized (seen) {
      seen.keySet().removeAll(gone);
    }
  }

  void answered(NodeId from, Message.Reply reply) {
    base.chainClock().learns(reply.time());
    var attempt = pending.get(reply.id());
    if (attempt != null && from.equals(attempt.to)) {
      attempt.answered(reply.answer());
    }
  }

  /**
   * Looks for those whom a turn comes back to among the turns that wait for a call of this node.
   */
  @Override
  public boolean findHolders(Turn turn, long leftBy) {
    var attempt = pending.get(leftBy);
    return attempt != null && turn.findHolders(attempt.call.caller, attempt);
  }

  // For other nodes

  /** Executes a call of another node, once. */
  void serve(NodeId from, Message.Call message, Tasks next) {
    if (!isFirst(from, message.id(), message.oldest())) {
      return;
    }
    base.chainClock().learns(message.began());
    serving.incrementAndGet();
    base.observer().callServed();
    try {
      serve(from, message, message.target(), next);
    } catch (RuntimeException | Error e) {
      served.remove(new Served(from, message.id()));
      reply(from, message.id(), new Message.Answer.Threw(Failures.of(e)));
    }
  }

  private boolean isFirst(NodeId from, long id, long oldest) {
    synchronized (seen) {
      return seen.computeIfAbsent(from, n -> new SeenCalls()).add(id, oldest);
    }
  }

  private void serve(NodeId from, Message.Call message, GrainId target, Tasks next) {
    if (!base.placement().isHere(target)) {
      reply(
          from,
          message.id(),
          new Message.Answer.NotStarted(target + " is not on " + base.peers().self(), true));
      return;
    }
    var key =
        base.models().callKey(new SummaryKey(target, message.operation(), message.arguments()));
    var activation = activations.open(key.model(), target, next);
    var call = new Served(from, message.id());
    Consumer<Outcome> whenDone =
        outcome -> {
          if (served.remove(call) != null) {
            reply(from, message.id(), outcome.encode(key.operation()));
          }
        };
    var turn =
        new Turn(
            activation, key, null, message.chain(), message.began(), message.trace(), whenDone);
    turn.checkChain(this);
    served.put(call, turn);
    activation.submit(turn, next);
  }

  /** A call of another node that is served here is waited for by an older chain. */
  void hastened(NodeId from, Message.Hasten hasten, Tasks next) {
    base.chainClock().learns(hasten.began());
    var turn = served.get(new Served(from, hasten.id()));
    if (turn != null && hasten.began() > ChainClock.NONE) {
      turn.hasten(hasten.began(), next);
    }
  }

  /** Nobody waits for a call of another node: it does not begin if it has not, or arrives late. */
  void withdrawn(NodeId from, long id, Tasks next) {
    if (!isFirst(from, id, 0)) {
      withdraw(new Served(from, id), next);
    }
  }

  private void withdraw(Served call, Tasks next) {
    var turn = served.get(call);
    if (turn != null && turn.home().withdraw(turn, next)) {
      served.remove(call); // Nobody is told of it.
      serving.decrementAndGet();
    }
  }

  private void reply(NodeId to, long id, Message.Answer answer) {
    serving.decrementAndGet();
    var reply = new Message.Reply(id, answer, base.chainClock().at(workers.nanos()));
    if (!sent(to, reply)) {
      // Not on this thread: others wait for what it does next.
      workers.begin(() -> sendLater(to, reply));
    }
  }

  /**
   * The link has no room, or there is none for the moment: then the caller knows, and passes over
   * an answer that comes after all.
   */
  private void sendLater(NodeId to, Message.Reply reply) {
    long deadline = workers.nanos() + base.settings().callTimeout().toNanos();
    for (long pause = FIRST_PAUSE_NANOS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS)) {
      pause(null, pause);
      boolean over =
          base.lifetime().stopped() || base.peers().isGone(to) || deadline - workers.nanos() <= 0;
      if (over || sent(to, reply)) {
        return;
      }
    }
  }

  private boolean sent(NodeId to, Message.Reply reply) {
    try {
      return base.peers().send(to, reply);
    } catch (IllegalArgumentException e) {
      return base.peers()
          .send(to, new Message.Reply(reply.id(), Outcome.tooLarge("the answer", e), reply.time()));
    }
  }
}
