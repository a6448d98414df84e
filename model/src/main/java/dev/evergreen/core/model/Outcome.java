package dev.evergreen.core.model;

import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ValueTooLargeException;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.Message;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** What an operation ended with. Immutable and shared: the value is frozen. */
public sealed interface Outcome {

  /** It returned. */
  record Returned(@Nullable Object value) implements Outcome {}

  /**
   * It threw.
   *
   * @param original the exception itself, where it does not leave its computation
   */
  record Threw(Failure failure, @Nullable Throwable original) implements Outcome {

    public static Threw of(Throwable thrown) {
      return new Threw(Failures.of(thrown), null);
    }
  }

  /**
   * It did not start.
   *
   * @param again whether to ask again: the grain may be found elsewhere, or here in a moment
   */
  record NotStarted(String reason, boolean again) implements Outcome {}

  /** By a comparer of the user's; what it cannot compare is not the same. */
  static <T extends @Nullable Object> boolean same(
      T x, T y, BiPredicate<? super T, ? super T> comparer) {
    try {
      return comparer.test(x, y);
    } catch (Throwable e) {
      return cannotTell("the comparer " + comparer.getClass().getName() + " failed", e);
    }
  }

  /** By their bytes; objects that are no values and cannot be compared are not the same. */
  private static boolean same(@Nullable Object x, @Nullable Object y, ValueType type) {
    try {
      return type.same(x, y);
    } catch (Throwable e) {
      return cannotTell("results of " + type + " cannot be compared", e);
    }
  }

  private static boolean cannotTell(String what, Throwable why) {
    Failures.logTrace(what, why);
    return false;
  }

  /** Whether both are the same result, by the comparer if there is one, else by their bytes. */
  static boolean same(
      @Nullable Outcome a,
      @Nullable Outcome b,
      ValueType type,
      @Nullable BiPredicate<Object, Object> comparer) {
    if (a == b) {
      return true;
    }
    if (a instanceof Returned(var x) && b instanceof Returned(var y)) {
      return (comparer == null || x == null || y == null) ? same(x, y, type) : same(x, y, comparer);
    }
    return (a instanceof Threw x) && (b instanceof Threw y) && x.failure().same(y.failure());
  }

  // On its way between nodes

  /**
   * This outcome of an operation, for another node. Values have methods of the application's, and
   * not every frozen value has bytes: what goes wrong is the outcome then, and nobody else's
   * affair.
   */
  default Message.Answer encode(Operation operation) {
    return switch (this) {
      case Returned(var value) -> {
        try {
          yield new Message.Answer.Returned(operation.result().encode(value));
        } catch (ValueLimitException e) {
          yield failed(new ValueTooLargeException(operation + ": the result is too large", e));
        } catch (Throwable e) {
          yield failed(
              new InvalidGrainException(
                  operation + ": the result cannot be written: " + Failures.describe(e), e));
        }
      }
      case Threw(var failure, var original) -> new Message.Answer.Threw(failure);
      case NotStarted(var reason, var again) -> new Message.Answer.NotStarted(reason, again);
    };
  }

  private static Message.Answer failed(GrainException e) {
    return new Message.Answer.Threw(Failures.of(e));
  }

  /** In place of an answer that no link takes. */
  static Message.Answer tooLarge(String what, IllegalArgumentException refusal) {
    return failed(new ValueTooLargeException(what + " is too large", refusal));
  }

  /**
   * The outcome that another node tells; if it cannot be read, that is the outcome. For want of
   * memory it fails: there may be enough another time. That holds for a value that never fits, too:
   * a caller gets the error, a cache asks for it again and again, ever less often, and who waits
   * for its first result waits in vain.
   *
   * @throws OutOfMemoryError if there is no memory for the value
   */
  static Outcome decode(Message.Answer answer, Operation operation) {
    return switch (answer) {
      case Message.Answer.Returned(var bytes) -> {
        try {
          yield new Returned(operation.result().decode(bytes));
        } catch (OutOfMemoryError e) {
          throw e;
        } catch (Throwable e) {
          yield Threw.of(
              new GrainFailureException(
                  operation + ": the answer cannot be read: " + Failures.describe(e), e));
        }
      }
      case Message.Answer.Threw(var failure) -> new Threw(failure, null);
      case Message.Answer.NotStarted(var reason, var again) -> new NotStarted(reason, again);
    };
  }
}
