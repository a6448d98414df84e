package dev.evergreen.chirper.variants;

import dev.evergreen.core.Grain;

/**
 * Who observes a user's timeline; the key is the user's name. It is a grain of its own because a
 * user who reads others while writing could wait for them while they wait for it. One turn at a
 * time, so that an older timeline never arrives after a newer one.
 */
public interface TimelineObservers extends Grain {

  /** Shows the newest posts to an observer, now and after every change, for half a minute. */
  void observe(String id, int newest);

  /** Forgets an observer. */
  void ignore(String id);

  /** Shows the timeline to all observers for whom it differs. */
  void refresh();
}
