package dev.evergreen.memcached.live;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.evergreen.live.LiveLimits;
import dev.evergreen.live.LiveResults;
import dev.evergreen.live.RefusedException;
import dev.evergreen.live.Rendering;
import dev.evergreen.store.Key;
import dev.evergreen.store.Store;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The live items of a server: one {@link LiveItem} for each key that is asked for. Their values are
 * items of the store like any other, counted and evictable; what makes them live is here.
 *
 * <p>Safe for any number of threads.
 */
public final class LiveItems implements AutoCloseable {

  /** A failure that nothing it has read can mend is tried anew so often, if it is asked for. */
  private static final long TRIED_ANEW_AFTER = TimeUnit.SECONDS.toNanos(1);

  private final LiveViews views;
  private final LiveViews.View[] declared;
  private final Store store;

  /** By the key's bytes as Latin-1; each is used until it is closed. */
  private final LiveResults<LiveItem> items;

  private volatile boolean closed;

  /**
   * @param store where the values are put
   */
  public LiveItems(LiveViews views, Store store) {
    this.views = views;
    this.declared = views.views().toArray(LiveViews.View[]::new);
    this.store = store;
    this.items = new LiveResults<>(views.node, LiveLimits.NONE, new AsLines());
  }

  /** Values are sent as they are, failures as lines of a protocol. */
  private record AsLines() implements Rendering {

    @Override
    public Exception told(String name, Exception failure) {
      return LiveItemException.told(name, failure);
    }

    @Override
    public byte[] bytes(Exception told) {
      return String.valueOf(told.getMessage()).getBytes(StandardCharsets.UTF_8);
    }
  }

  /** Whether a key is live, so that it can be read but not changed. Costs little for most keys. */
  public boolean owns(Key key) {
    for (var view : declared) {
      if (view.keys().mayMatch(key.bytes()) && view.keys().match(utf8(bytes(key))).isPresent()) {
        return true;
      }
    }
    return false;
  }

  /**
   * The live item of a key, which is begun if nobody has asked for it yet; null if the key is not
   * live. Does not block.
   *
   * @throws LiveItemException if no more may be live
   */
  public @Nullable LiveItem find(Key key) throws LiveItemException {
    for (var view : declared) {
      if (view.keys().mayMatch(key.bytes())) {
        var bytes = bytes(key);
        var name = new String(bytes, StandardCharsets.ISO_8859_1);
        var item = items.find(name);
        if (item != null && item.hasFailedSince(System.nanoTime() - TRIED_ANEW_AFTER)) {
          item.close();
        }
        if (item != null && !item.isClosed()) {
          item.asked();
          return item;
        }
        return begin(name, bytes);
      }
    }
    return null;
  }

  private @Nullable LiveItem begin(String name, byte[] bytes) throws LiveItemException {
    var text = utf8(bytes);
    for (var view : declared) {
      var values = view.keys().match(text);
      if (values.isPresent()) {
        refuse(view, name);
        var key = new LiveKey(text, values.get());
        return acquire(view, name, () -> new LiveItem(items, name, views, view, key, bytes, store));
      }
    }
    return null;
  }

  private LiveItem acquire(LiveViews.View view, String name, Supplier<LiveItem> made)
      throws LiveItemException {
    try {
      return items.acquire(name, List.of(), made);
    } catch (RefusedException e) {
      throw stopping(view);
    }
  }

  private static LiveItemException stopping(LiveViews.View view) {
    return new LiveItemException(view.name(), "the server is stopping");
  }

  private void refuse(LiveViews.View view, String name) throws LiveItemException {
    if (closed) {
      throw stopping(view);
    }
    if (items.size() >= views.maxKeys() && items.find(name) == null) {
      throw new LiveItemException(
          view.name(), views.maxKeys() + " keys are live, and more may not be");
    }
    long bytes = items.heldBytes();
    if (bytes > views.maxBytes()) {
      throw new LiveItemException(
          view.name(), "the live values take " + bytes + " bytes, and more may not be kept");
    }
  }

  /** Ends what nobody has asked for lately. To be called about once a second. */
  public void sweep() {
    long before = System.nanoTime() - views.keepFor().toNanos();
    items.forEach(
        item -> {
          if (item.isClosed() || item.notAskedSince(before)) {
            item.close();
          }
        });
  }

  /** How many keys are live. */
  public int size() {
    return items.size();
  }

  /** Ends all. */
  @Override
  public void close() {
    closed = true;
    items.forEach(LiveItem::close);
    items.close();
  }

  private static byte[] bytes(Key key) {
    return key.bytes().toArray(JAVA_BYTE);
  }

  private static String utf8(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
