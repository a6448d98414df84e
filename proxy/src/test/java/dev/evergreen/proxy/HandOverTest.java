package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A new process takes the port over from an old one, under load, and no client notices. */
@Timeout(120)
class HandOverTest {
  private static final int CLIENTS = 4;
  private static final int AMONG = 200;

  private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
  private final Semaphore answered = new Semaphore(0);
  private volatile boolean ending;

  @Test
  void noRequestFailsWhileAPortIsTakenOver() throws Exception {
    try (var origin = new ScriptedOrigin().then(200, "body", "Cache-Control: max-age=60");
        var old = ProxyProcess.sharing(origin.origin(), 0)) {
      var clients = new ArrayList<Thread>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(Thread.ofVirtual().start(() -> ask(old)));
      }
      answered.acquire(AMONG);
      try (var young = ProxyProcess.sharing(origin.origin(), old.address().getPort())) {
        answered.acquire(AMONG);
        assertTrue(old.end(), "all that had begun was answered");
        assertTrue(young.process().isAlive());
        answered.drainPermits();
        answered.acquire(AMONG);
        ending = true;
        for (var client : clients) {
          client.join();
        }
      }
    }
    assertEquals(List.of(), new ArrayList<>(failures));
  }

  private void ask(ProxyProcess proxy) {
    while (!ending) {
      try (var browser = new Browser(proxy.address())) {
        var answer = browser.get("/a", "Connection: close");
        if (!answer.body().equals("body")) {
          failures.add("answered " + answer.status());
        }
      } catch (IOException e) {
        failures.add(e.toString());
      }
      answered.release();
    }
  }
}
