package dev.evergreen.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.WebServer;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Spans of the requests of a real server. */
final class OpenTelemetryWebTest {

  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String PARENT = "b7ad6b7169203331";
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  record Add(String counter, int n) {}

  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final SdkTracerProvider provider =
      SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(exported)).build();
  private final OpenTelemetrySdk telemetry =
      OpenTelemetrySdk.builder().setTracerProvider(provider).build();
  private final Node node =
      EmbeddedNode.builder()
          .grain(Counter.class, CounterGrain::new)
          .tracing(OpenTelemetryTracing.to(telemetry))
          .start();
  private final WebServer server =
      WebServer.builder(node)
          .port(0)
          .tracing(OpenTelemetryWeb.to(telemetry))
          .command(
              "add",
              Add.class,
              Authorisation.everyone(),
              (caller, add) -> node.grains().get(Counter.class, add.counter()).add(add.n()))
          .route(
              "GET",
              "/broken/*",
              request -> {
                throw new IllegalStateException("broken");
              })
          .start();
  private final HttpClient client = HttpClient.newHttpClient();

  @AfterEach
  void close() {
    client.close();
    server.close();
    node.close();
    telemetry.close();
  }

  private int send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.discarding()).statusCode();
  }

  private HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(URI.create(server.uri() + path));
  }

  /** The only one of that name, waited for: an answer comes before its span has ended. */
  private SpanData the(String name, SpanKind kind) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() - deadline < 0) {
      var found =
          exported.getFinishedSpanItems().stream()
              .filter(span -> span.getName().equals(name) && span.getKind() == kind)
              .toList();
      if (!found.isEmpty()) {
        assertEquals(1, found.size(), found.toString());
        return found.getFirst();
      }
      LockSupport.parkNanos(1_000_000);
    }
    throw new AssertionError("no " + name + " among " + exported.getFinishedSpanItems());
  }

  @Test
  void aCommandsSpanIsBelowTheClientsAndAboveThoseOfItsCalls() throws Exception {
    assertEquals(
        204,
        send(
            to("commands/add")
                .header("Content-Type", "application/json")
                .header("traceparent", "00-" + TRACE + "-" + PARENT + "-01")
                .POST(BodyPublishers.ofString("{\"counter\":\"c\",\"n\":2}"))));
    var request = the("POST /commands/add", SpanKind.SERVER);
    assertEquals(TRACE, request.getTraceId());
    assertEquals(PARENT, request.getParentSpanId());
    assertEquals(
        204, request.getAttributes().get(AttributeKey.longKey("http.response.status_code")));
    assertEquals(
        "/commands/add", request.getAttributes().get(AttributeKey.stringKey("http.route")));
    assertEquals(
        "127.0.0.1", request.getAttributes().get(AttributeKey.stringKey("client.address")));
    var call = the("Counter/add", SpanKind.CLIENT);
    assertEquals(request.getSpanId(), call.getParentSpanId());
    assertEquals(StatusCode.UNSET, request.getStatus().getStatusCode());
  }

  @Test
  void aFailureIsAnErrorUnderTheNameOfItsRouteAndWhatIsNotThereHasNone() throws Exception {
    assertEquals(500, send(to("broken/4711")));
    var broken = the("GET /broken/*", SpanKind.SERVER);
    assertEquals(StatusCode.ERROR, broken.getStatus().getStatusCode());
    assertEquals("/broken/4711", broken.getAttributes().get(AttributeKey.stringKey("url.path")));
    assertEquals(404, send(to("nothing")));
    var missing = the("GET", SpanKind.SERVER);
    assertEquals(
        404, missing.getAttributes().get(AttributeKey.longKey("http.response.status_code")));
    assertEquals(StatusCode.UNSET, missing.getStatus().getStatusCode());
    assertEquals(405, send(to("nothing").method("BREW", BodyPublishers.noBody())));
    assertEquals(
        "_OTHER",
        the("HTTP", SpanKind.SERVER)
            .getAttributes()
            .get(AttributeKey.stringKey("http.request.method")));
    assertTrue(!Span.current().getSpanContext().isValid());
  }
}
