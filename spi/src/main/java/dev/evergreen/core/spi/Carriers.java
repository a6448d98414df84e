package dev.evergreen.core.spi;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The platform threads that carry all virtual threads of this process, shared by these.
 *
 * <p>A carrier goes on with the virtual threads that others on it have made ready until none is
 * left. Only then it looks for those that came from outside: a request, a reply, the end of a wait.
 * So a few virtual threads that make each other ready without end, such as callers of grains in a
 * loop, keep all of these out, also where they yield. Who may be one of them waits, wakes, starts
 * and yields by the methods here.
 *
 * <p>While they are used, a watcher has a thread started from outside every few milliseconds. If
 * that does not run soon, no virtual thread wakes or starts another by these methods until those
 * from outside have had their turn: so the carriers come to an end with what is ready, and take
 * what has waited.
 *
 * <p>Safe for any number of threads.
 */
public final class Carriers {

  private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** Nobody is held longer, as what does not use these methods may keep the carriers busy. */
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Then to hold others is of no use for a while. */
  private static final long USELESS_NANOS = 10 * LONGEST_NANOS;

  /** For so many periods the watcher stays awake unused: to wake it costs who uses it next. */
  private static final int MOST_UNUSED = 5;

  /** What comes from outside waits in one of several queues, by the thread that starts it. */
  private static final int STARTERS = 4;

  private static final Carriers ALL = new Carriers();

  private final List<ExecutorService> starters = new ArrayList<>();
  private final AtomicBoolean watching = new AtomicBoolean();
  private volatile @Nullable Thread watcher;

  /** Who is to be woken when those from outside have had their turn. */
  private final Queue<Thread> woken = new ConcurrentLinkedQueue<>();

  /** Whether the methods here have been used since the watcher looked. */
  private volatile boolean used;

  /** Whether those from outside have waited for too long. */
  private volatile boolean outsideWaits;

  /** Touched by the watcher only: how often it has looked. */
  private int looks;

  /** How often somebody was held; changed by the watcher only. */
  private volatile int holds;

  Carriers() {
    for (int i = 0; i < STARTERS; i++) {
      starters.add(Executors.newSingleThreadExecutor(work -> platformThread("outside", work)));
    }
  }

  /** Of nobody's group, and with nothing of who happens to need it first. */
  private static Thread platformThread(String name, Runnable work) {
    var group = Thread.currentThread().getThreadGroup();
    while (group.getParent() != null) {
      group = group.getParent();
    }
    var thread =
        Thread.ofPlatform()
            .group(group)
            .daemon()
            .inheritInheritableThreadLocals(false)
            .name("evergreen-carriers-" + name)
            .unstarted(work);
    thread.setContextClassLoader(null);
    return thread;
  }

  /**
   * Lets other virtual threads run before the calling one goes on; nothing on a platform thread.
   * May use up the permit of {@link LockSupport#park}.
   */
  public static void letOthersRun() {
    if (Thread.currentThread().isVirtual()) {
      ALL.share();
    }
  }

  /** To be called by who waits without the methods here. */
  static void use() {
    ALL.noteUse();
  }

  /**
   * What to start a virtual thread for instead of this task: it may be carried out some
   * milliseconds later where the calling thread is virtual.
   */
  public static Runnable inTurn(Runnable task) {
    ALL.noteUse();
    return Thread.currentThread().isVirtual() ? () -> ALL.runInTurn(task) : task;
  }

  /**
   * To be called before a virtual thread parks. What it waits for is often done by another one that
   * is next in the queue: then its permit is there after one yield, and neither a timer is set nor
   * a thread resumed.
   */
  static void beforePark() {
    if (Thread.currentThread().isVirtual() && !ALL.outsideWaits) {
      ALL.yieldOnce();
    }
  }

  /** As {@link LockSupport#unpark}, maybe some milliseconds later between virtual threads. */
  static void unpark(Thread thread) {
    if (ALL.outsideWaits && thread.isVirtual() && Thread.currentThread().isVirtual()) {
      ALL.unparkLater(thread);
    } else {
      LockSupport.unpark(thread);
    }
  }

  private void share() {
    if (outsideWaits) {
      letOutsideIn();
    } else {
      yieldOnce();
    }
  }

  private void runInTurn(Runnable task) {
    if (outsideWaits) {
      letOutsideIn();
    }
    task.run();
  }

  /** A thread that was interrupted would not park: it is so again afterwards. */
  private void letOutsideIn() {
    var self = Thread.currentThread();
    boolean interrupted = Thread.interrupted();
    if (interrupted) {
      // Who interrupts has left a permit.
      LockSupport.unpark(self);
      LockSupport.park(this);
    }
    unparkLater(self);
    LockSupport.park(this);
    if (interrupted) {
      self.interrupt();
    }
  }

