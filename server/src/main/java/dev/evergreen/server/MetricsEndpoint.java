package dev.evergreen.server;

import com.sun.net.httpserver.HttpServer;
import dev.evergreen.telemetry.Prometheus;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Serves the metrics of a server as the text that Prometheus reads, on the loopback interface. It
 * has a thread of its own, none of the server's processors.
 */
final class MetricsEndpoint implements AutoCloseable {

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final HttpServer http;

  private MetricsEndpoint(int port) throws IOException {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    try {
      http = HttpServer.create(address, 0);
    } catch (BindException e) {
      throw new IOException("cannot serve metrics at " + address + ": " + e.getMessage(), e);
    }
  }

  /**
   * Starts one.
   *
   * @param port 0 for any that is free
   * @throws IOException if the port cannot be had
   */
  static MetricsEndpoint start(int port, List<MeterBinder> meters) throws IOException {
    var endpoint = new MetricsEndpoint(port);
    meters.forEach(some -> some.bindTo(endpoint.registry));
    endpoint.serve();
    return endpoint;
  }

  private void serve() {
    http.createContext(
        "/metrics",
        exchange -> {
          try (exchange) {
            var text = registry.scrape("text/plain").getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Content-Type", Prometheus.CONTENT_TYPE);
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
          }
        });
    http.start();
  }

  /** Where it is found. */
  String url() {
    return "http://127.0.0.1:" + http.getAddress().getPort() + "/metrics";
  }

  @Override
  public void close() {
    http.stop(0);
    registry.close();
  }
}
