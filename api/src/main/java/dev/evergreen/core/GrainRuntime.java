package dev.evergreen.core;

import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * What runs grains, as {@link EmbeddedNode} and {@link Parallel} know it: {@code evergreen-core},
 * which a {@link ServiceLoader} finds. Not for applications.
 */
public interface GrainRuntime {

  /** Starts a node that is alone in its process; see {@link EmbeddedNode.Builder#start}. */
  Node startAlone(
      GrainTypes types,
      Storage storage,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers);

  /** Whether the calling thread runs a grain's code or a computation, which branches belong to. */
  boolean ownsBranches();

  /**
   * Runs all branches, if it owns them.
   *
   * @return their results in order
   * @throws Throwable what the first in order that failed threw
   */
  List<@Nullable Object> all(List<? extends Callable<?>> branches) throws Throwable;

  /**
   * Runs branches until one returns, if it owns them.
   *
   * @throws Throwable what the first in order threw, if all failed
   */
  @Nullable Object first(List<? extends Callable<?>> branches) throws Throwable;
}
