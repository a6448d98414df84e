package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Batch;
import java.util.ArrayDeque;

/** Batches that nobody uses at present: a client at rest has none. */
final class Batches {
  private static final int KEPT = 64;

  /** Guarded by this. */
  private final ArrayDeque<Batch> free = new ArrayDeque<>(KEPT);

  synchronized Batch take() {
    var batch = free.pollFirst();
    return batch != null ? batch : new Batch();
  }

  synchronized void giveBack(Batch batch) {
    if (free.size() < KEPT) {
      free.addFirst(batch);
    }
  }
}
