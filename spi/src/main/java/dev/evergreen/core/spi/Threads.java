package dev.evergreen.core.spi;

/**
 * How the core starts and parks its threads. All its waiting goes through here, and it never waits
 * while it holds a monitor, so that a simulation can run one thread at a time and decide which.
 */
public interface Threads {

  /**
   * Starts a thread that runs {@code task}. If this throws, as there is no memory for a thread, the
   * task does not run: the core tries again.
   */
  Thread start(Runnable task);

  /** Waits until the calling thread is unparked or interrupted; may return without either. */
  void park();

  /** As {@link #park()}, for at most {@code nanos}. */
  void parkNanos(long nanos);

  /**
   * As {@link #parkNanos}, for what another node does: it takes a while, whoever runs here
   * meanwhile.
   */
  default void parkNanosForOthers(long nanos) {
    parkNanos(nanos);
  }

  /** Lets threads that could go on do so before the calling one, which has worked for a while. */
  default void letOthersRun() {}

  /** Lets {@code thread} return from its present or next park. */
  void unpark(Thread thread);
}
