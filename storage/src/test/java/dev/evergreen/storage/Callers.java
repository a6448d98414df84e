package dev.evergreen.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;

/** Threads that use a storage, and have to wait for it. */
final class Callers {

  private static final Set<Thread.State> WAITING =
      EnumSet.of(Thread.State.WAITING, Thread.State.TIMED_WAITING, Thread.State.TERMINATED);

  private Callers() {}

  /** Starts a first save of that many grains, and waits until all of them wait or have ended. */
  static List<FutureTask<Long>> startSaves(Storage storage, int count) throws InterruptedException {
    var saves = new ArrayList<FutureTask<Long>>();
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < count; i++) {
      var grain = grain(i);
      var save = new FutureTask<>(() -> storage.save(grain, Storage.NONE, "state".getBytes(UTF_8)));
      saves.add(save);
      threads.add(Thread.ofVirtual().start(save));
    }
    awaitWaiting(threads);
    return saves;
  }

  /** Waits until each waits or has ended. */
  static void awaitWaiting(List<Thread> threads) throws InterruptedException {
    for (var thread : threads) {
      while (!WAITING.contains(thread.getState())) {
        Thread.sleep(1);
      }
    }
  }

  static GrainId grain(int number) {
    return new GrainId("User", "user " + number);
  }
}
