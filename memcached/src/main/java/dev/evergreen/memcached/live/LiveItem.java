package dev.evergreen.memcached.live;

import dev.evergreen.core.Computation;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.json.ResultJson;
import dev.evergreen.store.Change;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A key whose value is the latest result of a computation. A virtual thread of its own follows the
 * results and puts each into the store, where requests find it.
 *
 * <p>The CAS number of a value is made from its bytes alone (the beginning of their SHA-256), so it
 * is the same at every server and after every restart, and for practical purposes never that of
 * another value.
 *
 * <p>Safe for any number of threads.
 */
public final class LiveItem {

  private static final Duration LONG = Duration.ofDays(1);

  private final LiveViews views;
  private final LiveViews.View view;
  private final LiveKey key;
  private final MemorySegment keyBytes;
  private final Store store;
  private final CountDownLatch first = new CountDownLatch(1);
  private volatile long askedAt = System.nanoTime();
  private volatile boolean closed;
  private volatile @Nullable ResultTracker<?> results;

  /** Why there is no value to answer with; null if there is one, or may be. */
  private volatile @Nullable LiveItemException failure;

  private volatile long failedAt;

  private @Nullable ReactiveComputation<?> computation; // guarded by this object
  private @Nullable Result<?> latest; // guarded by this object
  private int counted; // guarded by this object
  private final AtomicLong total;

  private LiveItem(
      LiveViews views,
      LiveViews.View view,
      LiveKey key,
      byte[] bytes,
      Store store,
      AtomicLong total) {
    this.total = total;
    this.views = views;
    this.view = view;
    this.key = key;
    this.keyBytes = MemorySegment.ofArray(bytes);
    this.store = store;
  }

  /**
   * Begins one.
   *
   * @param total where the lengths of all values are added up
   */
  static LiveItem begin(
      LiveViews views,
      LiveViews.View view,
      LiveKey key,
      byte[] bytes,
      Store store,
      AtomicLong total) {
    var item = new LiveItem(views, view, key, bytes, store, total);
    Thread.ofVirtual().name("live " + key.text()).start(item::follow);
    return item;
  }

  /** Whether requests need not wait: there has been a result, or will be none. */
  public boolean isReady() {
    return first.getCount() == 0;
  }

  /**
   * Waits until the store has held the value. It may have lost it since: see {@link #restore}.
   *
   * @throws LiveItemException if the latest result is a failure or cannot be stored, or the first
   *     is not there in time
   * @throws InterruptedException if the thread is interrupted while it waits
   */
  public void await() throws LiveItemException, InterruptedException {
    var limit = views.firstResultWithin();
    if (!first.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
      throw failed("no result within " + limit.toMillis() + " ms");
    }
    check();
  }

  /**
   * Does nothing unless there is no value for requests that need not wait.
   *
   * @throws LiveItemException if so
   */
  public void check() throws LiveItemException {
    var present = failure;
    if (present != null) {
      throw present;
    }
  }

  /**
   * Puts the value into the store again, after it was evicted or flushed.
   *
   * @return false if this item has ended: look for the key's next one
   * @throws LiveItemException if it cannot be stored
   */
  public synchronized boolean restore() throws LiveItemException {
    if (closed) {
      return false;
    }
    put();
    check();
    return true;
  }

  /** Whether the value is known to be current. */
  public Freshness freshness() {
    var tracker = results;
    return tracker == null ? Freshness.IN_DOUBT : tracker.freshness();
  }

  void asked() {
    askedAt = System.nanoTime();
  }

  boolean notAskedSince(long nanoTime) {
    return askedAt - nanoTime < 0;
  }

  /** Whether the latest result has been a failure since then: it is worth trying anew. */
  boolean hasFailedSince(long nanoTime) {
    return failure != null && failedAt - nanoTime < 0;
  }

  boolean isClosed() {
    return closed;
  }

  /** Ends the computation and deletes the value. Who waits here looks for the key's next item. */
  void close() {
    end(null);
  }

  private void end(@Nullable String why) {
    ReactiveComputation<?> running;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      running = computation;
      failure = why == null ? null : failed(why);
      delete();
      bytes(0);
    }
    first.countDown();
    if (running != null) {
      running.close();
    }
  }

  private void follow() {
    try (var made = views.node.reactive(computation());
        var tracker = made.tracker()) {
      results = tracker;
      synchronized (this) {
        computation = made;
      }
      while (!closed) {
        tracker.poll(LONG).ifPresent(this::take);
      }
    } catch (ComputationClosedException e) {
      close();
    } catch (RuntimeException e) {
      end(reason(e));
    }
  }

  /** The view's computation, asked for in the first run so that its failure is a result. */
  private Computation<@Nullable Object> computation() {
    var made = new AtomicReference<@Nullable Computation<?>>();
    return () -> {
      var computing = made.get();
      if (computing == null) {
        computing = view.made().apply(key);
        made.set(computing);
      }
      return computing.compute();
    };
  }

  private synchronized void take(Result<?> result) {
    if (!closed) {
      latest = result;
      put();
      first.countDown();
    }
  }

  /** Has the store hold the latest result, or else says why it does not. */
  private void put() {
    var why =
        switch (latest) {
          case null -> failed("there is no result yet");
          case Result.Value<?> value -> store(value.value());
          case Result.Failure<?> thrown -> failed(reason(thrown.exception()));
        };
    failure = why;
    if (why != null) {
      failedAt = System.nanoTime();
      delete();
      bytes(0);
    }
  }

  /** Notes how long the present value is. */
  private void bytes(int length) {
    total.addAndGet((long) length - counted);
    counted = length;
  }

  private void delete() {
    store.delete(storeKey(), new Change(), new Item());
  }

  private @Nullable LiveItemException store(@Nullable Object value) {
    try {
      var json = ResultJson.write(value, store.maxValueLength((int) keyBytes.byteSize()));
      bytes(json.length);
      var change = new Change().setCas(version(json));
      var segment = MemorySegment.ofArray(json);
      return switch (store.store(storeKey(), segment, 0, json.length, change, new Item())) {
        case STORED -> null;
        case Outcome other -> failed("out of memory storing its result");
      };
    } catch (ResultJson.TooLargeException e) {
      return failed("its result is larger than an item may be: " + e.getMessage());
    } catch (IOException | RuntimeException e) {
      return failed("its result cannot be written: " + e);
    }
  }

  private static long version(byte[] value) {
    try {
      long version = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(value)).getLong();
      return version == 0 ? 1 : version;
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  private static String reason(Exception failure) {
    Throwable cause = failure;
    while (cause instanceof ComputationFailedException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    var message = cause.getMessage();
    return cause.getClass().getSimpleName() + (message == null ? "" : ": " + message);
  }

  private LiveItemException failed(String why) {
    return new LiveItemException(view.name(), why);
  }

  private Key storeKey() {
    return new Key().set(keyBytes, 0, (int) keyBytes.byteSize());
  }
}
