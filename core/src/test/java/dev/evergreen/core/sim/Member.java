package dev.evergreen.core.sim;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.SameBy;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.ToIntFunction;

/** One of a {@link Mesh}: a small number that it computes from those of others. */
interface Member extends Grain {

  /** How a member reads the others. */
  enum Way {
    /** One after the other, until one fails. */
    IN_TURN,
    /** All at the same time, until one fails. */
    TOGETHER,
    /** All of them, and fails if one does. */
    ALL,
    /** All of them; one that is in a circle, or fails because of one, counts as a number. */
    CATCHING;

    /** Whether all are read, also when one of them fails. */
    boolean thorough() {
      return this == ALL || this == CATCHING;
    }
  }

  /**
   * A member's state.
   *
   * @param own what it adds itself
   * @param others whom it reads
   */
  record Reads(int own, List<String> others, Way way) {
    static final Reads NOTHING = new Reads(0, List.of(), Way.IN_TURN);
  }

  /** Values are below this: so few that others are often the same again. */
  int LIMIT = 3;

  /** One of the two operations that all members of a mesh read each other by. */
  interface Operation extends ToIntFunction<Member> {}

  /** What counts for a member that fails because of a circle. */
  int CAUGHT = 2;

  @ReadOnly
  int value();

  /** The same, of what the others compare, and compared. */
  @ReadOnly
  @SameBy(Slowly.class)
  int compared();

  @ReadOnly
  Reads reads();

  void read(Reads reads);

  /** Changes nothing. */
  void touch();

  /** Takes the time that the simulation says. */
  final class Slowly implements BiPredicate<Integer, Integer> {
    @Override
    public boolean test(Integer a, Integer b) {
      Scheduler.compares();
      return a.equals(b);
    }
  }
}
