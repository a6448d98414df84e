package dev.evergreen.http;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.Connection;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;

/**
 * A stream of HTTP/2 on the client's side: an exchange with an origin.
 *
 * <p>A request to go on as a WebSocket, and the answer to it, have here the form of HTTP/1.1: they
 * stand for the extended CONNECT of RFC 8441; if the origin does not take that, they are refused
 * before anything is sent. Other wishes to leave HTTP are left out.
 */
final class Http2ClientStream extends Http2Stream implements ClientExchange {
  /** More informational responses to one request are nonsense. */
  private static final int MOST_INFORMATIONAL = 100;

  /** Before the origin agrees to leave HTTP nothing is sent, not even an end. */
  private static final BodyWriter NO_BODY =
      new BodyWriter() {
        @Override
        public void write(ByteBuffer from) {
          throw new IllegalStateException("a request to leave HTTP has no body");
        }

        @Override
        public void write(FileChannel file, long position, long count) {
          throw new IllegalStateException("a request to leave HTTP has no body");
        }

        @Override
        public void flush() {}

        @Override
        public void end(Fields trailers) {}

        @Override
        public void abort() {}
      };

  private final Http2Upstream upstream;
  private final boolean reused;

  // Guarded by the lock.
  private final ArrayDeque<ResponseHead> heads = new ArrayDeque<>(2);
  private boolean toHead;
  private boolean connects;
  private String key = "";
  private boolean tunnelled;
  private boolean sent;
  private boolean refused;
  private boolean anyReceived;
  private boolean answered;
  private int informational;

  // Of the fiber that asks.
  private boolean closed;

  Http2ClientStream(Http2Upstream upstream, boolean reused) {
    super(upstream);
    this.upstream = upstream;
    this.reused = reused;
  }

  @Override
  public BodyWriter send(RequestHead head, long length) throws IOException {
    toHead = head.is("HEAD");
    connects = wantsWebSocket(head);
    if (connects) {
      if (!upstream.connects()) {
        throw new NoWebSocketException();
      }
      key = String.valueOf(head.fields().get("sec-websocket-key"));
    }
    awaitRoom();
    session.lock();
    try {
      var headers =
          connects
              ? Http2Heads.webSocket(head, upstream.origin())
              : Http2Heads.request(head, upstream.origin(), length);
      session.out.awaitRoom(headers);
      upstream.begin(this);
      begin(connects ? -1 : length, false, false);
      boolean whole = length == 0 && !connects;
      session.out.headers(id(), headers, whole);
      sent = true;
      if (whole) {
        hasEnded();
      }
    } finally {
      session.unlock();
    }
    return connects ? NO_BODY : this;
  }

  private static boolean wantsWebSocket(RequestHead head) {
    var fields = head.fields();
    return head.is("GET")
        && fields.has("sec-websocket-key") // Without one it is none, and nobody could accept it.
        && "websocket".equalsIgnoreCase(fields.get("upgrade"))
        && fields.hasMember("connection", "upgrade");
  }

  /** Under the lock: fields have come. */
  void receive(Http2Heads.Block block, boolean ends) throws IOException {
    anyReceived = true;
    session.carried(0);
    if (answered) {
      session.receiveTrailers(this, block, ends);
      return;
    }
    if (block.tooLarge()) {
      throw malformed("a head beyond the limits");
    }
    var head = block.response();
    if (!head.isInformational()) {
      answered = true;
      tunnelled = connects && head.status() / 100 == 2;
      expect(tunnelled ? -1 : lengthOf(head, ends), ends);
      if (tunnelled) {
        head = Http2Heads.webSocketAccepted(head, key);
      }
    } else if (ends || ++informational > MOST_INFORMATIONAL) {
      throw malformed("it only informs");
    }
    heads.add(head);
    session.ended(this);
    wakeReader();
  }

  private Http2Exception malformed(String what) {
    return Http2Exception.ofStream(id(), Code.PROTOCOL_ERROR, what);
  }

  /** RFC 9113 §8.1.1: all data together must have the length that was told. */
  private long lengthOf(ResponseHead head, boolean ends) throws Http2Exception {
    long told;
    try {
      told = Framing.contentLength(head.fields());
    } catch (MalformedMessageException e) {
      throw malformed("a length that cannot be");
    }
    boolean without = Framing.isWithoutBody(head.status(), toHead);
    if (ends && told > 0 && !without) {
      throw malformed("the body does not come");
    }
    return without ? 0 : told;
  }

  /** Under the lock: the origin has not even looked at it. */
  void refuse(IOException why) {
    refused = true;
    fail(why);
  }

  @Override
  public ResponseHead receive() throws IOException {
    while (true) {
      session.lock();
      try {
        var head = heads.poll();
        if (head != null) {
          return head;
        }
        var why = failure();
        if (why instanceof MalformedMessageException malformed) {
          throw malformed;
        }
        if (why instanceof BuffersExhaustedException ours) {
          throw ours;
        }
        if (why != null) {
          throw new IncompleteMessageException("the origin has ended before it answered");
        }
      } finally {
        session.unlock();
      }
      try {
        awaitReadable();
      } catch (SocketTimeoutException e) {
        // Who does not answer may not be there any more.
        upstream.retire();
        throw e;
      }
    }
  }

  @Override
  public boolean amidHead() {
    return false; // It comes as a whole.
  }

  @Override
  public BodyReader body() {
    return this;
  }

  @Override
  public Tunnel tunnel() {
    if (!tunnelled) {
      throw new IllegalStateException("the origin has not left HTTP");
    }
    return new Tunnel(this, this);
  }

  @Override
  public boolean reused() {
    return reused;
  }

  @Override
  public boolean anySent() {
    session.lock();
    try {
      return sent && !refused;
    } finally {
      session.unlock();
    }
  }

  @Override
  public boolean anyReceived() {
    session.lock();
    try {
      return anyReceived;
    } finally {
      session.unlock();
    }
  }

  @Override
  public Connection connection() {
    return session.connection;
  }

  @Override
  public void abort() {
    session.lock();
    try {
      if (sent && !isOver()) {
        session.reset(this, Code.CANCEL);
      }
    } finally {
      session.unlock();
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      abort();
      session.lock();
      try {
        dropReceived();
      } finally {
        session.unlock();
      }
    } finally {
      upstream.answered();
    }
  }
}
