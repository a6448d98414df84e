package dev.evergreen.http;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.FibersClosedException;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A stream of HTTP/2 on the server's side, whose request is answered by a fiber of its own. */
final class Http2ServerStream extends Http2Stream implements Exchange {
  /** What follows an extended CONNECT is no body: it comes when both have agreed. */
  private static final BodyReader NO_BODY =
      new BodyReader() {
        @Override
        public long length() {
          return 0;
        }

        @Override
        public boolean ended() {
          return true;
        }

        @Override
        public int tryRead(ByteBuffer into) {
          return -1;
        }

        @Override
        public void await() {}

        @Override
        public Fields trailers() {
          return Fields.NONE;
        }
      };

  private final Http2Session server;
  private final RequestHead head;

  /** Guarded by the session's lock. */
  private @Nullable Runnable whenFailed;

  // Of the fiber that answers.
  private boolean awaitsContinue;
  private boolean responded;
  private boolean left;

  Http2ServerStream(
      Http2Session server, int id, RequestHead head, long sendWindow, boolean peerEnded) {
    super(server);
    this.server = server;
    this.head = head;
    open(id, sendWindow);
    expect(peerEnded ? 0 : Http2Connection.contentLength(head), peerEnded);
    awaitsContinue = !peerEnded && head.fields().hasMember("expect", "100-continue");
  }

  @Override
  void beforeWaiting() throws IOException {
    if (awaitsContinue && !responded) {
      awaitsContinue = false;
      session.out.headers(id(), Http2Heads.response(100, Fields.NONE), false);
    }
  }

  // The exchange.

  @Override
  public RequestHead request() {
    return head;
  }

  @Override
  public BodyReader body() {
    return head.isExtendedConnect() && !left ? NO_BODY : this;
  }

  @Override
  public boolean awaitsContinue() {
    return awaitsContinue;
  }

  @Override
  public boolean responded() {
    return responded;
  }

  @Override
  public void inform(ResponseHead informational) throws IOException {
    if (!informational.isInformational() || informational.status() == 101) {
      throw new IllegalArgumentException(informational.status() + " is not informational");
    }
    session.lock();
    try {
      checkNotResponded();
      checkSending();
      boolean awaited = awaitsContinue && informational.status() == 100;
      if (session.out.full() && !awaited) {
        return; // To wait for one client would hold up all who wait for the same answer.
      }
      awaitsContinue &= !awaited;
      session.out.headers(
          id(), Http2Heads.response(informational.status(), informational.fields()), false);
    } finally {
      session.unlock();
    }
  }

  private void checkNotResponded() {
    if (responded) {
      throw new IllegalStateException("the response has begun");
    }
  }

  @Override
  public BodyWriter respond(ResponseHead response) throws IOException {
    long told = Framing.contentLength(response.fields());
    begin(response.status(), response.fields(), null, told, told, false);
    return this;
  }

  @Override
  public void respondByHeadAlone(ResponseHead response) throws IOException {
    long told = Framing.contentLength(response.fields());
    begin(response.status(), response.fields(), null, told, 0, true);
  }

  @Override
  public void respond(ResponseHead response, ByteBuffer... body) throws IOException {
    long told = Framing.contentLength(response.fields());
    long length = remaining(body);
    boolean asTold = told >= 0 && isWithoutBody(response.status());
    begin(
        response.status(),
        response.fields(),
        null,
        asTold ? told : response.status() == 304 ? -1 : length,
        length,
        true);
    writeAll(body);
  }

  @Override
  public void respond(int status, ByteBuffer lines, Fields more, ByteBuffer... body)
      throws IOException {
    var fields = new Fields(lines.remaining(), 8).parse(lines);
    lines.position(lines.limit());
    long length = remaining(body);
    begin(status, fields, more, status == 304 ? -1 : length, length, true);
    writeAll(body);
  }

  private static long remaining(ByteBuffer[] body) {
    long sum = 0;
    for (var part : body) {
      sum += part.remaining();
    }
    return sum;
  }

