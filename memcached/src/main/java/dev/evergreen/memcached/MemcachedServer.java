package dev.evergreen.memcached;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.ConnectionLimit;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.FibersReport;
import dev.evergreen.fibers.Listener;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.SocketOptions;
import dev.evergreen.fibers.WriteTimeoutException;
import dev.evergreen.memcached.Watchers.Topic;
import dev.evergreen.memcached.live.LiveItems;
import dev.evergreen.store.Store;
import dev.evergreen.store.StoreOptions;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A memcached server: its store, its listeners, and a fiber for each connection. {@link #start}
 * answers when it listens; {@link #close} ends it.
 */
public final class MemcachedServer implements AutoCloseable {
  /** The version of memcached whose protocol this server speaks, and says to be. */
  public static final String PROTOCOL_VERSION = "1.6.40";

  private static final byte[] TOO_MANY =
      "ERROR Too many open connections\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final long MAINTENANCE_MILLIS = 100;
  private static final long SWEEP_MILLIS = 1_000;
  private static final int LONGEST_PAUSE_MILLIS = 16;
  private static final Duration LONGEST_HANDSHAKE = Duration.ofSeconds(30);

  /** Of a client that is waited for amid a reply: what came, and what is to leave. */
  private static final int BUFFERS = 2;

  /** So much of the heap may be input beyond what each connection may have there. */
  private static final int PART_FOR_INPUT = 16;

  /** Also what is encrypted of it. */
  private static final int TLS_BUFFERS = 3;

  /** Nobody waits for their buffers; and what the system has taken may be on its way for long. */
  private static final int GRACES_OF_WRITERS = 5;

  private static final System.Logger LOG = System.getLogger(MemcachedServer.class.getName());

  final MemcachedSettings settings;

  /** How much is logged now: clients may change it. */
  volatile int verbosity;

  final Clock clock = new Clock();
  final Statistics statistics = new Statistics();
  final Store store;
  final @Nullable LiveItems live;

  final Watchers watchers;
  final Details details;
  final Authentication authentication;
  final @Nullable ServerTls tls;

  /** By their numbers, in the order of which they are listed. */
  final ConcurrentSkipListMap<Integer, Session> sessions = new ConcurrentSkipListMap<>();

  final Workers textWorkers;
  final Workers binaryWorkers;
  final Fibers fibers;
  private final List<Listener> listeners = new ArrayList<>();
  final ConnectionLimit limit;

  /** Clients for which the store keeps a large value, half received or half sent. */
  final SlowPeers valueHolders = new SlowPeers();

  /** Clients of which the rest of a refused value is dropped as it comes. */
  final SlowPeers refusedSenders = new SlowPeers();

  /** Clients for which buffers are kept, as they do not take their replies at present. */
  final SlowPeers blockedWriters = new SlowPeers();

  /** Clients amid a reply that leaves in many pieces, whether they take it at present or not. */
  final SlowPeers longReplies = new SlowPeers();

  /** For so many clients that do not take their replies there is half of the memory for buffers. */
  private final int mostBlocked;

  /** How many buffers a client takes that does not take its reply. */
  private final int buffersOfBlocked;

  /**
   * Five eighths of that memory: less than those may have who begin something, so that a crowd is
   * seen before they wait for buffers, which is in vain for seconds then.
   */
  private final int mostBuffers;

  /**
   * How many bytes of the heap are left for input beyond the little that each connection may have
   * there.
   */
  final Semaphore inputRoom =
      new Semaphore(
          Math.clamp(Runtime.getRuntime().maxMemory() / PART_FOR_INPUT, 0, Integer.MAX_VALUE));

  /**
   * What is waited for by those that wait for the end of a crowd and do not look; null if nobody
   * looks.
   */
  private final AtomicReference<@Nullable CompletableFuture<@Nullable Void>> endOfCrowd =
      new AtomicReference<>();

  private final AtomicBoolean closed = new AtomicBoolean();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final CountDownLatch closing = new CountDownLatch(1);
  private final CountDownLatch allClosed = new CountDownLatch(1);
  private final List<Thread> maintainers = new ArrayList<>();

  /** What is done now and then. Made once, since the clock must go on when there is no memory. */
  private final Runnable[] upkeep = {
    clock::tick,
    () -> hangUpOnSlow(valueHolders),
    () -> hangUpOnSlow(refusedSenders),
    this::hangUpOnSlowWriters,
    this::maintainStore
  };

  /** The file of our UNIX socket, if there is one. */
  private volatile @Nullable Object ownSocket;

  /** Tells listeners and connections apart, in lists for people. */
  final AtomicInteger lastNumber = new AtomicInteger();

  private MemcachedServer(MemcachedSettings settings) throws IOException {
    this.settings = settings;
    verbosity = settings.verbosity;
    limit = new ConnectionLimit(settings.connections);
    authentication = new Authentication(settings.authFile);
    tls = settings.tls == null ? null : read(settings.tls);
    mostBuffers = Buffers.capacity() / 8 * 5;
    buffersOfBlocked = tls == null ? BUFFERS : TLS_BUFFERS;
    mostBlocked = Math.max(1, Buffers.capacity() / 2 / buffersOfBlocked);
    details = new Details(settings.prefixDelimiter, settings.details);
    store =
        Store.open(
            new StoreOptions(settings.memory, settings.itemLimit, settings.evicts, settings.cas),
            clock::second);
    live = settings.liveViews == null ? null : new LiveItems(settings.liveViews, store);
    watchers = new Watchers(store, clock);
    textWorkers = new Workers(settings.processors, () -> new TextProtocol(this));
    binaryWorkers = new Workers(settings.processors, () -> new BinaryProtocol(this));
    var builder =
        Fibers.builder()
            .name("memcached")
            .processors(settings.processors)
            .helping(settings.helping);
    if (settings.io != null) {
      builder.io(settings.io);
    }
    try {
      fibers = settings.mode == null ? builder.start() : builder.mode(settings.mode).start();
    } catch (UncheckedIOException e) {
      store.close();
      throw new IOException(e.getMessage(), e);
    } catch (RuntimeException | Error e) {
      store.close();
      throw e;
    }
    maintain("memcached-maintenance", MAINTENANCE_MILLIS, upkeep);
    if (live != null) {
      // By itself: it may end many, or wait for what others do with one, and the clock must not.
      maintain("memcached-live-items", SWEEP_MILLIS, live::sweep);
    }
  }

  /**
   * Starts a server.
   *
   * @throws IOException if an address, the path, the file of accounts, those for TLS or what the
   *     processors need of the system cannot be had; nothing is left running then
   * @throws IllegalArgumentException if the limits do not fit together; the message says which
   */
  public static MemcachedServer start(MemcachedSettings settings) throws IOException {
    var server = new MemcachedServer(settings);
    try {
      server.listen();
      return server;
    } catch (IOException | RuntimeException e) {
      server.close();
      throw e;
    }
  }

  private void listen() throws IOException {
    var options = SocketOptions.DEFAULT.withBacklog(settings.backlog);
    for (var address : settings.addresses) {
      listeners.add(fibers.listen(address, options));
    }
    int secure = tls == null ? 0 : listeners.size();
    for (var address : settings.plainAddresses) {
      listeners.add(fibers.listen(address, options));
    }
    if (settings.unixSocket != null) {
      var path = settings.unixSocket;
      // A former server's socket; a file of another kind stays, and the listener complains.
      if (isSocket(path)) {
        Files.delete(path);
      }
      var guarded = options.withPermissions(settings.unixMask);
      listeners.add(fibers.listen(UnixDomainSocketAddress.of(path), guarded));
      ownSocket = fileKey(path);
    }
    lastNumber.set(listeners.size());
    listeners.subList(0, secure).forEach(listener -> begin(listener, tls));
    listeners.subList(secure, listeners.size()).forEach(listener -> begin(listener, null));
  }

  private void begin(Listener listener, @Nullable ServerTls tls) {
    fibers.spawn(() -> listener.serve(each -> serve(each, tls), limit, each -> refuse(each, tls)));
  }

  private static final int TYPE_MASK = 0170000;
  private static final int SOCKET = 0140000;

  /** What tells a file from another one that came to its path. */
  private static @Nullable Object fileKey(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .fileKey();
  }

  private static boolean isSocket(Path path) throws IOException {
    return Files.exists(path, LinkOption.NOFOLLOW_LINKS)
        && ((int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & TYPE_MASK)
            == SOCKET;
  }

  private static ServerTls read(ServerTls.Settings settings) throws IOException {
    try {
      return new ServerTls(settings);
    } catch (GeneralSecurityException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private void refuse(Connection connection, @Nullable ServerTls tls) throws IOException {
    statistics.rejectedConnections.increment();
    if (tls == null) {
      connection.write(TOO_MANY);
    }
  }

  private void serve(Connection connection, @Nullable ServerTls tls) throws IOException {
    statistics.totalConnections.increment();
    // One that is closed, or reset, does not tell it any more.
    var client = connection.peerAddress();
    int number = lastNumber.incrementAndGet();
    tellConnection("conn_new", client, "", number);
    var reason = "error";
    try {
      reason = talk(connection, tls, number) ? "normal" : "error";
    } catch (WriteTimeoutException e) {
      throw e;
    } catch (SocketTimeoutException e) {
      reason = "idle_timeout";
      throw e;
    } finally {
      tellConnection("conn_close", client, " reason=" + reason, number);
    }
  }

  /** Answers whether the client ended it, or whatever it said was no reason to. */
  private boolean talk(Connection connection, @Nullable ServerTls tls, int number)
      throws IOException {
    if (tls == null) {
      return new Session(this, connection, number).serve();
    }
    var secured = shakeHands(tls, connection);
    boolean inOrder = new Session(this, secured, number).serve();
    // The client shall know that nothing was cut off.
    secured.shutdownOutput();
    return inOrder;
  }

  private Connection shakeHands(ServerTls tls, Connection connection) throws IOException {
    var idle = settings.idleTimeout;
    boolean idleFirst = idle.compareTo(Duration.ZERO) > 0 && idle.compareTo(LONGEST_HANDSHAKE) < 0;
    try {
      return connection.overTls(tls.engine(), idleFirst ? idle : LONGEST_HANDSHAKE);
    } catch (IOException e) {
      statistics.handshakeErrors.increment();
      throw e;
    }
  }

  private void tellConnection(String event, SocketAddress client, String more, int number) {
    if (watchers.want(Topic.CONNEVENTS)) {
      var where =
          client instanceof InetSocketAddress inet
              ? "rip=%s rport=%d transport=tcp"
                  .formatted(inet.getAddress().getHostAddress(), inet.getPort())
              : "rip=unix rport=0 transport=local";
      watchers.tell(Topic.CONNEVENTS, event + " " + where + more + " cfd=" + number);
    }
  }

  /** Says what clients do, for those who asked for that by {@code -vv}. */
  void tell(String what) {
    LOG.log(System.Logger.Level.INFO, () -> what);
  }

  /** Whether somebody wants to know of single requests. */
  boolean isObserved() {
    return details.enabled() || watchers.count() > 0;
  }

  /** Starts a fiber that ends with the server. */
  Thread spawn(Runnable task) {
    return fibers.spawn(task);
  }

  void resetStatistics() {
    statistics.reset();
    store.resetCounts();
    watchers.resetCounts();
    details.clear();
  }

  private void maintain(String name, long everyMillis, Runnable... tasks) {
    maintainers.add(
        Thread.ofPlatform().daemon().name(name).start(() -> repeat(everyMillis, tasks)));
  }

  /** Whatever fails, the rest is done, and all of it again: all expiry depends on the clock. */
  private void repeat(long everyMillis, Runnable... tasks) {
    try {
      while (!closing.await(everyMillis, TimeUnit.MILLISECONDS)) {
        for (var task : tasks) {
          attempt(task);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void attempt(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) {
      tellFailed(e);
    }
  }

  private void maintainStore() {
    store.maintain();
  }

  private static void tellFailed(Throwable failure) {
    try {
      LOG.log(System.Logger.Level.ERROR, "maintenance failed; it is tried again", failure);
    } catch (Throwable e) {
      // There may be no memory for that, either.
      return;
    }
  }

  /**
   * Whoever keeps the server waiting with a message half sent or half taken has a time that grows
   * with its bytes.
   */
  private void hangUpOnSlow(SlowPeers clients) {
    clients.hangUp(Integer.MAX_VALUE, settings.writeTimeout, settings.leastRate);
  }

  /**
   * The buffers of those that do not take their replies may have a tenth of the memory for items
   * and half of that for buffers; beyond that the slow ones go earlier, the slowest first.
   */
  private void hangUpOnSlowWriters() {
    hangUpOnSlow(blockedWriters);
    long most = Math.max(1, store.stats().limit() / 10 / (BUFFERS * Buffers.SIZE));
    int over = blockedWriters.count() - (int) Math.min(most, mostBlocked);
    if (over > 0) {
      blockedWriters.hangUp(over, graceOfWriters(), settings.leastRate);
    }
    if (isCrowded()) {
      endCrowd();
    }
  }

  private Duration graceOfWriters() {
    return settings.grace.multipliedBy(GRACES_OF_WRITERS);
  }

  /**
   * All others wait, so that now nobody is good enough. Who has passed the gate keeps his buffers
   * for a grace at most, or for the time of a long reply; then he has taken what they hold and
   * comes to the gate himself, or he is closed. As many go at a time as make room for many others:
   * else those that wait at the gate and will not read either would take it all.
   */
  private void endCrowd() {
    int most = Math.max(1, blockedWriters.count() - mostBlocked / 4);
    int over = Math.clamp((Buffers.count() - mostBuffers / 6 * 5) / buffersOfBlocked, 1, most);
    int gone = blockedWriters.hangUp(over, settings.grace, Long.MAX_VALUE);
    if (gone < over) {
      longReplies.hangUp(over - gone, graceOfWriters(), Long.MAX_VALUE);
    }
  }

  /**
   * Whether buffers are short, and some clients do not take their replies at present, so that
   * others should begin none: those who could not take theirs either would have buffers kept for
   * them, for which there is no memory. It passes soon, as they take them or are closed. Where few
   * do so, buffers lie ready or are kept for something else, and nobody would end that.
   */
  boolean isCrowded() {
    return isShortOfBuffers() && blockedWriters.count() > mostBlocked / 4;
  }

  /**
   * Waits until there is no crowd. Nobody tells when that is so: any buffer that is given back may
   * end it, and giving one back must cost next to nothing. So one of those that wait looks now and
   * then, and wakes the others when it is over, all at once: one after the other, each would wait
   * for all that those before it have to do. There may be another crowd by then.
   */
  void awaitEndOfCrowd() throws IOException {
    var mine = new CompletableFuture<@Nullable Void>();
    var others = endOfCrowd.compareAndExchange(null, mine);
    if (others == null) {
      lookForEndOfCrowd(mine);
      return;
    }
    try {
      others.get();
    } catch (InterruptedException e) {
      throw Session.closing(e);
    } catch (ExecutionException e) {
      throw new IllegalStateException("nobody completes it so", e);
    }
  }

  private void lookForEndOfCrowd(CompletableFuture<@Nullable Void> end) throws IOException {
    try {
      for (int tries = 0; isCrowded(); tries++) {
        pause(tries);
      }
    } finally {
      // Also if this one is closed meanwhile: then another one looks.
      endOfCrowd.set(null);
      end.complete(null);
    }
  }

  /** How many wait so beside the one that looks; about. */
  int waitForEndOfCrowd() {
    var end = endOfCrowd.get();
    return end == null ? 0 : end.getNumberOfDependents();
  }

  /** Whether there is little memory left for buffers, so that nobody should keep one needlessly. */
  boolean isShortOfBuffers() {
    return Buffers.count() > mostBuffers;
  }

  /**
   * Has a fiber sleep for a moment, as what it waits for tells nobody.
   *
   * @param tries how often it has waited for the same: each time is longer than the one before
   */
  void pause(int tries) throws IOException {
    try {
      fibers.sleep(Duration.ofMillis(Math.min(1 + tries, LONGEST_PAUSE_MILLIS)));
    } catch (InterruptedException e) {
      throw Session.closing(e);
    }
  }

  /** Somebody needs what clients hold of the store: the slowest pays, if it is not a new one. */
  void hangUpOnSlowestHolder() {
    valueHolders.hangUp(1, settings.grace, Long.MAX_VALUE);
  }

  /** Where it listens, with the ports that were chosen. */
  public List<SocketAddress> addresses() {
    return listeners.stream().map(Listener::address).toList();
  }

  /** What its processors do and have done. */
  public FibersReport fibers() {
    return fibers.report();
  }

  /**
   * Reads the file of accounts again, if there is one, for clients that say from now on who they
   * are.
   *
   * @throws IOException if the file cannot be read or has a wrong line; the former accounts stay
   */
  public void reloadAccounts() throws IOException {
    authentication.reload();
  }

  /** Waits until a client has ended the server by the command shutdown, or it was closed. */
  public void awaitEnd() throws InterruptedException {
    ended.await();
  }

  /** Says that a client wants the server to end. */
  void end() {
    ended.countDown();
  }

  /**
   * Stops listening, closes all connections, and gives all memory back. Blocks until that is done,
   * also by another caller; idempotent.
   */
  @Override
  public void close() {
    if (closed.getAndSet(true)) {
      awaitClosed();
      return;
    }
    try {
      end();
      closing.countDown();
      // While it is open no other file can have its key.
      deleteSocket();
      fibers.close();
      try {
        for (var maintainer : maintainers) {
          maintainer.join();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      if (live != null) {
        live.close();
      }
      store.close();
    } finally {
      allClosed.countDown();
    }
  }

  private void awaitClosed() {
    try {
      allClosed.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Unless another server has put its own there since. */
  private void deleteSocket() {
    @Nullable Path path = settings.unixSocket;
    if (path != null && ownSocket != null) {
      try {
        if (Objects.equals(ownSocket, fileKey(path))) {
          Files.delete(path);
        }
      } catch (NoSuchFileException e) {
        // Somebody else has deleted it.
        return;
      } catch (IOException e) {
        LOG.log(
            System.Logger.Level.WARNING, "the socket file {0} stays: {1}", path, e.getMessage());
      }
    }
  }
}
