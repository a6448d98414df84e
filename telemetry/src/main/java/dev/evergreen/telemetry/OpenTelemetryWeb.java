package dev.evergreen.telemetry;

import dev.evergreen.web.Request;
import dev.evergreen.web.WebTracing;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A server span of OpenTelemetry for the work on each request of a web server, below the span that
 * the request's header {@code traceparent} names, if any. What the work calls is traced below it,
 * where the node has an {@link OpenTelemetryTracing}.
 */
public final class OpenTelemetryWeb implements WebTracing {

  // The names of OpenTelemetry's conventions for HTTP.
  private static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
  private static final AttributeKey<String> ROUTE = AttributeKey.stringKey("http.route");
  private static final AttributeKey<Long> STATUS =
      AttributeKey.longKey("http.response.status_code");
  private static final AttributeKey<String> PATH = AttributeKey.stringKey("url.path");
  private static final AttributeKey<String> CLIENT = AttributeKey.stringKey("client.address");

  /** What a client may call a method has no end. */
  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH");

  private static final TextMapGetter<Request> GETTER =
      new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(Request carrier) {
          return List.of("traceparent", "tracestate");
        }

        @Override
        public @Nullable String get(@Nullable Request carrier, String key) {
          return carrier == null ? null : carrier.header(key).orElse(null);
        }
      };

  private final Tracer tracer;

  private OpenTelemetryWeb(Tracer tracer) {
    this.tracer = tracer;
  }

  /** Traces to what {@code telemetry} is set up for. */
  public static OpenTelemetryWeb to(OpenTelemetry telemetry) {
    return new OpenTelemetryWeb(telemetry.getTracer("dev.evergreen"));
  }

  @Override
  @SuppressWarnings("MustBeClosedChecker") // closed at the span's end, as WebTracing promises
  public Span begin(Request request, String route) {
    var method = METHODS.contains(request.method()) ? request.method() : "_OTHER";
    var builder =
        tracer
            .spanBuilder(
                (method.equals("_OTHER") ? "HTTP" : method) + (route.isEmpty() ? "" : " " + route))
            .setSpanKind(SpanKind.SERVER)
            .setParent(
                W3CTraceContextPropagator.getInstance().extract(Context.root(), request, GETTER))
            .setAttribute(METHOD, method)
            .setAttribute(PATH, request.path())
            .setAttribute(CLIENT, request.remoteAddress());
    if (!route.isEmpty()) {
      builder.setAttribute(ROUTE, route);
    }
    var span = builder.startSpan();
    var scope = span.makeCurrent();
    return status -> {
      span.setAttribute(STATUS, status);
      if (status >= 500) {
        span.setStatus(StatusCode.ERROR);
      }
      scope.close();
      span.end();
    };
  }
}
