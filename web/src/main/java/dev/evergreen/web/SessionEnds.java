package dev.evergreen.web;

import dev.evergreen.codec.Removed;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainType;
import dev.evergreen.core.IdleAfter;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Which sessions of one caller were ended before their time; the key is the caller's name. Kept
 * with the grains' states, so that every node knows and none forgets. Not kept active for long: who
 * hoards cookies of many names has one made for each.
 */
@GrainType("evergreen.sessions")
@IdleAfter(seconds = 1)
public interface SessionEnds extends Grain {

  /** What the ids of sessions that begin now start with: another one since all were ended. */
  @ReadOnly
  String generation();

  /** Whether the session of this id was ended. */
  @ReadOnly
  boolean ended(String id);

  /** Ends one session, whose time would be over at {@code until}. */
  void end(String id, Instant until);

  /** Ends all that began until now. */
  void endAll();

  /**
   * What is kept.
   *
   * @param generation of the sessions that were not ended together; empty while none were. Drawn at
   *     random, and no time or number: clocks of two nodes differ, and what is counted may be
   *     counted a second time
   * @param until of those that were ended by themselves: when their time would have been over
   */
  @Removed("before")
  record Ended(Optional<String> generation, Map<String, Instant> until) {
    static final Ended NONE = new Ended(Optional.empty(), Map.of());

    private static Ended all() {
      return new Ended(Optional.of(SignedSessions.randomText()), Map.of());
    }
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
    public String generation() {
      return state.get().generation().orElse("");
    }

    @Override
    public boolean ended(String id) {
      return !SignedSessions.generationOf(id).equals(generation())
          || state.get().until().containsKey(id);
    }

    @Override
    public void end(String id, Instant until) {
      var now = Instant.now();
      var all = new HashMap<>(state.get().until());
      all.values().removeIf(over -> !over.isAfter(now));
      all.put(id, until);
      state.set(all.size() > MOST ? Ended.all() : new Ended(state.get().generation(), all));
    }

    @Override
    public void endAll() {
      state.set(Ended.all());
    }
  }
}
