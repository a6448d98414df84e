package dev.evergreen.core.model;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.spi.Tracing;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Has calls followed by an application's tracing; where that fails they are not traced. */
public record GuardedTracing(Tracing tracing, Guard guard) implements Tracing {

  /** Guards a tracing, unless it traces nothing. */
  public static Tracing of(Tracing tracing) {
    return tracing == NONE ? tracing : new GuardedTracing(tracing, new Guard("the tracing"));
  }

  @Override
  public @Nullable Span call(@Nullable TraceContext inside, GrainId grain, String operation) {
    return begun(() -> tracing.call(inside, grain, operation));
  }

  @Override
  public @Nullable Span turn(TraceContext caller, GrainId grain, String operation) {
    return begun(() -> tracing.turn(caller, grain, operation));
  }

  @Override
  public @Nullable Span run(TraceContext cause, String computation) {
    return begun(() -> tracing.run(cause, computation));
  }

  private @Nullable Span begun(Supplier<@Nullable Span> beginning) {
    var span = guard.ask(beginning);
    if (span == null) {
      return null;
    }
    var context = guard.ask(span::context);
    if (context == null) {
      guard.tell(() -> span.end(null));
      return null;
    }
    return new Guarded(span, context, guard);
  }

  private record Guarded(Span span, TraceContext context, Guard guard) implements Span {
    @Override
    public void end(@Nullable String failure) {
      guard.tell(() -> span.end(failure));
    }
  }
}
