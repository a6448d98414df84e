package dev.evergreen.proxy.rules;

import static java.util.Collections.nCopies;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9875 §2. */
class CacheGroupsTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          "a"              ; [a]
          "a", "B"         ; [a, B]
          "a b, c"         ; [a b, c]
          "a", b           ; []
          "a", 1           ; []
          ("a" "b")        ; []
          "a               ; []
          a                ; []
          """)
  void groupsAreStrings(String line, String expected) {
    assertEquals(expected, CacheGroups.of(List.of(line)).toString());
  }

  @Test
  void parametersAreIgnored() {
    assertEquals(List.of("a"), CacheGroups.of(List.of("\"a\";b=1")));
  }

  @Test
  void linesAreOneList() {
    assertEquals(List.of("a", "b"), CacheGroups.of(List.of("\"a\"", "\"b\"")));
  }

  @Test
  void atLeast32OfAtLeast32CharactersAreTaken() {
    var group = "\"" + "g".repeat(32) + "\"";
    assertEquals(32, CacheGroups.of(nCopies(32, group)).size());
    var many = nCopies(CacheGroups.MOST + 1, group);
    assertEquals(CacheGroups.MOST, CacheGroups.of(many).size());
  }
}
