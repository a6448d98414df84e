package dev.evergreen.reports;

import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.NodeView;

/** Finds the reporter of a node that is alone in its process, by the services file. */
public final class EmbeddedReporter implements NodeObserver.Provider {

  /** For the service loader. */
  public EmbeddedReporter() {}

  /** Such a node lives and ends with its application, which need not be told. */
  @Override
  public NodeObserver observe(NodeView node) {
    return new Reporter(node, System.Logger.Level.DEBUG);
  }
}
