package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.Upstreams;
import java.io.IOException;
import java.time.Duration;

/** Asks one origin from time to time for a path, to know whether it is well. */
record HealthCheck(Proxy proxy, Upstreams upstreams, Origins.Member member, String path) {

  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** Runs as long as these settings hold. */
  void run(Proxy.Setup setup) {
    try {
      while (proxy.setup().equals(setup)) {
        member.checked(CancelScope.within(LIMIT).call(this::answers));
        proxy.fibers().sleep(setup.settings().checkEvery);
      }
    } catch (InterruptedException e) {
      // The proxy is being closed.
      Thread.currentThread().interrupt();
    }
  }

  /** Whether it answers with a status below 400. */
  private boolean answers() {
    try (var exchange = upstreams.open(member.origin)) {
      exchange.send(RequestHead.of("GET", path, Fields.of("Host", member.origin.authority())));
      var head = exchange.receive();
      while (head.isInformational()) {
        head = exchange.receive();
      }
      return head.status() < 400;
    } catch (IOException e) {
      return false;
    }
  }
}
