package dev.evergreen.fibers;

import dev.evergreen.fibers.Fibers.Io;
import dev.evergreen.kernel.Scratch;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A processor: a carrier thread that runs fibers from its own ready queue, looks after its own
 * poller and alarms at bounded intervals, helps others, and sleeps in its poller when there is
 * nothing to do.
 *
 * <p>The sleep is agreed on by {@code state}. Invariants:
 *
 * <ol>
 *   <li>Only the carrier sets SLEEPING. Then it looks at the ready queues, and only if all are
 *       empty it waits in its poller, at most until its next alarm.
 *   <li>Whoever puts something for another processor to see (a task, an earlier alarm, the end)
 *       does so before it looks at {@code state}. All these are volatile: either it finds SLEEPING,
 *       or the carrier finds what was put.
 *   <li>Of all who find SLEEPING the one who changes it to RUNNING wakes the poller, once; the
 *       poller loses no wake-up.
 * </ol>
 *
 * So a processor never sleeps while its queue holds a task, and each sleep costs at most one system
 * call of a waker. Everything else (stealing, helping, the {@link Watch}) makes things sooner.
 */
final class Processor implements Runnable {
  private static final long PAUSE_NANOS = 10_000_000;
  private static final long BETWEEN_TELLING_NANOS = 1_000_000_000;

  /** So long a processor runs fibers at most before it polls and looks around. */
  static final long LOOK_NANOS = 50_000;

  /**
   * A task that has waited so long while others wait behind it is worth waking an idle processor.
   */
  private static final long SPREAD_NANOS = 50_000;

  /** Of all runtimes. */
  private static final Set<Processor> ALL = ConcurrentHashMap.newKeySet();

  private static final int RUNNING = 0;
  private static final int SLEEPING = 1;

  private static final long FAR_NANOS = Long.MAX_VALUE / 4;

  private static final VarHandle STATE;
  private static final VarHandle POLLED_AT;

