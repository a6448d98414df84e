package dev.evergreen.core.sim;

import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.Result;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * What came of a computation, in a form that can be compared.
 *
 * @param text the value, or the exception's type and message
 */
record Seen(boolean failed, String text) {

  static Seen of(Result<?> result) {
    return switch (result) {
      case Result.Value<?>(var value) -> value(value);
      case Result.Failure<?>(var exception) -> failure(exception);
    };
  }

  static Seen of(Callable<?> call) {
    try {
      return value(call.call());
    } catch (Exception e) {
      return failure(e);
    }
  }

  static Seen value(@Nullable Object value) {
    return new Seen(false, String.valueOf(value));
  }

  static Seen failure(Throwable thrown) {
    if (thrown instanceof ComputationFailedException && thrown.getCause() != null) {
      return failure(thrown.getCause());
    }
    if (thrown instanceof CycleException) {
      // Its path depends on where the circle was entered.
      return new Seen(true, CycleException.class.getSimpleName());
    }
    return new Seen(true, thrown.getClass().getSimpleName() + ": " + thrown.getMessage());
  }

  /** Whether the application failed, not the runtime. */
  boolean isRefusal() {
    return failed && text.startsWith("Refused");
  }

  @Override
  public String toString() {
    return text;
  }
}
