package dev.evergreen.core.engine;

import dev.evergreen.core.GrainRuntime;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** Starts nodes; also as applications reach the engine that name the API only. */
public final class CoreRuntime implements GrainRuntime {

  /** Called by the service loader. */
  public CoreRuntime() {}

  /**
   * Starts a node on an engine; calls and pushes are traced, and an observer is told what happens.
   */
  public static EngineNode start(
      Engine engine,
      GrainTypes types,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers) {
    return new NodeRuntime(engine, types, settings, tracing, observers);
  }

  @Override
  public Node startAlone(
      GrainTypes types,
      Storage storage,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers) {
    return AloneNode.start(types, storage, settings, tracing, observers);
  }

  @Override
  public boolean ownsBranches() {
    return Scope.current() != null;
  }

  @Override
  public List<@Nullable Object> all(List<? extends Callable<?>> branches) throws Throwable {
    return Branches.all(branches);
  }

  @Override
  public @Nullable Object first(List<? extends Callable<?>> branches) throws Throwable {
    return Branches.first(branches);
  }
}
