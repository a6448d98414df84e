package dev.evergreen.telemetry;

import dev.evergreen.reports.NodeReport;
import io.micrometer.core.instrument.Tags;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * One number of a node's report as a metric.
 *
 * @param counts whether it only grows during a node's life
 */
record Metric(
    String name,
    boolean counts,
    String description,
    Tags tags,
    ToDoubleFunction<NodeReport> value) {

  /** All that have a fixed set of tags and are no durations. */
  static final List<Metric> ALL =
      List.of(
          gauge(
              "computations",
              "reactive computations that are open",
              r -> r.counts().computations()),
          gauge("summaries", "operations whose results are kept", r -> r.counts().summaries()),
          gauge(
              "caches", "copies of results that computations here read", r -> r.counts().caches()),
          gauge(
              "subscriptions",
              "caches that summaries here push to",
              r -> r.counts().subscriptions()),
          gauge(
              "calls.open",
              "calls from outside or other nodes not yet answered",
              r -> r.counts().calls()),
          gauge("queue", "what waits", r -> r.queues().calls()).tagged("of", "calls"),
          gauge("queue", "what waits", r -> r.queues().runs()).tagged("of", "runs"),
          counter("calls.troubles", "calls without success", r -> r.calls().failed())
              .tagged("kind", "failed"),
          counter("calls.troubles", "calls without success", r -> r.calls().timedOut())
              .tagged("kind", "timed-out"),
          counter("calls.troubles", "calls without success", r -> r.calls().refused())
              .tagged("kind", "refused"),
          counter("calls.retried", "attempts beyond a call's first", r -> r.calls().retried()),
          counter("calls.served", "calls of other nodes taken", r -> r.calls().served()),
          counter("grains.activated", "lives of grains begun", r -> r.life().activated()),
          counter("grains.failed", "lives of grains that could not begin", r -> r.life().failed()),
          counter("grains.deactivated", "lives of grains ended", r -> r.life().deactivated()),
          counter("runs", "runs of computations begun", r -> r.computing().runs()),
          counter(
              "runs.discarded", "runs that a write made worthless", r -> r.computing().discarded()),
          counter("cycles", "cycles found", r -> r.computing().cycles()),
          counter("reads", "reads of computations", r -> r.computing().hits())
              .tagged("cache", "hit"),
          counter("reads", "reads of computations", r -> r.computing().misses())
              .tagged("cache", "miss"),
          counter("pushes", "results pushed to caches", r -> r.pushes().here())
              .tagged("to", "here"),
          counter("pushes", "results pushed to caches", r -> r.pushes().sent())
              .tagged("to", "nodes"),
          counter("pushes.batches", "messages with results sent", r -> r.pushes().batches()),
          counter(
              "pushes.acknowledged",
              "results acknowledged by nodes",
              r -> r.pushes().acknowledged()),
          counter("pushes.resent", "results not acknowledged in time", r -> r.pushes().resent()),
          counter("pushes.received", "results received from nodes", r -> r.pushes().received()),
          counter("subscriptions.begun", "caches made", r -> r.subscribing().begun()),
          counter("subscriptions.renewed", "renewals sent", r -> r.subscribing().renewed()),
          counter(
              "subscriptions.repeated",
              "subscriptions tried again",
              r -> r.subscribing().askedAgain()),
          counter("links.messages", "messages between nodes", r -> r.links().messagesIn())
              .tagged("direction", "in"),
          counter("links.messages", "messages between nodes", r -> r.links().messagesOut())
              .tagged("direction", "out"),
          counter("links.bytes", "bytes of frames between nodes", r -> r.links().bytesIn())
              .tagged("direction", "in"),
          counter("links.bytes", "bytes of frames between nodes", r -> r.links().bytesOut())
              .tagged("direction", "out"),
          counter(
              "links.writes",
              "writes to connections, each of many frames",
              r -> r.links().writes()),
          counter(
                  "links.troubles",
                  "messages and connections that came to nothing",
                  r -> r.links().malformed())
              .tagged("kind", "malformed"),
          counter(
                  "links.troubles",
                  "messages and connections that came to nothing",
                  r -> r.links().unknown())
              .tagged("kind", "unknown"),
          counter(
                  "links.troubles",
                  "messages and connections that came to nothing",
                  r -> r.links().refused())
              .tagged("kind", "refused"),
          counter(
                  "links.troubles",
                  "messages and connections that came to nothing",
                  r -> r.links().dropped())
              .tagged("kind", "dropped"),
          counter("links.reconnections", "connections made anew", r -> r.links().reconnections()),
          gauge("links.connected", "nodes with a connection", r -> r.links().connected()),
          gauge("links.queued", "bytes that wait to be written", r -> r.links().queuedBytes()),
          counter("storage.loads", "states loaded", r -> r.saving().loads()),
          counter("storage.saves", "states saved", r -> r.saving().saves()),
          counter(
              "storage.conflicts",
              "saves refused since another had saved",
              r -> r.saving().conflicts()),
          counter("storage.failures", "loads and saves that failed", r -> r.saving().failures()));

  private static Metric gauge(String name, String description, ToDoubleFunction<NodeReport> value) {
    return new Metric("evergreen." + name, false, description, Tags.empty(), value);
  }

  private static Metric counter(
      String name, String description, ToDoubleFunction<NodeReport> value) {
    return new Metric("evergreen." + name, true, description, Tags.empty(), value);
  }

  private Metric tagged(String tag, String tagValue) {
    return new Metric(name, counts, description, tags.and(tag, tagValue), value);
  }
}
