package dev.evergreen.bench.load;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The clients of a soak, each on a thread, until they are closed or one reads a wrong reply. */
public final class SoakLoad implements AutoCloseable {

  private static final int OF_EACH_KIND = 6;
  private static final int DAWDLERS = 6;

  private interface Step {
    void run() throws IOException, InterruptedException;
  }

  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong requests = new AtomicLong();
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
  private volatile boolean closed;

  private SoakLoad() {}

  /** Starts them. */
  public static SoakLoad start(InetSocketAddress server) {
    var load = new SoakLoad();
    for (var kind : SoakClient.Kind.values()) {
      for (int i = 0; i < OF_EACH_KIND; i++) {
        var client = new SoakClient(server, kind, load.threads.size());
        load.start(client, client::step);
      }
    }
    for (int i = 0; i < DAWDLERS; i++) {
      var client = new SoakClient(server, SoakClient.Kind.TEXT, load.threads.size());
      load.start(client, client::dawdle);
    }
    return load;
  }

  private void start(SoakClient client, Step step) {
    threads.add(
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try (client) {
                    while (!closed) {
                      step.run();
                      requests.incrementAndGet();
                    }
                  } catch (IOException | InterruptedException e) {
                    failure.compareAndSet(null, e);
                  }
                }));
  }

  /** How many requests were answered as they must be. */
  public long requests() {
    return requests.get();
  }

  /**
   * Does nothing unless something went wrong.
   *
   * @throws Exception what went wrong first
   */
  public void check() throws Exception {
    var first = failure.get();
    if (first != null) {
      throw first;
    }
  }

  /** Ends all clients, and waits for that unless it is interrupted. */
  @Override
  public void close() {
    closed = true;
    try {
      for (var thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
