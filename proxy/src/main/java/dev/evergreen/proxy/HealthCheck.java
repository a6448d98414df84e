package dev.evergreen.proxy;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.UpstreamBusyException;
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
        CancelScope.within(LIMIT).run(() -> check(upstreams, member, path));
        proxy.fibers().sleep(setup.settings().checkEvery);
      }
    } catch (InterruptedException e) {
      // The proxy is being closed.
      Thread.currentThread().interrupt();
    }
  }

  /** Asks once. */
  static void check(Upstreams upstreams, Origins.Member member, String path) {
    try {
      member.checked(answers(upstreams, member, path));
    } catch (UpstreamBusyException | BuffersExhaustedException e) {
      // That is our limit: nothing is known of the origin.
    } catch (DeadlineException e) {
      // Where buffers are short it may have waited for one all the time.
      if (!Buffers.areShort()) {
        member.checked(false);
      }
    } catch (IOException e) {
      member.checked(false);
    }
  }

  /** Whether it answers with a status below 400. */
  private static boolean answers(Upstreams upstreams, Origins.Member member, String path)
      throws IOException {
    try (var exchange = upstreams.open(member.origin)) {
      exchange.send(RequestHead.of("GET", path, Fields.of("Host", member.origin.authority())));
      var head = exchange.receive();
      while (head.isInformational()) {
        head = exchange.receive();
      }
      return head.status() < 400;
    }
  }
}
