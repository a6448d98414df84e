package dev.evergreen.web;

import dev.evergreen.live.Present;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/** A connection whose peer takes everything at once, and keeps it. */
final class RecordedConnection extends LiveConnection {

  final BlockingQueue<String> results = new LinkedBlockingQueue<>();
  final BlockingQueue<String> control = new LinkedBlockingQueue<>();

  /** A permit for each time that it is to read on. */
  final Semaphore readsOn = new Semaphore(0);

  private final List<Subscription> subscriptions = new ArrayList<>();
  private final Runnable afterWrite;
  private Runnable whenAsked = () -> {};

  /**
   * @param afterWrite run by the writer when a message has been taken
   */
  RecordedConnection(
      Caller caller, Counters counters, Hub hub, Standings standings, Runnable afterWrite) {
    this(caller, WebSettings.DEFAULT, counters, hub, standings, afterWrite);
  }

  RecordedConnection(
      Caller caller,
      WebSettings settings,
      Counters counters,
      Hub hub,
      Standings standings,
      Runnable afterWrite) {
    super(caller, "an address", settings, counters, hub, standings);
    this.afterWrite = afterWrite;
  }

  /** Run in the middle of {@link #close}. */
  void whenAskedForSubscriptions(Runnable action) {
    whenAsked = action;
  }

  /** Watches a view whose use it takes over. */
  Subscription watch(WatchedView<?> live) {
    var made = prepare(live);
    follow(made);
    return made;
  }

  /** What {@link #watch} does, up to the moment when it is told of results. */
  Subscription prepare(WatchedView<?> live) {
    var made = new Subscription(1L, live, null);
    subscriptions.add(made);
    return made;
  }

  private static String text(ByteBuffer buffer) {
    return StandardCharsets.UTF_8.decode(buffer).toString();
  }

  @Override
  void write(String message) {
    control.add(message);
    afterWrite.run();
  }

  @Override
  void write(String head, Present result) {
    results.add(text(Messages.messageTail(result)));
    afterWrite.run();
  }

  @Override
  void writePong(ByteBuffer payload) {
    control.add(text(payload));
  }

  @Override
  void finish(int code, String reason) {}

  @Override
  void abort() {}

  @Override
  void readMore() {
    readsOn.release();
  }

  @Override
  void forget(Subscription subscription) {}

  @Override
  List<Subscription> subscriptions() {
    whenAsked.run();
    return List.copyOf(subscriptions);
  }
}
