package dev.evergreen.fibers;

import java.io.IOException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The processors of a runtime together: where new work goes, who takes from whom, who is woken.
 *
 * <p>The scheme is that of the thesis (001) as far as it pays here: work stays with the processor
 * whose event made it ready; an idle processor takes the oldest from others; and each processor
 * looks at intervals whether something has waited anywhere beyond a bound, a poller that nobody
 * asked included, and does that before its own newer work.
 *
 * <p>{@code searching} limits the wake-ups of idle processors for work that they may take to one at
 * a time: it is set by who wakes one, and cleared by that one when it is awake, before it looks for
 * work. A wake-up that is spared because of it loses nothing: the work is in the queue of a
 * processor that is awake, and the one that is being woken sees it.
 */
final class Scheduler {

  /** As many others one looks at each time. */
  private static final int LOOK_AT = 8;

  private final Processor[] processors;
  private final Carrier[] carriers;
  private final boolean helping;
  private final long boundNanos;
  private final AtomicBoolean searching = new AtomicBoolean();
  private final AtomicInteger placed = new AtomicInteger();
  private final @Nullable Watch watch;
  private volatile boolean stopping;
  private volatile boolean stopped;

  Scheduler(Settings settings, Descriptors descriptors) throws IOException {
    helping = settings.helping();
    boundNanos = settings.ageBound().toNanos();
    processors = new Processor[settings.processors()];
    carriers = new Carrier[processors.length];
    int made = 0;
    try {
      while (made < processors.length) {
        int index = made;
        processors[index] = new Processor(this, index, descriptors, settings);
        made++;
        carriers[index] = new Carrier(processors[index], settings.name() + "-processor-" + index);
      }
      boolean watched = helping && processors.length > 1;
      watch = watched ? new Watch(this, settings.name(), boundNanos / 2) : null;
    } catch (IOException | RuntimeException | Error e) {
      for (int i = 0; i < made; i++) {
        processors[i].close();
      }
      throw e;
    }
  }

  void start() {
    for (var carrier : carriers) {
      carrier.start();
    }
    if (watch != null) {
      watch.start();
      watch.wake();
    }
  }

  Processor[] processors() {
    return processors;
  }

  boolean single() {
    return processors.length == 1;
  }

  boolean stopping() {
    return stopping;
  }

  /** One processor after the other: for connections, which stay where they are put. */
  Processor place() {
    return processors[Math.floorMod(placed.getAndIncrement(), processors.length)];
  }

  /**
   * Makes a continuation ready that was last run by {@code home}: here if the caller runs on a
   * processor, else at home, or, if home is busy, where somebody sleeps.
   *
   * @param here on which processor the caller runs, if on any
   * @param behind whether after those that were woken
   */
  Processor ready(Runnable task, @Nullable Processor here, Processor home, boolean behind) {
    var current = here;
    if (current == null || current.scheduler() != this) {
      current = home.sleeping() ? home : idleOr(home);
    }
    current.put(task, behind);
    if (stopped) {
      drain();
    }
    return current;
  }

  /** Makes a new fiber ready at the processor that was chosen for it. */
  void start(Runnable task, Processor at) {
    at.put(task, false);
    if (stopped) {
      drain();
    }
  }

  private Processor idleOr(Processor home) {
    for (var processor : processors) {
      if (processor.sleeping()) {
        return processor;
      }
    }
    return home;
  }

  /** Has one idle processor look for work, unless one does already. */
  void wakeIdle() {
    if (searching.get()) {
      return;
    }
    for (var processor : processors) {
      if (processor.sleeping()) {
        if (searching.compareAndSet(false, true) && !processor.wake()) {
          searching.set(false);
        }
        return;
      }
    }
  }

