package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.evergreen.http.Fields;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.rules.CacheRules;
import dev.evergreen.proxy.rules.Life;
import dev.evergreen.proxy.rules.Vary;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The choice among the variants of a URI. */
class VariantsTest {

  private static byte[] variant(String field, String value) {
    return Variants.write(new Vary(List.of(field)), Fields.of(field, value));
  }

  @Test
  void eachVariantIsComparedByItsOwnFields() {
    var variants = new Variants(Fields.of("a", "1", "b", "2"));
    assertTrue(variants.takes(variant("a", "1")));
    assertFalse(variants.takes(variant("a", "2")));
    assertTrue(variants.takes(variant("b", "2")));
    assertTrue(variants.takes(new byte[0]));
    assertTrue(variants.takes(variant("b", "2")));
    assertFalse(variants.takes(variant("a", "2")));
    assertTrue(variants.takes(variant("a", "1")));
  }

  private static ByteBuffer head(String date, boolean retired) {
    var fields = Fields.of("Date", date, "Cache-Control", "max-age=60");
    var life = Life.of(ResponseHead.of(200, fields), 0, 0, CacheRules.DEFAULT);
    return ByteBuffer.wrap(StoredHead.encode(200, retired ? life.retired() : life, fields));
  }

  /** Seen: what was stored in its place, by another origin's clock, was never used. */
  @Test
  void whatIsRetiredIsNotPreferredForItsDate() {
    var variants = new Variants(Fields.of());
    var later = "Sun, 06 Nov 1994 08:49:37 GMT";
    var sooner = "Sun, 06 Nov 1994 08:49:36 GMT";
    assertTrue(variants.prefers(head(later, false), head(sooner, false)));
    assertFalse(variants.prefers(head(later, true), head(sooner, false)));
    assertFalse(variants.prefers(head(sooner, false), head(later, false)));
  }

  /** Else a few kilobytes that anybody sends would be sorted once for each variant that is kept. */
  @Test
  void whatARequestAcceptsIsReadOnceForAllVariants() {
    var request = Fields.of("accept-encoding", "a;q=1,".repeat(2500) + "b");
    var stored = new ArrayList<byte[]>();
    for (int i = 0; i < 64; i++) {
      stored.add(variant("accept-encoding", "" + i));
    }
    long one = allocated(request, stored.subList(0, 1));
    long all = allocated(request, stored);
    assertTrue(all < 2 * one, "64 variants cost " + all + " bytes, one " + one);
  }

  private static long allocated(Fields request, List<byte[]> stored) {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    var variants = new Variants(request);
    for (var each : stored) {
      assertFalse(variants.takes(each));
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
