package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Batch;
import dev.evergreen.shims.Tape.Passing;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Requests of one upstream whose effect may come long after they were sent: what is queued, or
 * waits behind what blocks. Of more than 64 KiB the oldest are forgotten.
 */
final class LateRequests {
  private static final int MOST_BYTES = 64 << 10;

  private final ArrayDeque<byte[]> requests = new ArrayDeque<>(0);
  private int bytes;

  /** Keeps requests that are arrays of bulks. */
  void add(Batch batch) {
    if (batch.bytes().get(batch.from()) != '*') {
      return;
    }
    for (int i = 0; i < batch.count(); i++) {
      var request = new byte[batch.end(i) - batch.start(i)];
      batch.bytes().get(batch.start(i), request);
      requests.add(request);
      bytes += request.length;
    }
    while (bytes > MOST_BYTES) {
      bytes -= requests.removeFirst().length;
    }
  }

  /** Says of them again that they pass: what comes now may be because of them. */
  void tell(Passing passing) {
    requests.forEach(request -> passing.passes(ByteBuffer.wrap(request), 0, request.length));
  }

  void clear() {
    requests.clear();
    bytes = 0;
  }
}
