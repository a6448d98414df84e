package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class PageTest {

  private static final TreeSet<String> ALL = new TreeSet<>(List.of("a", "b", "c", "d", "e"));

  private static Page<String> after(String cursor, int most) {
    var rest = ALL.tailSet(cursor, false).stream().limit(most + 1).toList();
    return Page.of(rest, most, item -> item);
  }

  @Test
  void pagesOneAfterTheOtherHaveEachItemOnce() {
    for (int most = 1; most <= 6; most++) {
      var seen = new ArrayList<String>();
      var cursor = Optional.of("");
      while (cursor.isPresent()) {
        var page = after(cursor.get(), most);
        seen.addAll(page.items());
        cursor = page.next();
      }
      assertEquals(List.copyOf(ALL), seen, "pages of " + most);
    }
  }

  private static Page<String> upTo(String until, int most) {
    return Page.upTo(
        Optional.of(until), most, item -> item, count -> ALL.stream().limit(count).toList());
  }

  @Test
  void aPageEndsWhereItIsToUnlessThatIsTooMuch() {
    assertEquals(new Page<>(List.of("a", "b", "c"), Optional.of("c")), upTo("c", 2));
    assertEquals(new Page<>(List.of("a", "b", "c", "d"), Optional.of("d")), upTo("d", 2));
    assertEquals(new Page<>(List.of("a", "b"), Optional.of("b")), upTo("e", 2));
    assertEquals(new Page<>(List.of("a"), Optional.of("a")), upTo("a", 9));
    assertEquals(new Page<>(List.copyOf(ALL), Optional.empty()), upTo("e", 3));
  }

  @Test
  void aPageWhoseEndIsGoneIsAsLongAsOthers() {
    assertEquals(new Page<>(List.of("a", "b"), Optional.of("b")), upTo("bb", 2));
    assertEquals(new Page<>(List.copyOf(ALL), Optional.empty()), upTo("x", 5));
  }
}
