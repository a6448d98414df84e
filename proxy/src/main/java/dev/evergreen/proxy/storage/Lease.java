package dev.evergreen.proxy.storage;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A response to be read: it never changes until the lease is closed, whatever happens to the stored
 * one. It also stays until then, but where slow readers have more than a tenth of the disk or of
 * the memory: then reading may end early. For one reader at a time.
 *
 * {@snippet :
 * for (long sent = 0; ; ) {
 *   ByteBuffer[] pieces = lease.read(sent, Long.MAX_VALUE);
 *   if (pieces.length == 0) break;
 *   for (var piece : pieces) sent += piece.remaining();
 *   connection.writeAndFlush(pieces);
 * }
 * }
 */
public interface Lease extends AutoCloseable {
  /** Where the body comes from. */
  enum Source {
    MEMORY,
    DISK,
    /** It is still being received. */
    ORIGIN
  }

  Source source();

  /**
   * The head, read-only, in native memory unless it is still being received; anew for each call.
   */
  ByteBuffer head();

  /** The variant that it was stored as; empty if the response does not vary. A copy. */
  byte[] variant();

  /** The stamp that the response was stored under. */
  long stamp();

  /** Whether it was softly purged, and so is to be validated before use. */
  boolean isStale();

  /** The bytes of the body, -1 while they are not known because they are still being received. */
  long length();

  /**
   * The body from the offset on, as far as it is at hand, at most so many bytes; empty at its end
   * only. The pieces are read-only, in native memory, and valid until the next read or close. Waits
   * for the disk or for the origin if need be.
   *
   * @throws IncompleteException if the response will never be complete
   * @throws DamagedException if the disk cannot be read, has a wrong body, or has the body no more
   */
  ByteBuffer[] read(long offset, long most) throws IOException;

  /** Lets go. Closing again does nothing. */
  @Override
  void close();
}
