package dev.evergreen.fibers;

import dev.evergreen.fibers.FibersReport.ProcessorReport;
import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** Fibers on processors of our own. */
final class ProcessorFibers extends FibersBase {

  private final Descriptors descriptors = new Descriptors();
  private final Scheduler scheduler;
  private final Runnable untell;
  private final Io io;

  /**
   * Ends the processors. A platform thread, since a virtual thread that closes the runtime may run
   * on them itself: it goes on when they have ended, on the pool that takes over what is left.
   */
  private final Thread ending;

  private ProcessorFibers(Settings settings) throws IOException {
    io = settings.io();
    scheduler = new Scheduler(settings, descriptors);
    untell = Events.tell(settings.name(), this::report);
    ending = Thread.ofPlatform().name(settings.name() + "-end").unstarted(this::end);
  }

  static ProcessorFibers start(Settings settings) throws IOException {
    var fibers = new ProcessorFibers(settings);
    // On a platform thread for sure, whoever starts us.
    Uninterruptibly.join(
        Thread.ofPlatform().daemon().start(VirtualThreadHook::startPollersOfTheJdk));
    fibers.scheduler.start();
    return fibers;
  }

  @Override
  public Mode mode() {
    return Mode.PROCESSORS;
  }

  @Override
  public Io io() {
    return io;
  }

  /** The processor of the caller, or the next one if it runs on none of ours. */
  Processor here() {
    var current = Processor.current();
    return current != null && current.scheduler() == scheduler ? current : scheduler.place();
  }

  @Override
  long now() {
    var current = Processor.current();
    return current != null ? current.now() : System.nanoTime();
  }

  Processor place() {
    return scheduler.place();
  }

  Descriptors descriptors() {
    return descriptors;
  }

  @Override
  public Thread spawn(Runnable task) {
    return spawnAt(here(), task);
  }

  Thread spawnAt(Processor processor, Runnable task) {
    return spawn(
        wrapped -> VirtualThreadHook.newThread(new Home(scheduler, processor), "", wrapped), task);
  }

  @Override
  public Timer schedule(Duration delay, Runnable task) {
    checkOpen();
    var processor = here();
    var alarm =
        processor.alarm(
            System.nanoTime() + Nanos.of(delay),
            () -> {
              try {
                spawnAt(here(), task);
              } catch (FibersClosedException e) {
                // Closed since.
              }
            });
    return () -> processor.cancel(alarm);
  }

  @Override
  public void sleep(Duration time) throws InterruptedException {
    long until = System.nanoTime() + Nanos.of(time);
    var gate = new Gate();
    var processor = here();
    var alarm = processor.alarm(until, gate);
    if (!gate.await()) {
      processor.cancel(alarm);
      Thread.interrupted();
      throw new InterruptedException("interrupted while it slept for " + time);
    }
  }

  @Override
  public Listener listen(SocketAddress address, SocketOptions options) throws IOException {
    checkOpen();
    return opened(OwnListener.open(this, address, options));
  }

  @Override
  public Connection connect(SocketAddress address, @Nullable Duration limit, SocketOptions options)
      throws IOException {
    checkOpen();
    outputs().flushAll();
    return OwnConnection.connect(this, address, limit, options);
  }

  @Override
  public FibersReport report() {
    long now = System.nanoTime();
    var reports = new ArrayList<ProcessorReport>();
    for (var processor : scheduler.processors()) {
      var counters = processor.counters();
      reports.add(
          new ProcessorReport(
              processor.ready().count(),
              Duration.ofNanos(processor.ready().oldestWait(now)),
              counters.runs.value(),
              counters.polls.value(),
              counters.sleeps.value(),
              counters.steals.value(),
              counters.helps.value(),
              counters.posts.value()));
    }
    return new FibersReport(living(), reports);
  }

  @Override
  void shutDown() {
    synchronized (ending) {
      if (ending.getState() == Thread.State.NEW) {
        ending.start();
      }
    }
    Uninterruptibly.join(ending);
  }

  private void end() {
    untell.run();
    scheduler.stop();
    scheduler.release();
  }
}