  @SuppressWarnings("ThreadPriorityCheck") // nothing relies on it
  private void yieldOnce() {
    noteUse();
    try {
      Thread.yield();
    } catch (OutOfMemoryError e) {
      // It goes on at once: what it holds must not be lost with it.
    }
  }

  private void noteUse() {
    if (!used) {
      used = true;
      if (!watching.get() && watching.compareAndSet(false, true)) {
        wakeWatcher();
      }
    }
  }

  /** Starts it where it is not there yet, as there was no memory for it, or no need. */
  private void wakeWatcher() {
    if (watcher != null) {
      LockSupport.unpark(watcher);
      return;
    }
    try {
      var made = platformThread("watcher", this::watch);
      watcher = made; // before it may sleep, or whoever wakes it would start another
      made.start();
    } catch (OutOfMemoryError e) {
      watcher = null;
      used = false;
      watching.set(false);
    }
  }

  private void unparkLater(Thread thread) {
    try {
      woken.add(thread);
    } catch (OutOfMemoryError e) {
      LockSupport.unpark(thread);
      return;
    }
    if (!outsideWaits) {
      unparkAll(); // the watcher may have done it before
    }
  }

  private void unparkAll() {
    for (var thread = woken.poll(); thread != null; thread = woken.poll()) {
      LockSupport.unpark(thread);
    }
  }

  // The watcher

  private void watch() {
    while (true) {
      try {
        watchOn();
      } catch (OutOfMemoryError e) {
        // Another time.
      }
    }
  }

  private void watchOn() {
    int unused = 0;
    while (true) {
      pause(PERIOD_NANOS);
      if (used) {
        unused = 0;
        used = false;
        look();
      } else if (++unused == MOST_UNUSED) {
        unused = 0;
        sleep();
      }
    }
  }

  /** Until somebody uses the methods here. */
  private void sleep() {
    watching.set(false);
    if (used) {
      watching.set(true); // whoever did may have seen that it was
    }
    while (!watching.get()) {
      LockSupport.park(this);
      var _ = Thread.interrupted(); // or it would not park again
    }
  }

  private static void pause(long nanos) {
    await(new AtomicBoolean(), System.nanoTime() + nanos);
  }

  private static void await(AtomicBoolean done, long deadline) {
    for (long left = deadline - System.nanoTime();
        left > 0 && !done.get();
        left = deadline - System.nanoTime()) {
      LockSupport.parkNanos(left);
      var _ = Thread.interrupted(); // or it would not park again
    }
  }

  /** One of the queues at a time; all of them where one has waited. */
  private void look() {
    var one = List.of(starters.get(Math.floorMod(looks++, STARTERS)));
    if (!run(one, () -> {}, System.nanoTime() + PATIENCE_NANOS)) {
      pause(hold());
    }
  }

  /** Holds who uses the methods here; returns how long they shall not be held again. */
  private long hold() {
    long began = System.nanoTime();
    long deadline = began + LONGEST_NANOS;
    int mine = beginHold();
    try {
      // The second ones come after all that waited with the first ones in their queues.
      boolean all = run(starters, () -> {}, deadline) && run(starters, () -> goOn(mine), deadline);
      return all ? System.nanoTime() - began : USELESS_NANOS;
    } finally {
      goOn();
    }
  }

  /** Holds who uses the methods here from now on; returns which hold this is. */
  int beginHold() {
    int mine = holds + 1;
    holds = mine;
    outsideWaits = true;
    return mine;
  }

  /** By what may run so late that others are held by now. */
  void goOn(int hold) {
    if (hold == holds) {
      goOn();
    }
  }

  boolean holds() {
    return outsideWaits;
  }

  /** Who was to be woken is; on the carrier itself where a virtual thread does this. */
  void goOn() {
    outsideWaits = false;
    unparkAll();
  }

  /** Whether virtual threads that these start have all run by then; the last one does this. */
  private static boolean run(List<ExecutorService> starters, Runnable last, long deadline) {
    var watcher = Thread.currentThread();
    var left = new AtomicInteger(starters.size());
    var done = new AtomicBoolean();
    Runnable probe =
        () -> {
          if (left.decrementAndGet() == 0) {
            last.run();
            done.set(true);
            LockSupport.unpark(watcher);
          }
        };
    starters.forEach(starter -> starter.execute(() -> Thread.startVirtualThread(probe)));
    await(done, deadline);
    return done.get();
  }
}
