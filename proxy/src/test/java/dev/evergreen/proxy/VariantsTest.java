package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.Vary;
import java.lang.management.ManagementFactory;
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
