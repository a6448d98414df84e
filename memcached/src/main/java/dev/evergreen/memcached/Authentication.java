package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who may use the server: lines {@code user:password}. Nobody need say who he is if there are none.
 */
final class Authentication {
  private final @Nullable Path file;
  private volatile List<byte[]> accounts = List.of();

  /**
   * Reads the file, null for none.
   *
   * @throws IOException if it cannot be read, or a line has no colon
   */
  Authentication(@Nullable Path file) throws IOException {
    this.file = file;
    reload();
  }

  /**
   * Reads the file again. Who has said who he is need not say it again. Of several callers each
   * waits for those before: one that read an older file must not come last.
   *
   * @throws IOException if it cannot be read, or a line has no colon; nothing changes then
   */
  synchronized void reload() throws IOException {
    if (file != null) {
      accounts = read(file);
    }
  }

  private static List<byte[]> read(Path file) throws IOException {
    var lines = Files.readAllLines(file, ISO_8859_1).stream().filter(l -> !l.isBlank()).toList();
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).indexOf(':') < 1) {
        throw new IOException(
            "%s: line %d is not of the form user:password".formatted(file, i + 1));
      }
    }
    return lines.stream().map(line -> line.getBytes(ISO_8859_1)).toList();
  }

  boolean isRequired() {
    return file != null;
  }

  /** Whether there is such an account; how long that takes does not tell how much is right. */
  boolean admits(String user, String password) {
    var claim = (user + ":" + password).getBytes(ISO_8859_1);
    boolean found = false;
    for (var account : accounts) {
      found |= MessageDigest.isEqual(account, claim);
    }
    return found;
  }
}
