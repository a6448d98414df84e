package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Takes every step of a simulated world, as its {@link Policy} decides.
 *
 * <p>The threads of the world are real virtual threads, of which exactly one runs: the one that
 * holds the <em>baton</em>. A thread gives the baton away where it parks, yields or ends, and
 * nowhere else; it then picks the next step itself, among the threads that could run and the
 * earliest event that is due, and hands the baton directly to the thread picked. Events (timers,
 * arriving messages) run on a thread of their own, the driver. So a step costs one hand-over
 * between virtual threads, no lock, and nothing that depends on real time.
 *
 * <p>Virtual time stands still while a thread runs, moves by a cost after each of its steps, so
 * that events come due while threads still want to run, and jumps to the next event when no thread
 * can run.
 *
 * <p>Every field belongs to the holder of the baton.
 */
final class Scheduler {

  private static final Duration WATCH = Duration.ofSeconds(20);

  /** Whose thread it is. */
  private static final ScopedValue<Scheduler> CURRENT = ScopedValue.newInstance();

  private final Policy policy;
  private final Trace trace;
  private final @Nullable History history;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final List<SimThread> runnable = new ArrayList<>();
  // Looked up by identity, never walked without sorting.
  private final IdentityHashMap<Thread, SimThread> threads = new IdentityHashMap<>();
  private final AtomicLong steps = new AtomicLong();
  private final Life world = new Life("world");
  private final SimThread driver = new SimThread(0, world, "driver", this::drive);

  private SimThread current = driver;
  private @Nullable Event chosen;
  private @Nullable Throwable failure;
  private Runnable whenComparing = () -> {};
  private boolean over;
  private long now;
  private long eventCount;
  private long readyCount;
  private int threadCount;
  private int abandoned;
  private int paused;

  Scheduler(Policy policy, Trace trace) {
    this.policy = policy;
    this.history = policy.history();
    this.trace = trace;
  }

  /** The life that everything outside the simulated processes belongs to. */
  Life world() {
    return world;
  }

  /** Virtual nanoseconds since the start of the run. */
  long now() {
    return now;
  }

  /** The thread of the world that runs. */
  SimThread running() {
    return current;
  }

  long steps() {
    return steps.get();
  }

  /** How many threads did not end when the run was over, although told to. */
  int abandoned() {
    return abandoned;
  }

  Trace trace() {
    return trace;
  }

  /**
   * Runs a world: {@code main} is its first thread, and the world ends with it. Blocks the calling
   * thread, which is none of the world's.
   *
   * @throws SimulationFailure if a thread failed, the steps ran out, all threads wait for ever, or
   *     one of them blocks outside the scheduler
   */
  void run(Runnable main) {
    start(
        world,
        "main",
        () -> {
          main.run();
          over = true;
        });
    driver.resume();
    awaitDriver();
    if (failure != null) {
      throw failure instanceof SimulationFailure known
          ? known
          : new SimulationFailure("a thread of the run failed: " + failure, failure);
    }
  }

  /** Starts a thread of a life; it runs when it is picked. */
  SimThread start(Life life, String name, Runnable task) {
    checkCaller();
    var thread = new SimThread(++threadCount, life, name, () -> live(task));
    if (current.unwinding || life.dead()) {
      return thread;
    }
    threads.put(thread.thread, thread);
    thread.identity = newName();
    policy.started(thread);
    makeRunnable(thread);
    return thread;
  }

  /** As {@link dev.evergreen.core.spi.Threads#park}. */
  void park() {
    var me = parking();
    boolean spurious = policy.wakesWithoutReason();
    if (me.permit || me.interruptPending || Thread.currentThread().isInterrupted() || spurious) {
      me.permit = false;
      makeRunnable(me);
    } else {
      me.status = SimThread.Status.PARKED;
    }
    giveUp(me);
    me.permit = false;
  }

