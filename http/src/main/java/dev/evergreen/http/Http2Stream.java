package dev.evergreen.http;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Signal;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * A stream of HTTP/2: a request and its response. What its fibers share with the session is guarded
 * by the session's lock; a fiber that waits does so without it, at a signal of its own, and looks
 * again.
 */
final class Http2Stream implements Exchange, BodyReader, BodyWriter {
  /** How many bytes of a body that nobody reads the peer may send. */
  static final int WINDOW = 65_535;

  private static final int MOST_DATA = 16 << 10;

  final int id;
  private final Http2Session session;
  private final RequestHead head;
  private final long length;

  // Guarded by the session's lock.
  private final ArrayDeque<ByteBuffer> received = new ArrayDeque<>(2);
  private long receivedInAll;
  private int receiveWindow = WINDOW;
  private int consumed;
  private boolean peerEnded;
  private long sendWindow;
  private boolean ended;
  private @Nullable IOException failure;
  private Fields trailers = Fields.NONE;

  private final Signal readable;
  private final Signal writable;

  // Of the fiber that answers.
  private boolean awaitsContinue;
  private boolean responded;
  private boolean withoutBody;
  private long left;

  Http2Stream(Http2Session session, int id, RequestHead head, long sendWindow, boolean peerEnded) {
    this.session = session;
    this.id = id;
    this.head = head;
    this.sendWindow = sendWindow;
    this.peerEnded = peerEnded;
    readable = new Signal(session.server.fibers);
    writable = new Signal(session.server.fibers);
    length = peerEnded ? 0 : session.contentLength(head);
    awaitsContinue = !peerEnded && head.fields().hasMember("expect", "100-continue");
  }

  // What the session does, under its lock.

  /** A part of the body has come. */
  void receive(ByteBuffer data, int flowed, boolean end) throws Http2Exception {
    receiveWindow -= flowed;
    if (receiveWindow < 0) {
      throw Http2Exception.ofStream(id, Code.FLOW_CONTROL_ERROR, "more than the window");
    }
    if (peerEnded) {
      throw Http2Exception.ofStream(id, Code.STREAM_CLOSED, "data behind the end");
    }
    long inAll = receivedInAll + data.remaining();
    if (length >= 0 && (end ? inAll != length : inAll > length)) {
      throw Http2Exception.ofStream(id, Code.PROTOCOL_ERROR, "the body has not the length it told");
    }
    receivedInAll = inAll;
    if (data.hasRemaining()) {
      received.add(data);
    }
    if (end) {
      peerEnded = true;
    }
    hasConsumed(flowed - data.remaining());
    readable.raise();
  }

  /** Trailers have come, and with them the end. */
  void receiveTrailers(Fields fields) throws Http2Exception {
    trailers = fields;
    receive(ByteBuffer.allocate(0), 0, true);
  }

  boolean peerEnded() {
    return peerEnded;
  }

  boolean isOver() {
    return ended && peerEnded;
  }

  /** The peer, or the connection's end, has ended the stream. */
  void fail(IOException why) {
    if (failure == null) {
      failure = why;
    }
    peerEnded = true;
    ended = true;
    wake();
  }

  void wake() {
    readable.raise();
    writable.raise();
  }

  /** The peer takes more, or less; false if that is more than can be. */
  boolean addWindow(long more) {
    sendWindow += more;
    writable.raise();
    return sendWindow <= Integer.MAX_VALUE;
  }

  private void hasConsumed(int bytes) {
    session.consumed(bytes);
    consumed += bytes;
    if (consumed >= WINDOW / 2 && !peerEnded) {
      session.out.frame(Http2Output.WINDOW_UPDATE, id, consumed);
      receiveWindow += consumed;
      consumed = 0;
    }
  }

  /** Nobody reads what has come. */
  private void dropReceived() {
    for (var data : received) {
      session.consumed(data.remaining());
    }
    received.clear();
  }

  // The request's body.

  @Override
  public long length() {
    return length;
  }

