package dev.evergreen.proxy;

import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * The requests to origins that are under way, by what they ask for; and what turned out to be for
 * one client alone, for a while: who asks for that next does not wait for others. Any thread may
 * call.
 */
final class Fetches {
  /** Parts of one URI that are fetched at a time. */
  static final int MOST = 16;

  /** It is in no key. */
  private static final char LINE = '\n';

  /** By name: a key, or one with a line of what the request has in the fields that count. */
  private final ConcurrentSkipListMap<String, Fetch> underWay = new ConcurrentSkipListMap<>();

  /** Until when; what is forgotten before costs a wait. */
  private final Moments alone = new Moments();

  /** Begins one, unless another is under way, which is answered then. */
  @Nullable Fetch begin(String what, Fetch fetch) {
    return underWay.putIfAbsent(what, fetch);
  }

  /** The one that is under way, or null. */
  @Nullable Fetch find(String what) {
    return underWay.get(what);
  }

  /** It is decided; who comes from now on begins another. */
  void end(String what, Fetch fetch) {
    fetch.decide(new Fetch.Released());
    underWay.remove(what, fetch);
  }

  /** The name of what is wanted of a URI, by what the request has in the fields that count. */
  static String name(String key, String selected) {
    return key + LINE + selected;
  }

  /** Who comes from now on asks anew: what was asked for before may have changed. */
  void detach() {
    underWay.clear();
  }

  /** Who wants any variant of this URI from now on asks anew. */
  void detach(String key) {
    underWay.remove(key);
    variants(key).clear();
  }

  int underWay() {
    return underWay.size();
  }

  /**
   * Whether so much of one URI is under way that nothing more should be, unless it is waited for
   * already. Each goes on when its client has left, and a client can want many parts of one URI.
   */
  boolean isCrowded(String key, String what) {
    return !underWay.containsKey(what)
        && variants(key).keySet().stream().limit(MOST).count() == MOST;
  }

  private ConcurrentNavigableMap<String, Fetch> variants(String key) {
    return underWay.subMap(key + LINE, key + (char) (LINE + 1));
  }

  /** From now on until a time requests for this are not collapsed. */
  void remember(String what, long until) {
    alone.put(what, until);
  }

  /** Whether requests for this are not to be collapsed now. */
  boolean alone(String what, long now) {
    return alone.after(what, now).orElse(0) > 0;
  }
}
