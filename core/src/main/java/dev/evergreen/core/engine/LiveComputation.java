package dev.evergreen.core.engine;

import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.work.Nanos;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** A reactive computation as its users have it. */
record LiveComputation<T extends @Nullable Object>(
    RootComputation<T> root, Settling settling, Duration usualTimeout)
    implements ReactiveComputation<T> {

  @Override
  public ResultTracker<T> tracker() {
    return Tracker.of(root);
  }

  @Override
  public Flow.Publisher<Result<T>> publisher() {
    return new ResultPublisher<>(root);
  }

  @Override
  public <X extends Exception> T after(Write<X> write) throws X {
    return after(write, usualTimeout);
  }

  @Override
  public <X extends Exception> T after(Write<X> write, Duration timeout) throws X {
    var scope = Scope.current();
    var turn = scope == null ? null : scope.turn();
    if ((scope != null && scope.reader() != null) || (turn != null && turn.isPartOfWrite())) {
      throw new InvalidGrainException(
          "a computation was asked for a result after a write, inside of what must end before there"
              + " can be one: inside of another computation, or of an operation that may write and"
              + " that the result may depend on. Ask outside");
    }
    write.perform();
    root.startOnce(false);
    if (!settling.await(root, scope, root.base.workers().nanos() + Nanos.of(timeout))) {
      if (root.isOver()) {
        throw root.closedException();
      }
      throw new NoNewResultException(
          "the write is done, but no result is known to reflect it within "
              + Nanos.text(timeout)
              + "; the computation goes on");
    }
    return root.result(Objects.requireNonNull(root.present(null))).get();
  }

  @Override
  public void close() {
    root.close();
  }
}