  @Override
  public boolean ended() {
    session.lock();
    try {
      return received.isEmpty() && peerEnded && failure == null;
    } finally {
      session.unlock();
    }
  }

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    session.lock();
    try {
      int read = 0;
      while (into.hasRemaining() && !received.isEmpty()) {
        var data = received.peek();
        int n = Math.min(data.remaining(), into.remaining());
        into.put(into.position(), data, data.position(), n).position(into.position() + n);
        data.position(data.position() + n);
        read += n;
        if (!data.hasRemaining()) {
          received.poll();
        }
      }
      if (read > 0) {
        hasConsumed(read);
        return read;
      }
      if (failure != null) {
        throw broken(failure);
      }
      return peerEnded && received.isEmpty() ? -1 : 0;
    } finally {
      session.unlock();
    }
  }

  private static IOException broken(IOException why) {
    return (IOException) new IncompleteMessageException("the stream is broken").initCause(why);
  }

  @Override
  public void await() throws IOException {
    boolean nothing;
    session.lock();
    try {
      nothing = received.isEmpty() && !peerEnded;
      if (nothing && awaitsContinue && !responded) {
        awaitsContinue = false;
        session.out.headers(id, Http2Heads.response(100, Fields.NONE), false);
      }
    } finally {
      session.unlock();
    }
    if (nothing) {
      readable.await(session.server.settings.read());
    }
  }

  @Override
  public Fields trailers() {
    return trailers;
  }

  // The exchange.

  @Override
  public RequestHead request() {
    return head;
  }

  @Override
  public BodyReader body() {
    return this;
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
      awaitsContinue &= informational.status() != 100;
      session.out.headers(
          id, Http2Heads.response(informational.status(), informational.fields()), false);
    } finally {
      session.unlock();
    }
  }

  private void checkNotResponded() {
    if (responded) {
      throw new IllegalStateException("the response has begun");
    }
  }

  private void checkSending() throws IOException {
    if (failure != null) {
      throw new IOException("the stream is broken", failure);
    }
    if (ended) {
      throw new IllegalStateException("the message has ended");
    }
    session.out.check();
  }

  @Override
  public BodyWriter respond(ResponseHead response) throws IOException {
    long told = Framing.contentLength(response.fields());
    begin(response.status(), response.fields(), null, told, told);
    return this;
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
        length);
    writeAll(body);
  }

  @Override
  public void respond(int status, ByteBuffer lines, Fields more, ByteBuffer... body)
      throws IOException {
    var fields = new Fields().parse(lines);
    lines.position(lines.limit());
    long length = remaining(body);
    begin(status, fields, more, status == 304 ? -1 : length, length);
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
    return status == 204 || status == 304 || head.is("HEAD");
  }

  private void begin(int status, Fields fields, @Nullable Fields more, long told, long bodyLength)
      throws IOException {
    if (status < 200) {
      throw new IllegalArgumentException(status + " cannot be the status of a response");
    }
    var headers = Http2Heads.response(status, fields);
    if (more != null) {
      Http2Heads.addTo(headers, more);
    }
    if (told >= 0 && status != 204) {
      headers.add("content-length", Long.toString(told));
    }
    withoutBody = isWithoutBody(status);
    left = bodyLength;
    awaitRoom();
    session.lock();
    try {
      checkNotResponded();
      checkSending();
      responded = true;
      boolean whole = withoutBody || bodyLength == 0;
      session.out.headers(id, headers, whole);
      if (whole) {
        ended = true;
        session.ended(this);
      }
    } finally {
      session.unlock();
    }
  }

  private void awaitRoom() throws IOException {
    while (session.awaitsRoom(this)) {
      awaitWritable();
    }
  }

  private void awaitWritable() throws IOException {
    try {
      writable.await(session.server.settings.write());
    } catch (SocketTimeoutException e) {
      reset(Code.CANCEL);
      throw e;
    }
  }

  @Override
  public Tunnel tunnel(ResponseHead response) throws IOException {
    if (!head.is("CONNECT") || response.status() / 100 != 2) {
      throw new IllegalStateException("the request does not want to leave HTTP");
    }
    begin(response.status(), response.fields(), null, -1, -1);
    return new Tunnel(this, this);
  }

  @Override
  public void closeAfterwards() {
    session.goAway();
  }

  @Override
  public Connection connection() {
    return session.connection;
  }

  // The response's body.

  @Override
  public void write(ByteBuffer from) throws IOException {
    if (withoutBody) {
      from.position(from.limit());
    }
    while (from.hasRemaining()) {
      if (left >= 0 && from.remaining() > left) {
        abort();
        throw new IllegalStateException("the body is longer than the head told");
      }
      if (tryWrite(from) == 0) {
        awaitWritable();
      }
    }
  }

  /** Appends as much as the windows and the output have room for. */
  private int tryWrite(ByteBuffer from) throws IOException {
    session.lock();
    try {
      checkSending();
      int n = (int) Math.min(Math.min(from.remaining(), MOST_DATA), session.room(this, sendWindow));
      if (n > 0) {
        boolean last = left == n;
        session.out.data(id, from, n, last);
        sendWindow -= n;
        session.sent(n);
        left -= left >= 0 ? n : 0;
        if (last) {
          ended = true;
          session.ended(this);
        }
      }
      return n;
    } finally {
      session.unlock();
    }
  }

  @Override
  public void write(FileChannel file, long position, long count) throws IOException {
    try (var loan = dev.evergreen.fibers.Buffers.borrow()) {
      for (long done = 0; done < count; ) {
        var buffer = loan.buffer().clear();
        buffer.limit((int) Math.min(buffer.capacity(), count - done));
        int n = file.read(buffer, position + done);
        if (n < 0) {
          throw new java.io.EOFException("the file ends at " + (position + done));
        }
        write(buffer.flip());
        done += n;
      }
    }
  }

  /** What was written leaves by itself. */
  @Override
  public void flush() {}

  @Override
  public void end(Fields added) throws IOException {
    session.lock();
    try {
      if (ended) {
        return;
      }
      if (left > 0) {
        session.reset(this, Code.INTERNAL_ERROR);
        throw new IllegalStateException("the body is shorter than the head told, by " + left);
      }
      checkSending();
      var headers = Http2Heads.trailers(added);
      ended = true;
      if (Http2Heads.isEmpty(headers)) {
        session.out.data(id, ByteBuffer.allocate(0), 0, true);
      } else {
        session.out.headers(id, headers, true);
      }
      session.ended(this);
    } finally {
      session.unlock();
    }
  }

  @Override
  public void abort() {
    reset(Code.INTERNAL_ERROR);
  }

  private void reset(Code code) {
    session.lock();
    try {
      if (!ended) {
        session.reset(this, code);
      }
    } finally {
      session.unlock();
    }
  }

  /** Has the request answered, by the stream's own fiber. */
  void answer() {
    try {
      session.server.handler.handle(this);
      if (!responded) {
        respondError(500);
      }
    } catch (IOException e) {
      failed(e);
    } catch (RuntimeException e) {
      Http2Session.LOG.log(System.Logger.Level.WARNING, "a request could not be answered", e);
      failed(e);
    } finally {
      finish();
    }
  }

  private void failed(Exception why) {
    boolean late = why instanceof SocketTimeoutException && !ended();
    if (!responded) {
      respondError(late ? 408 : 500);
    }
  }

  /** Answers a head that is beyond the limits, by the stream's own fiber. */
  void refuseLargeHead() {
    respondError(431);
    finish();
  }

  private void respondError(int status) {
    try {
      respond(ResponseHead.of(status), ByteBuffer.allocate(0));
    } catch (IOException | RuntimeException e) {
      abort();
    }
  }

  /** Whatever has not ended ends now. */
  private void finish() {
    session.lock();
    try {
      if (!ended) {
        session.reset(this, Code.INTERNAL_ERROR);
      } else if (!peerEnded) {
        session.reset(this, Code.NO_ERROR);
      }
      dropReceived();
      session.answered();
    } finally {
      session.unlock();
    }
  }
}
