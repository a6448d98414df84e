package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.storage.PostgresServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A trace in a schema of PostgreSQL. */
class PostgresTraceTest extends TraceStoreConformance {
  @Override
  String newUrl() throws Exception {
    return PostgresServer.get().newSchema();
  }

  @Test
  void waitsForNoServerForEver() throws Exception {
    try (var recording = record();
        var writer = TraceDatabase.of(directory, PostgresServer.get().newSchema()).writer();
        var reader = database()) {
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
      assertTrue(writer.getNetworkTimeout() > 0);
      assertTrue(reader.getNetworkTimeout() > 0);
    }
  }

  @Test
  void refusesALimitOfBytesThatItCouldNotKeep() {
    var retention = new Retention(Duration.ofDays(1), 1L << 30);
    var e = assertThrows(IOException.class, () -> record(retention, List.of()));
    assertTrue(String.valueOf(e.getMessage()).contains("limit the age"), e.toString());
  }
}
