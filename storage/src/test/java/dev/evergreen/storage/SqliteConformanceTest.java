package dev.evergreen.storage;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageConformance;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

final class SqliteConformanceTest extends StorageConformance {

  private final Path file;

  SqliteConformanceTest(@TempDir Path directory) {
    file = directory.resolve("grains.db");
  }

  @Override
  protected Storage open() {
    return SqliteStorage.open(file);
  }
}
