package dev.evergreen.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The bodies that a connection of HTTP/1.1 receives, one after the other, and what follows when it
 * has left HTTP.
 */
class Http1Reader implements BodyReader {
  /** What comes next. */
  private enum Next {
    CHUNK_LINE,
    DATA,
    CHUNK_END,
    TRAILERS,
    NOTHING
  }

  private static final int MOST_DIGITS = 15;

  private final Input in;
  private final HttpSettings settings;
  private final boolean responses;

  private Next next = Next.NOTHING;
  private long length;

  /** How many bytes are left, of the body or of the chunk. */
  private long left;

  /** The names of fields that belong to the connection, as the head says. */
  private List<String> listed = List.of();

  private Fields trailers = Fields.NONE;
  private @Nullable IOException failure;

  /**
   * The reader of a connection.
   *
   * @param responses whether nothing may follow a body, as it is a client's
   */
  Http1Reader(Input in, HttpSettings settings, boolean responses) {
    this.in = in;
    this.settings = settings;
    this.responses = responses;
  }

  /** The body of a message begins, of a length or as {@link Framing} tells. */
  void begin(long framing, Fields head) throws IOException {
    begin(framing);
    if (framing == Framing.CHUNKED) {
      listed = head.members("connection");
    }
  }

  /** Bytes begin that belong to no message, or whose trailers are left as they are. */
  void begin(long framing) throws IOException {
    listed = List.of();
    length = framing;
    left = framing;
    failure = null;
    trailers = Fields.NONE;
    next = framing == Framing.CHUNKED ? Next.CHUNK_LINE : Next.DATA;
    if (framing == 0) {
      end();
    }
  }

  /**
   * A message begins that ends with its head: whatever comes behind that is no part of it, and not
   * the next one either.
   *
   * @return whether nothing has come there, not even the connection's end
   */
  boolean beginNone() throws IOException {
    begin(Framing.TO_END);
    length = 0;
    left = 0;
    next = Next.NOTHING;
    boolean nothing;
    try {
      nothing = in.available() == 0 && !in.fill();
    } catch (IOException e) {
      nothing = false; // It was reset behind a response that is whole.
    }
    in.giveBackIfEmpty();
    return nothing;
  }

  /** How many bytes are still to come at least; more than any limit if that is not known. */
  long leftAtLeast() {
    return length >= 0 ? left : ended() ? 0 : Long.MAX_VALUE;
  }

  @Override
  public long length() {
    return Math.max(length, -1);
  }

  @Override
  public boolean ended() {
    return next == Next.NOTHING;
  }

  @Override
  public Fields trailers() {
    return trailers;
  }

  @Override
  public void await() throws IOException {
    try {
      boolean ready = next == Next.DATA ? in.available() > 0 : tryFrame();
      if (!ready) {
        beforeWaiting();
        in.awaitMore();
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** The peer is about to be waited for. */
  void beforeWaiting() throws IOException {}

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    try {
      while (next != Next.NOTHING) {
        if (next == Next.DATA) {
          int n = data(into);
          if (n >= 0) {
            return n;
          }
        } else if (!tryFrame()) {
          return 0;
        }
      }
      return -1;
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private IOException failed(IOException e) {
    failure = e;
    return e;
  }

  /** What made reading fail last, if anything did. */
  @Nullable IOException failure() {
    return failure;
  }

  private int data(ByteBuffer into) throws IOException {
    long most = length == Framing.TO_END ? Long.MAX_VALUE : left;
    int n = in.take(into, most);
    if (n == 0 && into.hasRemaining()) {
      n = in.receive(into, most);
    }
    if (n < 0) {
      if (length != Framing.TO_END) {
        throw new IncompleteMessageException("the peer has ended amid a body");
      }
      end();
    }
    left -= Math.max(0, n);
    if (left == 0) {
      if (length == Framing.CHUNKED) {
        next = Next.CHUNK_END;
      } else {
        end();
      }
    }
    return n;
  }

  /** Goes on with what is between data of chunks; false if it is not there yet. */
  private boolean tryFrame() throws IOException {
    return switch (next) {
      case CHUNK_LINE -> tryChunkLine();
      case CHUNK_END -> tryChunkEnd();
      case TRAILERS -> tryTrailers();
      case DATA, NOTHING -> true;
    };
  }

  private boolean tryChunkLine() throws IOException {
    int line = in.tryLine(settings.chunkLine());
    if (line == Input.TOO_LONG) {
      throw new MalformedMessageException("the line before a chunk is too long");
    }
    if (line == Input.NOT_YET) {
      return false;
    }
    left = chunkLength(in.buffer(), in.at(), in.at() + line - 2);
    in.skip(line);
    next = Next.DATA;
    if (left == 0) {
      next = Next.TRAILERS;
      trailers = new Fields();
    }
    return true;
  }

  /** A length in hexadecimal digits, and extensions, which mean nothing to us. */
  private static long chunkLength(ByteBuffer from, int at, int end)
      throws MalformedMessageException {
    long length = 0;
    int i = at;
    for (int digit; i < end && (digit = Character.digit(from.get(i), 16)) >= 0; i++) {
      length = 16 * length + digit;
    }
    boolean good = i > at && i - at <= MOST_DIGITS && from.get(end) == '\r';
    if (!good || (i < end && !Extensions.are(from, i, end))) {
      throw new MalformedMessageException("the line before a chunk has no length");
    }
    return length;
  }

  private boolean tryChunkEnd() throws IOException {
    while (in.available() < 2) {
      if (in.available() == 1 && in.buffer().get(in.at()) != '\r') {
        throw new MalformedMessageException("a chunk is longer than its length");
      }
      if (!in.fill()) {
        if (in.ended()) {
          throw new IncompleteMessageException("the peer has ended amid a body");
        }
        return false;
      }
    }
    if (in.buffer().get(in.at()) != '\r' || in.buffer().get(in.at() + 1) != '\n') {
      throw new MalformedMessageException("a chunk is longer than its length");
    }
    in.skip(2);
    next = Next.CHUNK_LINE;
    return true;
  }

  private boolean tryTrailers() throws IOException {
    if (!Http1Heads.tryTrailers(in, trailers, settings)) {
      return false;
    }
    Hops.removeFromTrailers(trailers);
    listed.forEach(trailers::remove); // RFC 9110 §7.6.1
    end();
    return true;
  }

  private void end() throws IOException {
    next = Next.NOTHING;
    // What an origin sends unasked would be taken for the answer to the next request.
    if (responses && length != Framing.TO_END && (in.available() > 0 || in.fill())) {
      throw new MalformedMessageException("bytes after the end of a response");
    }
    in.giveBackIfEmpty();
  }
}
