package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.Node;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The live computations of this server, one for each view and parameters (and caller, where the
 * view depends on it). One without users is kept for a while, so that a reconnecting browser finds
 * it warm.
 */
final class Hub {

  private static final int BURST_SECONDS = 60;

  private final Node node;
  private final Map<String, LiveView<?>> views;
  private final WebSettings settings;
  private final Failures failures;
  private final Counters counters;

  /** Guarded by this object's lock, as are the users of its values, and all below. */
  private final Map<String, LiveResult<?>> live = new HashMap<>();

  /** Those of them without users, the longest first. */
  private final Set<LiveResult<?>> idle = new LinkedHashSet<>();

  private final Map<Object, Share> shares = new HashMap<>();

  private boolean closed;

  /** What one address had made. */
  private final class Share {
    private final Allowance newViews =
        new Allowance(settings.maxNewViewsPerSecond(), BURST_SECONDS, System.nanoTime());

    /** Those of its computations without users, the longest first. */
    private final Set<LiveResult<?>> idle = new LinkedHashSet<>();

    private int made;
  }

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

  /**
   * Whether a connection that watches so many views may watch one more.
   *
   * @throws WebException 429 if not
   */
  void checkRoom(int subscriptions) {
    if (subscriptions >= settings.maxSubscriptions()) {
      throw new WebException(
          429,
          "too-many-subscriptions",
          "One connection watches at most " + settings.maxSubscriptions() + " views.");
    }
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
      setIdle(found, false);
      return found;
    }
    if (found != null) {
      remove(found);
    }
    var share = shares.computeIfAbsent(address, unknown -> new Share());
    makeRoom(share);
    var made =
        new LiveResult<>(view, key, address, node, failures, counters, settings.maxResultBytes());
    made.users = 1;
    share.made++;
    live.put(key.text(), made);
    made.start();
    return made;
  }

  /** What nobody looks at makes room first, that of the same address at that. */
  private void makeRoom(Share share) {
    if (!share.newViews.use(1, System.nanoTime())) {
      throw new WebException(
          429, "too-many-new-views", "Too many new views are asked for from your address.");
    }
    if (share.made >= settings.maxViewsPerAddress() && !evictFirst(share.idle)) {
      throw new WebException(
          503, "too-many-from-address", "Too much is being watched from your address.");
    }
    if (live.size() >= settings.maxViews() && !evictFirst(idle)) {
      throw new WebException(503, "too-many-views", "Too much is being watched; try again later.");
    }
  }

  private boolean evictFirst(Set<LiveResult<?>> unused) {
    if (unused.isEmpty()) {
      return false;
    }
    var oldest = unused.iterator().next();
    remove(oldest);
    oldest.close();
    return true;
  }

  private void setIdle(LiveResult<?> result, boolean value) {
    for (var unused : List.of(idle, share(result).idle)) {
      if (value) {
        unused.add(result);
      } else {
        unused.remove(result);
      }
    }
  }

  private Share share(LiveResult<?> result) {
    return Objects.requireNonNull(shares.get(result.address));
  }

  private void remove(LiveResult<?> gone) {
    setIdle(gone, false);
    share(gone).made--;
    live.remove(gone.key.text());
  }

  private boolean isLive(LiveResult<?> result) {
    return live.get(result.key.text()) == result;
  }

  synchronized void release(LiveResult<?> result) {
    result.users--;
    if (result.users == 0 && isLive(result)) {
      result.closeAtNanos = System.nanoTime() + settings.keepViewFor().toNanos();
      setIdle(result, true);
    }
  }

  /** Closes what has been without users for long enough, or has ended; looks at all others. */
  void sweep() {
    var over = new ArrayList<LiveResult<?>>();
    List<LiveResult<?>> others;
    synchronized (this) {
      long now = System.nanoTime();
      for (var result : idle) {
        if (result.end() != null || result.closeAtNanos - now <= 0) {
          over.add(result);
        }
      }
      over.forEach(this::remove);
      shares.values().removeIf(share -> share.made == 0 && share.newViews.isFull(now));
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
      all = List.copyOf(live.values());
      all.forEach(this::remove);
    }
    all.forEach(LiveResult::close);
  }
}
