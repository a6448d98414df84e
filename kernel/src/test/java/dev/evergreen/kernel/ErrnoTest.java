package dev.evergreen.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ErrnoTest {

  private static final int EBADF = 9;
  private static final int NO_DESCRIPTOR = -1;
  private static final MemorySegment SOME = Arena.ofAuto().allocate(16, 8);

  private final Scratch scratch = new Scratch();

  static Stream<Arguments> callsWithADescriptor() {
    return Stream.of(
        call("recv", s -> SocketCalls.receive(s, NO_DESCRIPTOR, SOME, 0)),
        call("send", s -> SocketCalls.send(s, NO_DESCRIPTOR, SOME, 0)),
        call(
            "sendmsg",
            s ->
                SocketCalls.sendGathered(
                    s, NO_DESCRIPTOR, new ByteBuffer[] {SOME.asByteBuffer()}, 0)),
        call("bind", s -> SocketCalls.bind(s, NO_DESCRIPTOR, 16)),
        call("connect", s -> SocketCalls.connect(s, NO_DESCRIPTOR, 16)),
        call("listen", s -> SocketCalls.listen(s, NO_DESCRIPTOR, 1)),
        call("accept4", s -> SocketCalls.accept(s, NO_DESCRIPTOR)),
        call("shutdown", s -> SocketCalls.shutdown(s, NO_DESCRIPTOR, SocketCalls.SHUT_WR)),
        call("setsockopt", s -> SocketCalls.option(s, NO_DESCRIPTOR, 1, 2, 1)),
        call("getsockopt", s -> -SocketCalls.takeError(s, NO_DESCRIPTOR)),
        call("getsockname", s -> SocketCalls.localName(s, NO_DESCRIPTOR)),
        call("getpeername", s -> SocketCalls.peerName(s, NO_DESCRIPTOR)),
        call("epoll_ctl, add", s -> PollCalls.add(s, NO_DESCRIPTOR, 0, 0, 0)),
        call("epoll_ctl, modify", s -> PollCalls.change(s, NO_DESCRIPTOR, 0, 0, 0)),
        call("epoll_wait", s -> PollCalls.await(s, NO_DESCRIPTOR, 0)),
        call("epoll_pwait2", s -> PollCalls.await(s, NO_DESCRIPTOR, 1000)),
        call("pread", s -> FileCalls.readAt(s, NO_DESCRIPTOR, SOME, 0)),
        call("sendfile", s -> FileCalls.send(s, NO_DESCRIPTOR, NO_DESCRIPTOR, 0, 1)),
        call("mmap", s -> (int) MemoryCalls.share(s, NO_DESCRIPTOR, 0, 4096)),
        call("io_uring_enter", s -> RingCalls.enter(s, NO_DESCRIPTOR, 0, 0)));
  }

  private static Arguments call(String name, ToIntFunction<Scratch> call) {
    return Arguments.of(name, call);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("callsWithADescriptor")
  void aCallAnswersWithTheNegatedErrorNumber(String name, ToIntFunction<Scratch> call) {
    assertEquals(-EBADF, call.applyAsInt(scratch), name);
  }

  @Test
  void whatIsNoErrorIsReturned() throws IOException {
    assertEquals(0, Errno.check(0, "do it"));
    assertEquals(7, Errno.check(7, "do it"));
  }

  @Test
  void anErrorIsTheExceptionOfTheJdksSockets() {
    var refused =
        assertThrows(
            ConnectException.class, () -> Errno.check(-Errno.ECONNREFUSED, "connect to it"));
    assertEquals("could not connect to it: connection refused", refused.getMessage());
  }

  @Test
  void anErrorThatIsNotExpectedHasTheSystemsText() {
    var e = assertInstanceOf(SocketException.class, Errno.of(-EBADF, "do it"));
    assertTrue(String.valueOf(e.getMessage()).endsWith("Bad file descriptor (error number 9)"));
  }
}
