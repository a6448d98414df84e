package dev.evergreen.core.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Looks for what is wrong; returns what failed, or null if nothing did. */
public interface Trials {

  /** Where the classes of programs in two versions are compiled to, once for all mutants. */
  Path CLASSES = newDirectory();

  private static Path newDirectory() {
    try {
      return Files.createTempDirectory("versions");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs a seed of the application. */
  @Nullable String seed(long seed);

  /** Runs a seed of the storm. */
  @Nullable String storm(long seed);

  /** Runs a seed of the storm with comparers. */
  @Nullable String comparedStorm(long seed);

  /** Runs a seed of the storm between two versions. */
  @Nullable String versionStorm(long seed);

  /** Runs a seed of the crowd whose writes and computations hold each other up. */
  @Nullable String crowd(long seed);

  /** Runs a seed of callers that go away before their turn. */
  @Nullable String impatience(long seed);

  /**
   * Explores the scope of this name, as every test run does.
   *
   * @param by a part of what must be violated: schedules that fail otherwise count as if they did
   *     not
   */
  @Nullable String scope(String name, String by) throws InterruptedException;
}
