package dev.evergreen.http;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.net.SocketTimeoutException;

/**
 * A client's connection by HTTP/2. Each stream has a fiber that answers it.
 *
 * <p>How many streams are answered at a time is bounded, whether the client has reset them or not.
 */
final class Http2Session extends Http2Connection {
  final HttpServer server;
  private final CancelScope draining;
  private final CancelScope lastAnswered = CancelScope.open();
  private final boolean secure;

  // Of the reader.
  private int lastStream;

  // Guarded by the lock.
  private int answering;
  private boolean goesAway;

  /** The last stream that is taken, as the client was told it. */
  private int lastTaken = Integer.MAX_VALUE;

  Http2Session(
      HttpServer server, Connection connection, Input in, CancelScope draining, boolean secure) {
    super(server.fibers, server.settings, connection, in);
    this.server = server;
    this.draining = draining;
    this.secure = secure;
  }

  /**
   * Whether a client speaks HTTP/2: that was agreed on with TLS, or it begins with the preface,
   * whose first bytes are waited for.
   */
  static boolean isChosen(
      Connection connection, Input in, HttpSettings settings, CancelScope draining)
      throws IOException {
    var tls = connection.tlsSession();
    if (tls.isPresent()) {
      return tls.get().applicationProtocol().equals(java.util.Optional.of("h2"));
    }
    try {
      draining.run(
          () -> {
            while (isPreface(in, in.available()) && in.available() < PREFACE.length) {
              if (!in.fill()) {
                if (in.ended()) {
                  return;
                }
                if (in.available() == 0) {
                  in.awaitMore();
                } else {
                  in.awaitHead(settings.head());
                }
              }
            }
          });
    } catch (WaitCancelledException e) {
      // The first request of a new connection may be on its way.
      var _ = in.awaitFirst(settings.lingering());
    } catch (SocketTimeoutException e) {
      return false;
    }
    boolean chosen = in.available() >= PREFACE.length && isPreface(in, PREFACE.length);
    if (chosen) {
      in.endHead();
    }
    return chosen;
  }

  private static boolean isPreface(Input in, int bytes) throws IOException {
    if (bytes == 0) {
      return true;
    }
    var buffer = in.buffer();
    for (int i = 0; i < Math.min(bytes, PREFACE.length); i++) {
      if (buffer.get(in.at() + i) != PREFACE[i]) {
        return false;
      }
    }
    return true;
  }

  /** Serves the client until it, or the protocol, ends. */
  void serve() throws IOException {
    var sender = server.fibers.spawn(out::send);
    var error = Code.NO_ERROR;
    boolean lost = true;
    try {
      begin();
      readFrames();
      lost = false;
    } catch (Http2Exception e) {
      error = e.code();
      lost = false;
    } catch (IncompleteMessageException e) {
      // There is nobody to tell.
    } finally {
      end(error, lost);
    }
    try {
      sender.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void begin() throws IOException {
    lock();
    try {
      sendSettings(3, settings.streams(), 6, settings.fieldBytes(), 8, 1);
    } finally {
      unlock();
    }
    in.beginHead(settings.head());
    if (!in.await(PREFACE.length) || !isPreface(in, PREFACE.length)) {
      throw Http2Exception.ofConnection(Code.PROTOCOL_ERROR, "no preface");
    }
    in.endHead();
    in.skip(PREFACE.length);
  }

  /** Tells the client why, ends all streams, and sends what is left. */
  private void end(Code error, boolean lost) throws IOException {
    end(
        new IncompleteMessageException("the connection has ended"),
        () -> {
          if (lost) {
            connection.close();
          } else if (!goesAway || error != Code.NO_ERROR) {
            sendGoAway(error);
          }
        });
    if (!lost && (secure || error != Code.NO_ERROR)) {
      connection.shutdownOutput();
    }
    if (error != Code.NO_ERROR) {
      in.linger(settings.lingering());
    }
  }

  /** A stream's fiber has ended. */
  void answered() {
    answering--;
    if (goesAway && answering == 0) {
      lastAnswered.cancel();
    }
  }

  /** No more streams are taken; those that there are come to their end. Any thread. */
  void goAway() throws IOException {
    lock();
    try {
      if (!goesAway) {
        goesAway = true;
        sendGoAway(Code.NO_ERROR);
        if (answering == 0) {
          lastAnswered.cancel();
        }
      }
    } finally {
      unlock();
    }
  }

  /** RFC 9113 §6.8: a later one names no higher stream, as its client asks elsewhere for these. */
  private void sendGoAway(Code code) throws IOException {
    lastTaken = Math.min(lastTaken, lastStream);
    out.goAway(lastTaken, code);
  }

  @Override
  boolean awaitInput() throws IOException {
    try {
      if (isGoingAway()) {
        lastAnswered.run(in::awaitMore);
      } else {
        lastAnswered.run(() -> draining.run(in::awaitMore));
      }
    } catch (WaitCancelledException e) {
      if (lastAnswered.cancelled()) {
        return false;
      }
      goAway();
    } catch (SocketTimeoutException e) {
      if (in.available() > 0) {
        throw e;
      }
      // Nobody is idle who is being answered.
      return isAnswering();
    }
    return true;
  }

  private boolean isGoingAway() {
    lock();
    try {
      return goesAway;
    } finally {
      unlock();
    }
  }

  private boolean isAnswering() {
    lock();
    try {
      return answering > 0;
    } finally {
      unlock();
    }
  }

  @Override
  boolean wasBegun(int stream) {
    return (stream & 1) == 1 && stream <= lastStream;
  }

  @Override
  void skip(int stream) {
    lastStream = Math.max(lastStream, stream);
  }

  /**
   * The client may have sent something for those that it has open as far as it knows: that are as
   * many as it may have, and as many again if it has not seen yet how many these are.
   */
  @Override
  int mostGivenUp() {
    return 2 * server.settings.streams();
  }

  /** A client that goes away still waits for what it has asked for. */
  @Override
  void peerGoesAway(int last) {}

  @Override
  void receive(int id, Http2Heads.Block block, boolean ends) throws IOException {
    lock();
    try {
      var present = streams.get(id);
      if (present != null) {
        receiveTrailers(present, block, ends);
        return;
      }
      if (wasGivenUp(id)) {
        receiveBehindTheEnd(id, ends);
        return;
      }
    } finally {
      unlock();
    }
    require(id > lastStream, Code.STREAM_CLOSED, "a stream that has ended");
    lastStream = id;
    if (isGoingAway() || answeringAll()) {
      throw Http2Exception.ofStream(id, Code.REFUSED_STREAM, "no more streams at present");
    }
    if (block.tooLarge()) {
      answer(id, RequestHead.of("GET", "/"), ends, Http2ServerStream::refuseLargeHead);
      return;
    }
    var head = block.request(secure);
    if (ends && contentLength(head) > 0) {
      throw Http2Exception.ofStream(id, Code.PROTOCOL_ERROR, "the body does not come");
    }
    answer(id, head, ends, Http2ServerStream::answer);
  }

  private boolean answeringAll() {
    lock();
    try {
      return answering >= settings.streams();
    } finally {
      unlock();
    }
  }

  private interface Answer {
    void by(Http2ServerStream stream);
  }

  private void answer(int id, RequestHead head, boolean ends, Answer answer) {
    Http2ServerStream stream;
    lock();
    try {
      stream = new Http2ServerStream(this, id, head, peerWindow(), ends);
      streams.put(id, stream);
      answering++;
      carried(0);
    } finally {
      unlock();
    }
    var _ = server.fibers.spawn(() -> answer.by(stream));
  }
}
