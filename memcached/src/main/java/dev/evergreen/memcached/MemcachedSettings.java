package dev.evergreen.memcached;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.memcached.live.LiveViews;
import dev.evergreen.tls.ServerTls;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a server is to be. Settings do not change: each method answers others, which differ in that.
 * What is not set is as memcached has it, but for the address, which is the loopback's, and for
 * {@link #withRequestsPerTurn}.
 */
public final class MemcachedSettings implements Cloneable {
  /** What stands if nothing is said. */
  public static final MemcachedSettings DEFAULT = new MemcachedSettings();

  /** The port that memcached is known by. */
  public static final int PORT = 11211;

  List<SocketAddress> addresses =
      List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT));
  List<SocketAddress> plainAddresses = List.of();
  @Nullable Path unixSocket;
  int unixMask = 0700;
  int backlog = 1024;
  long memory = 64L << 20;
  int itemLimit = 1 << 20;
  boolean evicts = true;
  boolean cas = true;
  int connections = 1024;
  int processors = Math.min(4, Runtime.getRuntime().availableProcessors());
  int requestsPerTurn = 250;
  boolean flushes = true;
  boolean shutsDown;
  boolean dumps = true;
  boolean watches = true;
  @Nullable Path authFile;
  ServerTls.@Nullable Settings tls;
  Duration idleTimeout = Duration.ZERO;
  Duration writeTimeout = Duration.ofSeconds(30);
  long leastRate = 16 << 10;
  Duration grace = Duration.ofSeconds(1);
  int verbosity;
  char prefixDelimiter = ':';
  boolean details;
  Fibers.@Nullable Mode mode;
  Fibers.@Nullable Io io;
  boolean helping = true;
  boolean speaksText = true;
  boolean speaksBinary = true;
  @Nullable LiveViews liveViews;

  private MemcachedSettings() {}

  private MemcachedSettings with(Consumer<MemcachedSettings> change) {
    var copy = copy();
    change.accept(copy);
    return copy;
  }

  private MemcachedSettings copy() {
    try {
      return (MemcachedSettings) clone();
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** Where to listen; port 0 is any that is free. */
  public MemcachedSettings withAddresses(List<? extends SocketAddress> addresses) {
    return with(copy -> copy.addresses = List.copyOf(addresses));
  }

  /** Further addresses, where no TLS is spoken in any case. */
  public MemcachedSettings withPlainAddresses(List<? extends SocketAddress> addresses) {
    return with(copy -> copy.plainAddresses = List.copyOf(addresses));
  }

  /** Listens at the path, and at no address. Its permissions are the mask's, such as 0700. */
  public MemcachedSettings withUnixSocket(Path path, int mask) {
    return with(
        copy -> {
          copy.unixSocket = path;
          copy.unixMask = mask;
          copy.addresses = List.of();
          copy.plainAddresses = List.of();
        });
  }

  /** How many connections may wait to be accepted. */
  public MemcachedSettings withBacklog(int connections) {
    return with(copy -> copy.backlog = connections);
  }

  /** The bytes of memory for items, at least 1 MiB. */
  public MemcachedSettings withMemory(long bytes) {
    return with(copy -> copy.memory = bytes);
  }

  /** The bytes of the largest item, its key and some more included. */
  public MemcachedSettings withItemLimit(int bytes) {
    return with(copy -> copy.itemLimit = bytes);
  }

  /** Whether old items make room for new ones, which are refused otherwise. */
  public MemcachedSettings withEviction(boolean evicts) {
    return with(copy -> copy.evicts = evicts);
  }

  /** Whether items have CAS numbers; without, all are 0, and none is ever equal. */
  public MemcachedSettings withCas(boolean numbers) {
    return with(copy -> copy.cas = numbers);
  }

  /** The most connections at a time; further ones are told so and closed. */
  public MemcachedSettings withConnections(int most) {
    return with(copy -> copy.connections = most);
  }

  /** How many processors fibers run on; see {@link Fibers.Builder#processors}. */
  public MemcachedSettings withProcessors(int processors) {
    return with(copy -> copy.processors = processors);
  }

  /**
   * After how many requests in a row a connection lets others go first that wait. Its replies are
   * sent then, so that a small number costs system calls. It does so as well when its replies have
   * filled a buffer.
   */
  public MemcachedSettings withRequestsPerTurn(int requests) {
    return with(copy -> copy.requestsPerTurn = requests);
  }

  /** Whether flush_all is allowed. */
  public MemcachedSettings withFlushes(boolean allowed) {
    return with(copy -> copy.flushes = allowed);
  }

  /** Whether a client may end the server by the command shutdown. */
  public MemcachedSettings withShutdown(boolean allowed) {
    return with(copy -> copy.shutsDown = allowed);
  }

  /** Whether clients may list keys. */
  public MemcachedSettings withDumps(boolean allowed) {
    return with(copy -> copy.dumps = allowed);
  }

  /** Whether clients may watch what others do. */
  public MemcachedSettings withWatches(boolean allowed) {
    return with(copy -> copy.watches = allowed);
  }

  /** A file with a line {@code user:password} for each who may use the server. */
  public MemcachedSettings withAuthFile(Path file) {
    return with(copy -> copy.authFile = file);
  }

  /**
   * Speaks TLS at all addresses but the plain ones, not at the UNIX socket. The files are read when
   * the server starts, and again at the command {@code refresh_certs}.
   */
  public MemcachedSettings withTls(ServerTls.Settings tls) {
    return with(copy -> copy.tls = tls);
  }

  /** After what time without a request a connection is closed; never if zero. */
  public MemcachedSettings withIdleTimeout(Duration timeout) {
    return with(copy -> copy.idleTimeout = timeout);
  }

  /**
   * After what time a client is closed that takes nothing of a reply, or has made the server wait
   * for so long and longer than its bytes take at the {@link #withLeastRate}.
   */
  public MemcachedSettings withWriteTimeout(Duration timeout) {
    return with(copy -> copy.writeTimeout = timeout);
  }

  /** The bytes per second at which a client sends a large value, or takes a reply, at least. */
  public MemcachedSettings withLeastRate(long bytesPerSecond) {
    return with(copy -> copy.leastRate = bytesPerSecond);
  }

  /** For how long the slowest client is safe when others need what is kept for it. */
  public MemcachedSettings withGrace(Duration time) {
    return with(copy -> copy.grace = time);
  }

  /** How much is logged: from 2 on, what clients say and are answered. Off is 0. */
  public MemcachedSettings withVerbosity(int level) {
    return with(copy -> copy.verbosity = level);
  }

  /** What ends the prefix of a key by which {@code stats detail} counts, and whether it is on. */
  public MemcachedSettings withDetails(char delimiter, boolean on) {
    return with(
        copy -> {
          copy.prefixDelimiter = delimiter;
          copy.details = on;
        });
  }

  /** Forces the mode of the fibers; by default it is the best that is possible. */
  public MemcachedSettings withMode(Fibers.Mode mode) {
    return with(copy -> copy.mode = mode);
  }

  /** How replies leave; by default it is the best that is possible. */
  public MemcachedSettings withIo(Fibers.Io io) {
    return with(copy -> copy.io = io);
  }

  /** Whether processors help each other with what waits for long; only to see what it costs. */
  public MemcachedSettings withHelping(boolean helping) {
    return with(copy -> copy.helping = helping);
  }

  /** Which protocols are spoken; both by default. A client of the other one is hung up on. */
  public MemcachedSettings withProtocols(boolean text, boolean binary) {
    return with(
        copy -> {
          copy.speaksText = text;
          copy.speaksBinary = binary;
        });
  }

  /** The live items that are served besides; none by default. */
  public MemcachedSettings withLive(LiveViews views) {
    return with(copy -> copy.liveViews = views);
  }
}
