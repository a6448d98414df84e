package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SectionTest {

  @TempDir private Path folder;

  private Path page(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text);
  }

  @Test
  void thePageOfAFolderIsFoundThatHasAPlaceForIt() throws Exception {
    var other = page("a.md", "<!-- begin other -->\nold\n<!-- end other -->\n");
    var wanted = page("b.md", "before\n<!-- begin table -->\nold\n<!-- end table -->\nafter\n");
    Section.in(folder, "table").replace("new");
    assertEquals(
        "before\n<!-- begin table -->\n\nnew\n\n<!-- end table -->\nafter\n",
        Files.readString(wanted));
    assertTrue(Files.readString(other).contains("old"));
  }

  @Test
  void whereThereIsNoPlaceNothingIsWritten() throws Exception {
    page("a.md", "nothing\n");
    var thrown = assertThrows(IOException.class, () -> Section.in(folder, "table"));
    assertTrue(
        String.valueOf(thrown.getMessage()).contains("<!-- begin table -->"), thrown::toString);
  }
}
