package dev.evergreen.memcached.live;

import dev.evergreen.core.Computation;
import dev.evergreen.live.LiveResult;
import dev.evergreen.live.LiveResults;
import dev.evergreen.live.Present;
import dev.evergreen.store.Change;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A key whose value is the latest result of a computation: each is put into the store, where
 * requests find it.
 *
 * <p>The CAS number of a value is made from its bytes alone (the beginning of their SHA-256), so it
 * is the same at every server and after every restart, and for practical purposes never that of
 * another value.
 *
 * <p>Safe for any number of threads.
 */
public final class LiveItem extends LiveResult {

  private final LiveResults<LiveItem> all;
  private final LiveViews views;
  private final LiveViews.View view;
  private final LiveKey key;
  private final MemorySegment keyBytes;
  private final Store store;
  private volatile long askedAt = System.nanoTime();
  private volatile boolean closed;

  /** Why there is no value to answer with; null if there is one, or may be. */
  private volatile @Nullable LiveItemException failure;

  private volatile long failedAt;

  /**
   * @param name the key among all
   * @param bytes the key as it is asked for
   */
  LiveItem(
      LiveResults<LiveItem> all,
      String name,
      LiveViews views,
      LiveViews.View view,
      LiveKey key,
      byte[] bytes,
      Store store) {
    super(all, name, List.of());
    this.all = all;
    this.views = views;
    this.view = view;
    this.key = key;
    this.keyBytes = MemorySegment.ofArray(bytes);
    this.store = store;
  }

  @Override
  protected String name() {
    return view.name();
  }

  @Override
  protected Computation<?> computation() {
    return view.made().apply(key);
  }

  @Override
  protected int maxBytes() {
    return store.maxValueLength((int) keyBytes.byteSize());
  }

  @Override
  protected void changed(@Nullable Present last, Present present) {
    // Doubt is told with each answer.
    if (!closed && (last == null || !last.tag().equals(present.tag()))) {
      put();
    }
  }

  @Override
  protected void ended(@Nullable RuntimeException why) {
    end(why == null ? null : LiveItemException.told(view.name(), why));
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
    if (!awaitFirst(limit)) {
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
    all.end(this);
  }

  private synchronized void end(@Nullable LiveItemException why) {
    if (!closed) {
      closed = true;
      setOver();
      failure = why;
      delete();
    }
  }

  /** Has the store hold the latest result, or else says why it does not. */
  private void put() {
    var why =
        switch (present()) {
          case null -> failed("there is no result yet");
          case Present value when value.error() == null -> store(value.json());
          case Present failed -> (LiveItemException) failed.error();
        };
    failure = why;
    if (why != null) {
      failedAt = System.nanoTime();
      delete();
    }
  }

  private void delete() {
    store.delete(storeKey(), new Change(), new Item());
  }

  private @Nullable LiveItemException store(ByteBuffer json) {
    var change = new Change().setCas(version(json.duplicate()));
    var value = MemorySegment.ofBuffer(json);
    return switch (store.store(storeKey(), value, 0, json.remaining(), change, new Item())) {
      case STORED -> null;
      case Outcome other -> failed("out of memory storing its result");
    };
  }

  private static long version(ByteBuffer value) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      digest.update(value);
      long version = ByteBuffer.wrap(digest.digest()).getLong();
      return version == 0 ? 1 : version;
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  private LiveItemException failed(String why) {
    return new LiveItemException(view.name(), why);
  }

  private Key storeKey() {
    return new Key().set(keyBytes, 0, (int) keyBytes.byteSize());
  }
}
