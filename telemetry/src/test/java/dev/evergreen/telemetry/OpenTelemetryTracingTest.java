package dev.evergreen.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.engine.CoreRuntime;
import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.TraceContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two nodes: grains are on the one, callers and computations on the other. */
final class OpenTelemetryTracingTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final NodeId HOST = new NodeId("host", 1);

  /** Adds through counters, also through several at once. */
  public interface Group extends Grain {
    void addToAll(List<String> counters, int number);
  }

  static final class GroupGrain implements Group {
    private final Grains grains;

    GroupGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    @Override
    public void addToAll(List<String> counters, int number) {
      Parallel.forEach(counters, key -> grains.get(Counter.class, key).add(number));
    }
  }

  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final SdkTracerProvider provider =
      SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(exported)).build();
  private final OpenTelemetrySdk telemetry =
      OpenTelemetrySdk.builder().setTracerProvider(provider).build();
  private final Tracer tracer = telemetry.getTracer("test");
  private final RealTime time = RealTime.create();
  private final Map<NodeId, EngineNode> nodes = new ConcurrentHashMap<>();
  private final EngineNode host = start(HOST);
  private final EngineNode edge = start(new NodeId("edge", 1));

  @AfterEach
  void close() {
    nodes.values().forEach(node -> node.fence("the test has ended"));
    time.close();
    telemetry.close();
  }

  private EngineNode start(NodeId self) {
    var engine =
        new Engine(
            self,
            time,
            time,
            (to, message) -> {
              var receiver = nodes.get(to);
              if (receiver != null) {
                receiver.receive(self, message);
              }
              return receiver != null;
            },
            new Placement.AllAt(HOST, self),
            new MemoryStorage(),
            (RandomGenerator) () -> ThreadLocalRandom.current().nextLong());
    var types =
        GrainTypes.create().add(Counter.class, CounterGrain::new).add(Group.class, GroupGrain::new);
    var node =
        CoreRuntime.start(
            engine,
            types,
            NodeSettings.DEFAULT,
            OpenTelemetryTracing.to(telemetry),
            NodeObserver.Provider.NONE);
    nodes.put(self, node);
    return node;
  }

  /** Does something inside of a span; returns that span. */
  private SpanData inSpan(Runnable something) {
    var span = tracer.spanBuilder("request").startSpan();
    try (var _ = span.makeCurrent()) {
      something.run();
    } finally {
      span.end();
    }
    return the(one -> one.getSpanId().equals(span.getSpanContext().getSpanId()));
  }

  /** The only such span, waited for: those of other threads end a moment later. */
  private SpanData the(Predicate<SpanData> which) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() - deadline < 0) {
      var found = exported.getFinishedSpanItems().stream().filter(which).toList();
      if (!found.isEmpty()) {
        assertEquals(1, found.size(), found.toString());
        return found.getFirst();
      }
      LockSupport.parkNanos(1_000_000);
    }
    throw new AssertionError("no such span among " + exported.getFinishedSpanItems());
  }

  private SpanData the(SpanKind kind, String name) {
    return the(span -> span.getKind() == kind && span.getName().equals(name));
  }

  private static void assertChild(SpanData parent, SpanData child) {
    assertEquals(parent.getTraceId(), child.getTraceId());
    assertEquals(parent.getSpanId(), child.getParentSpanId());
  }

  @Test
  void aCallInsideOfASpanIsAClientSpanAndAServerSpanAcrossNodes() {
    var request = inSpan(() -> edge.grains().get(Counter.class, "c").add(1));
    var client = the(SpanKind.CLIENT, "Counter/add");
    var server = the(SpanKind.SERVER, "Counter/add");
    assertChild(request, client);
    assertChild(client, server);
    assertEquals(StatusCode.UNSET, server.getStatus().getStatusCode());
  }

  @Test
  void aCallOnTheSameNodeIsTracedAlike() {
    var request = inSpan(() -> host.grains().get(Counter.class, "c").add(1));
    var client = the(SpanKind.CLIENT, "Counter/add");
    assertChild(request, client);
    assertChild(client, the(SpanKind.SERVER, "Counter/add"));
  }

  @Test
  void whatAGrainCallsIsBelowItsTurnAlsoInParallel() {
    inSpan(() -> edge.grains().get(Group.class, "g").addToAll(List.of("a", "b"), 1));
    var turn = the(SpanKind.SERVER, "Group/addToAll");
    for (var key : List.of("a", "b")) {
      Predicate<SpanData> ofKey =
          span ->
              span.getName().equals("Counter/add")
                  && span.getAttributes().asMap().containsValue(key);
      var client = the(ofKey.and(span -> span.getKind() == SpanKind.CLIENT));
      assertChild(turn, client);
      assertChild(client, the(ofKey.and(span -> span.getKind() == SpanKind.SERVER)));
    }
  }

  @Test
  void failuresAreErrorsOfBothSpans() {
    inSpan(
        () -> {
          var counter = edge.grains().get(Counter.class, "c");
          assertThrows(IllegalArgumentException.class, () -> counter.add(-1));
        });
    for (var kind : List.of(SpanKind.CLIENT, SpanKind.SERVER)) {
      var span = the(kind, "Counter/add");
      assertEquals(StatusCode.ERROR, span.getStatus().getStatusCode());
      assertTrue(
          span.getAttributes().asMap().containsValue("java.lang.IllegalArgumentException"),
          span.toString());
    }
  }

  @Test
  void runsLinkToTheWriteThatLedToThemOnWhateverNodeTheyAre() throws Exception {
    var counter = edge.grains().get(Counter.class, "c");
    try (var value = edge.reactive(counter::value);
        var tracker = value.tracker()) {
      tracker.next(PATIENCE);
      assertEquals(List.of(), exported.getFinishedSpanItems(), "nothing was in a span");
      var request = inSpan(() -> counter.add(5));
      assertEquals(5, tracker.next(PATIENCE));
      var write = the(SpanKind.SERVER, "Counter/add");
      for (var name : List.of("run Counter/c.value", "run reactive computation")) {
        var run = the(SpanKind.CONSUMER, name);
        assertFalse(run.getParentSpanContext().isValid());
        assertEquals(1, run.getLinks().size());
        assertEquals(write.getSpanContext().getSpanId(), spanLinked(run));
        assertEquals(request.getTraceId(), run.getLinks().getFirst().getSpanContext().getTraceId());
      }
      exported.reset();
      counter.add(1);
      assertEquals(6, tracker.next(PATIENCE));
      assertEquals(List.of(), exported.getFinishedSpanItems(), "this write was in no span");
    }
  }

  private static String spanLinked(SpanData run) {
    return run.getLinks().getFirst().getSpanContext().getSpanId();
  }

  @Test
  void aContextThatMakesNoSenseIsNone() {
    var tracing = OpenTelemetryTracing.to(telemetry);
    for (var parent : List.of("", "nonsense", "00-0-0-00", "00-" + "0".repeat(32) + "-1-01")) {
      var context = new TraceContext(parent, "a=b");
      assertEquals(null, tracing.turn(context, new GrainId("Counter", "c"), "add"), parent);
      assertEquals(null, tracing.run(context, "Counter/c.value"), parent);
      assertEquals(null, tracing.call(context, new GrainId("Counter", "c"), "add"), parent);
    }
    assertEquals(List.of(), exported.getFinishedSpanItems());
  }

  @Test
  void theStateOfOtherVendorsTravelsAlong() {
    var tracing = OpenTelemetryTracing.to(telemetry);
    var context =
        new TraceContext("00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01", "vendor=x1");
    var turn = Objects.requireNonNull(tracing.turn(context, new GrainId("Counter", "c"), "add"));
    assertEquals("vendor=x1", turn.context().state());
    assertTrue(turn.context().parent().startsWith("00-" + "a".repeat(32)), turn.toString());
    turn.end(null);
  }
}
