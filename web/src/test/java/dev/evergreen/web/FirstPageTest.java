package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Pages that bring the first results along. */
final class FirstPageTest {

  private static final String HTML = "<html><head><title>x</title></head><body></body></html>";

  record Named(String name, Optional<Integer> count) {}

  private static FirstResult of(String view, String name) {
    return new FirstResult(view, new Named(name, Optional.empty()));
  }

  private static String results(String page) {
    var start = "<script type=\"application/json\" id=\"evergreen-first\">";
    int from = page.indexOf(start);
    assertEquals(page.indexOf("</title>") + "</title>".length(), from, page);
    return page.substring(from + start.length(), page.indexOf("</script>", from));
  }

  @Test
  void aPageHasTheResultsThatItsReaderMaySee() throws Exception {
    var never = new CountDownLatch(1);
    try (var node = EmbeddedNode.builder().start();
        var server =
            WebServer.builder(node)
                .port(0)
                .view(view("greeting", Authorisation.everyone()))
                .view(view("secret", Authorisation.signedIn()))
                .view(
                    LiveView.of(
                        "slow",
                        Named.class,
                        Authorisation.everyone(),
                        named ->
                            () -> {
                              never.await();
                              return 1;
                            }))
                .page(
                    "/",
                    HTML,
                    request ->
                        List.of(
                            of("slow", "x"),
                            of("secret", "x"),
                            of("greeting", "</script><b>"),
                            of("nowhere", "x")))
                .start()) {
      var answer = Http.get(server, "/");
      assertEquals("private, no-store", Http.header(answer, "Cache-Control"));
      var tag = Http.header(Http.get(server, "/live/greeting?name=%3C/script%3E%3Cb%3E"), "ETag");
      assertEquals(
          "[{\"view\":\"greeting\",\"params\":{\"name\":\"\\u003c/script>\\u003cb>\"},\"tag\":"
              + tag
              + ",\"value\":\"Hello, \\u003c/script>\\u003cb>\"}]",
          results(answer.body()));
      assertTrue(answer.body().endsWith("</head><body></body></html>"), answer.body());
      never.countDown();
    }
  }

  @Test
  void whoSignsOutWhileAResultIsAwaitedDoesNotGetIt() throws Exception {
    var caller = new AtomicReference<>(Caller.named("ann"));
    var asked = new CountDownLatch(1);
    var answers = new CountDownLatch(1);
    try (var node = EmbeddedNode.builder().start();
        var server =
            WebServer.builder(node)
                .port(0)
                .authenticator(request -> Objects.requireNonNull(caller.get()))
                .view(
                    LiveView.perCaller(
                        "mine",
                        LiveView.NoParams.class,
                        Authorisation.everyone(),
                        (who, none) ->
                            () -> {
                              asked.countDown();
                              answers.await();
                              return "of " + who.name();
                            }))
                .page(
                    "/", HTML, request -> List.of(new FirstResult("mine", new LiveView.NoParams())))
                .start()) {
      var page = new CompletableFuture<String>();
      Thread.startVirtualThread(() -> page.complete(Http.get(server, "/").body()));
      assertTrue(asked.await(20, TimeUnit.SECONDS));
      caller.set(Caller.ANONYMOUS);
      answers.countDown();
      assertEquals("[]", results(page.get(20, TimeUnit.SECONDS)));
      caller.set(Caller.named("ann"));
      var again = results(Http.get(server, "/").body());
      assertTrue(again.contains("\"value\":\"of ann\""), again);
    }
  }

  /** Seen: nothing was awaited, so who asks was not looked at again. */
  @Test
  void whoSignsOutBeforeAResultThatIsThereIsSentDoesNotGetIt() {
    var caller = new AtomicReference<>(Caller.named("ann"));
    var signsOut = new AtomicBoolean();
    Authorisation<Named> signedIn =
        (who, none) -> {
          boolean allowed = who.signedIn();
          if (signsOut.get()) {
            caller.set(Caller.ANONYMOUS);
          }
          return allowed;
        };
    try (var node = EmbeddedNode.builder().start();
        var server =
            WebServer.builder(node)
                .port(0)
                .authenticator(request -> Objects.requireNonNull(caller.get()))
                .view(view("greeting", signedIn))
                .page("/", HTML, request -> List.of(of("greeting", "x")))
                .start()) {
      Await.until("a result", () -> !results(Http.get(server, "/").body()).equals("[]"));
      signsOut.set(true);
      assertEquals("[]", results(Http.get(server, "/").body()));
    }
  }

  private static LiveView<Named> view(String name, Authorisation<Named> who) {
    return LiveView.of(name, Named.class, who, named -> () -> "Hello, " + named.name());
  }

  @Test
  void aPageWithoutAHeadIsRefused() {
    try (var node = EmbeddedNode.builder().start()) {
      var builder = WebServer.builder(node);
      assertThrows(
          IllegalArgumentException.class, () -> builder.page("/", "<p>", request -> List.of()));
    }
  }
}
