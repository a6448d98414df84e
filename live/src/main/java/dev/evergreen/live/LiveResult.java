package dev.evergreen.live;

import dev.evergreen.core.Computation;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.spi.Carriers;
import dev.evergreen.json.ResultJson;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One computation, however many look at it. A virtual thread of its own follows the results and
 * turns each into bytes once; who looks takes the latest when it can. Edges extend it.
 *
 * <p>Safe for any number of threads.
 */
public abstract class LiveResult {

  private static final Duration LONG = Duration.ofDays(1);

  private final LiveResults<?> home;
  private final String key;
  private final CountDownLatch first = new CountDownLatch(1);
  private final CountDownLatch closing = new CountDownLatch(1);
  private volatile boolean over;
  private volatile @Nullable Present present;
  private volatile @Nullable ResultTracker<?> running;
  private volatile @Nullable ResultTracker<?> results;

  /** Who pays for it now. Guarded by the lock of the home, as all below. */
  List<?> payers;

  /** How many use it, by who would pay for each; those who came first are first. */
  final Map<List<?>, Integer> users = new LinkedHashMap<>(2);

  /** What is counted for it. */
  @Nullable Present held;

  /** How much is counted beside that. */
  int bytesBeside;

  /** When to close it if it still has no users. */
  long closeAtNanos;

  /**
   * @param key which computation it is, among those of its home
   * @param payers whom it is made for
   */
  protected LiveResult(LiveResults<?> home, String key, List<?> payers) {
    this.home = home;
    this.key = key;
    this.payers = payers;
  }

  /** A name for people. */
  protected abstract String name();

  /**
   * The computation. Asked for in the first run of it, so that its failure is a result.
   *
   * @throws Exception any, which is the first result then
   */
  protected abstract Computation<?> computation() throws Exception;

  /** How many bytes of JSON a result may have. */
  protected abstract int maxBytes();

  /** After how long the result is asked for again; null if the runtime keeps it true. */
  protected @Nullable Duration every() {
    return null;
  }

  /**
   * This will be the latest result. Called before that, one at a time and without any lock, by the
   * thread that follows the results; so what takes long belongs here. Nothing by default.
   *
   * @param last null before the first
   */
  protected void prepare(@Nullable Present last, Present next) {
    // Most edges have nothing to prepare.
  }

  /**
   * The latest result or its freshness is another. Called one at a time, under this object's lock,
   * with {@link #present} being the new one already. Must not block.
   *
   * @param last null before the first
   */
  protected abstract void changed(@Nullable Present last, Present present);

  /**
   * There will be no further results. Called once, before those who wait for the first are woken.
   *
   * @param why null if it was closed
   */
  protected abstract void ended(@Nullable RuntimeException why);

  /** The latest result, or null before the first. */
  public final @Nullable Present present() {
    return present;
  }

  /** Whether nobody needs to wait: there has been a result, or will be none. */
  public final boolean isReady() {
    return first.getCount() == 0;
  }

