package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.Bytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is kept of requests that may take effect late. */
@Timeout(60)
class LateRequestsTest {
  private static Batch batch(String... keys) {
    var requests = ByteBuffer.allocate(1 << 20);
    var batch = new Batch();
    batch.begin(requests, 0);
    for (var key : keys) {
      requests.put(Identity.request("SET", key, "v".repeat(1000)));
      batch.add(requests.position());
    }
    return batch;
  }

  private static List<String> told(LateRequests late) {
    var keys = new ArrayList<String>();
    late.tell(
        (bytes, from, to) -> keys.add(Bytes.of(Inline.wordsOf(bytes, from, to).get(1)).text()));
    return keys;
  }

  @Test
  void theLatestAreKept() {
    var late = new LateRequests();
    late.add(batch("a", "b"));
    assertEquals(2, told(late).size());
    for (int i = 0; i < 10_000; i++) {
      late.add(batch("c"));
    }
    assertTrue(told(late).size() > 50 && told(late).size() < 70, () -> told(late).toString());
    late.clear();
    assertEquals(0, told(late).size());
  }

  @Test
  void ofWhoWantsNoRepliesNothingIsKept() throws IOException {
    var told = new AtomicLong();
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      shimmed.shim.tape.tell((bytes, from, to) -> told.incrementAndGet());
      client.send("CLIENT", "REPLY", "OFF");
      for (int i = 0; i < 5_000; i++) {
        client.send("SET", "a", "" + i);
      }
      assertEquals("+OK\r\n", client.ask("CLIENT", "REPLY", "ON"));
    }
    // Each once, and the last again with its reply.
    assertTrue(told.get() >= 5_002 && told.get() < 5_010, () -> "" + told);
  }
}
