package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.live.HandNode;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class FailuresTest {

  private static final String HIDDEN = " failed; browsers are told nothing of the inside.";

  /** Keeps the messages. */
  private final class Log extends Handler {
    @Override
    public void publish(LogRecord entry) {
      logged.add(entry.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  // Kept, as the JDK forgets loggers that nobody holds.
  private final Logger logger = Logger.getLogger(Failures.class.getName());
  private final List<String> logged = new CopyOnWriteArrayList<>();
  private final Log log = new Log();
  private final AtomicLong nanos = new AtomicLong();
  private final Failures failures = new Failures(failure -> Optional.empty(), nanos::get);

  record None() {}

  @BeforeEach
  void listen() {
    logger.addHandler(log);
    logger.setUseParentHandlers(false);
  }

  @AfterEach
  void listenNoMore() {
    logger.removeHandler(log);
    logger.setUseParentHandlers(true);
  }

  /** Seen: what was told by it was never told, and the view was silent. */
  @Test
  void aMappingThatFailsHidesNoFailure() {
    for (var broken : List.of(new IllegalStateException("no"), new StackOverflowError())) {
      var mapping =
          new Failures(
              failure -> {
                throw FailuresTest.<RuntimeException>thrown(broken);
              });
      assertEquals("failed", mapping.tell("View a", new IllegalArgumentException("1")).type());
    }
    assertEquals(
        List.of("The mapping of failures failed.", "View a" + HIDDEN), logged.subList(0, 2));
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> T thrown(Throwable any) throws T {
    throw (T) any;
  }

  @Test
  void logsEachViewAndEachClassOfFailureAtOnce() {
    failures.tell("View a", new IllegalStateException("1"));
    failures.tell("View a", new IllegalArgumentException("2"));
    failures.tell("Command b", new IllegalStateException("3"));
    assertEquals(List.of("View a" + HIDDEN, "View a" + HIDDEN, "Command b" + HIDDEN), logged);
  }

  @Test
  void logsOneKindAtALimitedRateAndCountsWhatItLeavesOut() {
    for (int i = 0; i < 4; i++) {
      failures.tell("View a", new IllegalStateException("" + i));
    }
    assertEquals(List.of("View a" + HIDDEN), logged);
    nanos.addAndGet(Failures.LOG_EVERY_NANOS);
    failures.tell("View a", new IllegalStateException("5"));
    nanos.addAndGet(Failures.LOG_EVERY_NANOS);
    failures.tell("View a", new IllegalStateException("6"));
    assertEquals(
        List.of(
            "View a" + HIDDEN,
            "View a" + HIDDEN + " 3 more like it were not logged.",
            "View a" + HIDDEN),
        logged);
  }

  @Test
  void logsBoundedlyManyKinds() {
    for (int i = 0; i < Failures.MOST_KINDS + 50; i++) {
      failures.tell("View " + i, new IllegalStateException());
    }
    assertEquals(Failures.MOST_KINDS + 1, logged.size());
  }

  @Test
  void namesTheViewCommandOrRouteThatFailed() {
    try (var server =
        WebServer.builder(new HandNode())
            .port(0)
            .view(
                LiveView.of(
                    "broken",
                    None.class,
                    Authorisation.everyone(),
                    none -> {
                      throw new IllegalStateException("secret");
                    }))
            .command(
                "break",
                None.class,
                Authorisation.everyone(),
                (caller, none) -> {
                  throw new IllegalStateException("secret");
                })
            .route(
                "GET",
                "/broken/*",
                request -> {
                  throw new IllegalStateException("secret");
                })
            .start()) {
      assertEquals(500, Http.get(server, "/live/broken").statusCode());
      assertEquals(500, Http.post(server, "/commands/break", "{}").statusCode());
      assertEquals(500, Http.get(server, "/broken/by-a-stranger").statusCode());
    }
    assertEquals(
        List.of("View broken" + HIDDEN, "Command break" + HIDDEN, "Route GET /broken/*" + HIDDEN),
        logged);
  }
}
