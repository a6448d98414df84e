package dev.evergreen.core.sim;

import dev.evergreen.core.version.Program;
import dev.evergreen.core.version.Shop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A program in two versions, compiled once. */
final class Versions {

  private static final Path DIRECTORY = directory();

  static final Program OLDER = Shop.older(DIRECTORY);
  static final Program NEWER = Shop.newer(DIRECTORY);

  private Versions() {}

  private static Path directory() {
    try {
      return Files.createTempDirectory("versions");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
