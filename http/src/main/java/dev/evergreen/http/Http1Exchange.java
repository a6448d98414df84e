package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.http.Http1Output.Persistence;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a connection of HTTP/1.1, and their responses: one exchange after the other, by
 * the same object.
 */
final class Http1Exchange implements Exchange {
  private final Connection connection;
  private final Input in;
  private final HttpSettings settings;
  private final CancelScope draining;
  private final boolean secure;
  private final RequestHead head = RequestHead.empty();
  private final Reader reader;
  private final Http1Writer writer;

  private boolean persistent;
  private boolean responded;
  private boolean left;

  /** Guarded by this, as is the order of heads: the body's reader may write 100 (Continue). */
  private boolean awaitsContinue;

  Http1Exchange(
      Connection connection,
      Input in,
      HttpSettings settings,
      CancelScope draining,
      boolean secure) {
    this.connection = connection;
    this.in = in;
    this.settings = settings;
    this.draining = draining;
    this.secure = secure;
    reader = new Reader();
    writer = new Http1Writer(connection);
  }

  private final class Reader extends Http1Reader {
    Reader() {
      super(in, settings, false);
    }

    @Override
    void beforeWaiting() throws IOException {
      if (awaitsContinue) {
        informOfContinue();
      }
    }
  }

  /** Receives the next request, of which something is there. */
  void receive() throws IOException {
    responded = false;
    left = false;
    awaitsContinue = false;
    head.method("GET");
    Http1Heads.request(in, head, settings, false);
    head.secure(secure);
    long framing = Framing.ofRequest(head);
    var fields = head.fields();
    boolean modern = head.version() == Version.HTTP_1_1;
    persistent =
        !fields.hasMember("connection", "close")
            && (modern || fields.hasMember("connection", "keep-alive"));
    int expectation = modern ? fields.find("expect") : -1;
    if (expectation >= 0) {
      if (!fields.valueIs(expectation, "100-continue")) {
        throw new MalformedMessageException(417, "only 100-continue can be expected");
      }
      awaitsContinue = framing != 0;
    }
    reader.begin(framing, fields);
  }

  @Override
  public RequestHead request() {
    return head;
  }

  @Override
  public BodyReader body() {
    return reader;
  }

  @Override
  public boolean awaitsContinue() {
    return awaitsContinue;
  }

  private synchronized void informOfContinue() throws IOException {
    if (awaitsContinue && !responded) {
      awaitsContinue = false;
      Http1Output.statusLine(connection.reserve(64), 100);
      connection.write(new byte[] {'\r', '\n'});
      connection.flush();
    }
  }

  @Override
  public synchronized void inform(ResponseHead informational) throws IOException {
    if (!informational.isInformational()) {
      throw new IllegalArgumentException(informational.status() + " is not informational");
    }
    checkNotResponded();
    if (informational.status() == 100) {
      awaitsContinue = false;
    }
    if (head.version() == Version.HTTP_1_1) {
      var out = Http1Output.reserve(connection, informational.fields().size());
      Http1Output.statusLine(out, informational);
      Http1Output.fields(out, informational.fields(), false);
      Http1Output.endWithout(out, Persistence.STAYS);
      connection.flush();
    }
  }

  @Override
  public void keepNoBuffer() {
    in.giveBack();
  }

  @Override
  public boolean responded() {
    return responded;
  }

  private void checkNotResponded() {
    if (responded) {
      throw new IllegalStateException("the response has begun");
    }
  }

  @Override
  public synchronized BodyWriter respond(ResponseHead response) throws IOException {
    begin(response.status());
    long framing = framing(response);
    var out = Http1Output.reserve(connection, response.fields().size());
    Http1Output.statusLine(out, response);
    Http1Output.fields(out, response.fields(), false);
    endHead(out, response.status(), framing);
    return writer;
  }

  @Override
  public synchronized void respond(ResponseHead response, ByteBuffer... body) throws IOException {
    begin(response.status());
    long framing = isWithoutBody(response.status()) ? framing(response) : Framing.TO_END;
    if (framing == Framing.TO_END && response.status() != 304) {
      framing = remaining(body);
    }
    var out = Http1Output.reserve(connection, response.fields().size());
    Http1Output.statusLine(out, response);
    Http1Output.fields(out, response.fields(), false);
    endHead(out, response.status(), framing);
    write(body);
  }

  @Override
  public synchronized void respond(int status, ByteBuffer lines, Fields more, ByteBuffer... body)
      throws IOException {
    begin(status);
    var out = Http1Output.reserve(connection, lines.remaining() + more.size());
    Http1Output.statusLine(out, status);
    out.put(lines);
    more.put(out);
    endHead(out, status, status == 304 ? Framing.TO_END : remaining(body));
    write(body);
  }

  private static long remaining(ByteBuffer[] body) {
    long sum = 0;
    for (var part : body) {
      sum += part.remaining();
    }
    return sum;
  }

  /** What the head says of its body; of one that has none, what it would be if it is known. */
  private long framing(ResponseHead response) throws IOException {
    long told = Framing.contentLength(response.fields());
    if (told >= 0) {
      return told;
    }
    return isWithoutBody(response.status()) || head.version() == Version.HTTP_1_0
        ? Framing.TO_END
        : Framing.CHUNKED;
  }

  private boolean isWithoutBody(int status) {
    return Framing.isWithoutBody(status, head.is("HEAD"));
  }

  /** The response begins; decides whether the connection can serve another request after it. */
  private void begin(int status) {
    if (status < 200) {
      throw new IllegalArgumentException(status + " cannot be the status of a response");
    }
    checkNotResponded();
    responded = true;
    // Who was not told to send a body may send it or not, and one that is large is not worth it.
    boolean unwanted = awaitsContinue || (reader.length() >= 0 && tooMuch(reader.leftAtLeast()));
    // What follows a tunnel that is refused may be meant for it, and another's than the client's.
    if ((unwanted && !reader.ended()) || head.is("CONNECT") || draining.cancelled()) {
      persistent = false;
    }
  }

