package dev.evergreen.core;

import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.settings.Settings;
import java.nio.file.Path;
import java.util.function.Function;

/**
 * A node that is alone in its process: no network, virtual threads, real time. What runs it is in
 * {@code evergreen-core}, which must be on the class path or the module path.
 */
public final class EmbeddedNode {

  private EmbeddedNode() {}

  /** Starts with memory for storage and the default settings. */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects what the node shall host. */
  public static final class Builder {

    private final GrainTypes types = GrainTypes.create();
    private Storage storage = new MemoryStorage();
    private NodeSettings settings = NodeSettings.DEFAULT;
    private Tracing tracing = Tracing.NONE;

    private Builder() {}

    /**
     * Registers a grain type.
     *
     * @param type its interface
     * @param factory makes the object for an activation; usually a constructor reference
     * @throws InvalidGrainException if the type's name is taken
     */
    public <K, T extends KeyedGrain<K>> Builder grain(
        Class<T> type, Function<GrainContext<K>, ? extends T> factory) {
      types.add(type, factory);
      return this;
    }

    /**
     * Registers grain types.
     *
     * @throws InvalidGrainException if the name of one is taken
     */
    public Builder grains(GrainTypes more) {
      types.addAll(more);
      return this;
    }

    /** Where state is kept; memory by default. The node does not close it. */
    public Builder storage(Storage storage) {
      this.storage = storage;
      return this;
    }

    /** The node's settings. */
    public Builder settings(NodeSettings settings) {
      this.settings = settings;
      return this;
    }

    /**
     * Takes those {@link NodeSettings} that stand in a file of Java properties; the keys are in
     * {@code docs/settings.md}. What is called later changes them.
     *
     * @throws IllegalArgumentException if a key is not known or a value makes no sense; the message
     *     names the key and the file
     * @throws java.io.UncheckedIOException if the file cannot be read
     */
    public Builder configuredBy(Path file) {
      return configuredBy(Settings.of(file));
    }

    /**
     * Takes the settings that stand in the environment: each key of {@link #configuredBy} in
     * capitals, with {@code _} for {@code -}, behind {@value NodeSettings#VARIABLES}.
     *
     * @throws IllegalArgumentException if a variable is not known or its value makes no sense; the
     *     message names it
     */
    public Builder configuredByEnvironment() {
      return configuredBy(Settings.of(System.getenv(), NodeSettings.VARIABLES));
    }

    private Builder configuredBy(Settings given) {
      given.knowOnly(Settings.keysOf(NodeSettings.class, ""));
      settings = given.changed(settings, "");
      return this;
    }

    /** How calls and pushes are traced; by default they are not. */
    public Builder tracing(Tracing tracing) {
      this.tracing = tracing;
      return this;
    }

    /**
     * Starts the node.
     *
     * @throws InvalidGrainException if a registered interface breaks a rule, for instance by an
     *     operation that takes or returns what is no value; the message names it
     * @throws IllegalStateException if {@code evergreen-core} is missing
     */
    public Node start() {
      var runtime = Providers.runtime();
      if (runtime == null) {
        throw new IllegalStateException(
            "nothing here can run grains: add evergreen-core to the class path, or to the module"
                + " path");
      }
      return runtime.startAlone(types, storage, settings, tracing, Providers.observers());
    }
  }
}
