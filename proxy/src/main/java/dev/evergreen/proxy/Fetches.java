package dev.evergreen.proxy;

import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The requests to origins that are under way, by what they ask for; and what turned out to be for
 * one client alone, for a while: who asks for that next does not wait for others. Any thread may
 * call.
 */
final class Fetches {

  /** So many are remembered; then all are forgotten, which costs a wait each. */
  private static final int MOST = 100_000;

  private final ConcurrentHashMap<String, Fetch> underWay = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<String, Long> alone = new ConcurrentHashMap<>();

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

  /** Who comes from now on asks anew: what was asked for before may have changed. */
  void detach() {
    underWay.clear();
  }

  int underWay() {
    return underWay.size();
  }

  /** From now on until a time requests for this are not collapsed. */
  void remember(String what, long until) {
    if (alone.size() >= MOST) {
      alone.clear();
    }
    alone.put(what, until);
  }

  /** Whether requests for this are not to be collapsed now. */
  boolean alone(String what, long now) {
    var until = alone.get(what);
    if (until == null) {
      return false;
    }
    if (until <= now) {
      alone.remove(what, until);
      return false;
    }
    return true;
  }
}
