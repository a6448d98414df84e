package dev.evergreen.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * The body of a message that is sent. What is written is collected and leaves as a {@code
 * Connection}'s output does: at the latest when the writing fiber waits for input of whatever
 * connection; or by {@link #flush}.
 *
 * <p>If the head told a length, just so many bytes must be written. A response to HEAD, or of a
 * status that has none, has no body: then what is written is dropped.
 */
public interface BodyWriter {

  /** Appends all bytes of a buffer. What is large and of native memory may be sent at once. */
  void write(ByteBuffer from) throws IOException;

  /**
   * Appends as much of a buffer as can be without waiting for the peer to take some of it; that is
   * all but by HTTP/2. The rest stays in the buffer.
   */
  default void tryWrite(ByteBuffer from) throws IOException {
    write(from);
  }

  /** Appends bytes. */
  default void write(byte[] from) throws IOException {
    write(ByteBuffer.wrap(from));
  }

  /** Appends a part of a file; see {@code Connection.write(FileChannel, long, long)}. */
  void write(FileChannel file, long position, long count) throws IOException;

  /** Sends what was written. Blocks until the system has taken it. */
  void flush() throws IOException;

  /**
   * Ends the message. Only the first call counts.
   *
   * @throws IllegalStateException if the head told a greater length; the message is aborted then
   */
  default void end() throws IOException {
    end(Fields.NONE);
  }

  /** Ends the message with trailers; they are dropped where the version or framing has none. */
  void end(Fields trailers) throws IOException;

  /**
   * Gives the message up such that its reader does not take it for whole: by resetting the
   * connection, or the stream of HTTP/2. Any thread may call this. Nothing happens if it has ended.
   */
  void abort();
}
