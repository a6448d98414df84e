package dev.evergreen.telemetry;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.spi.Tracing;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapSetter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Traces calls and runs by OpenTelemetry. A call inside of a span makes a client span where it is
 * made and a server span around the grain's turn, on whatever node that is; a computation that runs
 * again because of a traced write makes a span that links to the write's. What is in no span, such
 * as a call of a timer, is not traced.
 */
public final class OpenTelemetryTracing implements Tracing {

  private static final String PARENT = "traceparent";
  private static final String STATE = "tracestate";

  // The names of OpenTelemetry's conventions for remote procedure calls.
  private static final AttributeKey<String> SYSTEM = AttributeKey.stringKey("rpc.system");
  private static final AttributeKey<String> SERVICE = AttributeKey.stringKey("rpc.service");
  private static final AttributeKey<String> METHOD = AttributeKey.stringKey("rpc.method");
  private static final AttributeKey<String> KEY = AttributeKey.stringKey("evergreen.grain.key");
  private static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");

  private static final TextMapSetter<Map<String, String>> SETTER =
      (carrier, key, value) -> {
        if (carrier != null) {
          carrier.put(key, value);
        }
      };

  private static final TextMapGetter<TraceContext> GETTER =
      new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(TraceContext carrier) {
          return List.of(PARENT, STATE);
        }

        @Override
        public @Nullable String get(@Nullable TraceContext carrier, String key) {
          if (carrier == null) {
            return null;
          }
          return switch (key) {
            case PARENT -> carrier.parent();
            case STATE -> carrier.state().isEmpty() ? null : carrier.state();
            default -> null;
          };
        }
      };

  private final Tracer tracer;

  private OpenTelemetryTracing(Tracer tracer) {
    this.tracer = tracer;
  }

  /** Traces to what {@code telemetry} is set up for. */
  public static OpenTelemetryTracing to(OpenTelemetry telemetry) {
    return new OpenTelemetryTracing(telemetry.getTracer("dev.evergreen"));
  }

  @Override
  public @Nullable Span call(@Nullable TraceContext inside, GrainId grain, String operation) {
    var parent = Context.current();
    if (!isValid(parent) && inside != null) {
      parent = read(inside);
    }
    if (!isValid(parent)) {
      return null;
    }
    var span = of(grain, operation).setSpanKind(SpanKind.CLIENT).setParent(parent).startSpan();
    return new Open(span, null);
  }

  @Override
  public @Nullable Span turn(TraceContext caller, GrainId grain, String operation) {
    var parent = read(caller);
    if (!isValid(parent)) {
      return null;
    }
    return current(of(grain, operation).setSpanKind(SpanKind.SERVER).setParent(parent));
  }

  @Override
  public @Nullable Span run(TraceContext cause, String computation) {
    var context = io.opentelemetry.api.trace.Span.fromContext(read(cause)).getSpanContext();
    if (!context.isValid()) {
      return null;
    }
    return current(
        tracer
            .spanBuilder("run " + computation)
            .setSpanKind(SpanKind.CONSUMER)
            .setNoParent()
            .addLink(context));
  }

  private SpanBuilder of(GrainId grain, String operation) {
    return tracer
        .spanBuilder(grain.type() + "/" + operation)
        .setAttribute(SYSTEM, "evergreen")
        .setAttribute(SERVICE, grain.type())
        .setAttribute(METHOD, operation)
        .setAttribute(KEY, grain.key());
  }

  @SuppressWarnings("MustBeClosedChecker") // closed at the span's end, as Tracing promises
  private static Span current(SpanBuilder builder) {
    var span = builder.startSpan();
    return new Open(span, span.makeCurrent());
  }

  private static Context read(TraceContext context) {
    return W3CTraceContextPropagator.getInstance().extract(Context.root(), context, GETTER);
  }

  private static boolean isValid(Context context) {
    return io.opentelemetry.api.trace.Span.fromContext(context).getSpanContext().isValid();
  }

  /** A span of OpenTelemetry's, and the scope in which it is the current one, if it is. */
  private record Open(io.opentelemetry.api.trace.Span span, @Nullable Scope scope) implements Span {

    @Override
    public TraceContext context() {
      var headers = new HashMap<String, String>();
      W3CTraceContextPropagator.getInstance().inject(Context.root().with(span), headers, SETTER);
      return new TraceContext(headers.getOrDefault(PARENT, ""), headers.getOrDefault(STATE, ""));
    }

    @Override
    public void end(@Nullable String failure) {
      if (failure != null) {
        span.setStatus(StatusCode.ERROR).setAttribute(ERROR, failure);
      }
      if (scope != null) {
        scope.close();
      }
      span.end();
    }
  }
}
