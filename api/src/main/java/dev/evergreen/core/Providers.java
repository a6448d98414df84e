package dev.evergreen.core;

import dev.evergreen.core.spi.NodeObserver;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** What comes with other jars on the class path or the module path, and needs no set-up then. */
final class Providers {

  private static final @Nullable GrainRuntime RUNTIME = find(GrainRuntime.class).orElse(null);

  private Providers() {}

  /** What runs grains; null without {@code evergreen-core}. */
  static @Nullable GrainRuntime runtime() {
    return RUNTIME;
  }

  /** Who watches nodes, as {@code evergreen-reports} does; else nobody. */
  static NodeObserver.Provider observers() {
    return find(NodeObserver.Provider.class).orElse(NodeObserver.Provider.NONE);
  }

  private static <T> Optional<T> find(Class<T> service) {
    return ServiceLoader.load(service, service.getClassLoader()).findFirst();
  }
}
