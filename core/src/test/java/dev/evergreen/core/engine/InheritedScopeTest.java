package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.Node;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.State;
import dev.evergreen.core.engine.TestGrains.Cell;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Threads that inherit the scoped values of an operation or a computation, and do not hold its
 * baton: so they may wait for no grain, nor touch the state.
 */
@Timeout(60)
final class InheritedScopeTest {

  interface Forker extends Grain {
    /** Tries something in such a thread; returns what it was told. */
    String tries(String what);
  }

  record ForkerGrain(GrainContext<String> context, State<String> state) implements Forker {
    @Override
    public String tries(String what) {
      var cell = context.grains().get(Cell.class, "c");
      return refusal(
          () ->
              switch (what) {
                case "call" -> cell.text();
                case "branches" -> Parallel.map(List.of(1), n -> cell.text()).getFirst();
                case "state" -> state.get();
                case "sleep" -> {
                  context.sleep(SOON);
                  yield "";
                }
                default -> throw new IllegalArgumentException(what);
              });
    }
  }

  /** What a thread of a StructuredTaskScope is told, which is a preview of the JDK's as yet. */
  private static String refusal(Callable<String> task) {
    var thrown = new AtomicReference<@Nullable Exception>();
    Callable<String> caught =
        () -> {
          try {
            return task.call();
          } catch (Exception e) {
            thrown.set(e);
            return "";
          }
        };
    try {
      var type = Class.forName("java.util.concurrent.StructuredTaskScope");
      try (var scope = (AutoCloseable) type.getMethod("open").invoke(null)) {
        type.getMethod("fork", Callable.class).invoke(scope, caught);
        type.getMethod("join").invoke(scope);
      }
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    return String.valueOf(assertInstanceOf(InvalidGrainException.class, thrown.get()).getMessage());
  }

  private final Node node =
      TestGrains.node()
          .grain(Forker.class, c -> new ForkerGrain(c, c.state(String.class, "")))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"call", "branches", "state", "sleep"})
  void anOperationsAreRefused(String what) {
    var told = node.grains().get(Forker.class, "f").tries(what);
    assertTrue(told.contains("use Parallel"), told);
    assertEquals("", node.grains().get(Cell.class, "c").text());
  }

  /** Else what they read would be untracked, and the result never change. */
  @Test
  void aComputationsAreRefused() {
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(() -> refusal(cell::text))) {
      var told = computation.tracker().next(SOON);
      assertTrue(told.contains("use Parallel"), told);
    }
  }
}
