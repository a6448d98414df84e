package dev.evergreen.web;

import dev.evergreen.live.Present;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/** Views watched as server-sent events: a response without end. */
final class EventStream extends LiveConnection {

  private final Request request;
  private final Response response;
  private final Callback callback;
  private final Set<LiveConnection> registry;
  private final AtomicBoolean done = new AtomicBoolean();
  private final List<Subscription> subscriptions = new CopyOnWriteArrayList<>();

  EventStream(
      Request request,
      Response response,
      Callback callback,
      Caller caller,
      Object address,
      WebSettings settings,
      Counters counters,
      Hub hub,
      Standings standings,
      Set<LiveConnection> registry) {
    super(caller, address, settings, counters, hub, standings);
    this.request = request;
    this.response = response;
    this.callback = callback;
    this.registry = registry;
  }

  /**
   * Starts the response; then {@link #watch} what is to be delivered. If this throws, nothing is
   * left of it.
   */
  void start() {
    registry.add(this);
    try {
      request.addFailureListener(this::fail);
      say(Messages.hello(settings));
      begin();
      awaitEnd();
    } catch (RuntimeException | Error e) {
      // It may have said something already: it cannot be answered in any other way.
      abort();
      throw e;
    }
  }

  /**
   * Delivers what comes. Takes over the use of {@code live}.
   *
   * @param id for the messages; null if it is the stream's only view
   * @param have the tag of what the client has
   */
  void watch(@Nullable Long id, WatchedView<?> live, @Nullable String have) {
    var subscription = new Subscription(id, live, have);
    subscriptions.add(subscription);
    follow(subscription);
  }

  /** Tells that a view was refused. */
  void refuse(long id, WebException why) {
    counters.refused(why.type());
    say(Messages.end(id, why));
  }

  /**
   * Has the end of what the peer sends noticed, which writing alone shows only two heartbeats
   * later: while a request is being answered, nobody reads.
   */
  private void awaitEnd() {
    endPoint().tryFillInterested(Callback.from(this::readable, this::fail));
  }

  private void readable() {
    try {
      int count = endPoint().fill(BufferUtil.allocate(64));
      if (count == 0) {
        awaitEnd();
      } else if (count < 0) {
        suspect();
      } else {
        // Another request would wait for ever.
        counters.malformed.increment();
        counters.cut("malformed");
        abort();
      }
    } catch (IOException e) {
      abort();
    }
  }

  private EndPoint endPoint() {
    return request.getConnectionMetaData().getConnection().getEndPoint();
  }

  @Override
  void write(String message) throws IOException {
    write(StandardCharsets.UTF_8.encode("data: " + message + "\n\n"));
  }

  @Override
  void write(String head, Present result) throws IOException {
    write(StandardCharsets.UTF_8.encode("id: " + result.tag() + "\ndata: " + head));
    write(Messages.eventTail(result));
  }

  private void write(ByteBuffer bytes) throws IOException {
    try (var written = Blocker.callback()) {
      response.write(false, bytes, written);
      written.block();
    }
  }

  @Override
  void writePong(ByteBuffer payload) {
    throw new IllegalStateException("Event streams have no pings");
  }

  @Override
  void finish(int code, String reason) {
    close();
    if (done.compareAndSet(false, true)) {
      registry.remove(this);
      response.write(true, null, callback);
    }
  }

  @Override
  void abort() {
    endPoint().close();
    fail(new IOException("The event stream was cut."));
  }

  private void fail(Throwable failure) {
    close();
    if (done.compareAndSet(false, true)) {
      registry.remove(this);
      // Nobody is there to read of an error, and it is none.
      callback.failed(new Request.Handler.AbortException(failure));
    }
  }

  @Override
  void readMore() {
    // Nothing is read from the client of an event stream.
  }

  @Override
  void forget(Subscription ended) {
    subscriptions.remove(ended);
    if (ended.id == null) {
      // It was the stream's only view.
      bye(Messages.bye("ended", WebServer.RETRY_AFTER), 0, "ended");
    }
  }

  @Override
  List<Subscription> subscriptions() {
    return List.copyOf(subscriptions);
  }
}
