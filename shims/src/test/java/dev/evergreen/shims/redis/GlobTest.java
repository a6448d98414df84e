package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.evergreen.provenance.Bytes;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(20)
final class GlobTest {
  private static boolean matches(String pattern, String text) {
    return Glob.matches(Bytes.of(pattern), Bytes.of(text));
  }

  @ParameterizedTest
  @CsvSource({
    "h?llo, hello, true",
    "h?llo, hllo, false",
    "h[ae]llo, hallo, true",
    "h[ae]llo, hillo, false",
    "h[^e]llo, hallo, true",
    "h[^e]llo, hello, false",
    "h[a-c]llo, hbllo, true",
    "h[c-a]llo, hbllo, true",
    "h\\*llo, h*llo, true",
    "h\\*llo, hello, false",
    "[\\a-z], a, true",
    "[\\a-z], b, false",
    "[\\a-z], -, true",
    "[\\a-z], z, true",
    "[a, a, true",
    "a*b*, ab, true",
    "a**, a, true",
    "'', '', true",
    "'', a, false",
    "*, '', true"
  })
  void matchesAsRedisDoes(String pattern, String text, boolean expected) {
    assertEquals(expected, matches(pattern, text));
  }

  @Test
  void matchesAsTheSimplestWayWould() {
    long seed = Long.getLong("evergreen.seed", System.nanoTime());
    var random = new Random(seed);
    for (int i = 0; i < 20_000; i++) {
      var pattern = random(random, "ab?**", 7);
      var text = random(random, "ab", 7);
      assertEquals(
          simply(pattern, text), matches(pattern, text), pattern + " " + text + ", seed " + seed);
    }
  }

  private static String random(Random random, String letters, int most) {
    var text = new StringBuilder();
    for (int i = random.nextInt(most); i > 0; i--) {
      text.append(letters.charAt(random.nextInt(letters.length())));
    }
    return text.toString();
  }

  private static boolean simply(String pattern, String text) {
    if (pattern.isEmpty() || text.isEmpty()) {
      return text.isEmpty() && pattern.chars().allMatch(c -> c == '*');
    }
    char first = pattern.charAt(0);
    return first == '*'
        ? simply(pattern.substring(1), text) || simply(pattern, text.substring(1))
        : (first == '?' || first == text.charAt(0))
            && simply(pattern.substring(1), text.substring(1));
  }

  /** A way that tries all there is would take longer than there has been time. */
  @Test
  void isNotDrivenToDespairByManyStars() {
    assertFalse(matches("*a".repeat(60) + "*b", "a".repeat(10_000)));
  }
}
