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
  private final @Nullable List<byte[]> accounts;

  /**
   * Reads the file, null for none.
   *
   * @throws IOException if it cannot be read, or a line has no colon
   */
  Authentication(@Nullable Path file) throws IOException {
    accounts = file == null ? null : read(file);
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
    return accounts != null;
  }

  /** Whether there is such an account; how long that takes does not tell how much is right. */
  boolean admits(String user, String password) {
    var claim = (user + ":" + password).getBytes(ISO_8859_1);
    boolean found = false;
    if (accounts != null) {
      for (var account : accounts) {
        found |= MessageDigest.isEqual(account, claim);
      }
    }
    return found;
  }
}
