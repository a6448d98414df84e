package dev.evergreen.web;

import java.time.Duration;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Looks at every connection several times in each time limit: writes heartbeats, ends those whose
 * caller's session is over, cuts who has gone silent, takes nothing, or is slow to send a request,
 * and closes views that nobody needs.
 */
final class Watchdog {

  private static final long FAREWELL_NANOS = Duration.ofSeconds(2).toNanos();
  private static final Duration MOST = Duration.ofSeconds(1);
  private static final Duration LEAST = Duration.ofMillis(10);

  private final WebSettings settings;
  private final Set<LiveConnection> live;
  private final Peers peers;
  private final Hub hub;
  private final Counters counters;
  private final Failures failures;
  private final Thread thread;

  Watchdog(
      WebSettings settings,
      Set<LiveConnection> live,
      Peers peers,
      Hub hub,
      Counters counters,
      Failures failures) {
    this.settings = settings;
    this.live = live;
    this.peers = peers;
    this.hub = hub;
    this.counters = counters;
    this.failures = failures;
    this.thread = Thread.ofVirtual().name("evergreen web watchdog").unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  void stop() {
    thread.interrupt();
  }

  private void run() {
    var pause = pause();
    while (true) {
      try {
        Thread.sleep(pause);
        look();
      } catch (InterruptedException e) {
        return;
      } catch (Throwable e) {
        log(e);
      }
    }
  }

  private Duration pause() {
    var shortest =
        Stream.of(
                settings.heartbeatEvery(),
                settings.silenceAfter(),
                settings.stallAfter(),
                settings.requestWithin(),
                settings.keepViewFor())
            .min(Duration::compareTo)
            .orElse(MOST)
            .dividedBy(4);
    return shortest.compareTo(MOST) > 0 ? MOST : shortest.compareTo(LEAST) < 0 ? LEAST : shortest;
  }

  private void look() {
    long now = System.nanoTime();
    goOn(() -> live.forEach(connection -> goOn(() -> look(connection, now))));
    goOn(peers::cutStalled);
    goOn(() -> peers.cutIdle(now));
    goOn(hub::sweep);
  }

  /** Whatever it stumbles over, all else is looked at. */
  private void goOn(Runnable look) {
    try {
      look.run();
    } catch (Throwable e) {
      log(e);
    }
  }

  /** Never throws: without a watchdog nobody would be cut any more, also where there is no log. */
  private void log(Throwable stumbled) {
    try {
      failures.log("The watchdog stumbled; it goes on.", stumbled);
    } catch (Throwable e) {
      // Such as when there is no memory for the words either. There is nobody else to tell.
    }
  }

  private void look(LiveConnection connection, long now) {
    if (connection.overForNanos(now) > FAREWELL_NANOS) {
      connection.abort();
    } else if (connection.isOver() || connection.callerIsOver()) {
      return;
    } else if (connection instanceof LiveSocket socket
        && now - socket.lastHeardNanos() > settings.silenceAfter().toNanos()) {
      counters.cut("silent");
      connection.close();
      connection.abort();
    } else if (connection.isSuspect()
        || now - connection.lastWriteNanos() > settings.heartbeatEvery().toNanos()) {
      connection.heartbeat();
    }
  }
}
