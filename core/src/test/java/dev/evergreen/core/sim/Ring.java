package dev.evergreen.core.sim;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Reentrant;
import java.time.Duration;
import java.util.List;
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

  /**
   * A ring's state; as {@link Cell.Contents}.
   *
   * @param halfDone whether an operation is in the middle of changing it
   */
  record Contents(int twins, boolean halfDone, long version, List<Long> applied) {
    static final Contents EMPTY = new Contents(0, false, 0, List.of());
  }

  /** More twins than this there are not: one more, and there are none. */
  int MOST_TWINS = 3;

  /** From two on they cannot be encoded. */
  @ReadOnly
  Set<Twin> twins();

  /** How often it was changed. */
  @ReadOnly
  long version();

  @ReadOnly
  Contents contents();

  /** There is one twin more. */
  void more();

  /**
   * How a chain of changes goes on.
   *
   * @param chain which chain it is: the number of its first action
   * @param rings that are changed next, one by the other
   * @param patience how long each waits for the next
   * @param failing which of the changes fail after that, by their places in the chain
   */
  record Course(long chain, List<String> rings, Duration patience, List<Integer> failing) {
    Course rest() {
      return new Course(chain, rings.subList(1, rings.size()), patience, failing);
    }
  }

  /**
   * Changes the state, then has the next ring do the same, and goes on if that fails. Returns the
   * new version.
   */
  long nest(long action, Course course) throws Refused;

  /** Calls {@link #back} of another ring, but not for longer than that. */
  void ask(String other, Duration patience);

  /** Waits, then enters that ring. */
  void back(String ring, Duration after);

  /** Must find no state that another chain has not finished. */
  void enter();

  /** Leaves a half-done state for a while, then fails. */
  void halfDone(Duration span) throws Refused;
}
