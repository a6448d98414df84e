package dev.evergreen.proxy;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** What the proxy has done and holds, as JSON and as metrics for Prometheus. */
final class Report {

  /** What metrics are, for HTTP. */
  static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final Proxy proxy;

  Report(Proxy proxy) {
    this.proxy = proxy;
  }

  String json() {
    var all = new LinkedHashMap<String, Object>();
    all.put("counts", proxy.statistics().all());
    all.put("fetches", proxy.fetches().underWay());
    all.put("log_dropped", proxy.accessLogDropped());
    all.put("storage", storage());
    var origins = new LinkedHashMap<String, Object>();
    for (var member : proxy.setup().origins().members()) {
      origins.put(member.origin.toString(), origin(member));
    }
    all.put("origins", origins);
    return Json.of(all);
  }

  private Map<String, Object> origin(Origins.Member member) {
    var one = new LinkedHashMap<String, Object>();
    one.put("well", member.well(proxy.now()));
    one.put("under_way", member.underWay.get());
    one.put("requests", member.requests.sum());
    one.put("failures", member.failures.sum());
    return one;
  }

  private Map<String, Long> storage() {
    var stats = proxy.storage().stats();
    var all = new LinkedHashMap<String, Long>();
    all.put("memory_objects", stats.memoryObjects());
    all.put("memory_bytes", stats.memoryBytes());
    all.put("memory_limit", stats.memoryLimit());
    all.put("memory_index_bytes", stats.memoryIndexBytes());
    all.put("memory_hits", stats.memoryHits());
    all.put("disk_objects", stats.diskObjects());
    all.put("disk_bytes", stats.diskBytes());
    all.put("disk_limit", stats.diskLimit());
    all.put("directory_bytes", stats.directoryBytes());
    all.put("disk_hits", stats.diskHits());
    all.put("misses", stats.misses());
    all.put("stored", stats.stored());
    all.put("unstored", stats.unstored());
    all.put("abandoned", stats.abandoned());
    all.put("evicted_memory", stats.evictedMemory());
    all.put("evicted_disk", stats.evictedDisk());
    all.put("disk_writes", stats.diskWrites());
    all.put("disk_errors", stats.diskErrors());
    all.put("corrupt", stats.corrupt());
    all.put("purges", stats.purges());
    return all;
  }

  /** All numbers in the text that Prometheus reads. */
  String metrics() {
    var text = new StringBuilder();
    proxy
        .statistics()
        .all()
        .forEach((name, value) -> metric(text, name + "_total", "counter", "", value));
    metric(text, "fetches", "gauge", "", proxy.fetches().underWay());
    metric(text, "log_dropped_total", "counter", "", proxy.accessLogDropped());
    // Whether a number grows only is not told: Prometheus takes gauges as they are.
    storage().forEach((name, value) -> metric(text, "storage_" + name, "gauge", "", value));
    metricsOfOrigins(text);
    return text.toString();
  }

  private void metricsOfOrigins(StringBuilder text) {
    var members = proxy.setup().origins().members();
    for (var name : new String[] {"up", "under_way", "requests_total", "failures_total"}) {
      type(text, "origin_" + name, name.endsWith("_total") ? "counter" : "gauge");
      for (var member : members) {
        long value =
            switch (name) {
              case "up" -> member.well(proxy.now()) ? 1 : 0;
              case "under_way" -> member.underWay.get();
              case "requests_total" -> member.requests.sum();
              default -> member.failures.sum();
            };
        value(text, "origin_" + name, "{origin=\"" + member.origin + "\"}", value);
      }
    }
  }

  private static void metric(
      StringBuilder text, String name, String type, String labels, long value) {
    type(text, name, type);
    value(text, name, labels, value);
  }

  private static void type(StringBuilder text, String name, String type) {
    text.append("# TYPE evergreen_proxy_").append(name).append(' ').append(type).append('\n');
  }

  private static void value(StringBuilder text, String name, String labels, long value) {
    text.append("evergreen_proxy_").append(name).append(labels);
    text.append(' ').append(String.format(Locale.ROOT, "%d", value)).append('\n');
  }
}
