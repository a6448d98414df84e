package dev.evergreen.chirper;

import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.ReadOnly;
import java.time.Instant;
import java.util.List;

/** The older posts of one user and month. Only that user's grain writes here; all idempotent. */
public interface Archive extends KeyedGrain<Archive.Key> {

  /** The newest posts of the month behind a place, newest first. */
  @ReadOnly
  List<Chirp> messagesBehind(Chirp.Place place, int most);

  /** Adds posts; one of the same time as another replaces it. Returns how many there are then. */
  int add(List<Chirp> chirps);

  /** Removes the post of this time, if there is one. Returns how many there are then. */
  int remove(Instant at);

  /** The month of a time as its key has it, as in {@code 2025-11}. */
  static String month(Instant at) {
    return at.toString().substring(0, 7);
  }

  /**
   * Whose posts, and when.
   *
   * @param user the user's name
   * @param month year and month in UTC, as in {@code 2025-11}
   */
  record Key(String user, String month) {}
}
