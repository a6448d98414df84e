package dev.evergreen.fibers;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.evergreen.kernel.Scratch;
import dev.evergreen.kernel.SocketCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A port at which several sockets listen, of this process and of others of the same user. The
 * kernel spreads new connections over them. Each has a queue of its own, which is lost when it is
 * closed; so whoever leaves must have no handshake under way and nothing in its queue.
 *
 * <p>The kernel lets programs in its packet filter's language decide, which need no privilege. The
 * one of a group of sockets says which of them gets a connection, by the order in which they came;
 * where that one does not exist the kernel spreads as ever. The one of a socket says which packets
 * it gets. A packet that is dropped is sent again by its client after a second, to whoever is there
 * then.
 */
final class SharedPort {

  private static final int LOAD_BYTE = 0x30;
  private static final int JUMP_IF_SET = 0x45;
  private static final int RETURN = 0x06;

  private static final int TCP_FLAGS_AT = 13;
  private static final int TCP_SYN = 2;

  /** One step: its code, how many steps are skipped if it holds and if not, and its operand. */
  private record Step(int code, int ifSo, int ifNot, int operand) {}

  /** Of two sockets the second, which is the one that came to take over. */
  private static final MemorySegment TO_THE_SECOND = program(new Step(RETURN, 0, 0, 1));

  /** All packets but those that begin a connection. */
  private static final MemorySegment NOTHING_NEW =
      program(
          new Step(LOAD_BYTE, 0, 0, TCP_FLAGS_AT),
          new Step(JUMP_IF_SET, 0, 1, TCP_SYN),
          new Step(RETURN, 0, 0, 0),
          new Step(RETURN, 0, 0, -1));

  private SharedPort() {}

  /** A {@code struct sock_fprog}, and behind it the steps. */
  private static MemorySegment program(Step... steps) {
    var memory = Arena.global().allocate(16 + 8L * steps.length, 8);
    memory.set(JAVA_SHORT, 0, (short) steps.length);
    memory.set(ADDRESS, 8, memory.asSlice(16));
    for (int i = 0; i < steps.length; i++) {
      long at = 16 + 8L * i;
      memory.set(JAVA_SHORT, at, (short) steps[i].code);
      memory.set(JAVA_BYTE, at + 2, (byte) steps[i].ifSo);
      memory.set(JAVA_BYTE, at + 3, (byte) steps[i].ifNot);
      memory.set(JAVA_INT, at + 4, steps[i].operand);
    }
    return memory.asSlice(0, 16);
  }

  /** To be called before the socket is bound. */
  static int allow(Scratch scratch, int fd) {
    return SocketCalls.option(scratch, fd, SocketCalls.SOL_SOCKET, SocketCalls.SO_REUSEPORT, 1);
  }

  /** The socket listens: from now on connections are spread over all, it included. */
  static void join(Scratch scratch, int fd) {
    // An error says that they are already.
    var _ =
        SocketCalls.option(
            scratch, fd, SocketCalls.SOL_SOCKET, SocketCalls.SO_DETACH_REUSEPORT_BPF, 0);
  }

  /** From now on no connection begins at the socket; those that have begun are completed. */
  static void leave(Scratch scratch, int fd) {
    // A kernel that refuses this goes on as before: what is dropped comes again a second later.
    var _ =
        SocketCalls.option(
            scratch,
            fd,
            SocketCalls.SOL_SOCKET,
            SocketCalls.SO_ATTACH_REUSEPORT_CBPF,
            TO_THE_SECOND);
    var _ =
        SocketCalls.option(
            scratch, fd, SocketCalls.SOL_SOCKET, SocketCalls.SO_ATTACH_FILTER, NOTHING_NEW);
  }
}
