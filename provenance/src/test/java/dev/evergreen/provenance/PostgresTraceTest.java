package dev.evergreen.provenance;

import dev.evergreen.storage.PostgresServer;

/** A trace in a schema of PostgreSQL. */
class PostgresTraceTest extends TraceStoreConformance {
  @Override
  String newUrl() throws Exception {
    return PostgresServer.get().newSchema();
  }
}
