package dev.evergreen.http;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The body of a message that is received, pulled by its reader: what is not read is not received,
 * so a slow reader slows its sender down.
 *
 * <p>One fiber at a time reads. The waits obey the connection's time limits and {@code
 * CancelScope}s; a reader whose wait was cancelled may read on.
 */
public interface BodyReader {

  /**
   * The length that the message told in its head, 0 if it has no body, or -1 if that is not known.
   */
  long length();

  /** Whether all was read, so that {@link #read} answers -1 at once; so it is if there is none. */
  boolean ended();

  /**
   * Reads at least one byte, waiting for it if need be.
   *
   * @return how many bytes were read, or -1 at the end, when the whole body has come
   * @throws MalformedMessageException if it is not framed as it should be
   * @throws IncompleteMessageException if it was cut off
   */
  default int read(ByteBuffer into) throws IOException {
    int n = tryRead(into);
    while (n == 0 && into.hasRemaining()) {
      await();
      n = tryRead(into);
    }
    return n;
  }

  /** Reads what is there, without waiting: 0 if nothing is, -1 at the end. */
  int tryRead(ByteBuffer into) throws IOException;

  /**
   * Waits until it is worth trying to read: who holds no buffer meanwhile needs none. May return
   * although nothing is there.
   */
  void await() throws IOException;

  /** The trailers, which have come when {@link #ended} answers true; none before. */
  Fields trailers();
}
