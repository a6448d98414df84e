package dev.evergreen.core;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.LinkCounts;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeView;
import java.util.Map;

/** Shows a node to its observer. */
record View(NodeRuntime node) implements NodeView {

  /** A summary that the observer may ask about later. */
  record Seen(NodeRuntime node, CallKey key) implements SummaryView {
    @Override
    public GrainId grain() {
      return key.grain();
    }

    @Override
    public String operation() {
      return key.operation().name();
    }

    @Override
    public String arguments() {
      return key.argumentsText();
    }

    @Override
    public int readers() {
      var cache = node.caches().get(key);
      return cache == null ? 0 : cache.readers();
    }
  }

  /** Counts what another visitor is shown. */
  private static final class Tally implements Visitor {
    private final Visitor visitor;
    private int summaries;
    private int subscriptions;

    Tally(Visitor visitor) {
      this.visitor = visitor;
    }

    @Override
    public void activation(GrainId grain, int waiting) {
      visitor.activation(grain, waiting);
    }

    @Override
    public void summary(SummaryView summary, long runs, int subscribers) {
      summaries++;
      subscriptions += subscribers;
      visitor.summary(summary, runs, subscribers);
    }
  }

  @Override
  public NodeId self() {
    return node.self();
  }

  @Override
  public Clock clock() {
    return node.clock();
  }

  @Override
  public boolean serving() {
    return node.serving();
  }

  @Override
  public NodeCounts walk(Visitor visitor) {
    var tally = new Tally(visitor);
    node.activations().all().forEach(activation -> activation.show(tally));
    return new NodeCounts(
        node.activations().size(),
        node.computations(),
        tally.summaries,
        node.caches().size(),
        tally.subscriptions,
        node.calls().open());
  }

  @Override
  public int backlog() {
    return node.backlog();
  }

  @Override
  public Map<String, Integer> outboxes() {
    return node.outboxes().lengths();
  }

  @Override
  public LinkCounts links() {
    return node.linkCounts();
  }

  @Override
  public boolean ask(NodeId other, long question) {
    return node.send(other, new Message.Inspect(question));
  }
}
