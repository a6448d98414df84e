package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A runtime of fibers. A fiber is a virtual thread: sequential code that may block on everything
 * that a virtual thread may block on, and on the {@link Connection}s of the runtime, at little
 * cost.
 *
 * <p>In mode {@link Mode#PROCESSORS} fibers run on a few processors, platform threads of the
 * runtime's own. Fibers that are ready run in the order of arrival, but those that had their turn
 * and {@linkplain #letOthersRun let others run} after those that were woken; none is interrupted,
 * so a fiber that computes for long should yield at times, and one that blocks its thread (in
 * native code or a file) holds up its processor; other processors help. In mode {@link Mode#JDK}
 * they are the JDK's virtual threads, with the same interface and the same behaviour of sockets,
 * but without a promise of fairness.
 *
 * <p>Virtual threads that a fiber makes by other means ({@link Thread#ofVirtual}) run on the same
 * processors.
 */
public sealed interface Fibers extends AutoCloseable permits FibersBase {

  /** On what fibers run. */
  enum Mode {
    /**
     * On processors of our own, with system calls of our own; needs Linux and the flags {@code
     * --add-opens java.base/java.lang=ALL-UNNAMED --enable-native-access=ALL-UNNAMED}.
     */
    PROCESSORS,

    /** On the JDK's scheduler and sockets; works everywhere. */
    JDK
  }

  /** How replies leave in mode PROCESSORS; events come from epoll in any case. */
  enum Io {
    /** Each by a system call of its own, as soon as it is flushed. */
    EPOLL,

    /**
     * What a fiber flushes by waiting for input leaves together with what others of its processor
     * flushed that way, by one system call (io_uring): when the processor has run what was ready,
     * and at least every 50 µs between two fibers. Less processor time where many are active; a
     * fiber that computes without yielding delays the others' replies, too. Needs Linux 5.12, and
     * is EPOLL where the system refuses it, which the log then tells once.
     */
    IO_URING
  }

  /** Begins to describe a runtime. */
  static Builder builder() {
    return new Builder();
  }

  /** On what the fibers run. */
  Mode mode();

  /** How replies leave; EPOLL in mode JDK. */
  Io io();

  /**
   * Starts a fiber. {@link Thread#join()} waits for its end.
   *
   * @param task what it does; an exception that escapes goes to the thread's handler of uncaught
   *     ones
   * @throws FibersClosedException if the runtime is closed
   */
  Thread spawn(Runnable task);

  /**
   * Starts a fiber after a time.
   *
   * @param delay from now on; it starts at once if this is zero or negative
   * @throws FibersClosedException if the runtime is closed
   */
  Timer schedule(Duration delay, Runnable task);

  /**
   * Lets the calling fiber wait for a time. It may last longer, but is not shorter.
   *
   * @throws InterruptedException if the thread is interrupted meanwhile or was before
   */
  void sleep(Duration time) throws InterruptedException;

  /**
   * Whether the calling fiber should {@linkplain #letOthersRun let others run}: some are ready, or
   * it has run for so long that some may have become so. Costs a look at the clock at most. Where
   * that is not known, as in mode {@link Mode#JDK}, the answer is yes.
   */
  static boolean othersWait() {
    var processor = Processor.current();
    return processor == null || processor.othersWait();
  }

  /**
   * Has the calling fiber let others run that are ready: those whose turn was over before its own,
   * and those that something has woken, also meanwhile. Of the former at least one runs in each
   * millisecond, and when its turn is over, so that all get on. A fiber that computes for long
   * should do so at times.
   */
  @SuppressWarnings(
      "ThreadPriorityCheck") // That a fiber which yields lets others run is our promise.
  static void letOthersRun() {
    var processor = Processor.current();
    if (processor != null) {
      processor.endTurn();
    }
    Thread.yield();
  }

  /** Listens with the default options; see {@link #listen(SocketAddress, SocketOptions)}. */
  default Listener listen(SocketAddress address) throws IOException {
    return listen(address, SocketOptions.DEFAULT);
  }

  /**
   * Listens at an address of the internet (port 0 for any that is free) or at the path of a UNIX
   * socket, whose file must not exist and stays when the listener is closed.
   *
   * @throws IOException if the address cannot be had
   */
  Listener listen(SocketAddress address, SocketOptions options) throws IOException;

  /**
   * Connects with the default options; see {@link #connect(SocketAddress, Duration,
   * SocketOptions)}.
   */
  default Connection connect(SocketAddress address) throws IOException {
    return connect(address, null, SocketOptions.DEFAULT);
  }

  /**
   * Connects to an address of the internet or to a UNIX socket. Blocks until it is done.
   *
   * @param limit how long that may take at most, or null for as long as the system tries
   * @throws java.net.SocketTimeoutException if it takes longer
   * @throws IOException if nobody listens there, or for any other reason of the system's
   */
  Connection connect(SocketAddress address, @Nullable Duration limit, SocketOptions options)
      throws IOException;

  /**
   * The connections that are open, both made and accepted, to be looked at or closed; one with TLS
   * is there as that below it.
   */
  List<Connection> connections();

  /** What each processor has done so far, and how it is now; empty in mode JDK. */
  FibersReport report();

  /**
   * Closes all listeners and connections, interrupts all fibers, waits until they have ended, and
   * gives everything back. A fiber that does not heed that is waited for. Virtual threads that
   * fibers made by other means live on, on a pool of the JDK, and may call this.
   *
   * @throws IllegalStateException if a fiber of this runtime calls it, as it would wait for itself
   */
  @Override
  void close();

  /** Something that will happen. */
  interface Timer {
    /** Says whether it had not begun, and never will. */
    boolean cancel();
  }

  /** Describes a runtime. All has defaults. */
  final class Builder {
    private String name = "fibers";
    private int processors = Runtime.getRuntime().availableProcessors();
    private @Nullable Mode mode;
    private Io io = Io.IO_URING;
    private boolean helping = true;
    private Duration ageBound = Duration.ofMillis(10);
    private Duration spinning = Duration.ZERO;

    private Builder() {}

    /** Begins the names of its threads. */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /**
     * How many processors there are; the number of cores by default. Without effect in mode JDK,
     * where the JDK decides.
     */
    public Builder processors(int processors) {
      if (processors < 1 || processors > 1024) {
        throw new IllegalArgumentException(
            "there can be 1 to 1,024 processors, but " + processors + " were asked for");
      }
      this.processors = processors;
      return this;
    }

    /**
     * Forces a mode. By default it is PROCESSORS where that is possible, else JDK, which the log
     * then tells once.
     */
    public Builder mode(Mode mode) {
      this.mode = mode;
      return this;
    }

    /** How replies leave; IO_URING by default, where that is possible. */
    public Builder io(Io io) {
      this.io = io;
      return this;
    }

    /**
     * Whether processors that have work of their own look after others, whose work has waited
     * beyond the bound; on by default. Without it a fiber that computes for long holds up what its
     * processor alone knows of. Idle processors take ready fibers from others in any case.
     */
    public Builder helping(boolean helping) {
      this.helping = helping;
      return this;
    }

    /** After which wait something is helped before newer work; 10 ms by default. */
    public Builder ageBound(Duration ageBound) {
      if (ageBound.compareTo(Duration.ofMillis(1)) < 0
          || ageBound.compareTo(Duration.ofMinutes(1)) > 0) {
        throw new IllegalArgumentException(
            "the bound must be between 1 ms and 1 minute, but " + ageBound + " was asked for");
      }
      this.ageBound = ageBound;
      return this;
    }

    /**
     * How long a processor that has nothing to do looks for what comes next before it sleeps; zero,
     * by default, for not at all. To be woken takes some ten microseconds, on a virtual machine
     * more. It does so only while sleeps were shorter than that, so that a processor at rest takes
     * no time of others; and where a thread waits for its core, that one goes first. Without effect
     * in mode JDK.
     */
    public Builder spinning(Duration most) {
      if (most.isNegative() || most.compareTo(Duration.ofMillis(1)) > 0) {
        throw new IllegalArgumentException(
            "a processor can look for 0 to 1 ms before it sleeps, not for " + most);
      }
      spinning = most;
      return this;
    }

    /**
     * Starts it.
     *
     * @throws IllegalStateException if a mode was forced that is not possible here; the message
     *     says why
     */
    public Fibers start() {
      return Modes.start(mode, new Settings(name, processors, helping, ageBound, spinning, io));
    }
  }
}
