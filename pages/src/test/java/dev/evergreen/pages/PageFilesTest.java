package dev.evergreen.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class PageFilesTest {

  private final PageFiles files = PageFiles.of(PageFilesTest.class, "sample.html");

  @Test
  void hasThePagesOwnFilesAndTheSharedOnes() {
    var own = files.find("sample.html").orElseThrow();
    assertEquals("text/html;charset=utf-8", own.contentType());
    assertTrue(own.text().contains("Sample"), own.text());
    for (var shared : List.of("page.css", "page.js", "icon.svg")) {
      assertFalse(files.find(shared).orElseThrow().text().isBlank(), shared);
    }
  }

  @Test
  void hasNoOthers() {
    for (var other :
        List.of("", "PageFiles.class", "../pages/page.css", "/page.css", "PAGE.CSS", "page.css/")) {
      assertEquals(Optional.empty(), files.find(other), other);
    }
  }

  @Test
  void saysWhatIsMissingOrOfNoKnownKind() {
    var missing =
        assertThrows(
            IllegalStateException.class, () -> PageFiles.of(PageFilesTest.class, "none.html"));
    assertTrue(missing.toString().contains("none.html of dev.evergreen.pages"), "" + missing);
    var unknown =
        assertThrows(
            IllegalArgumentException.class, () -> PageFiles.of(PageFilesTest.class, "page.exe"));
    assertTrue(unknown.toString().contains("page.exe"), "" + unknown);
  }
}
