package dev.evergreen.core.spi;

import org.jspecify.annotations.Nullable;

/**
 * Follows what happens on behalf of one request, across grains and nodes. Only what begins inside
 * of something that is traced is traced. Thread-safe; must neither block nor throw.
 */
public interface Tracing {

  /** Traces nothing. */
  Tracing NONE =
      new Tracing() {
        @Override
        public @Nullable Span call(@Nullable TraceContext inside, GrainId grain, String operation) {
          return null;
        }

        @Override
        public @Nullable Span turn(TraceContext caller, GrainId grain, String operation) {
          return null;
        }

        @Override
        public @Nullable Span run(TraceContext cause, String computation) {
          return null;
        }
      };

  /**
   * A call begins on this thread; null if it is in no span.
   *
   * @param inside where in a trace the calling grain is; a span that the thread itself is in comes
   *     first
   */
  @Nullable Span call(@Nullable TraceContext inside, GrainId grain, String operation);

  /**
   * A grain begins to execute a call on this thread, whose code runs in the span from now on.
   *
   * @param caller the context of the call
   */
  @Nullable Span turn(TraceContext caller, GrainId grain, String operation);

  /**
   * A computation begins to run again on this thread, whose code runs in the span from now on.
   *
   * @param cause the context of the write that has led to it, which the span links to: it may have
   *     ended long ago, and may have led to many runs
   */
  @Nullable Span run(TraceContext cause, String computation);

  /** Something under way. */
  interface Span {

    /** What is to be told to whatever this leads to. */
    TraceContext context();

    /**
     * It has ended, on the thread that it began on.
     *
     * @param failure the class name of the exception that it ended with; null if it succeeded
     */
    void end(@Nullable String failure);
  }
}
