package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.storage.PostgresServer;
import dev.evergreen.storage.PostgresStorage;
import dev.evergreen.storage.SqliteStorage;
import guide.GuideTest.Counter;
import guide.GuideTest.CounterGrain;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the chapter on persistence in docs/guide.md. */
class PersistenceGuideTest {

  static long addOne(Path file) {
    // snippet persistence
    try (var storage = SqliteStorage.open(file);
        var node =
            EmbeddedNode.builder()
                .grain(Counter.class, CounterGrain::new)
                .storage(storage)
                .start()) {
      var starts = node.grains().get(Counter.class, "starts");
      starts.add(1);
      return starts.value();
    }
    // end
  }

  @Test
  void theGuidesCounterGoesOnWhereItEnded(@TempDir Path directory) {
    var file = directory.resolve("grains.db");
    assertEquals(1, addOne(file));
    assertEquals(2, addOne(file));
  }

  static long addOne(String url, String user, String password) {
    // snippet postgres
    var settings =
        PostgresStorage.Settings.of(url) // jdbc:postgresql://localhost:5432/shop
            .withUser(user, password)
            .withConnections(8)
            .withPatience(Duration.ofSeconds(5));
    try (var storage = PostgresStorage.open(settings);
        var node =
            EmbeddedNode.builder()
                .grain(Counter.class, CounterGrain::new)
                .storage(storage)
                .start()) {
      var starts = node.grains().get(Counter.class, "starts");
      starts.add(1);
      return starts.value();
    }
    // end
  }

  @Test
  void itGoesOnInPostgresToo() throws Exception {
    var server = PostgresServer.get();
    var url = server.newSchema();
    assertEquals(1, addOne(url, PostgresServer.USER, PostgresServer.PASSWORD));
    assertEquals(2, addOne(url, PostgresServer.USER, PostgresServer.PASSWORD));
  }
}
