package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContentRangeTest {

  @ParameterizedTest
  @CsvSource({"bytes 0-9/10, true", "BYTES 3-3/10, false", "bytes 0-8/10, false"})
  void aPartIsRead(String written, boolean whole) {
    var range = ContentRange.of(Heads.fields("| Content-Range: " + written)).orElseThrow();
    assertEquals(written.toLowerCase(Locale.ROOT), range.toString());
    assertEquals(whole, range.isWhole());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "| Content-Range: bytes 0-9/*",
        "| Content-Range: bytes */10",
        "| Content-Range: bytes 0-10/10",
        "| Content-Range: bytes 9-0/10",
        "| Content-Range: bytes 0-9/10, bytes 0-9/10",
        "| Content-Range: bytes 0-9/10 | Content-Range: bytes 0-9/10",
        "| Content-Range: bytes=0-9/10",
        "| Content-Range: lines 0-9/10",
        "| Content-Range: bytes -1-9/10",
        "| Content-Range: bytes 0-9/9999999999999999999",
        "| Content-Range: bytes 0-9/10 | Content-Type: Multipart/Byteranges; boundary=a"
      })
  void whatIsUnclearIsNone(String fields) {
    assertTrue(ContentRange.of(Heads.fields(fields)).isEmpty());
  }

  @Test
  void onlyOneRangeThatIsNotAllIsAPart() {
    for (var part : List.of("bytes=0-9", "bytes=1-", "bytes=-1", "bytes=0-0")) {
      assertTrue(Ranges.isPart(List.of(part)), part);
    }
    for (var none : List.of("bytes=0-", "bytes=0-0,2-2", "lines=0-0", "bytes=1-0", "bytes=", "")) {
      assertFalse(Ranges.isPart(List.of(none)), none);
    }
    assertFalse(Ranges.isPart(List.of()));
    assertFalse(Ranges.isPart(List.of("bytes=1-1", "bytes=1-1")));
  }

  /** Compared with what one finds who looks at each byte. */
  @Test
  void aGapGoesFromTheFirstMissingByteToTheLast() {
    var random = new Random(1);
    for (int i = 0; i < 10_000; i++) {
      var wanted = range(random, 30);
      var others = new ArrayList<ByteRange>();
      for (int j = random.nextInt(5); j > 0; j--) {
        others.add(range(random, 12));
      }
      long first = -1;
      long last = -1;
      for (long at = wanted.first(); at <= wanted.last(); at++) {
        long byteAt = at;
        if (others.stream().noneMatch(o -> o.first() <= byteAt && byteAt <= o.last())) {
          first = first < 0 ? at : first;
          last = at;
        }
      }
      var gap = wanted.gap(others);
      if (first < 0) {
        assertNull(gap);
      } else {
        assertEquals(new ByteRange(first, last), gap);
      }
    }
  }

  private static ByteRange range(Random random, int most) {
    int first = random.nextInt(30);
    return new ByteRange(first, first + random.nextInt(most));
  }
}
