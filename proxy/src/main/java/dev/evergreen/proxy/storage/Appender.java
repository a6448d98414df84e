package dev.evergreen.proxy.storage;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Stores a response while it is being received. For one thread at a time, but for {@link #follow}.
 *
 * <p>Readers that follow neither hold it up nor make it pile up memory, as long as the response can
 * be stored: what is too large for memory goes to disk. Where it cannot be stored (it is too large,
 * or the disk fails) it goes no faster than the slowest reader, and readers that take nothing for
 * {@link StorageOptions#patience} are cut off. When no reader is left, it is abandoned.
 */
public interface Appender extends AutoCloseable {

  /**
   * Reads the response while it is being received, from its beginning; also after its end. Where it
   * cannot be stored, who follows late may have missed the beginning. Of what was abandoned there
   * is nothing to read, nor of what turned out at its end not to be stored: that is passed on to
   * those who follow it by then.
   */
  Lease follow();

  /**
   * Takes all bytes of the buffer, the next of the body. May wait for the disk, or for readers.
   *
   * @throws IncompleteException if the response cannot be stored and nobody follows it any more; it
   *     is abandoned then
   * @throws IOException if the body becomes longer than was said
   */
  void append(ByteBuffer bytes) throws IOException;

  /**
   * Says that the body is complete. If it can be stored, and was not purged meanwhile nor stored
   * anew by who has asked later, it is found from now on. Else it may wait for readers, as {@link
   * #append} does.
   *
   * @return whether it is stored
   * @throws IOException if the body is shorter than was said; it is abandoned then
   */
  boolean commit() throws IOException;

  /**
   * Abandons the response unless it was committed: its readers get an {@link IncompleteException}
   * behind what has come of it. Then it may wait for them, as {@link #append} does.
   */
  @Override
  void close();
}
