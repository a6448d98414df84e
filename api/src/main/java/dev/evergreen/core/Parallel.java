package dev.evergreen.core;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The "parallel foreach" of 004 §2.1: branches whose calls to grains are under way at the same
 * time. Branches belong to the turn or computation that started them, hold its baton in turn, and
 * have ended when the method returns. Outside of grains each branch gets a virtual thread.
 */
public final class Parallel {

  private Parallel() {}

  /**
   * Applies {@code function} to every item.
   *
   * @return the results in the order of the items
   * @throws RuntimeException what the first failed branch, in the order of the items, threw; after
   *     all have ended
   */
  @SuppressWarnings("unchecked") // each branch returns an R
  public static <T extends @Nullable Object, R extends @Nullable Object> List<R> map(
      Collection<? extends T> items, Function<? super T, ? extends R> function) {
    var branches = new ArrayList<Callable<R>>(items.size());
    for (T item : items) {
      branches.add(() -> function.apply(item));
    }
    try {
      var owner = owner();
      return (List<R>) (owner != null ? owner.all(branches) : allOutside(branches));
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable t) {
      throw new ComputationFailedException(t);
    }
  }

  /** As {@link #map}, for actions without a result. */
  public static <T extends @Nullable Object> void forEach(
      Collection<? extends T> items, Consumer<? super T> action) {
    Parallel.<T, @Nullable Object>map(
        items,
        item -> {
          action.accept(item);
          return null;
        });
  }

  /**
   * The first result that a branch returns. The other branches are ended at their next blocking
   * point.
   *
   * @throws Exception what the first branch of the list threw, if all failed
   * @throws IllegalArgumentException if there is no branch
   */
  @SuppressWarnings({"unchecked", "NullAway"}) // each branch returns an R, null where R allows
  public static <R extends @Nullable Object> R first(List<? extends Callable<? extends R>> branches)
      throws Exception {
    if (branches.isEmpty()) {
      throw new IllegalArgumentException("Parallel.first was given no branch");
    }
    try {
      var owner = owner();
      return (R) (owner != null ? owner.first(branches) : firstOutside(branches));
    } catch (Exception | Error e) {
      throw e;
    } catch (Throwable t) {
      throw new ComputationFailedException(t);
    }
  }

  /** What runs the grain or the computation that the branches belong to; null outside of these. */
  private static @Nullable GrainRuntime owner() {
    var runtime = Providers.runtime();
    return runtime != null && runtime.ownsBranches() ? runtime : null;
  }

  private static <R extends @Nullable Object> List<R> allOutside(List<Callable<R>> branches)
      throws Throwable {
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var results = new ArrayList<R>();
      for (var future : executor.invokeAll(branches)) {
        results.add(future.get());
      }
      return results;
    } catch (ExecutionException e) {
      throw e.getCause();
    } catch (InterruptedException e) {
      throw interrupted();
    }
  }

  private static @Nullable Object firstOutside(List<? extends Callable<?>> branches)
      throws Throwable {
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var ended = new ExecutorCompletionService<@Nullable Object>(executor);
      var futures = new ArrayList<Future<?>>();
      branches.forEach(branch -> futures.add(ended.submit(branch::call)));
      for (int failed = 0; failed < branches.size(); ) {
        try {
          var first = ended.take().get();
          executor.shutdownNow();
          return first;
        } catch (ExecutionException e) {
          failed++;
        } catch (InterruptedException e) {
          executor.shutdownNow();
          throw interrupted();
        }
      }
      throw futures.getFirst().exceptionNow();
    }
  }

  private static CallInterruptedException interrupted() {
    Thread.currentThread().interrupt();
    return new CallInterruptedException(
        "interrupted while waiting for the branches of Parallel; the outcome of what they called is"
            + " unknown");
  }
}