  /** Waits until {@link #isReady}; false if it is not within {@code limit}. */
  public final boolean awaitFirst(Duration limit) throws InterruptedException {
    return first.await(limit.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Whether the latest result is known to be current, as of now. */
  public final Freshness freshness() {
    var tracker = results;
    return tracker == null ? Freshness.IN_DOUBT : tracker.freshness();
  }

  /** Whether there will be no further results, so that another is made for whoever asks. */
  public final boolean isOver() {
    return over;
  }

  /** Has another made for whoever asks from now on. */
  protected final void setOver() {
    over = true;
  }

  final String key() {
    return key;
  }

  final void start() {
    Thread.ofVirtual().name("live " + name()).start(Carriers.inTurn(this::follow));
  }

  /** Waits for nothing: what it follows is closed by the thread that follows it. */
  final void stop() {
    closing.countDown();
    var tracker = running;
    if (tracker != null) {
      tracker.close();
    }
  }

  private boolean isStopped() {
    return closing.getCount() == 0;
  }

  private void follow() {
    RuntimeException why = null;
    try {
      var every = every();
      if (every == null) {
        followResults();
      } else {
        askEvery(every);
      }
    } catch (Throwable e) {
      why = e instanceof RuntimeException known ? known : new ComputationFailedException(e);
    }
    over = true;
    try {
      ended(why);
    } finally {
      first.countDown();
    }
  }

  /**
   * The runtime keeps it true, as long as somebody can pay for the results that are made. While
   * nobody can, it is asked for now and then, which costs nothing between, and is doubtful: until
   * an answer is the same as the last, or is no value, which only the runtime can tell of.
   */
  private void followResults() {
    var computation = computationOnce();
    try {
      while (!isStopped()) {
        long pause = followWhileItMay(computation);
        askWhileItChanges(computation, pause);
      }
    } catch (ComputationClosedException e) {
      // Closed because nobody looks any more, or by the application's node.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns for how many nanoseconds no other result is to be made. */
  private long followWhileItMay(Computation<?> computation) {
    try (var computing = home.node().reactive(computation);
        var tracker = computing.tracker()) {
      running = tracker;
      long pause = 0;
      while (pause == 0 && !isStopped()) {
        var result = tracker.poll(LONG);
        if (result.isPresent()) {
          pause = follow(read(result.get(), tracker.freshness()), tracker, 0);
        }
      }
      return pause;
    }
  }

  /**
   * Each time all that it reads is called anew, which may take far longer than a run of what is
   * followed: so how long that takes is paid for, too.
   */
  private void askWhileItChanges(Computation<?> computation, long pause)
      throws InterruptedException {
    long wait = pause;
    long unpaid = 0; // As of the last, which was the same as before.
    while (wait > 0 && !closing.await(wait, TimeUnit.NANOSECONDS)) {
      long began = System.nanoTime();
      var asked = ask(computation, Freshness.IN_DOUBT);
      long took = System.nanoTime() - began;
      boolean still = tagOf(present).equals(asked.tag()) || asked.error() != null;
      wait = still ? 0 : follow(asked, null, took);
      unpaid = still ? took : 0;
    }
    awaitFollowing(unpaid);
  }

  /**
   * Else whatever rests for a moment would be followed at once, all of a payer's together. What is
   * stopped is not followed; that it was asked for is paid for nevertheless.
   */
  private void awaitFollowing(long asking) throws InterruptedException {
    int work = isStopped() ? 0 : LiveResults.WORK_OF_FOLLOWING;
    long pause = home.payFor(this, work, asking);
    var _ = closing.await(pause, TimeUnit.NANOSECONDS);
  }

  private static String tagOf(@Nullable Present present) {
    return present == null ? "" : present.tag();
  }

  private void askEvery(Duration period) {
    var computation = computationOnce();
    try {
      long pause;
      do {
        pause = follow(ask(computation, Freshness.CURRENT), null, 0);
      } while (!closing.await(Math.max(period.toNanos(), pause), TimeUnit.NANOSECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private Computation<@Nullable Object> computationOnce() {
    var made = new AtomicReference<@Nullable Computation<?>>();
    return () -> {
      var computing = made.get();
      if (computing == null) {
        computing = computation();
        made.set(computing);
      }
      return computing.compute();
    };
  }

  private Present ask(Computation<?> computation, Freshness freshness) {
    try {
      return write(computation.compute(), freshness);
    } catch (Exception e) {
      return failure(e, freshness);
    } catch (Error e) {
      return failure(new ComputationFailedException(e), freshness);
    }
  }

  private Present read(Result<?> result, Freshness freshness) {
    return switch (result) {
      case Result.Failure<?> failure -> failure(failure.exception(), freshness);
      case Result.Value<?> value -> write(value.value(), freshness);
    };
  }

  private Present write(@Nullable Object value, Freshness freshness) {
    try {
      home.countWritten();
      return Present.value(ResultJson.write(value, maxBytes()), home.rendering(), freshness);
    } catch (Throwable e) {
      // The value's own methods may end with anything, also with an Error.
      return failure(new UnwritableException(e), freshness);
    }
  }

  private Present failure(Exception failure, Freshness freshness) {
    var rendering = home.rendering();
    return Present.failure(rendering.told(name(), failure), rendering, freshness);
  }

  /**
   * Tells when the same result has become doubtful or current again. The core has no event for
   * that, so it is called now and then. While it is the same nobody is waited for.
   */
  final void lookAtFreshness() {
    var last = present;
    var tracker = results;
    if (last != null && tracker != null && last.freshness() != tracker.freshness()) {
      tellFreshness(tracker);
    }
  }

  private synchronized void tellFreshness(ResultTracker<?> tracker) {
    var last = present;
    // Where it is followed no more, or anew, by now, that tracker knows nothing of the result.
    if (last != null && results == tracker) {
      publish(last.with(tracker.freshness()), tracker);
    }
  }

  /**
   * By the thread that follows the results, so that the last one stays the last meanwhile.
   *
   * @param tracker which shows how fresh it is; null if it was asked for
   * @param asking for how many nanoseconds it was asked for, as far as that is to be paid for
   * @return for how many nanoseconds no other is to be made; it is shown as doubtful then, as it
   *     may have been replaced long before that
   */
  private long follow(Present next, @Nullable ResultTracker<?> tracker, long asking) {
    var last = present;
    if (last != null && last.tag().equals(next.tag())) {
      publish(next, tracker);
      return 0;
    }
    prepare(last, next);
    long pause =
        last == null
            ? home.payForFirst(this, next)
            : home.payFor(this, LiveResults.workOf(next), asking);
    if (pause == 0) {
      publish(next, tracker);
    } else {
      publish(next.with(Freshness.IN_DOUBT), null);
    }
    return pause;
  }

  /**
   * Makes this the latest result.
   *
   * @throws RefusedException if it is more than whoever had it made may have held
   */
  private synchronized void publish(Present next, @Nullable ResultTracker<?> tracker) {
    // Together with the result: how fresh it is tells nobody else.
    results = tracker;
    var last = present;
    if (last == null || !last.tag().equals(next.tag())) {
      var latest = home.hold(this, next);
      present = latest;
      changed(last, latest);
      first.countDown();
    } else if (last.freshness() != next.freshness()) {
      // The bytes stay those that connections are writing already.
      var latest = last.with(next.freshness());
      present = latest;
      changed(last, latest);
    }
  }
}
