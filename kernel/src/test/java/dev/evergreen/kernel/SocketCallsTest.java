package dev.evergreen.kernel;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class SocketCallsTest {

  private static final int EISCONN = 106;

  @TempDir private Path folder;

  private final Arena arena = Arena.ofAuto();
  private final Scratch scratch = new Scratch();

  private MemorySegment bytes(String text) {
    var bytes = text.getBytes(US_ASCII);
    var memory = arena.allocate(bytes.length);
    memory.copyFrom(MemorySegment.ofArray(bytes));
    return memory;
  }

  private static String text(MemorySegment from, int length) {
    return new String(from.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE), US_ASCII);
  }

  @Test
  void whatIsSentArrives() throws IOException {
    try (var pair = SocketPair.open()) {
      assertEquals(5, SocketCalls.send(scratch, pair.client(), bytes("hello"), 0));
      var into = arena.allocate(16);
      assertEquals("hello", text(into, pair.receive(into)));
    }
  }

  @Test
  void theKernelSaysWhenSomethingCame() throws Exception {
    try (var pair = SocketPair.open()) {
      Errno.check(
          SocketCalls.option(
              scratch, pair.server(), SocketCalls.SOL_SOCKET, SocketCalls.SO_TIMESTAMPNS, 1),
          "ask for times");
      long before;
      long there;
      do { // Linux begins with it a moment after it was first asked.
        before = now();
        assertEquals(5, SocketCalls.send(scratch, pair.client(), bytes("hello"), 0));
        SocketPair.awaitEvent(pair.server(), PollCalls.EPOLLIN);
        there = now();
        // What is read late has come no later for that.
        Thread.sleep(20);
        var into = arena.allocate(16);
        int length = SocketCalls.receiveStamped(scratch, pair.server(), into, 0);
        assertEquals("hello", text(into, length));
      } while (scratch.arrival() == 0);
      assertTrue(before <= scratch.arrival() && scratch.arrival() <= there);
    }
  }

  private static long now() {
    var now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000 + now.getNano();
  }

  @Test
  void withoutAskingThereIsNoTime() throws IOException {
    try (var pair = SocketPair.open()) {
      assertEquals(5, SocketCalls.send(scratch, pair.client(), bytes("hello"), 0));
      SocketPair.awaitEvent(pair.server(), PollCalls.EPOLLIN);
      var into = arena.allocate(16);
      assertEquals(5, SocketCalls.receiveStamped(scratch, pair.server(), into, 0));
      assertEquals(0, scratch.arrival());
    }
  }

  @Test
  void severalBuffersLeaveInTheirOrder() throws IOException {
    try (var pair = SocketPair.open()) {
      var parts =
          new ByteBuffer[] {
            bytes("one ").asByteBuffer(),
            bytes("not this: two ").asByteBuffer().position(10),
            bytes("three").asByteBuffer()
          };
      assertEquals(13, SocketCalls.sendGathered(scratch, pair.client(), parts, 0));
      var into = arena.allocate(32);
      assertEquals("one two three", text(into, pair.receive(into)));
    }
  }

  @Test
  void aPartOfAFileIsSentAndRead() throws IOException {
    var path = Files.writeString(folder.resolve("file"), "0123456789");
    int file = FileCalls.open(scratch, path.toString());
    try (var pair = SocketPair.open()) {
      var into = arena.allocate(16);
      assertEquals(4, FileCalls.send(scratch, pair.client(), file, 3, 4));
      assertEquals("3456", text(into, pair.receive(into)));
      assertEquals(0, FileCalls.send(scratch, pair.client(), file, 10, 4));
      assertEquals("789", text(into, FileCalls.readAt(scratch, file, into, 7)));
      assertEquals(0, FileCalls.readAt(scratch, file, into, 10));
    } finally {
      FileCalls.close(scratch, file);
    }
  }

  @Test
  void aFileThatIsNotThereIsNotOpened() {
    assertEquals(-Errno.ENOENT, FileCalls.open(scratch, folder.resolve("none").toString()));
  }

  @Test
  void whereNothingIsThereACallDoesNotWait() throws IOException {
    try (var pair = SocketPair.open()) {
      var into = arena.allocate(16);
      assertEquals(-Errno.EAGAIN, SocketCalls.receive(scratch, pair.server(), into, 0));
      assertEquals(-Errno.EAGAIN, SocketCalls.accept(scratch, pair.listener()));
      int flags = SocketCalls.MSG_DONTWAIT;
      assertEquals(-Errno.EAGAIN, SocketCalls.receive(scratch, pair.client(), into, flags));
    }
  }

  @Test
  void theEndAndAResetAreTold() throws IOException {
    try (var pair = SocketPair.open()) {
      var into = arena.allocate(16);
      assertEquals(0, SocketCalls.shutdown(scratch, pair.client(), SocketCalls.SHUT_WR));
      assertEquals(0, pair.receive(into));
      assertEquals(-Errno.EPIPE, SocketCalls.send(scratch, pair.client(), bytes("late"), 0));
      SocketCalls.disconnect(scratch, pair.server());
      assertEquals(-Errno.ECONNRESET, SocketCalls.receive(scratch, pair.client(), into, 0));
    }
  }

  @Test
  void aRefusedConnectionIsTold() throws IOException {
    int listener = SocketPair.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    var nobodys = SocketPair.nameOf(listener);
    FileCalls.close(scratch, listener);
    int fd = SocketCalls.open(scratch, SocketCalls.AF_INET);
    try {
      int length = Addresses.write(nobodys, scratch.address());
      assertEquals(-Errno.EINPROGRESS, SocketCalls.connect(scratch, fd, length));
      SocketPair.awaitEvent(fd, PollCalls.EPOLLOUT);
      assertEquals(Errno.ECONNREFUSED, SocketCalls.takeError(scratch, fd));
      assertEquals(0, SocketCalls.takeError(scratch, fd), "it was taken");
    } finally {
      FileCalls.close(scratch, fd);
    }
  }

  @Test
  void anAddressThatIsTakenIsTold() throws IOException {
    try (var pair = SocketPair.open()) {
      int fd = SocketCalls.open(scratch, SocketCalls.AF_INET);
      int length = Addresses.write(SocketPair.nameOf(pair.listener()), scratch.address());
      assertEquals(-Errno.EADDRINUSE, SocketCalls.bind(scratch, fd, length));
      FileCalls.close(scratch, fd);
      assertEquals(-EISCONN, SocketCalls.connect(scratch, pair.client(), length));
    }
  }

  @Test
  void addressesOfEveryFamilyAreWrittenAndRead() throws IOException {
    var unix = UnixDomainSocketAddress.of(folder.resolve("socket"));
    try (var pair = SocketPair.open(unix)) {
      assertEquals(unix, SocketPair.nameOf(pair.listener()));
    }
    for (var host : new String[] {"127.0.0.1", "::1"}) {
      try (var pair = SocketPair.open(new InetSocketAddress(host, 0))) {
        Errno.check(SocketCalls.peerName(scratch, pair.client()), "tell its peer");
        assertEquals(
            SocketPair.nameOf(pair.listener()),
            Addresses.read(scratch.address(), scratch.length()));
        Errno.check(SocketCalls.peerName(scratch, pair.server()), "tell its peer");
        assertEquals(
            SocketPair.nameOf(pair.client()), Addresses.read(scratch.address(), scratch.length()));
      }
    }
  }

  @Test
  void anOptionIsSet() throws IOException {
    try (var pair = SocketPair.open()) {
      int tcp = SocketCalls.IPPROTO_TCP;
      assertEquals(0, SocketCalls.option(scratch, pair.client(), tcp, SocketCalls.TCP_NODELAY, 1));
      int enoprotoopt = 92;
      assertEquals(-enoprotoopt, SocketCalls.option(scratch, pair.client(), tcp, 9999, 1));
    }
  }

  @Test
  void aRequestMakesNoObjects() throws IOException {
    var bean = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    var from = bytes("some bytes to send");
    var into = arena.allocate(64);
    try (var pair = SocketPair.open()) {
      long allocated = Long.MAX_VALUE;
      // The compiler needs a while until it sees that the slices are nobody's.
      for (int round = 0; round < 400 && allocated >= 64; round++) {
        long before = bean.getCurrentThreadAllocatedBytes();
        assertArrayEquals(new int[] {2000}, new int[] {exchange(pair, from, into, 2000)});
        allocated = bean.getCurrentThreadAllocatedBytes() - before;
      }
      assertTrue(allocated < 64, "2000 sends and receives made " + allocated + " bytes of objects");
    }
  }

  private int exchange(SocketPair pair, MemorySegment from, MemorySegment into, int times) {
    int arrived = 0;
    for (int i = 0; i < times; i++) {
      int n = SocketCalls.send(scratch, pair.client(), from.asSlice(i % 10), 0);
      arrived += SocketCalls.receive(scratch, pair.server(), into.asSlice(i % 20), 0) == n ? 1 : 0;
    }
    return arrived;
  }
}