  /** As {@link #park}, for at most {@code nanos} of virtual time. */
  void parkNanos(long nanos) {
    var me = parking();
    if (nanos > 0 && !me.permit) {
      me.wakeUp = at(now + nanos, me.life, () -> wake(me));
    } else {
      me.permit = true;
    }
    park();
    if (me.wakeUp != null) {
      me.wakeUp.cancel();
      me.wakeUp = null;
    }
  }

  /** As {@link dev.evergreen.core.spi.Threads#unpark}. */
  void unpark(Thread thread) {
    checkCaller();
    var target = threads.get(thread);
    if (target != null) {
      wake(target);
    }
  }

  /** Interrupts a thread of the world. */
  void interrupt(SimThread thread) {
    checkCaller();
    thread.interruptPending = true;
    wake(thread);
  }

  /** The step touches what several nodes share outside of the core. */
  void touchShared() {
    if (history != null) {
      history.touchAll();
    }
  }

  /** A point at which others may run; nothing when an event runs. */
  void interleave() {
    checkCaller();
    if (current == driver) {
      return;
    }
    var me = parking();
    makeRunnable(me);
    giveUp(me);
  }

  /** Lets others run now and then, at calls that the core makes without holding a monitor. */
  void preempt() {
    if (current != driver && policy.preempts()) {
      interleave();
    }
  }

  /** Lets others run at one in so many places in the application's code. */
  void preemptOneIn(int places) {
    if (policy.preemptsOneIn(places)) {
      interleave();
    }
  }

  /** Lets the calling thread wait for a span of virtual time, or until it is interrupted. */
  void sleep(long nanos) {
    long end = now + nanos;
    while (now < end && !Thread.currentThread().isInterrupted()) {
      parkNanos(end - now);
    }
  }

  /** Runs a task on the driver, once, {@code delayNanos} from now. */
  Event after(long delayNanos, Life life, Runnable task) {
    checkCaller();
    return at(now + Math.max(0, delayNanos), life, task);
  }

  /** Nothing of this life goes on until it is resumed. */
  void pause(Life life) {
    if (life.condition == Life.Condition.RUNNING) {
      life.condition = Life.Condition.PAUSED;
      paused++;
    }
  }

  /** What was due meanwhile is due now, in the order in which it came due. */
  void resume(Life life) {
    if (life.condition != Life.Condition.PAUSED) {
      return;
    }
    life.condition = Life.Condition.RUNNING;
    paused--;
    life.frozenThreads.forEach(this::makeRunnable);
    life.frozenThreads.clear();
    for (var event : life.frozenEvents) {
      at(now, creator(), life, event.name, event::run);
    }
    life.frozenEvents.clear();
  }

  /** Nothing of this life ever goes on. */
  void kill(Life life) {
    if (life.condition == Life.Condition.PAUSED) {
      paused--;
    }
    life.condition = Life.Condition.DEAD;
    life.frozenThreads.clear();
    life.frozenEvents.clear();
  }

  /** Ends the run with a failure, as soon as the calling thread gives up the baton. */
  void fail(Throwable cause) {
    if (failure == null && !current.unwinding) {
      failure = cause;
      if (trace.detailed()) {
        trace.note("threads that have not ended:\n" + stacks());
      }
    }
    over = true;
  }

  private SimThread parking() {
    checkCaller();
    if (current == driver) {
      var blocked = new SimulationFailure("a timer's task or the receipt of a message blocks");
      fail(blocked);
      throw blocked;
    }
    return current;
  }

  private void checkCaller() {
    var caller = Thread.currentThread();
    if (caller != current.thread && steps.get() > 0) {
      throw new SimulationFailure(
          caller + " acts on the simulation, but is not the thread that runs: " + current);
    }
  }

  private void wake(SimThread thread) {
    if (thread.status == SimThread.Status.PARKED) {
      makeRunnable(thread);
    } else {
      thread.permit = true;
    }
  }

  private void makeRunnable(SimThread thread) {
    thread.status = SimThread.Status.RUNNABLE;
    thread.ready = ++readyCount;
    runnable.add(thread);
  }

