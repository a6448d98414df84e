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
   * What a ring does in a chain of calls, and what comes of that.
   *
   * @param chain which chain it is: the number of its first action
   * @param place its place in the chain, the first is 0
   * @param ring which ring it is
   * @param task what the ring does itself
   * @param patience how long it waits for each of the next
   * @param next what other rings do then, all at the same time
   */
  record Course(
      long chain, int place, String ring, Task task, Duration patience, List<Course> next) {

    long action() {
      return chain + place;
    }

    boolean reads() {
      return task == Task.READ;
    }

    /** Whether the same ring is changed again inside of it. */
    boolean comesBack() {
      return next.stream().anyMatch(course -> course.changes(ring));
    }

    private boolean changes(String other) {
      return (ring.equals(other) && !reads())
          || next.stream().anyMatch(course -> course.changes(other));
    }

    boolean leadsTo(Course other) {
      return equals(other) || next.stream().anyMatch(course -> course.leadsTo(other));
    }
  }

  /** What a ring does itself in a chain of calls. */
  enum Task {
    /** It reads its state; then there is nothing next. */
    READ,
    /** It changes its state, and goes on if what is next fails. */
    CHANGE,
    /** As {@link #CHANGE}, but it waits only for the first of the next that ends. */
    CHANGE_IN_HASTE,
    /** As {@link #CHANGE}, then it fails. */
    FAIL
  }

  /** Changes the state as the course says. Returns the new version. */
  long nest(Course course) throws Refused;

  /** Reads the state as the course says. Returns the version. */
  @ReadOnly
  long glance(Course course);

  /** Calls {@link #back} of another ring, but not for longer than that. */
  void ask(String other, Duration patience);

  /** Waits, then enters that ring. */
  void back(String ring, Duration after);

  /** Must find no state that another chain has not finished. */
  void enter();

  /** Leaves a half-done state for a while, then fails. */
  void halfDone(Duration span) throws Refused;
}
