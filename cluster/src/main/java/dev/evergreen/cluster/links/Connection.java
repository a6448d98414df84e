package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.Message;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

/**
 * One connection to a node, after its handshake. The thread that made it reads ({@link #serve});
 * another one writes.
 */
final class Connection {

  private static final long FAREWELL_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** What a connection does for its link. */
  interface Receiver {
    void received(Message message);

    void pinged(long token, Runnable answer);

    void ponged(long token);

    void removedBy();
  }

  private final Socket raw;
  private final Socket socket;
  private final FrameInput in;
  private final SendQueue queue;
  private final LinkShared shared;
  private final String peer;
  private final MessageCodec.Reader reader = new MessageCodec.Reader();
  private volatile boolean over;
  private volatile boolean farewell;

  /**
   * @param raw what is below TLS, or the same as {@code socket}
   */
  Connection(
      Socket raw, Socket socket, FrameInput in, SendQueue queue, LinkShared shared, String peer) {
    this.raw = raw;
    this.socket = socket;
    this.in = in;
    this.queue = queue;
    this.shared = shared;
    this.peer = peer;
  }

  SendQueue queue() {
    return queue;
  }

  /** Reads and writes until the connection ends. */
  void serve(Receiver receiver) {
    Thread.ofVirtual().name("link-writer-" + peer).start(this::write);
    try {
      socket.setSoTimeout((int) shared.settings().deadAfter().toMillis());
      in.becomeLarge();
      while (in.await(4)) {
        readFrame(receiver);
      }
    } catch (IOException e) {
      broken(e);
    } catch (MalformedMessageException e) {
      shared.counters().malformed.increment();
      shared
          .log()
          .warn(
              LinkLog.Kind.MALFORMED,
              () -> peer + ": " + e.getMessage() + "; its connection is closed");
    } finally {
      cut();
    }
  }

  private void readFrame(Receiver receiver) throws IOException, MalformedMessageException {
    int length = in.fixed4(0);
    if (length < 1 || length > Frame.MAX_LENGTH) {
      throw ByteReader.malformed("a frame of " + Integer.toUnsignedString(length) + " bytes");
    }
    if (!in.await(4 + length)) {
      return;
    }
    int content = length - 1;
    switch (in.bytes()[in.at() + 4]) {
      case Frame.MESSAGE -> deliver(receiver, in.bytes(), in.at() + MessageCodec.HEAD, content);
      case Frame.FIRST_PIECE -> piece(receiver, content, true);
      case Frame.NEXT_PIECE -> piece(receiver, content, false);
      case Frame.PING -> {
        long token = token(content);
        if (!over) {
          receiver.pinged(token, () -> pong(token));
        }
      }
      case Frame.PONG -> {
        long token = token(content);
        if (!over) {
          receiver.ponged(token);
        }
      }
      case Frame.REMOVED -> {
        if (!over) {
          receiver.removedBy();
        }
      }
      default -> unknown("frame");
    }
    in.skip(4 + length);
    shared.counters().framesIn.increment();
    shared.counters().bytesIn.add(4L + length);
  }

  private long token(int content) throws MalformedMessageException {
    if (content != Frame.TOKEN_BYTES) {
      throw ByteReader.malformed("a ping of " + content + " bytes");
    }
    return ByteBuffer.wrap(in.bytes()).getLong(in.at() + MessageCodec.HEAD);
  }

  /** Nothing of the kind goes to a node that is removed: {@link #dismiss} comes first. */
  private void pong(long token) {
    if (!over) {
      queue.offerFirst(Frame.token(Frame.PONG, token));
    }
  }

  private void piece(Receiver receiver, int content, boolean first)
      throws MalformedMessageException {
    byte[] whole = in.piece(MessageCodec.HEAD, content, first);
    if (whole != null) {
      deliver(receiver, whole, 0, whole.length);
    }
  }

  private void deliver(Receiver receiver, byte[] bytes, int start, int length) {
    Message message;
    try {
      message = reader.read(bytes, start, length);
    } catch (MalformedMessageException e) {
      shared.counters().malformed.increment();
      shared
          .log()
          .warn(
              LinkLog.Kind.MALFORMED,
              () -> "a message of " + peer + " is malformed and was dropped: " + e.getMessage());
      return;
    }
    if (message == null) {
      unknown("message");
    } else if (!over) {
      shared.counters().messagesIn.increment();
      receiver.received(message);
    }
  }

  private void unknown(String what) {
    shared.counters().unknown.increment();
    shared
        .log()
        .warn(
            LinkLog.Kind.UNKNOWN,
            () -> "a " + what + " of " + peer + " is of a type that this version does not know");
  }

  private void write() {
    try {
      var out = socket.getOutputStream();
      queue.drain(out);
      if (farewell) {
        byte[] frame = new byte[MessageCodec.HEAD];
        Frame.putHead(frame, 0, Frame.REMOVED, 0);
        out.write(frame);
      }
      // The rest of what is under way to here is awaited: a reset would overtake what was written.
      socket.shutdownOutput();
    } catch (IOException e) {
      broken(e);
      cut();
    }
  }

  private void broken(IOException e) {
    if (!over) {
      shared.log().warn(LinkLog.Kind.BROKEN, () -> "the connection to " + peer + " broke: " + e);
    }
  }

  /** Ends it at once; {@link #serve} returns soon. */
  void cut() {
    over = true;
    queue.die();
    try {
      raw.close();
    } catch (IOException e) {
      // Nothing is left to be done with it.
      over = true;
    }
  }

  /** Ends it after what is queued was written; nothing more is received. */
  void finish() {
    over = true;
    queue.finish();
    shared.time().after(FAREWELL_NANOS, this::cut);
  }

  /** Ends it after the other side was told that it is removed; nothing more is received. */
  void dismiss() {
    over = true;
    farewell = true;
    finish();
  }
}