  private Event at(long time, Life life, Runnable task) {
    return at(time, creator(), life, newName(), task);
  }

  private Event at(long time, int creator, Life life, long name, Runnable task) {
    var event = new Event(time, creator, eventCount++, life, name, task);
    if (!current.unwinding) {
      events.add(event);
    }
    return event;
  }

  private int creator() {
    return history == null ? 0 : history.life();
  }

  private long newName() {
    return history == null ? 0 : history.name();
  }

  /** A number for the state of the world when no thread could run. */
  private long state() {
    long left = 0;
    for (var event : events) {
      left += event.live() ? History.mix(event.name, event.time) : 0;
    }
    return history == null ? 0 : History.mix(History.mix(history.value(), left), now);
  }

  /** Passes the baton on; returns when it is back. */
  private void giveUp(SimThread me) {
    if (me.unwinding) {
      unwind(me);
    }
    var next = decide();
    if (next != me) {
      pass(next);
      me.awaitBaton();
    }
    me.status = SimThread.Status.RUNNING;
    if (me.unwinding) {
      unwind(me);
    }
  }

  private void unwind(SimThread me) {
    if (me.isIncorrigible()) {
      abandoned++;
      pass(driver);
      while (true) {
        LockSupport.park();
      }
    }
    throw new SimThread.Unwound();
  }

  private void pass(SimThread next) {
    current = next;
    next.resume();
  }

  /** The next thread to run; the driver if it is an event's turn, or the end. */
  private SimThread decide() {
    if (steps.get() >= policy.maxSteps()) {
      fail(new SimulationFailure("no end after " + policy.maxSteps() + " steps"));
    }
    if (over) {
      return driver;
    }
    steps.lazySet(steps.get() + 1);
    now += policy.stepNanos();
    while (true) {
      if (runnable.isEmpty() && paused == 0 && policy.endsAtRest(this::state)) {
        over = true;
        return driver;
      }
      var event = firstEvent();
      boolean due = event != null && event.time <= now + policy.horizonNanos();
      if (runnable.isEmpty() && !due) {
        return decideToWait(event);
      }
      switch (policy.next(runnable, due)) {
        case Policy.Happen happen -> {
          return decideToWait(event);
        }
        case Policy.Resume(int index) -> {
          var thread = take(index);
          if (thread.life.condition == Life.Condition.RUNNING) {
            trace.mix(thread.number);
            begin(thread.life, thread.identity);
            return thread;
          }
          if (thread.life.condition == Life.Condition.PAUSED) {
            thread.life.frozenThreads.add(thread);
          }
        }
        case Policy.Hold(int index, long nanos) -> {
          var thread = take(index);
          at(
              now + nanos,
              0,
              thread.life,
              History.mix(thread.identity, nanos),
              () -> makeRunnable(thread));
        }
      }
    }
  }

  private SimThread decideToWait(@Nullable Event event) {
    if (event == null) {
      fail(new SimulationFailure("all threads wait and nothing is left to come:\n" + stacks()));
      return driver;
    }
    now = Math.max(now, event.time);
    return choose(events.remove());
  }

  private SimThread choose(Event event) {
    trace.mix(-event.number);
    chosen = event;
    begin(event.life, event.name);
    return driver;
  }

  private void begin(Life life, long name) {
    if (history != null) {
      history.begin(life, name, now, life == world);
    }
  }

  private @Nullable Event firstEvent() {
    while (true) {
      var event = events.peek();
      if (event == null || event.live()) {
        return event;
      }
      events.remove();
    }
  }

  private SimThread take(int index) {
    var thread = runnable.get(index);
    var last = runnable.removeLast();
    if (last != thread) {
      runnable.set(index, last);
    }
    return thread;
  }

  /** From now on this is done by whoever compares values of the application's. */
  void whenComparing(Runnable comparison) {
    whenComparing = comparison;
  }

