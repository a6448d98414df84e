package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** RFC 9110 §8.8.3. */
class EntityTagTest {

  @ParameterizedTest
  @ValueSource(strings = {"\"a\"", "W/\"a\"", "\"\"", "\"a,b\\\"", "\"ü\""})
  void aTagIsRead(String text) {
    assertEquals(text, EntityTag.parse(text).orElseThrow().toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "a", "\"a", "a\"", "\"", "w/\"a\"", "W/a", "\"a\"b\"", "\"a b\"", "*"})
  void whatIsNoTagIsNone(String text) {
    assertTrue(EntityTag.parse(text).isEmpty());
  }

  @ParameterizedTest
  @CsvSource({
    "'\"1\"', '\"1\"', true, true",
    "W/\"1\", '\"1\"', false, true",
    "W/\"1\", W/\"1\", false, true",
    "'\"1\"', '\"2\"', false, false",
    "W/\"1\", W/\"2\", false, false"
  })
  void tagsAreCompared(String a, String b, boolean strongly, boolean weakly) {
    var left = EntityTag.parse(a).orElseThrow();
    var right = EntityTag.parse(b).orElseThrow();
    assertEquals(strongly, left.equalsStrongly(right));
    assertEquals(weakly, left.equalsWeakly(right));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      textBlock =
          """
          "a"                  ; ["a"]
          "a", W/"b"  ,"c"     ; ["a", W/"b", "c"]
          "a,b", "c\\", "d"    ; ["a,b", "c\\", "d"]
          ,, "a"               ; ["a"]
          x, "a"               ; []
          "a", x               ; ["a"]
          "a                   ; []
          """)
  void aListIsRead(String line, String expected) {
    assertEquals(expected, EntityTag.parseList(List.of(line)).toString());
  }
}
