package dev.evergreen.core.sim;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.GrainTimeoutException;
import java.util.List;

/** Runs a formula's program. */
final class Program {

  private static final long LIMIT = 1_000;

  private Program() {}

  /**
   * The program's result.
   *
   * @param self the formula that it belongs to
   */
  static long run(List<Step> program, long self, int argument, Reader reader) {
    long sum = argument;
    for (int i = 0; i < program.size(); i++) {
      switch (program.get(i)) {
        case Step.Add(var ref) -> sum += reader.read(ref);
        case Step.AddAll(var refs) -> sum += readAll(refs, reader);
        case Step.AddAllOr(var refs, long otherwise) -> sum += readAllOr(refs, otherwise, reader);
        case Step.SkipIfOdd(var ref, int steps) -> i += odd(reader.read(ref)) ? steps : 0;
        case Step.AddOr(var ref, long otherwise) -> sum += readOr(ref, otherwise, reader);
        case Step.AddOwn(int other) -> {
          if (other < argument) {
            sum += reader.read(new Ref.OfFormula(self, other, Ref.Aspect.VALUE));
          }
        }
        case Step.FailIfOdd(var message) -> {
          if (odd(sum)) {
            throw new Refused(message + " " + sum);
          }
        }
        case Step.AddWithin(var ref, long nanos, long otherwise) ->
            sum += readWithin(ref, nanos, otherwise, reader);
        case Step.Wait(long nanos) -> reader.sleep(nanos);
        case Step.WaitOr(long nanos, long otherwise) -> sum += waitOr(nanos, otherwise, reader);
        case Step.OnlyFor(int only, int steps) -> i += argument == only ? 0 : steps;
        case Step.Times(long factor) -> sum *= factor;
      }
      sum = Math.floorMod(sum, LIMIT);
    }
    return sum;
  }

  private static long readAll(List<Ref> refs, Reader reader) {
    return reader.readAll(refs).stream().mapToLong(Long::longValue).sum();
  }

  private static long readAllOr(List<Ref> refs, long otherwise, Reader reader) {
    try {
      return readAll(refs, reader);
    } catch (RuntimeException e) {
      return otherwise;
    }
  }

  private static long readOr(Ref ref, long otherwise, Reader reader) {
    try {
      return reader.read(ref);
    } catch (RuntimeException e) {
      return otherwise;
    }
  }

  private static long readWithin(Ref ref, long nanos, long otherwise, Reader reader) {
    try {
      return reader.readWithin(ref, nanos);
    } catch (GrainTimeoutException e) {
      return otherwise;
    }
  }

  private static long waitOr(long nanos, long otherwise, Reader reader) {
    try {
      reader.sleep(nanos);
      return 0;
    } catch (CallInterruptedException e) {
      var _ = Thread.interrupted();
      return otherwise;
    }
  }

  private static boolean odd(long number) {
    return (number & 1) == 1;
  }
}
