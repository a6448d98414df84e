package dev.evergreen.fibers;

import dev.evergreen.tls.PemFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;

/** Certificates of an authority that the tests trust. */
final class Certificates {

  private static final Path FOLDER = folder();

  private Certificates() {}

  private static Path folder() {
    try {
      var made = Files.createTempDirectory("fibers-certificates");
      Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(made)));
      make(made, "node", "one.example", "two.example");
      return made;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Makes new ones in a folder, for names. */
  static void make(Path folder, String... names) throws IOException {
    var command = new java.util.ArrayList<String>();
    command.add(Path.of("..", "scripts", "certificates").toString());
    command.add(folder.toString());
    command.addAll(java.util.List.of(names));
    var process = new ProcessBuilder(command).inheritIO().start();
    try {
      if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException("the certificates could not be made");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private static void delete(Path folder) {
    try (var files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Those of a name that were made before: node, one.example or two.example. */
  static PemFiles of(String name) {
    return in(FOLDER, name);
  }

  static PemFiles in(Path folder, String name) {
    return new PemFiles(
        folder.resolve(name + ".key"),
        folder.resolve(name + ".pem"),
        folder.resolve("authority.pem"));
  }

  static SSLContext context(String name) throws IOException, GeneralSecurityException {
    return of(name).load();
  }
}
