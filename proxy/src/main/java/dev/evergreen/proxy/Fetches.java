package dev.evergreen.proxy;

import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The requests to origins that are under way, by what they ask for; and what turned out to be for
 * one client alone, for a while: who asks for that next does not wait for others. Any thread may
 * call.
 */
final class Fetches {
  private final ConcurrentHashMap<String, Fetch> underWay = new ConcurrentHashMap<>();

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

  /** Who comes from now on asks anew: what was asked for before may have changed. */
  void detach() {
    underWay.clear();
  }

  int underWay() {
    return underWay.size();
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
