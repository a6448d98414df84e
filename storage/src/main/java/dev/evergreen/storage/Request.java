package dev.evergreen.storage;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage.Stored;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What a caller has put into a {@link RequestQueue} and waits for. */
sealed interface Request<A> {

  /** What it is about, for errors. */
  Object subject();

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

    @Override
    public GrainId subject() {
      return grain;
    }
  }

  /**
   * Asks for a compare-and-set. The array is this request's own.
   *
   * @param by who must be alive; null if nobody must
   */
  record Save(
      GrainId grain,
      long expected,
      byte[] state,
      @Nullable Member by,
      CompletableFuture<Outcome> answer)
      implements Request<Outcome> {

    Save(GrainId grain, long expected, byte[] state, @Nullable Member by) {
      this(grain, expected, state, by, new CompletableFuture<>());
    }

    @Override
    public GrainId subject() {
      return grain;
    }

    @Override
    public int size() {
      return state.length;
    }
  }

  /** Asks whether a node is alive. */
  record IsAlive(Member member, CompletableFuture<Boolean> answer) implements Request<Boolean> {

    IsAlive(Member member) {
      this(member, new CompletableFuture<>());
    }

    @Override
    public Member subject() {
      return member;
    }
  }

  /** Asks for something else, that is done by itself. */
  record Apart<A>(Object subject, Callable<A> task, CompletableFuture<A> answer)
      implements Request<A> {

    Apart(Object subject, Callable<A> task) {
      this(subject, task, new CompletableFuture<>());
    }

    /** Does it and answers. */
    void run() {
      try {
        answer.complete(task.call());
      } catch (Exception e) {
        answer.completeExceptionally(e);
      }
    }
  }

  /** What became of a save that the storage decided. */
  sealed interface Outcome {

    /** It was written. */
    record Saved(long revision) implements Outcome {}

    /** Nothing was written: the revision is another. */
    record Conflict(long actual) implements Outcome {}

    /** Nothing was written: the node that asked is not alive. */
    record GivenUp() implements Outcome {}
  }
}
