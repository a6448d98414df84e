package dev.evergreen.core;

import org.jspecify.annotations.Nullable;

/** What a computation ended with: a value or an exception. */
public sealed interface Result<T extends @Nullable Object> {

  /** The value, or the exception thrown as {@link ResultTracker#next()} throws it. */
  T get();

  /** The computation returned. */
  record Value<T extends @Nullable Object>(T value) implements Result<T> {
    @Override
    public T get() {
      return value;
    }
  }

  /** The computation threw. */
  record Failure<T extends @Nullable Object>(Exception exception) implements Result<T> {
    @Override
    public T get() {
      throw exception instanceof RuntimeException unchecked
          ? unchecked
          : new ComputationFailedException(exception);
    }
  }
}
