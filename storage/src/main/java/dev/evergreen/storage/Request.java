package dev.evergreen.storage;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage.Stored;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What a caller has put into a {@link RequestQueue} and waits for. */
sealed interface Request<A> {

  GrainId grain();

  /** Completed by a {@link Worker}; exceptionally if the storage failed. */
  CompletableFuture<A> answer();

  /** The bytes that it carries into a batch. */
  default int size() {
    return 0;
  }

  /** Asks for what was saved last. */
  record Load(GrainId grain, CompletableFuture<Optional<Stored>> answer)
      implements Request<Optional<Stored>> {

    Load(GrainId grain) {
      this(grain, new CompletableFuture<>());
    }
  }

  /** Asks for a compare-and-set. The array is this request's own. */
  record Save(GrainId grain, long expected, byte[] state, CompletableFuture<Outcome> answer)
      implements Request<Outcome> {

    Save(GrainId grain, long expected, byte[] state) {
      this(grain, expected, state, new CompletableFuture<>());
    }

    @Override
    public int size() {
      return state.length;
    }
  }

  /** What became of a save that the storage decided. */
  sealed interface Outcome {

    /** It was written. */
    record Saved(long revision) implements Outcome {}

    /** Nothing was written: the revision is another. */
    record Conflict(long actual) implements Outcome {}
  }
}
