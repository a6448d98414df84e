package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.Signal;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Fields;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What becomes of an upload whose client is found to be too slow at a moment that a test chooses.
 */
@Timeout(60)
class UploadTest {
  private final Fibers fibers = Fibers.builder().processors(1).start();
  private final SlowPeers peers = new SlowPeers();

  @AfterEach
  void end() {
    fibers.close();
  }

  /** How the origin gets to know that there is no more. */
  private static final class ToOrigin implements BodyWriter {
    private final CompletableFuture<String> over = new CompletableFuture<>();

    @Override
    public void write(ByteBuffer from) {
      from.position(from.limit());
    }

    @Override
    public void write(FileChannel file, long position, long count) {
      throw new UnsupportedOperationException("a body comes from a client");
    }

    @Override
    public void flush() {}

    @Override
    public void end(Fields trailers) {
      over.complete("ended");
    }

    @Override
    public void abort() {
      over.complete("aborted");
    }
  }

  private int hangUp() {
    return peers.hangUp(1, Duration.ZERO, Long.MAX_VALUE);
  }

  /** A body that is waited for, and whose client is hung up on while it is. */
  private abstract static class Awaited implements BodyReader {
    private boolean ended;

    final void end() {
      ended = true;
    }

    @Override
    public final long length() {
      return -1;
    }

    @Override
    public final boolean ended() {
      return ended;
    }

    @Override
    public final int tryRead(ByteBuffer into) {
      return ended ? -1 : 0;
    }

    @Override
    public final Fields trailers() {
      return Fields.NONE;
    }
  }

  @Test
  void anUploadThatEndsAsItIsHungUpOnHasNotFailed() throws Exception {
    var upload =
        new Upload(
            fibers,
            new Awaited() {
              @Override
              public void await() {
                assertEquals(1, hangUp());
                end();
              }
            },
            false,
            new Pace());
    var toOrigin = new ToOrigin();
    upload.start(toOrigin, peers);
    assertEquals("ended", toOrigin.over.get());
    assertNull(upload.failure());
    upload.stop();
  }

  @Test
  void anUploadThatWaitsWhenItIsHungUpOnHasFailed() throws Exception {
    var upload =
        new Upload(
            fibers,
            new Awaited() {
              @Override
              public void await() throws IOException {
                assertEquals(1, hangUp());
                new Signal(fibers).await();
              }
            },
            false,
            new Pace());
    var toOrigin = new ToOrigin();
    upload.start(toOrigin, peers);
    assertEquals("aborted", toOrigin.over.get());
    assertInstanceOf(Upload.HungUpException.class, upload.failure());
    upload.stop();
  }
}
