package dev.evergreen.core.spi;

final class MemoryStorageTest extends StorageConformance {

  @Override
  protected Storage open() {
    return new MemoryStorage();
  }

  @Override
  protected boolean persistent() {
    return false;
  }
}
