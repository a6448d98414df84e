package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.http.UpstreamVersion;
import dev.evergreen.http.Upstreams;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What goes wrong on this side is no failure of an origin, and keeps no place. */
@Timeout(60)
class OriginClientTest {
  private final Fibers fibers = Fibers.builder().processors(1).start();
  private final Upstreams upstreams = new Upstreams(Dialer.of(fibers));
  private final OriginClient client = new OriginClient(upstreams, Times.ofMachine());
  private final ScriptedOrigin scripted = new ScriptedOrigin();
  private final Origins origins = new Origins(List.of(scripted.origin()));

  OriginClientTest() throws IOException {}

  @AfterEach
  void end() {
    scripted.close();
    upstreams.close();
    fibers.close();
  }

  /** Seen: an origin was taken for sick while all places were taken. */
  @Test
  void aCheckThatFindsNoPlaceTellsNothing() throws IOException {
    var some = Duration.ofSeconds(30);
    var member = origins.members().getFirst();
    try (var narrow =
            new Upstreams(
                Dialer.of(fibers),
                null,
                HttpSettings.DEFAULT,
                new UpstreamLimits(1, 0, some, some, some),
                UpstreamVersion.BY_ALPN);
        var held = narrow.open(member.origin)) {
      assertFalse(held.reused());
      HealthCheck.check(narrow, member, "/");
      assertTrue(member.well(0));
    }
    scripted.close();
    HealthCheck.check(upstreams, member, "/");
    assertFalse(member.well(0));
  }

  private void assertThatNobodyHasFailedAndNothingIsHeld() {
    var member = origins.members().getFirst();
    assertEquals(0, member.underWay.get());
    assertEquals(0, member.failures.sum());
    assertEquals(0, upstreams.connections(member.origin));
  }

  @Test
  void whateverGoesWrongTakesNoPlaceForEver() {
    var _ = scripted.then((_, wire) -> wire.send("HTTP/1.1 103 Early Hints\r\n\r\n"));
    var request = RequestHead.of("GET", "/", Fields.of("Host", "a"));
    var broken = new IllegalStateException("as a test wants it");
    OriginClient.Informed informed =
        _ -> {
          throw broken;
        };
    assertThrows(IllegalStateException.class, () -> client.ask(origins, request, null, informed));
    assertThatNobodyHasFailedAndNothingIsHeld();
  }

  /** Seen: it was our limit, but an exception that nobody expected. */
  @Test
  void aHeadThatDoesNotFitIsTheRequestsFault() {
    var large = "x".repeat(30_000);
    var request = RequestHead.of("GET", "/", Fields.of("A", large, "B", large, "C", large));
    var failure =
        assertThrows(
            OriginFailure.class, () -> client.ask(origins, request, null, _ -> {}).close());
    assertEquals(431, failure.status());
    assertEquals("head-too-large", failure.detail());
    assertThatNobodyHasFailedAndNothingIsHeld();
  }

  /** Seen: the client was told 500, and the fiber that checks the origin ended for ever. */
  @Test
  void thatThereIsNoBufferIsNoFailureOfAnOrigin() throws IOException {
    var _ = scripted.then(200, "");
    var member = origins.members().getFirst();
    var request = RequestHead.of("GET", "/", Fields.of("Host", "a"));
    var held = new ArrayList<Buffers.Loan>();
    Buffers.limit(Buffers.count() + 32);
    try (var checking = new Upstreams(Dialer.of(fibers))) {
      var now = CancelScope.within(Duration.ZERO);
      assertThrows(
          UncheckedIOException.class,
          () ->
              now.run(
                  () -> {
                    while (true) {
                      held.add(Buffers.borrow());
                    }
                  }));
      var check = CompletableFuture.runAsync(() -> HealthCheck.check(checking, member, "/"));
      var failure =
          assertThrows(
              OriginFailure.class, () -> client.ask(origins, request, null, _ -> {}).close());
      assertEquals(503, failure.status());
      assertEquals("no-buffers", failure.detail());
      check.join();
      assertTrue(member.well(0));
      assertThatNobodyHasFailedAndNothingIsHeld();
    } finally {
      Buffers.limit(Buffers.capacity());
      held.forEach(Buffers.Loan::close);
    }
  }
}
