package app;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.storage.SqliteStorage;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.LiveView;
import dev.evergreen.web.ResultType;
import dev.evergreen.web.WebServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** The program: grains on a node, and a page that shows them live. */
public final class App {

  private static final int PORT = 8080;

  /** What is counted. */
  record Fruit(String name) {}

  /** Counts more of it. */
  record Add(String name, long n) {
    Add {
      if (n < 1) {
        throw new IllegalArgumentException("Add 1 or more, not " + n + ".");
      }
    }
  }

  private App() {}

  /**
   * Serves the page until the process is ended.
   *
   * @param arguments the port, if it shall be another than 8080
   */
  public static void main(String[] arguments) throws Exception {
    int port = arguments.length == 0 ? PORT : Integer.parseInt(arguments[0]);
    Files.createDirectories(Path.of("data"));
    try (var storage = SqliteStorage.open(Path.of("data", "grains.db"));
        var node = node(storage);
        var server = page(web(node).port(port)).start()) {
      System.out.println("It is at " + server.uri());
      new CountDownLatch(1).await();
    }
  }

  static Node node(Storage storage) {
    return EmbeddedNode.builder()
        .grain(Counter.class, CounterGrain::new)
        .storage(storage)
        .start();
  }

  /** The live views and the commands. */
  static WebServer.Builder web(Node node) {
    var grains = node.grains();
    return WebServer.builder(node)
        .view(
            LiveView.of(
                "count",
                Fruit.class,
                new ResultType<Long>() {},
                Authorisation.everyone(),
                fruit -> () -> grains.get(Counter.class, fruit.name()).value()))
        .command(
            "add",
            Add.class,
            Authorisation.everyone(),
            (caller, add) -> grains.get(Counter.class, add.name()).add(add.n()));
  }

  /** The page as "npm run build" has made it; while it is worked on, "npm run dev" serves it. */
  private static WebServer.Builder page(WebServer.Builder server) {
    var built = Path.of("page", "dist");
    return Files.isDirectory(built) ? server.staticFiles("/", built) : server;
  }
}
