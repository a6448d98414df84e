package dev.evergreen.chirper;

import dev.evergreen.cluster.ClusterNode;
import dev.evergreen.core.Node;
import dev.evergreen.dashboard.Dashboard;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.telemetry.Health;
import dev.evergreen.telemetry.Prometheus;
import dev.evergreen.telemetry.WebMetrics;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.WebServer;
import java.util.List;
import java.util.Optional;

/**
 * How Chirper shows what it does. Whether it is well anybody may ask; the rest tells of people, and
 * is served at a port of its own, for those who reach that.
 */
final class Watching implements AutoCloseable {

  private final Node node;
  private final Prometheus prometheus;

  Watching(Node node) {
    this.node = node;
    prometheus = Prometheus.of(node);
  }

  /** What the operator's own port serves. */
  void addAllTo(WebServer.Builder server) {
    server
        .add(Dashboard.at("/dashboard", Authorisation.everyone(), this::reports))
        .metrics("/metrics", Authorisation.everyone(), prometheus::scrape);
    addHealthTo(server);
  }

  /** Counts what this server does among the metrics. */
  void watch(WebServer server) {
    prometheus.add(WebMetrics.of(server::counts));
  }

  void addHealthTo(WebServer.Builder server) {
    server.health("/health/live", Optional::empty).health("/health/ready", health()::trouble);
  }

  private Health health() {
    var health = Health.of(node);
    return node instanceof ClusterNode cluster ? health.and("cluster", cluster::ready) : health;
  }

  /** Of all nodes of a cluster, whichever serves the page. */
  private List<NodeReport> reports() {
    return node instanceof ClusterNode cluster ? cluster.reports() : List.of(NodeReport.of(node));
  }

  @Override
  public void close() {
    prometheus.close();
  }
}
