package dev.evergreen.memcached.live;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class KeyPatternTest {

  @Test
  void namesStandForAsLittleAsPossibleAndTheLastForTheRest() {
    var pattern = new KeyPattern("page:{user}:{part}");
    assertEquals(Optional.of(Map.of("user", "ann", "part", "1:2")), pattern.match("page:ann:1:2"));
    assertEquals(Optional.empty(), pattern.match("page:ann"));
    assertEquals(Optional.empty(), pattern.match("page::1"));
    assertEquals(Optional.empty(), pattern.match("xpage:ann:1"));
  }

  @Test
  void aPatternMayEndWithTextAndMayHaveNoNames() {
    assertEquals(
        Optional.of(Map.of("id", "7.json")), new KeyPattern("x/{id}.json").match("x/7.json.json"));
    assertEquals(Optional.of(Map.of()), new KeyPattern("top(10)").match("top(10)"));
    assertEquals(Optional.empty(), new KeyPattern("top(10)").match("top10"));
  }

  @Test
  void bytesThatBeginOtherwiseAreNone() {
    var pattern = new KeyPattern("grüße:{user}");
    var bytes = MemorySegment.ofArray("..grüße:x".getBytes(UTF_8));
    assertTrue(pattern.mayMatch(bytes.asSlice(2)));
    assertFalse(pattern.mayMatch(bytes.asSlice(1)));
    assertFalse(pattern.mayMatch(bytes.asSlice(2, 3)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{user}", "a{b}{c}", "a{b", "a}b", "a{}", "a{b}c{b}", "a b", "a{1}"})
  void whatIsNoPatternIsRefused(String text) {
    var refused = assertThrows(IllegalArgumentException.class, () -> new KeyPattern(text));
    assertTrue(refused.toString().contains("'" + text + "'"), refused.toString());
  }
}
