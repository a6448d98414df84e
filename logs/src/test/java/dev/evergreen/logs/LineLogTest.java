package dev.evergreen.logs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A log whose file takes nothing for a while. */
@Timeout(60)
class LineLogTest {
  @TempDir private Path folder;

  private static LineLog<String> open(Path file) throws IOException {
    return new LineLog<>("log", file, target -> "GET " + target);
  }

  /**
   * Seen: its thread ended with the first failure, and when its queue was full, nothing could be
   * closed any more.
   */
  @Test
  @EnabledOnOs(OS.LINUX)
  void afterAFullDiskItGoesOnAndEnds() throws Exception {
    var file = folder.resolve("log");
    Files.createSymbolicLink(file, Path.of("/dev/full"));
    var told = new CountDownLatch(1);
    var logger = Logger.getLogger(LineLog.class.getName());
    logger.setFilter(
        _ -> {
          told.countDown();
          return false;
        });
    try (var log = open(file)) {
      log.write("/lost");
      told.await();
      Files.delete(file);
      log.reopen();
      log.write("/kept");
      while (!Files.exists(file) || Files.size(file) == 0) {
        Thread.onSpinWait();
      }
      assertEquals(1, log.dropped());
    } finally {
      logger.setFilter(null);
    }
    var lines = Files.readAllLines(file);
    assertEquals(1, lines.size());
    assertEquals("GET /kept", lines.getFirst());
  }

  /** Takes so many bytes, then nothing, then all. */
  private static final class Narrow implements WritableByteChannel {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private int room;

    Narrow(int room) {
      this.room = room;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
      if (room == 0) {
        room = Integer.MAX_VALUE;
        throw new IOException("No space left on device");
      }
      var taken = new byte[Math.min(room, from.remaining())];
      from.get(taken);
      written.writeBytes(taken);
      room -= taken.length;
      return taken.length;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  @Test
  void aLineThatWasTornIsCountedAndNoneIsJoinedToIt() throws Exception {
    var narrow = new Narrow(25);
    var lost = new LongAdder();
    try (var file = new LogFile(narrow, lost)) {
      for (int i = 0; i < 5; i++) {
        file.add("number " + i); // Nine bytes each
      }
      assertThrows(IOException.class, file::flush);
      assertEquals(3, lost.sum());
      file.add("last");
    }
    assertEquals("number 0\nnumber 1\nnumber \nlast\n", narrow.written.toString(UTF_8));
    assertEquals(3, lost.sum());
  }

  /** Seen: after a disk was full, the first line behind it was joined to the part of one. */
  @Test
  void noLineIsJoinedToAPartThatWasInTheFileBefore() throws Exception {
    var path = folder.resolve("log");
    Files.writeString(path, "whole\nhal");
    var lost = new LongAdder();
    try (var before = LogFile.open(path, lost)) {
      try (var file = LogFile.open(path, lost)) {
        before.add("f, and the last of the former one"); // It comes when the new one is open.
        before.flush();
        file.add("first");
        file.flush();
        file.add("second");
      }
    }
    assertEquals(
        "whole\nhal\nf, and the last of the former one\nfirst\nsecond\n", Files.readString(path));
    assertEquals(0, lost.sum());
  }

  /** Seen: the lines went on into the file that had been moved away. */
  @Test
  void aFullQueueKeepsNoFileFromBeingOpenedAnew() throws Exception {
    var file = folder.resolve("log");
    var moved = folder.resolve("moved");
    var begun = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    try (var log =
        new LineLog<String>(
            "log",
            file,
            line -> {
              begun.countDown();
              awaitQuietly(go);
              return line;
            })) {
      log.write("first");
      begun.await();
      while (log.dropped() == 0) {
        log.write("more");
      }
      Files.move(file, moved);
      log.reopen();
      go.countDown();
    }
    assertEquals("first\n", Files.readString(moved));
    assertTrue(Files.exists(file), "it was not opened anew");
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Seen: they came to the file with the next line only, maybe hours later. */
  @Test
  void linesBeforeOneThatFailsAreWritten() throws Exception {
    var file = folder.resolve("log");
    var begun = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    try (var log =
        new LineLog<String>(
            "log",
            file,
            line -> {
              begun.countDown();
              awaitQuietly(go);
              if (line.equals("bad")) {
                throw new IllegalStateException("meant so");
              }
              return line;
            })) {
      log.write("good");
      begun.await();
      log.write("bad");
      go.countDown();
      while (Files.size(file) == 0) {
        Thread.onSpinWait();
      }
      assertEquals("good\n", Files.readString(file));
    }
  }

  /** Seen: they were in a queue that nobody looked at any more. */
  @Test
  void linesBehindTheEndAreCounted() throws Exception {
    var file = folder.resolve("log");
    var log = open(file);
    int writers = 4;
    int lines = 2000;
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < writers; i++) {
      threads.add(
          Thread.startVirtualThread(
              () -> {
                for (int j = 0; j < lines; j++) {
                  log.write("/" + j);
                }
              }));
    }
    while (!Files.exists(file) || Files.size(file) == 0) {
      Thread.onSpinWait();
    }
    log.close();
    for (var thread : threads) {
      thread.join();
    }
    log.write("/late");
    int written = Files.readAllLines(file).size();
    assertEquals(writers * lines + 1, written + log.dropped());
    assertTrue(log.dropped() > 0);
  }
}
