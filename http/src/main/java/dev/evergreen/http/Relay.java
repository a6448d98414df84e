package dev.evergreen.http;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Signal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Passes HTTP/1.1 between a client's connection and one of its own to a server, byte for byte:
 * targets, fields with their order, case and blanks, chunks with their extensions; nothing is added
 * or left out. It follows what passes, so that an {@link Observer} sees messages, and refuses what
 * a server here refuses: a line that cannot be understood is not passed on, and both connections
 * are reset.
 *
 * <p>Each direction has a fiber, so that answers may come before requests are whole. What leaves
 * HTTP (101, or 2xx to CONNECT) passes as bytes.
 */
public final class Relay {

  /**
   * Sees what passes. Requests are told by one fiber, responses by another, each in its order; what
   * is given is valid during the call only.
   */
  public interface Observer {
    /** The head of a request has passed. */
    void request(RequestHead head);

    /** The head of a response, which may be informational, has passed. */
    void response(ResponseHead head);

    /** A part of a body has passed, or of what passes after HTTP. */
    void body(boolean ofRequest, ByteBuffer part);

    /** A message is whole. */
    void end(boolean ofRequest, Fields trailers);
  }

  private final Fibers fibers;
  private final HttpSettings settings;
  private final Observer observer;
  private final Connection client;
  private final Connection server;
  private final Signal decided;

  /** Guarded by this: requests whose responses are still to come. */
  private final ArrayDeque<RequestHead> open = new ArrayDeque<>();

  /** Guarded by this: whether the last request has left HTTP; null as long as that is not known. */
  private @Nullable Boolean left;

  private Relay(
      Fibers fibers,
      HttpSettings settings,
      Observer observer,
      Connection client,
      Connection server) {
    this.fibers = fibers;
    this.settings = settings;
    this.observer = observer;
    this.client = client;
    this.server = server;
    decided = new Signal(fibers);
  }

  /**
   * Passes on until both sides have ended; then both connections are closed. Blocks until then.
   *
   * @throws MalformedMessageException if a side sent what is no HTTP
   * @throws IncompleteMessageException if a side ended amid a message
   */
  public static void run(
      Fibers fibers, HttpSettings settings, Observer observer, Connection client, Connection server)
      throws IOException {
    new Relay(fibers, settings, observer, client, server).run();
  }

  private void run() throws IOException {
    client.writeTimeout(settings.write());
    server.writeTimeout(settings.write());
    var failures = new IOException[1];
    var back =
        fibers.spawn(
            () -> {
              try {
                passResponses();
              } catch (IOException e) {
                failures[0] = e;
                reset();
              }
            });
    IOException failure = null;
    try {
      passRequests();
    } catch (IOException e) {
      failure = e;
      reset();
    }
    try {
      back.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      reset();
    }
    client.close();
    server.close();
    // What failed first broke the other direction.
    var first = failures[0] instanceof MalformedMessageException ? failures[0] : failure;
    if (first != null) {
      throw first;
    }
    if (failures[0] != null) {
      throw failures[0];
    }
  }

  private void reset() {
    client.reset();
    server.reset();
    decided.raise();
  }

  private void passRequests() throws IOException {
    try (var in = new Input(client)) {
      in.copyTo(server);
      var head = RequestHead.empty();
      var reader = new Http1Reader(in, settings, false);
      while (awaitMessage(in)) {
        Http1Heads.request(in, head, settings, true);
        long framing = Framing.ofRequest(head);
        observer.request(head);
        boolean mayLeave = mayLeave(head);
        ask(head.copy(), mayLeave);
        pass(reader, framing, true);
        if (mayLeave && leaves()) {
          pass(reader, Framing.TO_END, true);
        }
      }
      server.shutdownOutput();
    }
  }

  /** Waits for a message's first byte; false if there will be none. */
  private static boolean awaitMessage(Input in) throws IOException {
    while (in.available() == 0 && !in.fill()) {
      if (in.ended()) {
        return false;
      }
      in.awaitMore();
    }
    return true;
  }

  private static boolean mayLeave(RequestHead head) {
    return head.is("CONNECT")
        || (head.fields().has("upgrade") && head.fields().hasMember("connection", "upgrade"));
  }

  private synchronized void ask(RequestHead head, boolean mayLeave) {
    if (mayLeave) {
      left = null;
    }
    open.add(head);
  }

  /** Waits until it is known whether the last request has left HTTP. */
  private boolean leaves() throws IOException {
    while (true) {
      synchronized (this) {
        if (left != null) {
          return left;
        }
      }
      server.flush();
      decided.await();
    }
  }

  private synchronized void decide(boolean leaves) {
    left = leaves;
    decided.raise();
  }

  private synchronized RequestHead nextAsked() {
    var head = open.poll();
    // An answer that nobody asked for is the last one, such as 408.
    return head != null ? head : RequestHead.of("GET", "/");
  }

  private void passResponses() throws IOException {
    try (var in = new Input(server)) {
      in.copyTo(client);
      var reader = new Http1Reader(in, settings, false);
      while (awaitMessage(in)) {
        var asked = nextAsked();
        ResponseHead head;
        do {
          head = ResponseHead.of(200);
          Http1Heads.response(in, head, settings);
          observer.response(head);
        } while (head.isInformational() && awaitMessage(in));
        boolean leaves = head.status() == 101 || (asked.is("CONNECT") && head.status() / 100 == 2);
        if (mayLeave(asked)) {
          decide(leaves);
        }
        long framing = leaves ? Framing.TO_END : Framing.ofResponse(head, asked.is("HEAD"));
        pass(reader, framing, false);
      }
      client.shutdownOutput();
      decide(false);
    }
  }

  private void pass(Http1Reader reader, long framing, boolean ofRequest) throws IOException {
    reader.begin(framing);
    while (!reader.ended()) {
      reader.await();
      try (var loan = Buffers.borrow()) {
        var buffer = loan.buffer();
        if (reader.tryRead(buffer) > 0) {
          observer.body(ofRequest, buffer.flip());
        }
      }
    }
    observer.end(ofRequest, reader.trailers());
  }
}
