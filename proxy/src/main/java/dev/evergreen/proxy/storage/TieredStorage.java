package dev.evergreen.proxy.storage;

import java.io.IOException;

final class TieredStorage {
  private TieredStorage() {}

  static Storage open(StorageOptions options) throws IOException {
    throw new IOException("not built yet, cannot open " + options);
  }
}
