package dev.evergreen.bench;

import dev.evergreen.core.spi.Tracing;
import dev.evergreen.telemetry.OpenTelemetryTracing;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.io.IOException;

/** Calls inside of a span: each makes two more, and its trace travels with it. */
final class TracedCalls implements CallPath {

  /** All spans are sampled; they are exported nowhere. */
  private static final OpenTelemetrySdk TELEMETRY =
      OpenTelemetrySdk.builder().setTracerProvider(SdkTracerProvider.builder().build()).build();

  private final CallPath calls;
  private final Context span =
      Context.root().with(TELEMETRY.getTracer("bench").spanBuilder("the caller's").startSpan());

  /**
   * @param calls what to call, of nodes that have {@link #tracing}
   */
  TracedCalls(CallPath calls) {
    this.calls = calls;
  }

  /** For the nodes of a cluster; what is in no span is not traced. */
  static Tracing tracing() {
    return OpenTelemetryTracing.to(TELEMETRY);
  }

  @Override
  public String name() {
    return calls.name() + ", traced";
  }

  @Override
  public Runnable caller(int index) throws IOException {
    return span.wrap(calls.caller(index));
  }

  @Override
  public void close() throws IOException {
    calls.close();
  }
}