  private void writeAll(ByteBuffer[] body) throws IOException {
    for (var part : body) {
      write(part);
    }
    end();
  }

  private boolean isWithoutBody(int status) {
    return Framing.isWithoutBody(status, head.is("HEAD"));
  }

  private void begin(
      int status, Fields fields, @Nullable Fields more, long told, long bodyLength, boolean alone)
      throws IOException {
    if (status < 200) {
      throw new IllegalArgumentException(status + " cannot be the status of a response");
    }
    var headers = Http2Heads.response(status, fields);
    if (more != null) {
      headers.add(more);
    }
    if (told >= 0 && status != 204) {
      headers.add("content-length", Long.toString(told));
    }
    boolean without = isWithoutBody(status);
    begin(bodyLength, without, alone);
    awaitRoom();
    session.lock();
    try {
      checkNotResponded();
      checkSending();
      responded = true;
      boolean whole = without || (alone && bodyLength == 0);
      session.out.headers(id(), headers, whole);
      if (whole) {
        hasEnded();
      }
    } finally {
      session.unlock();
    }
  }

  @Override
  public Tunnel tunnel(ResponseHead response) throws IOException {
    boolean connects = head.is("CONNECT") && response.status() / 100 == 2;
    boolean upgrades = head.isExtendedConnect() && response.status() == 101;
    if (!connects && !upgrades) {
      throw new IllegalStateException("the request does not want to leave HTTP");
    }
    var fields = response.fields().copy();
    if (upgrades) {
      Http2Heads.checkAccepted(head, fields);
      fields.remove("sec-websocket-accept"); // RFC 8441 §5: of HTTP/1.1
    }
    left = true;
    begin(upgrades ? 200 : response.status(), fields, null, -1, -1, false);
    return new Tunnel(this, this);
  }

  @Override
  public void closeAfterwards() {
    try {
      server.goAway();
    } catch (IOException e) {
      session.connection.close(); // It cannot be told in any other way.
    }
  }

  @Override
  public void whenClientLeaves(@Nullable Runnable told) {
    session.lock();
    try {
      whenFailed = told;
      if (told != null && failure() != null) {
        told.run();
      }
    } finally {
      session.unlock();
    }
  }

  @Override
  void fail(IOException why) {
    super.fail(why);
    var told = whenFailed;
    if (told != null) {
      told.run();
    }
  }

  @Override
  public Connection connection() {
    return session.connection;
  }

  /** Has the request answered, by the stream's own fiber. */
  void answer() {
    try {
      server.server.handler.handle(this);
      if (!responded) {
        respondError(500);
      }
    } catch (IOException e) {
      failed(e);
    } catch (FibersClosedException e) {
      throw e; // Nothing is wrong with the request: all ends.
    } catch (RuntimeException e) {
      failed(HttpServer.reason(e));
    } finally {
      finish();
    }
  }

  private void failed(Throwable why) {
    boolean late = why instanceof SocketTimeoutException && !ended();
    if (!responded) {
      respondError(late ? 408 : why instanceof BuffersExhaustedException ? 503 : 500);
    }
  }

  /** Answers a head that is beyond the limits, by the stream's own fiber. */
  void refuseLargeHead() {
    respondError(431);
    finish();
  }

  private void respondError(int status) {
    try {
      var fields = Fields.of("Date", HttpDate.now());
      respond(ResponseHead.of(status, fields), ByteBuffer.allocate(0));
    } catch (IOException | RuntimeException e) {
      abort();
    }
  }

  private void tryToEnd() {
    try {
      if (responded) {
        endIfSent();
      }
    } catch (IOException e) {
      // It could not be told, and is reset.
    }
  }

  /** Whatever has not ended ends now. */
  private void finish() {
    session.lock();
    try {
      tryToEnd();
      if (!isEnded()) {
        session.reset(this, Code.INTERNAL_ERROR);
      } else if (!peerEnded()) {
        session.reset(this, Code.NO_ERROR);
      }
      dropReceived();
      server.answered();
    } finally {
      session.unlock();
    }
  }
}
