package dev.evergreen.core.sim;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Reentrant;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A grain that a chain of calls may enter again, and that can have a result without bytes. */
@Reentrant
interface Ring extends Grain {

  /** Equal to itself only. */
  record Twin(String name) {
    @Override
    public boolean equals(@Nullable Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }
  }

  /** As many as {@link #more} was called: from two on they cannot be encoded. */
  @ReadOnly
  Set<Twin> twins();

  void more();

  /** Calls {@link #back} of another ring, but not for longer than that. */
  void ask(String other, Duration patience);

  /** Waits, then enters that ring. */
  void back(String ring, Duration after);

  /** Must find no state that another chain has not finished. */
  void enter();

  /** Leaves a half-done state for a while, then fails. */
  void halfDone(Duration span) throws Refused;
}