  static {
    try {
      var lookup = MethodHandles.lookup();
      STATE = lookup.findVarHandle(Processor.class, "state", int.class);
      POLLED_AT = lookup.findVarHandle(Processor.class, "polledAt", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Scheduler scheduler;
  private final int index;
  private final Ready ready = new Ready();
  private final Alarms alarms = new Alarms();
  private final Counters counters = new Counters();
  private final Buffers buffers = new Buffers();
  private final Scratch scratch = new Scratch();
  private final Poller poller;
  private final Outbox outbox;
  private final Spinning spinning;

  private volatile int state = RUNNING;

  /** When the poller was asked last, by whomever; far ahead while the processor waits in it. */
  private long polledAt = System.nanoTime();

  /** Of the carrier: the time when the present task began. */
  private long now = System.nanoTime();

  /** Of the carrier: that it hands out events, whose tasks it is about to run itself. */
  private boolean delivering;

  /** Of the carrier: that the present task is about to let others run. */
  private boolean turnOver;

  /** When a failure was told last. */
  private long toldAt = System.nanoTime() - BETWEEN_TELLING_NANOS;

  Processor(Scheduler scheduler, int index, Descriptors descriptors, Settings settings)
      throws IOException {
    this.scheduler = scheduler;
    this.index = index;
    poller = new EventPoll(descriptors, scratch);
    try {
      outbox = settings.io() == Io.IO_URING ? new RingOutbox() : Outbox.NONE;
    } catch (IOException | RuntimeException | Error e) {
      poller.close(Carrier.currentScratch());
      throw e;
    }
    spinning = new Spinning(settings.spinning());
    ALL.add(this);
  }

  /** Gives back what it has of the system, when it does not run any more. */
  void close() {
    ALL.remove(this);
    poller.close(Carrier.currentScratch());
    outbox.close();
    buffers.discard();
  }

  /** The processor on which the caller runs, or null if it is none of ours. */
  static @Nullable Processor current() {
    return VirtualThreadHook.currentCarrier() instanceof Carrier carrier
        ? carrier.processor()
        : null;
  }

  Scheduler scheduler() {
    return scheduler;
  }

  int index() {
    return index;
  }

  /** Of its carrier: when the present task began. */
  long now() {
    return now;
  }

  Scratch scratch() {
    return scratch;
  }

  Poller poller() {
    return poller;
  }

  Outbox outbox() {
    return outbox;
  }

  Ready ready() {
    return ready;
  }

  Counters counters() {
    return counters;
  }

  Buffers buffers() {
    return buffers;
  }

  boolean sleeping() {
    return state == SLEEPING;
  }

  /** How long at {@code at} nobody has asked the poller; 0 if the processor waits in it. */
  long unpolled(long at) {
    return Math.max(0, at - (long) POLLED_AT.getOpaque(this));
  }

  @Override
  public void run() {
    // Until the end, and then until nothing is left.
    while (!scheduler.stopping() || !ready.isEmpty()) {
      try {
        step();
      } catch (Throwable e) {
        // Whatever it is, such as no memory for an alarm: all fibers depend on this thread. If it
        // stays, it is told once a second, so as not to fill the log.
        if (System.nanoTime() - toldAt >= BETWEEN_TELLING_NANOS) {
          toldAt = System.nanoTime();
          tellFailed(e);
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private void step() {
    now = System.nanoTime();
    var task = next();
    if (task != null) {
      counters.runs.add();
      turnOver = false;
      task.run();
    } else if (!scheduler.stopping()) {
      sleep();
    }
  }

  private static void tellFailed(Throwable failure) {
    try {
      var carrier = Thread.currentThread();
      carrier.getUncaughtExceptionHandler().uncaughtException(carrier, failure);
    } catch (Throwable e) {
      // There may be no memory for that, either.
      Thread.onSpinWait();
    }
  }

  private @Nullable Runnable next() {
    if (now - polledAt >= LOOK_NANOS) {
      poll(this);
      buffers.giveIfWanted();
      var helped = scheduler.overdue(this, now);
      if (helped != null) {
        return helped;
      }
    }
    long waited = ready.oldestWait(now);
    var task = ready.take(now);
    if (waited > SPREAD_NANOS && !ready.isEmpty()) {
      scheduler.wakeIdle();
    }
    return task != null ? task : scheduler.steal(this, now);
  }

  /**
   * Sends what waits to leave and delivers what has happened at a processor, this or another one,
   * without waiting.
   */
  private void poll(Processor at) {
    counters.polls.add();
    POLLED_AT.setOpaque(this, now);
    at.outbox.send();
    deliver(at.poller, at.poller.await(scratch, 0));
    at.alarms.runDue(now);
  }

  private void deliver(Poller from, int events) {
    if (events > 0) {
      delivering = true;
      try {
        from.deliver(scratch, events);
      } finally {
        delivering = false;
      }
    }
  }

  /** Does the polling of {@code other}, which has not come to it for long. On our carrier. */
  void pollFor(Processor other) {
    POLLED_AT.setOpaque(other, now);
    poll(other);
  }

  private void sleep() {
    outbox.send();
    buffers.giveIfWanted();
    if (spinning.pays() && findsBySpinning()) {
      return;
    }
    // Made before and told afterwards, since an event of the poller's is lost if that fails
    // between.
    var slept = new Events.Slept();
    state = SLEEPING;
    int events = 0;
    try {
      buffers.giveIfWanted();
      if (scheduler.nothingReady() && !scheduler.stopping()) {
        long nanos = alarms.nanosToNext(System.nanoTime());
        if (nanos != 0) {
          slept.begin();
          events = await(nanos);
          slept.end();
        }
      }
    } finally {
      state = RUNNING;
      scheduler.awake();
    }
    deliver(poller, events);
    alarms.runDue(now);
    if (slept.shouldCommit()) {
      slept.processor = index;
      slept.commit();
    }
  }

  /**
   * Looks for events, due alarms and tasks, as long as that may pay; says whether there are any.
   * Others see a processor that is awake, and need not wake it. Who waits for its core has it in
   * between: it may be the one whom this waits for.
   */
  @SuppressWarnings("ThreadPriorityCheck") // A hint that the system may take.
  private boolean findsBySpinning() {
    counters.polls.add();
    long until = System.nanoTime() + spinning.limitNanos();
    while (true) {
      int events = poller.await(scratch, 0);
      now = System.nanoTime();
      POLLED_AT.setOpaque(this, now);
      deliver(poller, events);
      boolean found = events > 0 || !scheduler.nothingReady() || alarms.nanosToNext(now) == 0;
      boolean inTime = now - until < 0;
      if (found && inTime) {
        spinning.found();
      } else if (!inTime) {
        // Also if something has come: others had the core, and a sleep would have been no longer.
        spinning.missed();
      }
      if (found) {
        alarms.runDue(now);
      }
      if (found || !inTime) {
        return found;
      }
      Thread.yield();
    }
  }

  private int await(long nanos) {
    counters.sleeps.add();
    counters.polls.add();
    POLLED_AT.setOpaque(this, now + FAR_NANOS);
    long asleepAt = System.nanoTime();
    try {
      return poller.await(scratch, nanos);
    } finally {
      now = System.nanoTime();
      spinning.slept(now - asleepAt);
      POLLED_AT.setOpaque(this, now);
    }
  }

  /**
   * Makes a task ready here. Any thread may call it, on any carrier.
   *
   * @param behind whether after those that were woken
   */
  void put(Runnable task, boolean behind) {
    if (current() != this) {
      ready.put(task, behind, System.nanoTime());
      wake();
    } else if (delivering) {
      ready.put(task, behind, now);
    } else {
      boolean alone = scheduler.single() || ready.isEmpty();
      ready.put(task, behind, System.nanoTime());
      if (!alone) {
        scheduler.wakeIdle();
      }
    }
  }

  /** Ends its sleep, if it sleeps; says whether it did. */
  boolean wake() {
    if (state == SLEEPING && STATE.compareAndSet(this, SLEEPING, RUNNING)) {
      poller.wake();
      return true;
    }
    return false;
  }

  /** Has those that sleep give the buffers that lie ready at them to those that wait for some. */
  static void wakeThoseWithBuffers() {
    for (var processor : ALL) {
      if (processor.sleeping() && !processor.buffers.isEmpty()) {
        processor.wake();
      }
    }
  }

  /** Has a short task run on some carrier at a time. Any thread may call it. */
  Alarm alarm(long at, Runnable task) {
    var alarm = alarms.add(at, task);
    if (current() != this) {
      wake();
    }
    return alarm;
  }

  /** Says whether the task had not begun yet, and never will. */
  boolean cancel(Alarm alarm) {
    return alarms.cancel(alarm);
  }

  /** The fiber that runs here yields at once: what is made ready next is itself. */
  void endTurn() {
    turnOver = true;
  }

  /** Whether what is made ready now yields because its turn is over. On our carrier. */
  boolean takeTurnOver() {
    boolean over = turnOver;
    turnOver = false;
    return over;
  }

  /** Says whether a fiber that runs here should let others run. */
  boolean othersWait() {
    return !ready.isEmpty() || System.nanoTime() - polledAt >= LOOK_NANOS;
  }
}