  /** A comparer is at work, which knows nothing but its thread. */
  static void compares() {
    CURRENT.get().whenComparing.run();
  }

  /** The life of a thread of the world. */
  private void live(Runnable task) {
    var me = current;
    me.awaitBaton();
    me.status = SimThread.Status.RUNNING;
    try {
      ScopedValue.where(CURRENT, this).run(task);
    } catch (SimThread.Unwound e) {
      // The run is over.
    } catch (Throwable e) {
      fail(
          e instanceof SimulationFailure
              ? e
              : new SimulationFailure("thread " + me + " ended with " + e, e));
    }
    me.status = SimThread.Status.ENDED;
    threads.remove(me.thread);
    pass(me.unwinding ? driver : decide());
  }

  private void drive() {
    ScopedValue.where(CURRENT, this).run(this::driveAll);
  }

  private void driveAll() {
    driver.awaitBaton();
    while (!over) {
      var event = chosen;
      chosen = null;
      if (event != null) {
        runEvent(event);
      }
      var next = decide();
      if (next != driver) {
        pass(next);
        driver.awaitBaton();
      }
    }
    unwindAll();
  }

  private void runEvent(Event event) {
    try {
      if (event.life.condition == Life.Condition.PAUSED) {
        event.life.frozenEvents.add(event);
      } else {
        event.run();
      }
    } catch (Throwable e) {
      fail(
          e instanceof SimulationFailure
              ? e
              : new SimulationFailure("a timer's task or the receipt of a message threw " + e, e));
    }
  }

  private void unwindAll() {
    var left = new ArrayList<>(threads.values());
    left.sort(Comparator.comparingInt(thread -> thread.number));
    for (var thread : left) {
      if (thread.started()) {
        thread.unwinding = true;
        pass(thread);
        driver.awaitBaton();
      }
    }
  }

  private void awaitDriver() {
    long before = -1;
    try {
      while (!driver.thread.join(WATCH)) {
        long after = steps.get();
        if (after == before) {
          throw new SimulationFailure(
              "a thread blocks outside of the scheduler:\n"
                  + stack(current)
                  + "all threads:\n"
                  + stacks());
        }
        before = after;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SimulationFailure("the test was interrupted", e);
    }
  }

  /** Where every thread that has not ended is. */
  String stacks() {
    var text = new StringBuilder();
    threads.values().stream()
        .sorted(Comparator.comparingInt(thread -> thread.number))
        .filter(thread -> thread.started() && !thread.life.dead())
        .forEach(thread -> text.append(stack(thread)));
    return text.toString();
  }

  private static String stack(SimThread thread) {
    var text = new StringBuilder(thread.toString()).append('\n');
    for (var frame : thread.thread.getStackTrace()) {
      var line = frame.toString();
      if (!line.contains("java.base") && !line.contains("Scheduler.")) {
        text.append("    ").append(line).append('\n');
      }
    }
    return text.toString();
  }

  /** Something that happens at a time: a timer, an arriving message. */
  static final class Event implements Comparable<Event>, Clock.Cancellable {
    private final long time;
    private final int creator;
    private final long number;
    private final Life life;
    private final long name;
    private @Nullable Runnable task;

    private Event(long time, int creator, long number, Life life, long name, Runnable task) {
      this.time = time;
      this.creator = creator;
      this.number = number;
      this.life = life;
      this.name = name;
      this.task = task;
    }

    private boolean live() {
      return task != null && !life.dead();
    }

    void run() {
      var now = task;
      task = null;
      if (now != null) {
        now.run();
      }
    }

    @Override
    public void cancel() {
      task = null;
    }

    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(time, other.time);
      // Of one creator in the order of creation; of several in one that does not tell which of
      // them was first.
      int byCreator = byTime != 0 ? byTime : Integer.compare(creator, other.creator);
      return byCreator != 0 ? byCreator : Long.compare(number, other.number);
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return Long.hashCode(number);
    }
  }
}