  private boolean tooMuch(long bytes) {
    return bytes > settings.drained();
  }

  private void endHead(ByteBuffer out, int status, long framing) {
    boolean without = isWithoutBody(status);
    if (framing == Framing.TO_END && !without) {
      persistent = false;
    }
    var persistence =
        !persistent
            ? Persistence.CLOSES
            : head.version() == Version.HTTP_1_0 ? Persistence.STAYS_THOUGH_OLD : Persistence.STAYS;
    if (status == 204) {
      Http1Output.endWithout(out, persistence);
    } else {
      Http1Output.end(out, framing, persistence);
    }
    writer.begin(framing, without);
  }

  private void write(ByteBuffer[] body) throws IOException {
    if (body.length > 1 && remaining(body) > Http1Writer.COPIED && !head.is("HEAD")) {
      connection.writeAndFlush(body);
      writer.begin(0, true);
    } else {
      for (var part : body) {
        writer.write(part);
      }
    }
    writer.end();
  }

  @Override
  public synchronized Tunnel tunnel(ResponseHead response) throws IOException {
    boolean connects = head.is("CONNECT") && response.status() / 100 == 2;
    boolean upgrades =
        response.status() == 101
            && head.version() == Version.HTTP_1_1
            && head.fields().has("upgrade")
            && head.fields().hasMember("connection", "upgrade");
    if (!(connects || upgrades) || !reader.ended()) {
      throw new IllegalStateException(
          "the request does not want to leave HTTP, or its body was not read");
    }
    checkNotResponded();
    responded = true;
    left = true;
    persistent = false;
    var out = Http1Output.reserve(connection, response.fields().size());
    Http1Output.statusLine(out, response);
    Http1Output.fields(out, response.fields(), upgrades);
    Http1Output.endWithout(out, upgrades ? Persistence.UPGRADES : Persistence.STAYS);
    connection.flush();
    reader.begin(Framing.TO_END);
    return new Tunnel(reader, new TunnelWriter(connection));
  }

  @Override
  public void closeAfterwards() {
    persistent = false;
  }

  @Override
  public void whenClientLeaves(@Nullable Runnable told) throws IOException {
    connection.whenPeerEnds(told);
  }

  @Override
  public Connection connection() {
    return connection;
  }

  /**
   * The handler has returned.
   *
   * @return whether the connection can serve another request
   */
  boolean finish() throws IOException {
    if (!responded) {
      return refuse(500, "the request was not answered");
    }
    if (left) {
      return false;
    }
    if (!writer.isWhole()) {
      writer.abort();
      return false;
    }
    if (persistent && drain()) {
      return true;
    }
    linger(head.is("CONNECT")); // Who wanted a tunnel may send into it already.
    return false;
  }

  /** The handler has failed. */
  void failed(Throwable why) throws IOException {
    var ofBody = reader.failure();
    if (responded) {
      if (left || !writer.isWhole()) {
        connection.reset();
      } else {
        linger(true);
      }
    } else if (why instanceof MalformedMessageException malformed && why == ofBody) {
      refuse(malformed.status(), malformed.getMessage());
    } else if (why instanceof SocketTimeoutException && why == ofBody) {
      refuse(408, "the request did not come in time");
    } else if (why instanceof IncompleteMessageException && why == ofBody) {
      refuse(400, "the request was cut off"); // Who has ended its half only may read that.
    } else if (why instanceof BuffersExhaustedException) {
      refuse(503, why.getMessage());
    } else if (why != ofBody) {
      refuse(500, "the request could not be answered");
    }
  }

  /** Answers what cannot be understood, or was not, and closes. */
  boolean refuse(int status, @Nullable String why) throws IOException {
    var body = (status + " " + Reasons.of(status) + ": " + why + "\n").getBytes(US_ASCII);
    var out = connection.reserve(body.length + 512);
    Http1Output.statusLine(out, status);
    Text.put(out, "Content-Type: text/plain\r\nDate: ");
    Text.put(out, HttpDate.now());
    Text.put(out, "\r\n");
    Http1Output.end(out, body.length, Persistence.CLOSES);
    if (!head.is("HEAD")) {
      out.put(body);
    }
    linger(true);
    return false;
  }

  /** Reads what is left of the request's body, and drops it; false if that is too much. */
  private boolean drain() throws IOException {
    if (reader.ended()) {
      return true;
    }
    if (awaitsContinue) {
      return false;
    }
    in.beginHead(settings.lingering());
    try {
      return discard(settings.drained());
    } catch (MalformedMessageException | SocketTimeoutException e) {
      return false;
    } finally {
      in.endHead();
    }
  }

  private boolean discard(long most) throws IOException {
    long dropped = 0;
    while (!reader.ended() && dropped <= most) {
      reader.await();
      try (var loan = Buffers.borrow()) {
        dropped += Math.max(0, reader.tryRead(loan.buffer()));
      }
    }
    return reader.ended();
  }

  /**
   * Ends the connection such that the peer gets the answer: it would be lost if the peer's system
   * were told that what it sends has come to a closed socket.
   *
   * @param sends whether it sends more in any case
   */
  private void linger(boolean sends) throws IOException {
    connection.flush();
    boolean waits = sends || !reader.ended() || in.available() > 0;
    if (waits || secure) {
      // By TLS else nobody could tell this end from one that was cut off.
      connection.shutdownOutput();
    }
    if (waits) {
      in.linger(settings.lingering());
    }
  }
}
