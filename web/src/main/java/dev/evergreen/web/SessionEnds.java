package dev.evergreen.web;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainType;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;

/**
 * Which sessions of one caller were ended before their time; the key is the caller's name. Kept
 * with the grains' states, so that every node knows and none forgets.
 */
@GrainType("evergreen.sessions")
public interface SessionEnds extends Grain {

  /** Whether the session of this id, which began then, was ended. */
  @ReadOnly
  boolean ended(String id, Instant since);

  /** Ends one session, whose time would be over at {@code until}. */
  void end(String id, Instant until);

  /** Ends all that began until now. */
  void endAll();

  /**
   * What is kept.
   *
   * @param before all that began until then were ended
   * @param until of those that were ended by themselves: when their time would have been over
   */
  record Ended(Instant before, Map<String, Instant> until) {
    static final Ended NONE = new Ended(Instant.EPOCH, Map.of());
  }

  /** A caller's, on the node where it is active. */
  final class Ends implements SessionEnds {

    /** With more than these, all that began until now are ended: the state is saved whole. */
    static final int MOST = 1_000;

    private final State<Ended> state;

    Ends(GrainContext<String> context) {
      state = context.state(Ended.class, Ended.NONE);
    }

    @Override
    public boolean ended(String id, Instant since) {
      var ended = state.get();
      return !since.isAfter(ended.before()) || ended.until().containsKey(id);
    }

    @Override
    public void end(String id, Instant until) {
      var now = Instant.now();
      var all = new HashMap<>(state.get().until());
      all.values().removeIf(over -> !over.isAfter(now));
      all.put(id, until);
      state.set(
          all.size() > MOST ? new Ended(now, Map.of()) : new Ended(state.get().before(), all));
    }

    @Override
    public void endAll() {
      state.set(new Ended(Instant.now(), Map.of()));
    }
  }
}
