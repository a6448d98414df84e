package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Fibers on the JDK's scheduler, with the JDK's sockets. */
final class JdkFibers extends FibersBase {

  private final Settings settings;

  JdkFibers(Settings settings) {
    this.settings = settings;
  }

  @Override
  public Mode mode() {
    return Mode.JDK;
  }

  @Override
  public Io io() {
    return Io.EPOLL;
  }

  @Override
  public Thread spawn(Runnable task) {
    return spawn(Thread.ofVirtual()::unstarted, task);
  }

  @Override
  public Timer schedule(Duration delay, Runnable task) {
    checkOpen();
    var decided = new AtomicBoolean();
    var future =
        ForkJoinPool.commonPool()
            .schedule(
                () -> {
                  if (decided.compareAndSet(false, true)) {
                    spawnIfOpen(task);
                  }
                },
                Nanos.of(delay),
                TimeUnit.NANOSECONDS);
    return () -> {
      // The future itself counts as not begun until its task has ended.
      boolean first = decided.compareAndSet(false, true);
      future.cancel(false);
      return first;
    };
  }

  private void spawnIfOpen(Runnable task) {
    try {
      spawn(task);
    } catch (FibersClosedException e) {
      // Closed since.
    }
  }

  @Override
  public void sleep(Duration time) throws InterruptedException {
    Thread.sleep(Duration.ofNanos(Nanos.of(time)));
  }

  @Override
  public Listener listen(SocketAddress address, SocketOptions options) throws IOException {
    checkOpen();
    return opened(JdkListener.open(this, address, options));
  }

  @Override
  public Connection connect(SocketAddress address, @Nullable Duration limit, SocketOptions options)
      throws IOException {
    checkOpen();
    outputs().flushAll();
    return opened(JdkConnection.connect(this, address, limit, options));
  }

  @Override
  public FibersReport report() {
    return new FibersReport(living(), List.of());
  }

  @Override
  void shutDown() {}

  @Override
  public String toString() {
    return settings.name();
  }
}
