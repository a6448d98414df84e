package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.Node;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The live computations of this server, one for each view and parameters (and caller, where the
 * view depends on it). One without users is kept for a while, so that a reconnecting browser finds
 * it warm.
 */
final class Hub {

  private static final int BURST_SECONDS = 60;

  /** Shorter results fit into one packet anyway. */
  private static final int WORTH_COMPRESSING = 1024;

  private final Node node;
  private final Map<String, LiveView<?>> views;
  private final WebSettings settings;
  private final Failures failures;
  private final Counters counters;

  /** Guarded by this object's lock, as are the users of its values, and all below. */
  private final Map<String, LiveResult<?>> live = new HashMap<>();

  /** Those of them without users, the longest first. */
  private final Set<LiveResult<?>> idle = new LinkedHashSet<>();

  /** By those for whom computations are made: addresses, and callers who have signed in. */
  private final Map<Object, Share> shares = new HashMap<>();

  private final Held held = new Held();

  private boolean closed;

  /** What was made for one address or caller. */
  private final class Share {
    private final Allowance newViews =
        new Allowance(settings.maxNewViewsPerSecond(), BURST_SECONDS, System.nanoTime());

    /** Those of its computations without users, the longest first. */
    private final Set<LiveResult<?>> idle = new LinkedHashSet<>();

    private int made;

    /** Of their results. */
    private long bytes;
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
   * @param address of the peer; a computation that must be made counts towards its share, and
   *     towards the caller's
   * @throws WebException 400, 401, 403 or 503
   */
  <P extends Record> LiveResult<P> acquire(
      LiveView<P> view, Caller caller, Object address, JsonNode params) {
    var decoded = Json.decode(params, view.paramsType());
    Refusals.require(mayLook(view, caller, decoded), caller);
    // A session is no other caller, and neither are other roles.
    var payers =
        caller.signedIn() ? List.of(address, Caller.named(caller.name())) : List.of(address);
    return acquire(view, payers, ViewKey.of(view, caller, decoded));
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
      LiveView<P> view, List<Object> payers, ViewKey key) {
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
    makeRoom(payers.stream().map(this::share).toList());
    var made =
        new LiveResult<>(
            view, key, payers, this, node, failures, counters, settings.maxResultBytes());
    made.users = 1;
    shares(made).forEach(share -> share.made++);
    live.put(key.text(), made);
    made.start();
    return made;
  }

  /** What nobody looks at makes room first, that of the same address or caller at that. */
  private void makeRoom(List<Share> payers) {
    for (var share : payers) {
      if (!share.newViews.use(1, System.nanoTime())) {
        throw new WebException(
            429, "too-many-new-views", "Too many new views are asked for from your address.");
      }
      if (share.made >= settings.maxViewsPerAddress() && !evictFirst(share.idle)) {
        throw new WebException(
            503, "too-many-from-address", "Too much is being watched from your address.");
      }
    }
    if (live.size() >= settings.maxViews() && !evictFirst(idle)) {
      throw new WebException(503, "too-many-views", "Too much is being watched; try again later.");
    }
  }

  /**
   * Counts a result instead of the last one of the same computation. What nobody looks at makes
   * room first.
   *
   * @return the same, in bytes that are shared by all that are equal
   * @throws WebException if there is no room; nothing is counted for the computation then
   */
  synchronized Present hold(LiveResult<?> result, Present present) {
    if (!isLive(result)) {
      return present;
    }
    letGo(result);
    int bytes = present.bytes().length;
    for (var share : shares(result)) {
      while (share.bytes + bytes > settings.maxHeldBytesPerAddress() && evictFirst(share.idle)) {
        // until there is room
      }
      if (share.bytes + bytes > settings.maxHeldBytesPerAddress()) {
        throw new WebException(
            429, "too-many-bytes", "What is being watched from your address is too large.");
      }
    }
    while (held.bytes() + bytes > settings.maxHeldBytes() && evictFirst(idle)) {
      // until there is room
    }
    if (held.bytes() + bytes > settings.maxHeldBytes()) {
      throw new WebException(
          503, "too-many-bytes", "What is being watched is too large; try again later.");
    }
    var shared = held.add(present);
    result.held = shared;
    shares(result).forEach(share -> share.bytes += bytes);
    return shared;
  }

  private void letGo(LiveResult<?> result) {
    var last = result.held;
    if (last != null) {
      result.held = null;
      held.remove(last);
      countDelta(result, -result.deltaBytes);
      shares(result).forEach(share -> share.bytes -= last.bytes().length);
    }
  }

  /** Counts a delta beside its result, if there is room that nothing else must make. */
  synchronized boolean holdDelta(LiveResult<?> result, int bytes) {
    if (result.held == null
        || held.bytes() + bytes > settings.maxHeldBytes()
        || shares(result).stream()
            .anyMatch(share -> share.bytes + bytes > settings.maxHeldBytesPerAddress())) {
      return false;
    }
    countDelta(result, bytes);
    return true;
  }

  private void countDelta(LiveResult<?> result, int bytes) {
    result.deltaBytes += bytes;
    held.count(bytes);
    shares(result).forEach(share -> share.bytes += bytes);
  }

  synchronized long heldBytes() {
    return held.bytes();
  }

  /** What ends a message with this result, compressed; null if it is sent as it is. */
  byte @Nullable [] compressed(Present present) {
    if (present.bytes().length < WORTH_COMPRESSING) {
      return null;
    }
    Held.Compressed compressed;
    synchronized (this) {
      compressed = held.compressed(present, settings.maxHeldBytes());
    }
    return compressed == null ? null : compressed.bytes();
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
    setIn(idle, result, value);
    shares(result).forEach(share -> setIn(share.idle, result, value));
  }

  private static void setIn(Set<LiveResult<?>> unused, LiveResult<?> result, boolean value) {
    if (value) {
      unused.add(result);
    } else {
      unused.remove(result);
    }
  }

  private Share share(Object payer) {
    return shares.computeIfAbsent(payer, unknown -> new Share());
  }

  private List<Share> shares(LiveResult<?> result) {
    return result.payers.stream().map(this::share).toList();
  }

  private void remove(LiveResult<?> gone) {
    setIdle(gone, false);
    letGo(gone);
    shares(gone).forEach(share -> share.made--);
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
