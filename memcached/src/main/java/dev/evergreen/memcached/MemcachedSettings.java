package dev.evergreen.memcached;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.memcached.live.LiveViews;
import dev.evergreen.tls.ServerTls;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a server is to be; each method answers this. What is not set is as memcached has it, but for
 * the address, which is the loopback's, and for {@link #requestsPerTurn}. A server takes a copy
 * when it is started.
 */
public final class MemcachedSettings {
  /** The port that memcached is known by. */
  public static final int PORT = 11211;

  List<SocketAddress> addresses =
      List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT));
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
  volatile int verbosity;
  char prefixDelimiter = ':';
  boolean details;
  Fibers.@Nullable Mode mode;
  Fibers.@Nullable Io io;
  boolean helping = true;
  boolean speaksText = true;
  boolean speaksBinary = true;
  @Nullable LiveViews liveViews;

  /** The defaults. */
  public MemcachedSettings() {}

  MemcachedSettings copy() {
    var copy = new MemcachedSettings();
    copy.addresses = List.copyOf(addresses);
    copy.unixSocket = unixSocket;
    copy.unixMask = unixMask;
    copy.backlog = backlog;
    copy.memory = memory;
    copy.itemLimit = itemLimit;
    copy.evicts = evicts;
    copy.cas = cas;
    copy.connections = connections;
    copy.processors = processors;
    copy.requestsPerTurn = requestsPerTurn;
    copy.flushes = flushes;
    copy.shutsDown = shutsDown;
    copy.dumps = dumps;
    copy.watches = watches;
    copy.authFile = authFile;
    copy.tls = tls;
    copy.idleTimeout = idleTimeout;
    copy.writeTimeout = writeTimeout;
    copy.leastRate = leastRate;
    copy.grace = grace;
    copy.verbosity = verbosity;
    copy.prefixDelimiter = prefixDelimiter;
    copy.details = details;
    copy.mode = mode;
    copy.io = io;
    copy.helping = helping;
    copy.speaksText = speaksText;
    copy.speaksBinary = speaksBinary;
    copy.liveViews = liveViews;
    return copy;
  }

  /** Where to listen; port 0 is any that is free. */
  public MemcachedSettings addresses(List<? extends SocketAddress> addresses) {
    this.addresses = new ArrayList<>(addresses);
    return this;
  }

  /** Listens at the path, and at no address. Its permissions are the mask's, such as 0700. */
  public MemcachedSettings unixSocket(Path path, int mask) {
    unixSocket = path;
    unixMask = mask;
    addresses = List.of();
    return this;
  }

  /** How many connections may wait to be accepted. */
  public MemcachedSettings backlog(int connections) {
    backlog = connections;
    return this;
  }

  /** The bytes of memory for items, at least 1 MiB. */
  public MemcachedSettings memory(long bytes) {
    memory = bytes;
    return this;
  }

  /** The bytes of the largest item, its key and some more included. */
  public MemcachedSettings itemLimit(int bytes) {
    itemLimit = bytes;
    return this;
  }

  /** Whether old items make room for new ones, which are refused otherwise. */
  public MemcachedSettings evicts(boolean evicts) {
    this.evicts = evicts;
    return this;
  }

  /** Whether items have CAS numbers; without, all are 0, and none is ever equal. */
  public MemcachedSettings cas(boolean numbers) {
    cas = numbers;
    return this;
  }

  /** The most connections at a time; further ones are told so and closed. */
  public MemcachedSettings connections(int most) {
    connections = most;
    return this;
  }

  /** How many processors fibers run on; see {@link Fibers.Builder#processors}. */
  public MemcachedSettings processors(int processors) {
    this.processors = processors;
    return this;
  }

  /**
   * After how many requests in a row a connection lets others go first that wait. Its replies are
   * sent then, so that a small number costs system calls. It does so as well when its replies have
   * filled a buffer.
   */
  public MemcachedSettings requestsPerTurn(int requests) {
    requestsPerTurn = requests;
    return this;
  }

  /** Whether flush_all is allowed. */
  public MemcachedSettings flushes(boolean allowed) {
    flushes = allowed;
    return this;
  }

  /** Whether a client may end the server by the command shutdown. */
  public MemcachedSettings shutsDown(boolean allowed) {
    shutsDown = allowed;
    return this;
  }

  /** Whether clients may list keys. */
  public MemcachedSettings dumps(boolean allowed) {
    dumps = allowed;
    return this;
  }

  /** Whether clients may watch what others do. */
  public MemcachedSettings watches(boolean allowed) {
    watches = allowed;
    return this;
  }

  /** A file with a line {@code user:password} for each who may use the server. */
  public MemcachedSettings authFile(Path file) {
    authFile = file;
    return this;
  }

  /**
   * Speaks TLS at all addresses, not at the UNIX socket. The files are read when the server starts,
   * and again at the command {@code refresh_certs}.
   */
  public MemcachedSettings tls(ServerTls.Settings tls) {
    this.tls = tls;
    return this;
  }

  /** After what time without a request a connection is closed; never if zero. */
  public MemcachedSettings idleTimeout(Duration timeout) {
    idleTimeout = timeout;
    return this;
  }

  /**
   * After what time a client is closed that takes nothing of a reply, or has made the server wait
   * for so long and longer than its bytes take at the {@link #leastRate}.
   */
  public MemcachedSettings writeTimeout(Duration timeout) {
    writeTimeout = timeout;
    return this;
  }

  /** The bytes per second at which a client sends a large value, or takes a reply, at least. */
  public MemcachedSettings leastRate(long bytesPerSecond) {
    leastRate = bytesPerSecond;
    return this;
  }

  /** For how long the slowest client is safe when others need what is kept for it. */
  public MemcachedSettings grace(Duration time) {
    grace = time;
    return this;
  }

  /** How much is logged: from 2 on, what clients say and are answered. Off is 0. */
  public MemcachedSettings verbosity(int level) {
    verbosity = level;
    return this;
  }

  /** What ends the prefix of a key by which {@code stats detail} counts, and whether it is on. */
  public MemcachedSettings details(char delimiter, boolean on) {
    prefixDelimiter = delimiter;
    details = on;
    return this;
  }

  /** Forces the mode of the fibers; by default it is the best that is possible. */
  public MemcachedSettings mode(Fibers.Mode mode) {
    this.mode = mode;
    return this;
  }

  /** How replies leave; by default it is the best that is possible. */
  public MemcachedSettings io(Fibers.Io io) {
    this.io = io;
    return this;
  }

  /** Whether processors help each other with what waits for long; only to see what it costs. */
  public MemcachedSettings helping(boolean helping) {
    this.helping = helping;
    return this;
  }

  /** Which protocols are spoken; both by default. A client of the other one is hung up on. */
  public MemcachedSettings protocols(boolean text, boolean binary) {
    this.speaksText = text;
    this.speaksBinary = binary;
    return this;
  }

  /** The live items that are served besides; none by default. */
  public MemcachedSettings live(LiveViews views) {
    this.liveViews = views;
    return this;
  }
}
