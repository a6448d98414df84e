package dev.evergreen.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Plays the games of {@link FiberGame} with goroutines, by a program that is built for it. */
final class Goroutines implements AutoCloseable {

  private final Path folder;

  private Goroutines(Path folder) {
    this.folder = folder;
  }

  /**
   * Builds the program. Blocks for some seconds.
   *
   * @return nothing if Go is not installed
   * @throws IOException if it does not compile
   */
  static Optional<Goroutines> build() throws IOException, InterruptedException {
    var folder = Files.createTempDirectory("evergreen-goroutines");
    var goroutines = new Goroutines(folder);
    try (var source = Goroutines.class.getResourceAsStream("fibers.go")) {
      if (source == null) {
        throw new IOException("fibers.go is missing in the class path");
      }
      Files.copy(source, folder.resolve("fibers.go"));
      var build =
          new ProcessBuilder("go", "build", "-o", "fibers", "fibers.go")
              .directory(folder.toFile())
              .redirectOutput(Redirect.DISCARD)
              .redirectError(Redirect.INHERIT);
      Process compiler;
      try {
        compiler = build.start();
      } catch (IOException e) {
        goroutines.close();
        return Optional.empty(); // there is no such command
      }
      if (compiler.waitFor() != 0) {
        goroutines.close();
        throw new IOException("fibers.go could not be built; the reason stands above");
      }
    }
    return Optional.of(goroutines);
  }

  /** Plays, and blocks as long; returns turns a second of all goroutines together. */
  double perSecond(FiberGame game, int count, Duration time)
      throws IOException, InterruptedException {
    var process =
        new ProcessBuilder(
                List.of(
                    folder.resolve("fibers").toString(),
                    game.name(),
                    String.valueOf(count),
                    String.valueOf(time.toMillis())))
            .redirectError(Redirect.INHERIT)
            .start();
    try (var output = process.inputReader()) {
      var line = output.readLine();
      if (process.waitFor() != 0 || line == null) {
        throw new IOException("the goroutines failed; the reason stands above");
      }
      return Double.parseDouble(line);
    }
  }

  @Override
  public void close() {
    try (var files = Files.list(folder)) {
      for (var file : files.toList()) {
        Files.delete(file);
      }
      Files.delete(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
