package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Addresses of sockets between Java and the kernel's form, in {@linkplain Scratch scratch memory}.
 */
public final class Addresses {

  private static final ValueLayout.OfShort PORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);
  private static final int PATH_SIZE = 108;

  private Addresses() {}

  /**
   * The family of an address.
   *
   * @throws UnknownHostException if its host is not resolved
   * @throws SocketException if it is of none that is known here
   */
  public static int family(SocketAddress address) throws IOException {
    return switch (address) {
      case UnixDomainSocketAddress unix -> SocketCalls.AF_UNIX;
      case InetSocketAddress inet when inet.isUnresolved() ->
          throw new UnknownHostException("the host " + inet.getHostString() + " is not known");
      case InetSocketAddress inet when inet.getAddress() instanceof Inet6Address ->
          SocketCalls.AF_INET6;
      case InetSocketAddress inet -> SocketCalls.AF_INET;
      default ->
          throw new SocketException(
              "an address of the internet or of a UNIX socket was expected, but this is "
                  + address.getClass().getName());
    };
  }

  /** Writes an address; returns its length in bytes. */
  public static int write(SocketAddress address, MemorySegment into) throws IOException {
    into.fill((byte) 0);
    into.set(JAVA_SHORT, 0, (short) family(address));
    return switch (address) {
      case UnixDomainSocketAddress unix -> writePath(unix, into);
      case InetSocketAddress inet -> writeInet(inet, into);
      default -> throw new AssertionError(address);
    };
  }

  private static int writePath(UnixDomainSocketAddress address, MemorySegment into)
      throws SocketException {
    var path = address.getPath().toString().getBytes(StandardCharsets.UTF_8);
    if (path.length == 0 || path.length >= PATH_SIZE) {
      throw new SocketException(
          "the path of a UNIX socket must have 1 to 107 bytes, but "
              + address
              + " has "
              + path.length);
    }
    MemorySegment.copy(path, 0, into, JAVA_BYTE, 2, path.length);
    return 2 + path.length + 1;
  }

  private static int writeInet(InetSocketAddress address, MemorySegment into) {
    var bytes = address.getAddress().getAddress();
    into.set(PORT, 2, (short) address.getPort());
    if (address.getAddress() instanceof Inet6Address six) {
      MemorySegment.copy(bytes, 0, into, JAVA_BYTE, 8, bytes.length);
      into.set(JAVA_INT, 24, six.getScopeId());
      return 28;
    }
    MemorySegment.copy(bytes, 0, into, JAVA_BYTE, 4, bytes.length);
    return 16;
  }

  /** Reads an address of {@code length} bytes. */
  public static SocketAddress read(MemorySegment from, int length) throws IOException {
    int family = from.get(JAVA_SHORT, 0);
    if (family == SocketCalls.AF_UNIX) {
      return UnixDomainSocketAddress.of(length <= 2 ? "" : from.getString(2));
    }
    var bytes = new byte[family == SocketCalls.AF_INET6 ? 16 : 4];
    MemorySegment.copy(
        from, JAVA_BYTE, family == SocketCalls.AF_INET6 ? 8 : 4, bytes, 0, bytes.length);
    return new InetSocketAddress(
        InetAddress.getByAddress(bytes), Short.toUnsignedInt(from.get(PORT, 2)));
  }
}
