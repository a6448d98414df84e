package dev.evergreen.core.engine;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;

/** A node that has nobody to talk to, in real time, which ends with it. */
final class AloneNode extends NodeRuntime {

  private final RealTime time;

  private AloneNode(
      RealTime time,
      Engine engine,
      GrainTypes types,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers) {
    super(engine, types, settings, tracing, observers);
    this.time = time;
  }

  /** Starts a node. */
  static Node start(
      GrainTypes types,
      Storage storage,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers) {
    var self = new NodeId("embedded", ThreadLocalRandom.current().nextLong(Long.MAX_VALUE));
    var time = RealTime.create();
    var engine =
        new Engine(
            self,
            time,
            time,
            (to, message) -> false,
            new Placement.AllAt(self, self),
            storage,
            (RandomGenerator) () -> ThreadLocalRandom.current().nextLong());
    return new AloneNode(time, engine, types, settings, tracing, observers);
  }

  /** Synchronized, as it is done when this returns, whoever has begun it. */
  @Override
  public synchronized void close() {
    super.close();
    time.close();
  }
}
