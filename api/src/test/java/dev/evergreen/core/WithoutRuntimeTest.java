package dev.evergreen.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What the API does by itself, in a program that has forgotten what runs it. */
final class WithoutRuntimeTest {

  @Test
  void aNodeThatCannotRunSaysWhatToAdd() {
    var builder = EmbeddedNode.builder();
    var missing = assertThrows(IllegalStateException.class, builder::start);
    assertTrue(String.valueOf(missing.getMessage()).contains("add evergreen-core"));
  }

  @Test
  void branchesOutsideOfGrainsNeedNothing() throws Exception {
    assertEquals(List.of(2, 3), Parallel.map(List.of(1, 2), number -> number + 1));
    assertEquals("first", Parallel.first(List.of(() -> "first")));
  }
}
