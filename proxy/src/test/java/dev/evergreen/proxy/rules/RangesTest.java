package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9110 §14: of a body of 100 bytes. */
class RangesTest {

  private static String show(Ranges ranges) {
    return switch (ranges) {
      case Ranges.Whole() -> "whole";
      case Ranges.Unsatisfiable() -> "none";
      case Ranges.Parts(var parts) ->
          String.join(" ", parts.stream().map(r -> r.first() + "-" + r.last()).toList());
    };
  }

  private static String of(long length, String... lines) {
    return show(Ranges.of(List.of(lines), length));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          bytes=0-9                 ; 0-9
          Bytes=0-9                 ; 0-9
          bytes=0-0                 ; 0-0
          bytes=90-                 ; 90-99
          bytes=90-200              ; 90-99
          bytes=-10                 ; 90-99
          bytes=-200                ; 0-99
          bytes=0-9,20-29, -5       ; 0-9 20-29 95-99
          bytes=20-29,0-9           ; 20-29 0-9
          bytes=0-9,200-            ; 0-9
          bytes=100-                ; none
          bytes=-0                  ; none
          bytes=200-300,400-        ; none
          bytes=99999999999999999999- ; none
          bytes=0-99999999999999999999 ; 0-99
          bytes=9-0                 ; whole
          bytes=                    ; whole
          bytes=-                   ; whole
          bytes=a-b                 ; whole
          bytes=0-9 20-29           ; whole
          bytes 0-9                 ; whole
          items=0-9                 ; whole
          bytes=0-9,5-14            ; whole
          bytes=0-,0-               ; whole
          """)
  void partsAreChosen(String line, String expected) {
    assertEquals(expected, of(100, line));
  }

  @Test
  void manyPartsAreTheWhole() {
    var many = new StringBuilder("bytes=0-0");
    for (int i = 1; i < Ranges.MOST; i++) {
      many.append(",").append(2 * i).append("-").append(2 * i);
    }
    assertEquals(Ranges.MOST, of(100, many.toString()).split(" ", -1).length);
    assertEquals("whole", of(100, many + ",90-90"));
  }

  @Test
  void anEmptyBodyHasNoParts() {
    assertEquals("none", of(0, "bytes=0-"));
    assertEquals("none", of(0, "bytes=-1"));
  }

  @Test
  void twoLinesOrNoneAreNoRange() {
    assertEquals("whole", of(100));
    assertEquals("whole", of(100, "bytes=0-1", "bytes=3-4"));
  }

  @Test
  void aPartNamesItsPlace() {
    assertEquals("bytes 0-9/100", new ByteRange(0, 9).contentRange(100));
  }
}