  /** Says whether no processor has a task; called by one that is about to sleep. */
  boolean nothingReady() {
    for (var processor : processors) {
      if (!processor.ready().isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** A processor has woken, or did not go to sleep after all. */
  void awake() {
    searching.set(false);
    if (watch != null) {
      watch.wake();
    }
  }

  /** Takes the oldest task of another processor, for one that has none. */
  @Nullable Runnable steal(Processor thief, long now) {
    if (single()) {
      return null;
    }
    if (helping) {
      pollUnpolled(thief, now);
    }
    var victim = oldest(thief, now, thief.index() + 1, processors.length - 1, 0);
    // Made before, since what was taken would be lost if there were no memory for it.
    var event = new Events.Stole();
    var task = victim == null ? null : victim.ready().take(now);
    if (task == null) {
      return thief.ready().take(now);
    }
    thief.counters().steals.add();
    event.tell(thief.index(), victim == null ? -1 : victim.index());
    return task;
  }

  /**
   * Takes the task that waits longest beyond the bound, and longer than any of the helper's own, at
   * some other processors; also polls for those that have not polled for longer than the bound.
   */
  @Nullable Runnable overdue(Processor helper, long now) {
    if (!helping || single()) {
      return null;
    }
    pollUnpolled(helper, now);
    long least = Math.max(boundNanos, helper.ready().oldestWait(now));
    int from = helper.index() + 1 + (int) (now >>> 18);
    var other = oldest(helper, now, from, Math.min(LOOK_AT, processors.length), least);
    if (other == null) {
      return null;
    }
    long waited = other.ready().oldestWait(now);
    // Made before, since what was taken would be lost if there were no memory for it.
    var event = new Events.Helped();
    var task = other.ready().take(now);
    if (task != null) {
      helped(event, helper, other, waited);
    }
    return task;
  }

  private @Nullable Processor oldest(
      Processor but, long now, int from, int count, long leastNanos) {
    Processor oldest = null;
    long age = leastNanos;
    for (int i = 0; i < count; i++) {
      var processor = processors[Math.floorMod(from + i, processors.length)];
      if (processor != but && !processor.ready().isEmpty()) {
        long wait = processor.ready().oldestWait(now);
        if (wait > age || (leastNanos == 0 && oldest == null)) {
          oldest = processor;
          age = wait;
        }
      }
    }
    return oldest;
  }

  private void pollUnpolled(Processor helper, long now) {
    int from = helper.index() + 1 + (int) (now >>> 18);
    for (int i = 0; i < Math.min(LOOK_AT, processors.length); i++) {
      var other = processors[Math.floorMod(from + i, processors.length)];
      if (other != helper) {
        long unpolled = other.unpolled(now);
        if (unpolled > boundNanos) {
          helper.pollFor(other);
          helped(new Events.Helped(), helper, other, unpolled);
        }
      }
    }
  }

  private static void helped(Events.Helped event, Processor helper, Processor other, long waited) {
    helper.counters().helps.add();
    event.tell(helper.index(), other.index(), waited);
  }

  /** Wakes an idle processor if something has waited beyond the bound at a busy one. */
  void helpIfOverdue() {
    long now = System.nanoTime();
    for (var processor : processors) {
      if (processor.unpolled(now) > boundNanos || processor.ready().oldestWait(now) > boundNanos) {
        wakeIdle();
        return;
      }
    }
  }

  /**
   * Ends the processors once nothing is ready. Virtual threads that others made on our processors
   * may still wait somewhere: when they go on, it is on a pool of the JDK.
   */
  void stop() {
    stopping = true;
    for (var processor : processors) {
      processor.wake();
    }
    for (var carrier : carriers) {
      Uninterruptibly.join(carrier);
    }
    stopped = true;
    if (watch != null) {
      watch.stop();
    }
    drain();
  }

  /** Gives the pollers back; after {@link #stop}, when no socket is left. */
  void release() {
    for (var processor : processors) {
      processor.close();
    }
  }

  private void drain() {
    for (var processor : processors) {
      var ready = processor.ready();
      for (var task = ready.take(0); task != null; task = ready.take(0)) {
        ForkJoinPool.commonPool().execute(task);
      }
    }
  }
}
