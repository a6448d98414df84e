package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class ChirpTest {

  @Test
  void theNewestOfManyListsAreTheFirstOfAllInOrder() {
    var random = new Random(1);
    for (int round = 0; round < 200; round++) {
      var lists = new ArrayList<List<Chirp>>();
      var all = new ArrayList<Chirp>();
      for (int author = 0; author < random.nextInt(6); author++) {
        var own = new ArrayList<Chirp>();
        for (int i = 0; i < random.nextInt(8); i++) {
          own.add(new Chirp("user" + author, Instant.ofEpochSecond(random.nextInt(30)), "text"));
        }
        own.sort(null);
        lists.add(own);
        all.addAll(own);
      }
      all.sort(null);
      int most = random.nextInt(20);
      assertEquals(all.subList(0, Math.min(most, all.size())), Chirp.newest(most, lists));
    }
  }

  @Test
  void aTextIsCountedInCharactersAsPeopleSeeThem() {
    var longest = "🐦".repeat(Chirp.LONGEST);
    assertEquals(longest, Chirp.checkedText("  " + longest + "\n"));
    var refused = assertThrows(RefusedException.class, () -> Chirp.checkedText(longest + "x"));
    assertEquals("A post has at most 280 characters; this one has 281.", refused.getMessage());
  }

  @Test
  void aTextNeedsSomethingVisible() {
    for (var blank :
        List.of("", " \n\t ", "\u00a0", "\u200b\u200d", "\ufeff", "\u202e ", "\ud83d")) {
      assertThrows(RefusedException.class, () -> Chirp.checkedText(blank), blank);
    }
    assertThrows(RefusedException.class, () -> Chirp.checkedText("a\u0000b"));
    assertEquals("two\nlines", Chirp.checkedText("two\nlines"));
  }

  @Test
  void aNameIsKeptInSmallLettersOrRefusedWithWhatItShouldBe() {
    assertEquals("alice_7", Name.checked(" Alice_7 "));
    for (var bad : List.of("", " ", "a b", "älice", "a-b", "x".repeat(31), "ａ")) {
      var refused = assertThrows(RefusedException.class, () -> Name.checked(bad), bad);
      assertTrue(String.valueOf(refused.getMessage()).contains("1 to 30 letters"), bad);
    }
  }
}
