package dev.evergreen.bench.load;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A running server that is measured; a process of its own. */
public interface ServerUnderTest extends AutoCloseable {

  /** Where it listens. */
  InetSocketAddress address();

  /** Its process. */
  ProcessHandle process();

  /** Ends it. Blocks until that is done. */
  @Override
  void close() throws IOException;
}
