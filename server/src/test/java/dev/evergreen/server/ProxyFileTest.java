package dev.evergreen.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.ParameterException;

/**
 * Files of the proxy's settings, right and wrong: each is taken, or refused by a sentence that
 * names what is wrong. Those of the corpus are in the resource {@code proxy-files.csv}, one for
 * each way in which a file can be read. With {@code -Devergreen.server.fuzz=N} there are N mutated
 * ones beside them, and {@code -Devergreen.server.seed=S} says where they begin.
 */
@Timeout(600)
final class ProxyFileTest {
  private static final int ROUNDS = Integer.getInteger("evergreen.server.fuzz", 300);
  private static final long SEED = Long.getLong("evergreen.server.seed", 20261124);

  private static final List<String> LINES =
      List.of(
          "origin = http://127.0.0.1:1",
          "origin = http://127.0.0.1:1, https://[::1]",
          "memory = 64MiB",
          "disk = 1GiB",
          "disk-dir = /tmp/x",
          "trust = 10.0.0.0/8,::1",
          "check = /health",
          "check-every = 5s",
          "forward = true",
          "forward-for = 127.0.0.1",
          "tunnel-port = 443,80",
          "name = evergreen",
          "origin-http = auto",
          "host = origin",
          "no-forwarded = true",
          "stale-if-error = 9s",
          "negative = 404=10s,410=1h",
          "target = A,B",
          "tag-field = A,B",
          "log-format = json",
          "grace = 1s",
          "connections = 5",
          "threads = 1",
          "proxy-protocol = true");

  private static final List<String> PIECES =
      List.of(
          "\n",
          "=",
          ":",
          "#",
          "\\",
          "\\u0041",
          "\\u00",
          " ",
          ",",
          "-",
          "0",
          "9",
          "99999999999",
          "/",
          "[",
          "]",
          "%",
          "\0",
          "\u00e4",
          "t",
          "true",
          "false",
          "'",
          "\"",
          "@",
          "${user.name}");

  @TempDir private Path folder;

  /** Why a file is refused; empty if it is taken. */
  private String refusal(String text) throws IOException {
    var file = Files.writeString(folder.resolve("proxy.conf"), text, ISO_8859_1);
    try {
      var _ = ProxyCommand.settings("proxy", "--config", file.toString());
      return "";
    } catch (IOException
        | GeneralSecurityException
        | IllegalArgumentException
        | ParameterException e) {
      var why = String.valueOf(e.getMessage());
      assertFalse(why.isBlank() || why.equals("null"), text);
      return why.replace(file.toString(), "FILE");
    }
  }

  @ParameterizedTest(name = "{0}")
  @CsvFileSource(resources = "proxy-files.csv", delimiter = ';', quoteCharacter = '`')
  void aFileIsTakenOrRefusedByASentence(String text, String expected) throws IOException {
    var why = refusal(text.translateEscapes());
    if (expected.equals("taken")) {
      assertEquals("", why);
    } else {
      assertTrue(why.contains(expected), why);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1 << 20, 5 << 18, 256 << 20, 1L << 40})
  void whatIsBeingReceivedIsAPartOfTheMemory(long memory) {
    long stored = ProxyOptions.stored(memory);
    assertTrue(stored >= 1 << 20, "less cannot be stored in");
    assertTrue(memory == 1 << 20 || stored + stored / 4 <= memory);
    assertTrue(stored >= memory / 10 * 7);
  }

  @Test
  void whateverAFileSaysIsTakenOrRefused() throws IOException {
    var random = new Random(SEED);
    int taken = 0;
    for (int i = 0; i < ROUNDS; i++) {
      var text = new StringBuilder(random.nextInt(4) == 0 ? "" : LINES.getFirst() + "\n");
      for (int line = random.nextInt(3); line > 0; line--) {
        text.append(LINES.get(random.nextInt(LINES.size()))).append('\n');
      }
      for (int change = random.nextInt(3); change > 0; change--) {
        int at = random.nextInt(text.length() + 1);
        if (random.nextBoolean()) {
          text.insert(at, PIECES.get(random.nextInt(PIECES.size())));
        } else {
          text.delete(at, Math.min(text.length(), at + 1 + random.nextInt(3)));
        }
      }
      taken += refusal(text.toString()).isEmpty() ? 1 : 0;
    }
    assertTrue(taken > ROUNDS / 20, "too few were taken: " + taken);
  }
}
