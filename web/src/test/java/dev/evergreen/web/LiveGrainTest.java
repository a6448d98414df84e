package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The whole way on a real node: a write to a grain, the computation, the browser. */
final class LiveGrainTest {

  /** A board that people write on. */
  public interface Board extends Grain {
    @ReadOnly
    List<String> notes();

    void write(String note);
  }

  /** What a board keeps. */
  public record Notes(List<String> notes) {}

  static final class BoardGrain implements Board {

    private final State<Notes> state;

    BoardGrain(GrainContext<String> context) {
      state = context.state(Notes.class, new Notes(List.of()));
    }

    @Override
    public List<String> notes() {
      return state.get().notes();
    }

    @Override
    public void write(String note) {
      if (note.isBlank()) {
        throw new IllegalArgumentException("A note must not be blank.");
      }
      var all = new ArrayList<>(state.get().notes());
      all.add(note);
      state.set(new Notes(all));
    }
  }

  record BoardParams(String name) {}

  record Write(String board, String note) {}

  private static WebServer serve(Node node) {
    var grains = node.grains();
    return WebServer.builder(node)
        .port(0)
        .settings(WebSettings.DEFAULT.withKeepViewFor(Duration.ofMillis(100)))
        .errors(
            failure ->
                failure instanceof IllegalArgumentException
                    ? Optional.of(new WebException(400, "bad-note", failure.getMessage() + ""))
                    : Optional.empty())
        .view(
            LiveView.of(
                "board",
                BoardParams.class,
                Authorisation.everyone(),
                params -> () -> grains.get(Board.class, params.name()).notes()))
        .command(
            "write",
            Write.class,
            Authorisation.everyone(),
            (caller, write) -> grains.get(Board.class, write.board()).write(write.note()))
        .start();
  }

  @Test
  void aCommandReachesEveryBrowserAndAPlainGet() {
    try (var node = EmbeddedNode.builder().grain(Board.class, BoardGrain::new).start();
        var server = serve(node)) {
      watchWithTwo(server);
      var get = Http.get(server, "/live/board?name=b");
      assertTrue(get.body().endsWith("\"n10\"]"), get.body());
      var blank = Http.post(server, "/commands/write", "{\"board\":\"b\",\"note\":\" \"}");
      assertEquals(400, blank.statusCode());
      assertEquals("A note must not be blank.", Http.json(blank).path("detail").asText());
      Await.until("all given back", () -> node.counts().computations() == 0);
    }
  }

  private static void watchWithTwo(WebServer server) {
    try (var one = Browser.open(server);
        var two = Browser.open(server)) {
      one.subscribe(1, "board", "{\"name\":\"b\"}", null);
      two.subscribe(1, "board", "{\"name\":\"b\"}", null);
      assertEquals("[]", one.next().path("value").toString());
      assertEquals("[]", two.next().path("value").toString());
      for (int i = 1; i <= 10; i++) {
        var written =
            Http.post(server, "/commands/write", "{\"board\":\"b\",\"note\":\"n" + i + "\"}");
        assertEquals(204, written.statusCode());
        assertEquals(i, one.next().path("value").size());
        assertEquals(i, two.next().path("value").size());
      }
    }
  }

  @Test
  void resumesWithTheLatestAfterAReconnect() {
    try (var node = EmbeddedNode.builder().grain(Board.class, BoardGrain::new).start();
        var server = serve(node)) {
      var board = node.grains().get(Board.class, "b");
      board.write("first");
      String tag;
      try (var browser = Browser.open(server)) {
        browser.subscribe(1, "board", "{\"name\":\"b\"}", null);
        tag = browser.next().path("tag").asText();
      }
      Await.until("computation closed", () -> node.counts().computations() == 0);
      try (var browser = Browser.open(server)) {
        browser.subscribe(1, "board", "{\"name\":\"b\"}", tag);
        assertEquals("unchanged", browser.next().path("type").asText());
      }
      board.write("second");
      try (var browser = Browser.open(server)) {
        browser.subscribe(1, "board", "{\"name\":\"b\"}", tag);
        var latest = browser.next();
        assertEquals("[\"first\",\"second\"]", latest.path("value").toString());
      }
    }
  }

  @Test
  void saysGoodbyeWhenTheNodeStops() {
    var node = EmbeddedNode.builder().grain(Board.class, BoardGrain::new).start();
    try (var server = serve(node);
        var browser = Browser.open(server)) {
      browser.subscribe(1, "board", "{\"name\":\"b\"}", null);
      browser.next();
      node.close();
      var said = browser.next();
      if (said.path("type").asText().equals("freshness")) {
        // The grain has ended before the server learns that all ends.
        said = browser.next();
      }
      assertEquals("bye", said.path("type").asText());
      assertEquals(503, Http.get(server, "/live/board?name=c").statusCode());
    }
  }
}
