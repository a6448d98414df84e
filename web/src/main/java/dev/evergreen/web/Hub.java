package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.Node;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The live computations of this server, one for each view and parameters (and caller, where the
 * view depends on it). One without users is kept for a while, so that a reconnecting browser finds
 * it warm.
 */
final class Hub {

  private final Node node;
  private final Map<String, LiveView<?>> views;
  private final WebSettings settings;
  private final Failures failures;
  private final Counters counters;

  /** Guarded by this object's lock, as are the users of its values. */
  private final Map<String, LiveResult<?>> live = new HashMap<>();

  /** How many of them each address had made; guarded by this object's lock. */
  private final Map<Object, Integer> madeFor = new HashMap<>();

  private boolean closed;

  Hub(
      Node node,
      Map<String, LiveView<?>> views,
      WebSettings settings,
      Failures failures,
      Counters counters) {
    this.node = node;
    this.views = views;
    this.settings = settings;
    this.failures = failures;
    this.counters = counters;
  }

  /**
   * The view of this name.
   *
   * @throws WebException 404 if there is none
   */
  LiveView<?> view(String name) {
    var view = views.get(name);
    if (view == null) {
      throw new WebException(404, "no-such-view", "There is no view of this name.");
    }
    return view;
  }

  /**
   * The live computation for these parameters, after the check that the caller may see it. Give it
   * back with {@link #release}.
   *
   * @param address of the peer; a computation that must be made for it counts towards its share
   * @throws WebException 400, 401, 403 or 503
   */
  <P extends Record> LiveResult<P> acquire(
      LiveView<P> view, Caller caller, Object address, JsonNode params) {
    var decoded = Json.decode(params, view.paramsType());
    Refusals.require(mayLook(view, caller, decoded), caller);
    return acquire(view, address, ViewKey.of(view, caller, decoded));
  }

  private <P extends Record> boolean mayLook(LiveView<P> view, Caller caller, P params) {
    try {
      return view.authorisation().allows(caller, params);
    } catch (WebException refused) {
      throw refused;
    } catch (RuntimeException e) {
      failures.log("The authorisation check of view " + view.name() + " failed.", e);
      return false;
    }
  }

  private synchronized <P extends Record> LiveResult<P> acquire(
      LiveView<P> view, Object address, ViewKey key) {
    if (closed) {
      throw Failures.stopped();
    }
    @SuppressWarnings("unchecked") // The key begins with the view's name, and so fixes P.
    var found = (@Nullable LiveResult<P>) live.get(key.text());
    if (found != null && found.end() == null) {
      found.users++;
      return found;
    }
    if (found == null) {
      makeRoom(address);
    }
    var made =
        new LiveResult<>(view, key, address, node, failures, counters, settings.maxResultBytes());
    made.users = 1;
    madeFor.merge(address, 1, Integer::sum);
    forget(live.put(key.text(), made));
    made.start();
    return made;
  }

  private void makeRoom(Object address) {
    if (madeFor.getOrDefault(address, 0) >= settings.maxViewsPerAddress()) {
      throw new WebException(
          503, "too-many-from-address", "Too much is being watched from your address.");
    }
    if (live.size() >= settings.maxViews() && !evictIdle()) {
      throw new WebException(503, "too-many-views", "Too much is being watched; try again later.");
    }
  }

  private void forget(@Nullable LiveResult<?> gone) {
    if (gone != null) {
      madeFor.computeIfPresent(gone.address, (address, count) -> count == 1 ? null : count - 1);
    }
  }

  /** Makes room by closing the computation that has been without users for longest. */
  private boolean evictIdle() {
    String oldest = null;
    long closeAt = Long.MAX_VALUE;
    long now = System.nanoTime();
    for (var entry : live.entrySet()) {
      var result = entry.getValue();
      if (result.users == 0 && result.closeAtNanos - now < closeAt) {
        oldest = entry.getKey();
        closeAt = result.closeAtNanos - now;
      }
    }
    if (oldest == null) {
      return false;
    }
    var evicted = live.remove(oldest);
    forget(evicted);
    if (evicted != null) {
      evicted.close();
    }
    return true;
  }

  synchronized void release(LiveResult<?> result) {
    result.users--;
    if (result.users == 0) {
      result.closeAtNanos = System.nanoTime() + settings.keepViewFor().toNanos();
    }
  }

  /** Closes what has been without users for long enough, or has ended; looks at all others. */
  void sweep() {
    var over = new ArrayList<LiveResult<?>>();
    List<LiveResult<?>> others;
    synchronized (this) {
      long now = System.nanoTime();
      live.values()
          .removeIf(
              result -> {
                var due =
                    result.users == 0 && (result.end() != null || result.closeAtNanos - now <= 0);
                return due && over.add(result);
              });
      over.forEach(this::forget);
      others = List.copyOf(live.values());
    }
    over.forEach(LiveResult::close);
    others.forEach(LiveResult::lookAtFreshness);
  }

  synchronized int size() {
    return live.size();
  }

  void close() {
    List<LiveResult<?>> all;
    synchronized (this) {
      closed = true;
      all = new ArrayList<>(live.values());
      live.clear();
    }
    all.forEach(LiveResult::close);
  }
}
