package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Parts of files are sent, whatever happens to the file and the peer meanwhile. */
@Timeout(120)
class TransferTest {

  private static final int SIZE = 3_000_000;

  @TempDir Path folder;

  private final byte[] content = new byte[SIZE];

  private Path file() throws IOException {
    new Random(5).nextBytes(content);
    return Files.write(folder.resolve("file"), content);
  }

  private static byte[] receive(Pair pair, int bytes) throws IOException {
    var received = ByteBuffer.allocate(bytes);
    while (received.hasRemaining() && pair.peer().read(received) >= 0) {
      // Goes on until all is there.
    }
    return Arrays.copyOf(received.array(), received.position());
  }

  @ParameterizedTest
  @EnumSource
  void aPartLeavesBetweenWhatIsWrittenBeforeAndAfter(Wire wire) throws Exception {
    try (var file = OpenFile.open(file());
        var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var sent =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(Pair.bytes("before"));
                pair.ours().transferFrom(file, 1000, 500_000);
                pair.ours().write(Pair.bytes("then"));
                pair.ours().transferFrom(file, 7, 0);
                pair.ours().transferFrom(file, SIZE - 1, 1);
                pair.ours().write(Pair.bytes("after"));
                pair.ours().flush();
                return 0;
              });
      assertEquals("before", pair.peerReads(6));
      assertEquals(
          ByteBuffer.wrap(content, 1000, 500_000), ByteBuffer.wrap(receive(pair, 500_000)));
      assertEquals("then", pair.peerReads(4));
      assertEquals(content[SIZE - 1], receive(pair, 1)[0]);
      assertEquals("after", pair.peerReads(5));
      Fiber.get(sent);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFileThatBecomesShorterMeanwhileIsAnError(Wire wire) throws Exception {
    var path = file();
    try (var file = OpenFile.open(path);
        var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var sent = Fiber.start(fibers, () -> transfer(pair, file, SIZE));
      var first = receive(pair, 10_000);
      int shorter = SIZE / 2;
      try (var channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
        channel.truncate(shorter);
      }
      var rest = receive(pair, shorter - first.length);
      assertThrows(EOFException.class, () -> Fiber.get(sent));
      assertEquals(ByteBuffer.wrap(content, 0, first.length), ByteBuffer.wrap(first));
      assertEquals(
          ByteBuffer.wrap(content, first.length, shorter - first.length), ByteBuffer.wrap(rest));
    }
  }

  private static int transfer(Pair pair, OpenFile file, long count) throws IOException {
    pair.ours().transferFrom(file, 0, count);
    return 0;
  }

  @ParameterizedTest
  @EnumSource
  void aFileThatIsClosedMeanwhileIsSentAndNoOtherOne(Wire wire) throws Exception {
    var path = file();
    var other = Files.write(folder.resolve("other"), new byte[SIZE]);
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var file = OpenFile.open(path);
      var sent = Fiber.start(fibers, () -> transfer(pair, file, SIZE));
      var first = receive(pair, 10_000);
      Files.delete(path);
      file.close();
      file.close();
      // It would get the number if that had been given back.
      try (var _ = OpenFile.open(other)) {
        var rest = receive(pair, SIZE - first.length);
        Fiber.get(sent);
        assertEquals(ByteBuffer.wrap(content, 0, first.length), ByteBuffer.wrap(first));
        assertEquals(ByteBuffer.wrap(content, first.length, rest.length), ByteBuffer.wrap(rest));
      }
      assertThrows(
          ClosedChannelException.class, () -> Fiber.run(fibers, () -> transfer(pair, file, 1)));
    }
  }

  @Test
  void closingGivesTheDescriptorBack() throws Exception {
    var path = file();
    var numbers = new HashSet<Integer>();
    for (int i = 0; i < 100; i++) {
      try (var file = OpenFile.open(path)) {
        numbers.add(file.number());
      }
    }
    assertTrue(numbers.size() < 50, () -> "so many are open: " + numbers.size());
    assertThrows(NoSuchFileException.class, () -> OpenFile.open(folder.resolve("none")));
  }

  @ParameterizedTest
  @EnumSource
  void aPeerThatGoesEndsATransfer(Wire wire) throws Exception {
    try (var file = OpenFile.open(file());
        var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var sent = Fiber.start(fibers, () -> transfer(pair, file, SIZE));
      receive(pair, 10_000);
      pair.peerResets();
      assertThrows(IOException.class, () -> Fiber.get(sent));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPeerThatTakesNothingIsGivenUp(Wire wire) throws Exception {
    try (var file = OpenFile.open(file());
        var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      pair.ours().writeTimeout(Duration.ofMillis(50));
      assertThrows(
          WriteTimeoutException.class,
          () ->
              Fiber.run(
                  fibers,
                  () -> {
                    while (true) {
                      transfer(pair, file, SIZE);
                    }
                  }));
      assertThrows(ClosedChannelException.class, () -> transfer(pair, file, 1));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aScopeEndsATransfer(Wire wire) throws Exception {
    try (var file = OpenFile.open(file());
        var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var scope = CancelScope.open();
      var sent =
          Fiber.start(
              fibers,
              () ->
                  scope.call(
                      () -> {
                        while (true) {
                          transfer(pair, file, SIZE);
                        }
                      }));
      receive(pair, 10_000);
      scope.cancel();
      assertThrows(WaitCancelledException.class, () -> Fiber.get(sent));
    }
  }

  /** It never has to wait, and would have sent all before others ran. */
  @Test
  void othersRunWhileAPeerHasRoomForAll() throws Exception {
    var room = SocketOptions.DEFAULT.withBuffers(4 << 20, 4 << 20);
    try (var file = OpenFile.open(file());
        var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(1).start();
        var pair = Pair.accepted(fibers, Pair.loopback(), room)) {
      var turns = new AtomicInteger();
      var stop = new AtomicBoolean();
      var between =
          Fiber.run(
              fibers,
              () -> {
                fibers.spawn(
                    () -> {
                      while (!stop.get()) {
                        turns.incrementAndGet();
                        Fibers.letOthersRun();
                      }
                    });
                Fibers.letOthersRun();
                int before = turns.get();
                transfer(pair, file, 4 * OwnConnection.WRITER_TURN);
                return turns.get() - before;
              });
      stop.set(true);
      assertTrue(between >= 3, () -> "others ran " + between + " times");
    }
  }

  /**
   * By the counts of the system and of the JVM: no buffer is borrowed, and nothing is allocated.
   */
  @Test
  void nothingIsCopiedOrAllocatedForWhatTheSystemCanSend() throws Exception {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (var file = OpenFile.open(file());
        var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(1).start();
        var pair = Pair.accepted(fibers)) {
      var taker =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      while (pair.peer().read(ByteBuffer.allocateDirect(1 << 16)) >= 0) {
                        // Takes all.
                      }
                    } catch (IOException e) {
                      // It has ended.
                    }
                  });
      for (int i = 0; i < 20; i++) {
        transfer(pair, file, SIZE);
      }
      int buffers = Buffers.count();
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 20; i++) {
        transfer(pair, file, SIZE);
      }
      long allocated = threads.getCurrentThreadAllocatedBytes() - before;
      assertEquals(buffers, Buffers.count());
      assertTrue(allocated < SIZE, () -> "60 MB were sent with " + allocated + " bytes allocated");
      pair.ours().close();
      taker.join();
    }
  }
}
