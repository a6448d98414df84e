package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.MemoryPair;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.Signal;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
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
  private static class ToOrigin implements BodyWriter {
    final CompletableFuture<String> over = new CompletableFuture<>();

    @Override
    public void write(ByteBuffer from) throws IOException {
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
    private ByteBuffer there = ByteBuffer.allocate(0);

    final void end() {
      ended = true;
    }

    /** All of it is there. */
    final void give(String all) {
      there = ByteBuffer.wrap(all.getBytes(StandardCharsets.ISO_8859_1));
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
      int n = there.remaining();
      if (n > 0) {
        into.put(there);
        end();
        return n;
      }
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

  /** An origin by HTTP/2 that has room for one byte. */
  private static final class Narrow extends ToOrigin {
    private final CountDownLatch room = new CountDownLatch(1);
    private final StringBuilder sent = new StringBuilder();

    @Override
    public void tryWrite(ByteBuffer from) {
      sent.append((char) from.get());
    }

    @Override
    public void write(ByteBuffer from) throws IOException {
      if (from.hasRemaining()) {
        uninterruptibly(room);
      }
      while (from.hasRemaining()) {
        sent.append((char) from.get());
      }
    }
  }

  /** Seen: whoever was to receive its answer waited for it to take the body. */
  @Test
  void whatFindsNoRoomIsSentByAnotherFiber() throws Exception {
    var body =
        new Awaited() {
          @Override
          public void await() {
            throw new AssertionError("all is there");
          }
        };
    body.give("abc");
    var upload = new Upload(fibers, body, false, new Pace());
    var toOrigin = new Narrow();
    upload.start(toOrigin, peers);
    assertEquals("a", toOrigin.sent.toString());
    toOrigin.room.countDown();
    assertEquals("ended", toOrigin.over.get());
    assertEquals("abc", toOrigin.sent.toString());
    upload.stop();
  }

  /**
   * Its end is that of what it sends, and comes before that was read if the system keeps some: it
   * may wait for more than a moment while the origin takes it. How much a system keeps depends on
   * it, so the end is told here.
   */
  @Test
  void whoSendsNoMoreIsWaitedForAsLongAsItsUploadGoesOn() throws Exception {
    var more = new CountDownLatch(1);
    var upload =
        new Upload(
            fibers,
            new Awaited() {
              @Override
              public void await() throws IOException {
                uninterruptibly(more);
                end();
              }
            },
            false,
            new Pace());
    upload.start(new ToOrigin(), peers);
    waitsForWhoSendsNoMoreUntil(more::countDown, upload);
  }

  /** Seen: 504 if there was no connection to the origin within a second. */
  @Test
  void whoSendsNoMoreIsWaitedForBeforeItsUploadHasBegun() throws Exception {
    var body =
        new Awaited() {
          @Override
          public void await() {
            throw new AssertionError("it has ended");
          }
        };
    var upload = new Upload(fibers, body, false, new Pace());
    waitsForWhoSendsNoMoreUntil(
        () -> {
          body.end();
          upload.start(new ToOrigin(), peers);
        },
        upload);
  }

  /**
   * Asserts that a client that has ended its side is waited for before something is done, and given
   * up after it.
   */
  private void waitsForWhoSendsNoMoreUntil(CancelScope.Action<IOException> done, Upload upload)
      throws Exception {
    var told = new AtomicReference<Runnable>();
    try (var pair = MemoryPair.of(fibers);
        var leaving = new Leaving(fibers, half(pair.far(), told))) {
      leaving.during(upload);
      assertThrows(
          Leaving.GoneException.class,
          () ->
              leaving.run(
                  () -> {
                    Objects.requireNonNull(told.get()).run();
                    // Longer than it would be waited for a client that has left.
                    pair.near().readTimeout(Duration.ofMillis(1500));
                    assertThrows(SocketTimeoutException.class, () -> read(pair.near()));
                    done.run();
                    pair.near().readTimeout(Duration.ofSeconds(30));
                    read(pair.near());
                  }));
    }
    upload.stop();
  }

  private static void read(Connection from) throws IOException {
    int count = from.read(ByteBuffer.allocate(1));
    assertEquals(0, count, "nobody sends anything");
  }

  private static void uninterruptibly(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** A client of HTTP/1.1, of whose end a test tells. */
  private static Exchange half(Connection connection, AtomicReference<Runnable> told) {
    var request = RequestHead.of("POST", "/");
    return (Exchange)
        java.lang.reflect.Proxy.newProxyInstance(
            Exchange.class.getClassLoader(),
            new Class<?>[] {Exchange.class},
            (_, method, arguments) ->
                switch (method.getName()) {
                  case "request" -> request;
                  case "connection" -> connection;
                  case "whenClientLeaves" -> {
                    told.set((Runnable) arguments[0]);
                    yield null;
                  }
                  default -> throw new UnsupportedOperationException(method.getName());
                });
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
