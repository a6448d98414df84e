package dev.evergreen.storage;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageConformance;

final class PostgresConformanceTest extends StorageConformance {

  private final String url = PostgresServer.get().newSchema();

  PostgresConformanceTest() throws Exception {}

  @Override
  protected Storage open() {
    return PostgresStorage.open(url);
  }
}
