package dev.evergreen.core.sim;

import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Makes the decisions that a {@link Scheduler} leaves open. */
interface Policy {

  /** A run with more steps than this has run away. */
  long maxSteps();

  /** How much virtual time the step takes that has just ended. */
  long stepNanos();

  /** Whether a park returns without a reason. */
  boolean wakesWithoutReason();

  /** Whether others may run at a call of the core into the simulation. */
  boolean preempts();

  /** Whether others may run at a place in the application's code, out of so many such places. */
  boolean preemptsOneIn(int places);

  /** A thread that has been started. */
  void started(SimThread thread);

  /** How far ahead of its time an event may be preferred to threads that could run. */
  long horizonNanos();

  /** Keeps what happens, if states are compared. */
  @Nullable History history();

  /**
   * No thread could run. Whether the run is over, since what follows is known.
   *
   * @param state a number for the state of the world
   */
  boolean endsAtRest(LongSupplier state);

  /**
   * Chooses the next step.
   *
   * @param runnable the threads that could run
   * @param due whether the first event could happen instead; if not, there is a thread
   */
  Next next(List<SimThread> runnable, boolean due);

  /** A decision. */
  sealed interface Next {}

  /** The first event happens. */
  record Happen() implements Next {
    static final Happen EVENT = new Happen();
  }

  /** The thread with this index runs. */
  record Resume(int index) implements Next {}

  /** The thread with this index gets no processor for so long; then it is asked again. */
  record Hold(int index, long nanos) implements Next {}
}
