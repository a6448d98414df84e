package dev.evergreen.bench.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** The whole generator, in processes of its own, against Debian's memcached. */
class MemcachedLoadTest {

  private static final int KEYS = 2000;

  private static ServerProcess start() throws Exception {
    Assumptions.assumeTrue(
        DebianMemcached.present(), "memcached is not there (Debian: apt-get install memcached)");
    return ServerProcess.memcached(DebianMemcached.command(64, 200), 0);
  }

  private static LoadPlan plan(ServerProcess server) {
    return LoadPlan.of(server.address())
        .withKeys(KEYS, Pool.ETC)
        .withTimes(Duration.ofMillis(50), Duration.ofMillis(300));
  }

  @Test
  void everyReplyOfTheClosedLoopIsTheValueThatWasSet() throws Exception {
    try (var server = start();
        var generators = Generators.start(2, 1)) {
      var plan = plan(server).withConnections(50).withDepth(4).withUpdates(0.1);
      generators.fill(plan);
      var outcome = generators.run(plan, server.process());
      // On a busy machine a run may be over before much was answered.
      while (outcome.load().hits() == 0 || outcome.load().updates() == 0) {
        outcome = generators.run(plan, server.process());
      }
      var load = outcome.load();
      assertEquals(List.of(0L, 0L), List.of(load.misses(), load.errors()));
      assertTrue(Double.isFinite(outcome.serverMicros()) && outcome.generatorShare() >= 0);
    }
  }

  @Test
  void theOpenLoopCountsEveryRequestThatWasDue() throws Exception {
    try (var server = start();
        var generators = Generators.start(1, 1)) {
      var plan = plan(server).withConnections(100).withRate(1000);
      generators.fill(plan);
      var load = generators.run(plan, server.process()).load();
      long due = load.latencies().getTotalCount();
      assertTrue(due > 150 && due < 600, () -> due + " should be about 300");
      assertEquals(0, load.misses() + load.errors());
    }
  }

  @Test
  void keysThatWereNotSetAreMisses() throws Exception {
    try (var server = start();
        var generators = Generators.start(1, 1)) {
      var load = generators.run(plan(server), server.process()).load();
      assertEquals(load.answered(), load.misses());
    }
  }

  @Test
  void generatorsAndServersEndWhenTheyAreClosed() throws Exception {
    ProcessHandle memcached;
    try (var server = start()) {
      memcached = server.process();
      assertTrue(memcached.isAlive());
    }
    assertFalse(memcached.isAlive());
  }
}
