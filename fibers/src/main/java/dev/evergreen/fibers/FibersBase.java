package dev.evergreen.fibers;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What both modes share: who lives, what is open, and how all that ends. */
abstract sealed class FibersBase implements Fibers permits ProcessorFibers, JdkFibers {

  /** The fibers that live, each with what it has written and not flushed. */
  private final Map<Thread, Outputs> fibers = new ConcurrentHashMap<>();

  private final Set<Closing> sockets = ConcurrentHashMap.newKeySet();
  private volatile boolean closing;

  FibersBase() {
    // Looks how much memory the JVM has. That takes a while the first time, and a fiber would stop
    // its processor meanwhile.
    var _ = Buffers.capacity();
  }

  /** An open socket. */
  interface Closing {
    /** Closes it; does not block, and may be called often. */
    void close();
  }

  /** Has the mode make a virtual thread. */
  interface Maker {
    Thread make(Runnable task);
  }

  /** Starts a fiber that counts as ours until it ends. */
  final Thread spawn(Maker maker, Runnable task) {
    var fiber =
        maker.make(
            () -> {
              try {
                task.run();
              } catch (FibersClosedException e) {
                if (!closing) {
                  throw e; // That is of another runtime.
                }
              } finally {
                try {
                  // Nobody else would flush it, nor give its buffers back.
                  outputs().flushAll();
                } finally {
                  fibers.remove(Thread.currentThread());
                }
              }
            });
    fibers.put(fiber, new Outputs(fiber));
    if (closing) {
      // Whoever closes may not have seen it, but will not wait for one that never starts.
      fibers.remove(fiber);
      throw new FibersClosedException();
    }
    try {
      fiber.start();
    } catch (RuntimeException | Error e) {
      fibers.remove(fiber);
      throw e;
    }
    return fiber;
  }

  final void checkOpen() {
    if (closing) {
      throw new FibersClosedException();
    }
  }

  /** Remembers a socket until it is forgotten; closes it at once if the runtime is closed. */
  final <S extends Closing> S opened(S socket) {
    sockets.add(socket);
    if (closing) {
      socket.close();
    }
    return socket;
  }

  final void forget(Closing socket) {
    sockets.remove(socket);
  }

  /** What the current thread has written and not flushed. */
  final Outputs outputs() {
    var known = fibers.get(Thread.currentThread());
    return known != null ? known : Outputs.ofOther();
  }

  /** The time in the terms of {@link System#nanoTime}, maybe that when the caller's turn began. */
  long now() {
    return System.nanoTime();
  }

  @Override
  public final List<Connection> connections() {
    return sockets.stream()
        .filter(Connection.class::isInstance)
        .map(Connection.class::cast)
        .toList();
  }

  final int living() {
    return fibers.size();
  }

  @Override
  public final void close() {
    if (fibers.containsKey(Thread.currentThread())) {
      throw new IllegalStateException(
          "a fiber cannot close its own runtime, as closing waits for all fibers");
    }
    closing = true;
    for (var socket : sockets) {
      socket.close();
    }
    for (var fiber = any(); fiber != null; fiber = any()) {
      fibers.keySet().forEach(Thread::interrupt);
      Uninterruptibly.join(fiber);
      fibers.remove(fiber);
    }
    shutDown();
  }

  private @Nullable Thread any() {
    for (var fiber : fibers.keySet()) {
      return fiber;
    }
    return null;
  }

  /** Gives the mode's own things back; called when no fiber is left, maybe twice. */
  abstract void shutDown();
}
