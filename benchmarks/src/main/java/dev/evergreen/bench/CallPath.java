package dev.evergreen.bench;

import java.io.IOException;

/** One way to have a request of 60 bytes answered with 100 by another process. */
interface CallPath extends AutoCloseable {

  /** As the report names it. */
  String name();

  /**
   * One of many callers, used by one virtual thread at a time. Not measured; may block.
   *
   * @return makes one call and returns when it is answered
   */
  Runnable caller(int index) throws IOException;

  @Override
  void close() throws IOException;
}
