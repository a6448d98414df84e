package dev.evergreen.bench.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class GeneratorTest {

  private static final Duration TIME = Duration.ofMillis(300);

  private static LoadPlan plan(TestServer server) {
    return LoadPlan.of(server.address()).withKeys(100, Pool.PLAIN).withTimes(Duration.ZERO, TIME);
  }

  private static LoadPlan endless(LoadPlan plan) {
    return plan.withTimes(Duration.ZERO, Duration.ofHours(1));
  }

  private static LoadResult run(LoadPlan plan) throws IOException {
    try (var keys = new Keyspace(plan.keys(), plan.pool());
        var generator = new Generator(plan, keys)) {
      return generator.run(System.nanoTime());
    }
  }

  @Test
  void aServerThatStallsIsChargedForEveryRequestThatWasDue() throws Exception {
    var stalled = new CountDownLatch(1);
    try (var server =
        new TestServer(
            line -> {
              stalled.await();
              return "END\r\n";
            })) {
      var result = run(plan(server).withConnections(4).withRate(1000));
      stalled.countDown();
      assertEquals(0, result.answered());
      assertTrue(result.unanswered() <= 4, "at most one on each connection");
      long due = result.unanswered() + result.unsent();
      assertTrue(due > 150 && due < 600, () -> due + " should be about 300");
      assertEquals(due, result.latencies().getTotalCount());
      // Those that were due one by one in 300 ms had waited from 0 to 300 ms at the end.
      assertEquals(150e3, result.latency(50), 60e3);
      // The generator was in time: only the server was late.
      assertTrue(result.lags().getTotalCount() <= 4, "lags count while a connection is free");
      assertEquals(due, result.served().getTotalCount());
      assertEquals(150e3, result.served().getValueAtPercentile(50) / 1e3, 60e3);
    }
  }

  @Test
  void theOpenLoopKeepsItsRateWhateverTheNumberOfConnections() throws Exception {
    try (var server = new TestServer(line -> "END\r\n")) {
      var result = run(plan(server).withConnections(64).withRate(2000));
      long due = result.latencies().getTotalCount();
      assertTrue(due > 400 && due < 800, () -> due + " should be about 600");
    }
  }

  @Test
  void theClosedLoopHasAsManyRequestsOutAsItsDepthAllows() throws Exception {
    var asked = new AtomicInteger();
    var stalled = new CountDownLatch(1);
    try (var server =
        new TestServer(
            line -> {
              if (asked.incrementAndGet() == 1) {
                stalled.await();
              }
              return "END\r\n";
            })) {
      var result = run(plan(server).withDepth(7));
      stalled.countDown();
      assertEquals(7, result.unanswered());
    }
  }

  @Test
  void hitsMissesUpdatesAndErrorsAreCounted() throws Exception {
    var value = new StringBuilder();
    try (var server =
        new TestServer(
            line -> {
              if (line.startsWith("set ")) {
                return ""; // the value's line follows
              }
              if (line.startsWith("get ")) {
                return line.endsWith("1") ? "SERVER_ERROR out of memory\r\n" : "END\r\n";
              }
              value.append(line, 0, 1);
              return "STORED\r\n";
            })) {
      var plan = plan(server).withUpdates(0.5).withDepth(3);
      var result = run(plan);
      // On a busy machine a run may be over before much was answered.
      while (result.answered() < 200) {
        result = result.plus(run(plan));
      }
      assertTrue(result.updates() > 0 && result.misses() > 0 && result.errors() > 0);
      assertEquals(0, result.hits());
      assertEquals(0.5, (double) result.updates() / result.answered(), 0.25);
      assertFalse(value.isEmpty());
    }
  }

  @Test
  void requestsThatAServerIsSlowToReadArriveWhole() throws Exception {
    var reads = new CountDownLatch(1);
    Thread.startVirtualThread(
        () -> {
          LockSupport.parkNanos(TIME.toNanos() / 3);
          reads.countDown();
        });
    try (var server =
        new TestServer(
            line -> {
              reads.await();
              return line.startsWith("set ") ? "" : "STORED\r\n";
            })) {
      var plan = plan(server).withKeys(1000, Pool.ETC).withUpdates(1).withDepth(1024);
      var result = run(plan);
      // On a busy machine a run may be over before much was answered.
      while (result.updates() < 2048) {
        result = result.plus(run(plan));
      }
      assertEquals(0, result.errors());
    }
  }

  @Test
  void aWrongReplyEndsTheRun() throws Exception {
    for (var reply :
        new String[] {
          "VALUE other 0 200\r\n",
          "VALUE 000000000000000000000000000000 0 200\r\nzz",
          "STORED\r\n",
          "END\r\nEND\r\n",
          "\r\n"
        }) {
      try (var server = new TestServer(line -> reply)) {
        assertThrows(WrongReplyException.class, () -> run(endless(plan(server))), reply);
      }
    }
  }

  @Test
  void aConnectionThatTheServerClosesEndsTheRun() throws Exception {
    try (var server =
        new TestServer(
            line -> {
              throw new InterruptedException();
            })) {
      assertThrows(IOException.class, () -> run(endless(plan(server))));
    }
  }

  @Test
  void resultsOfSeveralProcessesAreOne() throws Exception {
    var few = result(3, 1_000);
    var many = result(9, 50_000);
    var both = few.plus(many);
    assertEquals(12, both.hits());
    assertEquals(12, both.latencies().getTotalCount());
    assertEquals(1, both.latency(25), 0.01);
    assertEquals(50, both.latency(99), 0.1);
    assertEquals(12, both.lags().getTotalCount());
    assertEquals(12, both.served().getTotalCount());
    assertEquals(few.rate() + many.rate(), both.rate());
    assertEquals(3, few.latencies().getTotalCount(), "the parts stay");
  }

  private static LoadResult result(int count, long nanos) {
    var latencies = LoadResult.histogram();
    latencies.recordValueWithCount(nanos, count);
    return new LoadResult(TIME, count, 0, 0, 0, 0, 0, latencies, latencies, latencies);
  }

  @Test
  void thePartsOfALoadAreTheWhole() throws Exception {
    try (var server = new TestServer(line -> "END\r\n")) {
      var whole = plan(server).withConnections(10).withRate(900);
      int connections = 0;
      double rate = 0;
      for (int i = 0; i < 3; i++) {
        connections += whole.part(i, 3).connections();
        rate += whole.part(i, 3).rate();
      }
      assertEquals(10, connections);
      assertEquals(900, rate, 1e-9);
    }
  }
}
