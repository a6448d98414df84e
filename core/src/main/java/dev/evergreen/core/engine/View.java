package dev.evergreen.core.engine;

import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.LinkCounts;
import dev.evergreen.core.spi.Links;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeView;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Shows a node to its observer, which is there first. */
final class View implements NodeView {

  /** What there is to be shown. */
  record Parts(
      Propagation propagation, Activations activations, Calls calls, Computations computations) {}

  /** A summary that the observer may ask about later. */
  private record Seen(Caches caches, CallKey key) implements SummaryView {
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
      var cache = caches.get(key);
      return cache == null ? 0 : cache.readers();
    }
  }

  private final Clock clock;
  private final Peers peers;
  private final Links links;
  private final Lifetime lifetime;
  private volatile @Nullable Parts parts;

  View(Clock clock, Peers peers, Links links, Lifetime lifetime) {
    this.clock = clock;
    this.peers = peers;
    this.links = links;
    this.lifetime = lifetime;
  }

  /** There is something to show from now on. */
  void show(Parts all) {
    parts = all;
  }

  @Override
  public NodeId self() {
    return peers.self();
  }

  @Override
  public Clock clock() {
    return clock;
  }

  @Override
  public boolean serving() {
    return lifetime.serving();
  }

  @Override
  public NodeCounts walk(Visitor visitor) {
    var shown = parts;
    if (shown == null) {
      return new NodeCounts(0, 0, 0, 0, 0, 0);
    }
    var caches = shown.propagation().caches();
    int summaries = 0;
    int subscriptions = 0;
    for (var activation : shown.activations().all()) {
      visitor.activation(activation.id(), activation.waiting());
      for (var summary : activation.summaries()) {
        int subscribers = summary.results().subscribers();
        summaries++;
        subscriptions += subscribers;
        visitor.summary(new Seen(caches, summary.key()), summary.runs(), subscribers);
      }
    }
    return new NodeCounts(
        shown.activations().size(),
        shown.computations().size(),
        summaries,
        caches.size(),
        subscriptions,
        shown.calls().open());
  }

  @Override
  public int backlog() {
    var shown = parts;
    return shown == null ? 0 : shown.propagation().backlog().size();
  }

  @Override
  public Map<String, Integer> outboxes() {
    var shown = parts;
    return shown == null ? Map.of() : shown.propagation().outboxes().lengths();
  }

  @Override
  public LinkCounts links() {
    return links.counts();
  }

  @Override
  public boolean ask(NodeId other, long question) {
    return peers.send(other, new Message.Inspect(question));
  }
}
