package app;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

final class AppTest {

  private static final Path TYPES = Path.of("page", "src", "types.ts");

  private static Node node() {
    return EmbeddedNode.builder().grain(Counter.class, CounterGrain::new).start();
  }

  @Test
  void aResultFollowsWhatItIsComputedFrom() throws Exception {
    try (var node = node();
        var apples = node.reactive(() -> node.grains().get(Counter.class, "apples").value())) {
      var results = apples.tracker();
      assertEquals(0, results.next());
      node.grains().get(Counter.class, "apples").add(2);
      assertEquals(2, results.next());
    }
  }

  @Test
  void aCommandIsCarriedOutAndACountOfNothingIsRefused() throws Exception {
    try (var node = node();
        var server = App.web(node).port(0).start();
        var client = HttpClient.newHttpClient()) {
      assertEquals(204, add(client, server.uri(), 3));
      assertEquals(400, add(client, server.uri(), 0));
      assertEquals(3, node.grains().get(Counter.class, "pears").value());
    }
  }

  private static int add(HttpClient client, URI server, int n) throws Exception {
    var request =
        HttpRequest.newBuilder(server.resolve("commands/add"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"name\":\"pears\",\"n\":" + n + "}"))
            .build();
    return client.send(request, BodyHandlers.discarding()).statusCode();
  }

  /** Writes what the page is told of views and commands; "npm run check" tells whether it fits. */
  @Test
  void thePageHasTheTypesOfTheServer() throws Exception {
    try (var node = node()) {
      var types = App.web(node).typeScript();
      var before = Files.readString(TYPES);
      Files.writeString(TYPES, types);
      assertEquals(before, types, "The types were outdated; now they are not: npm run check");
    }
  }
}
