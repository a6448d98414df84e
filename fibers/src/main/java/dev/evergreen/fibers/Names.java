package dev.evergreen.fibers;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Looks up the addresses of hosts. That blocks a thread for as long as the system's resolver likes,
 * so it is done by a few platform threads, and whoever asks waits without a processor. Those who
 * ask for the same name at a time share one look-up, and its answer is kept for a while.
 *
 * <p>All is bounded: threads, names that wait for one (who asks for more gets an exception), the
 * length of a name, and answers that are kept. Those that are too old go when others are looked up.
 */
public final class Names {

  private static final System.Logger LOG = System.getLogger(Names.class.getName());

  /** As many names are looked up at a time. */
  static final int THREADS = 4;

  /** As many more may wait for that. */
  static final int WAITING = 256;

  /** As many answers are kept. */
  private static final int KEPT = 10_000;

  /** No name of the internet is longer (RFC 1035 §2.3.4), in bytes. */
  private static final int LONGEST = 255;

  /** How long it is remembered that a name has no address. */
  private static final Duration KEEP_FAILURES = Duration.ofSeconds(1);

  private static final Names SYSTEM =
      new Names(host -> List.of(InetAddress.getAllByName(host)), Duration.ofSeconds(5));

  /** A way to find the addresses of a host. */
  @FunctionalInterface
  public interface Lookup {
    /**
     * Finds them, the best first. May block.
     *
     * @throws UnknownHostException if there are none
     */
    List<InetAddress> find(String host) throws UnknownHostException;
  }

  /** Decides which of a host's addresses are told. */
  @FunctionalInterface
  public interface Filter {
    /**
     * Answers those that are.
     *
     * @param found one at least
     * @throws IOException why none is
     */
    List<InetAddress> told(String host, List<InetAddress> found) throws IOException;
  }

  /**
   * What a look-up has found.
   *
   * @param failure why there are no addresses; else null
   * @param until when it is to be asked for again
   */
  private record Found(List<InetAddress> addresses, @Nullable Throwable failure, long until) {}

  private final Lookup lookup;
  private final long keepNanos;
  private final ConcurrentHashMap<String, CompletableFuture<Found>> answers;
  private final ThreadPoolExecutor threads;

  /** When what is too old was forgotten last. */
  private final AtomicLong swept;

  private final Filter filter;

  /**
   * Names that are looked up in another way than the system's.
   *
   * @param keep how long an answer is kept
   */
  public Names(Lookup lookup, Duration keep) {
    this(lookup, keep, Thread.ofPlatform().daemon().name("names-", 0).factory());
  }

  Names(Lookup lookup, Duration keep, ThreadFactory maker) {
    this.lookup = lookup;
    keepNanos = Nanos.of(keep);
    answers = new ConcurrentHashMap<>();
    swept = new AtomicLong(System.nanoTime());
    filter = (_, found) -> found;
    threads =
        new ThreadPoolExecutor(
            THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(WAITING), maker);
    threads.allowCoreThreadTimeOut(true);
  }

  private Names(Names unfiltered, Filter filter) {
    lookup = unfiltered.lookup;
    keepNanos = unfiltered.keepNanos;
    answers = unfiltered.answers;
    threads = unfiltered.threads;
    swept = unfiltered.swept;
    this.filter = filter;
  }

  /**
   * The same, of which another filter decides what is told, also of a literal address. It is asked
   * each time, so what it lets pass is what is used, whatever the name meant before.
   */
  public Names filtered(Filter other) {
    return new Names(this, other);
  }

  /** Those that the system knows, each kept for 5 s. Always the same object. */
  public static Names ofSystem() {
    return SYSTEM;
  }

  /**
   * Tells the addresses of a host, the best first. Blocks the calling fiber while they are looked
   * up, but no processor; a literal address is told at once. What holds for waits ({@link
   * CancelScope}) holds here; the look-up itself goes on for the next one who asks.
   *
   * @throws UnknownHostException if it has none
   * @throws IOException if too many names are being looked up
   */
  public List<InetAddress> addresses(String host) throws IOException {
    return filter.told(host, found(host));
  }

  private List<InetAddress> found(String host) throws IOException {
    try {
      return List.of(InetAddress.ofLiteral(host));
    } catch (IllegalArgumentException e) {
      // It is a name.
    }
    if (host.length() > LONGEST) {
      throw new UnknownHostException("no host has a name of " + host.length() + " characters");
    }
    var answer = ask(host.toLowerCase(Locale.ROOT));
    var found = new Ahead<>(answer).await("look up " + host, false, 0);
    if (found.failure != null) {
      var why = "the host " + host + " is not known: " + found.failure.getMessage();
      throw (IOException) new UnknownHostException(why).initCause(found.failure);
    }
    return found.addresses;
  }

  private CompletableFuture<Found> ask(String host) throws IOException {
    var made = new CompletableFuture<Found>();
    var answer = answers.merge(host, made, (present, other) -> isOld(present) ? other : present);
    if (answer == made) {
      try {
        threads.execute(() -> made.complete(find(host)));
      } catch (RejectedExecutionException e) {
        throw giveUp(host, made, "too many names are being looked up at a time", e);
      } catch (OutOfMemoryError e) {
        throw giveUp(host, made, "there is no thread for it", e);
      }
      forgetOld();
    }
    return answer;
  }

  /** Nobody will look it up; others may wait for it by now. */
  private IOException giveUp(
      String host, CompletableFuture<Found> made, String why, Throwable cause) {
    answers.remove(host, made);
    made.completeExceptionally(new IOException(why + ", one of them " + host));
    return new IOException("could not look up " + host + ": " + why, cause);
  }

  private static boolean isOld(CompletableFuture<Found> answer) {
    return answer.isCompletedExceptionally()
        || (answer.isDone() && answer.join().until - System.nanoTime() <= 0);
  }

  private Found find(String host) {
    try {
      var addresses = List.copyOf(lookup.find(host));
      if (!addresses.isEmpty()) {
        return new Found(addresses, null, System.nanoTime() + keepNanos);
      }
      return failed(new UnknownHostException("it has no address"));
    } catch (UnknownHostException e) {
      return failed(e);
    } catch (RuntimeException | Error e) {
      // Whatever it is, all who ask for this name wait for an answer.
      LOG.log(Level.ERROR, "the look-up of " + host + " broke down", e);
      return failed(e);
    }
  }

  private Found failed(Throwable why) {
    long keep = Math.min(keepNanos, KEEP_FAILURES.toNanos());
    return new Found(List.of(), why, System.nanoTime() + keep);
  }

  /** How many answers are kept, or looked for. */
  int kept() {
    return answers.size();
  }

  /** Looks through all of them once in the time for which they are kept, or when there are many. */
  private void forgetOld() {
    long now = System.nanoTime();
    long before = swept.get();
    boolean due = now - before >= keepNanos && swept.compareAndSet(before, now);
    if (due || answers.size() > KEPT) {
      answers.values().removeIf(Names::isOld);
    }
    if (answers.size() > KEPT) {
      answers.values().removeIf(CompletableFuture::isDone);
    }
  }
}
