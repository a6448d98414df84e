package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.ConnectionLimit;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Listener;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.SocketOptions;
import dev.evergreen.http.HttpServer;
import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.http.Upstreams;
import dev.evergreen.logs.LineLog;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.storage.Purge;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP proxy with a cache that many share (RFC 9110, RFC 9111). {@code docs/proxy.md} tells what
 * it does.
 */
public final class Proxy implements AutoCloseable {

  private static final Duration HANDSHAKE = Duration.ofSeconds(10);

  /**
   * The settings, which can change while it runs, and what is made of them.
   *
   * @param via what Via tells of responses that this proxy makes
   */
  record Setup(ProxySettings settings, Origins origins, String via) {
    static Setup of(ProxySettings settings) {
      return new Setup(settings, new Origins(settings.origins), "1.1 " + settings.name);
    }
  }

  private final Fibers fibers;
  private final Storage storage;
  private final Upstreams upstreams;
  private final Upstreams toOthers;

  /** A connection to each origin that is checked, beside those for requests. */
  private final Upstreams checking;

  private final OriginClient client;
  private final OriginClient clientOfOthers;
  private final Times times;
  private final Fetches fetches = new Fetches();
  private final SoftPurges softPurges = new SoftPurges();
  private final Statistics statistics = new Statistics();
  private final TransactionLog log;
  private final List<Listener> listeners = new ArrayList<>();
  private final ConnectionLimit limit;
  private final SlowPeers slowClients = new SlowPeers();
  private final @Nullable LineLog<Course> accessLog;
  private @Nullable Listener admin;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile Setup setup;

  private Proxy(ProxySettings settings, Fibers fibers, Storage storage) throws IOException {
    this.fibers = fibers;
    this.storage = storage;
    var dialer = Dialer.of(fibers);
    var limits = settings.originLimits;
    upstreams = upstreams(settings, dialer, limits);
    toOthers = upstreams(settings, dialer.withNames(Reach.others(dialer.names())), limits);
    checking = upstreams(settings, dialer, limits.withConnections(1));
    times = settings.times;
    client = new OriginClient(upstreams, times);
    clientOfOthers = new OriginClient(toOthers, times);
    log = new TransactionLog(settings.admin == null ? 0 : settings.remembered);
    limit = new ConnectionLimit(settings.connections);
    accessLog =
        settings.logFormat == null
            ? null
            : new LineLog<>("proxy-access-log", settings.logFile, settings.logFormat::line);
    setup = Setup.of(settings);
  }

  /**
   * Starts one; it serves when this returns.
   *
   * @throws IOException if an address, or the storage, cannot be had
   * @throws IllegalArgumentException if the settings name no origin, or one of a forward proxy: it
   *     could not be told from the others that have its name
   */
  public static Proxy start(ProxySettings settings) throws IOException {
    if (settings.origins.isEmpty() == (settings.forward == null)) {
      throw new IllegalArgumentException(
          "a proxy needs either an origin, or to be a forward proxy");
    }
    var builder = Fibers.builder().name("proxy").processors(settings.processors);
    if (settings.mode != null) {
      builder.mode(settings.mode);
    }
    var fibers = builder.start();
    try {
      var proxy = new Proxy(settings, fibers, Storage.open(settings.storage));
      try {
        proxy.listen();
        return proxy;
      } catch (IOException | RuntimeException e) {
        proxy.storage.close();
        throw e;
      }
    } catch (IOException | RuntimeException e) {
      fibers.close();
      throw e;
    }
  }

  private static Upstreams upstreams(ProxySettings settings, Dialer dialer, UpstreamLimits limits) {
    return new Upstreams(dialer, engines(settings), settings.http, limits, settings.originVersion);
  }

  private static Upstreams.@Nullable Engines engines(ProxySettings settings) {
    var tls = settings.originTls;
    if (tls == null) {
      return null;
    }
    return switch (settings.originVersion) {
      case HTTP_1_1 -> tls.withProtocols("http/1.1")::engine;
      case BY_ALPN -> tls.withProtocols("h2", "http/1.1")::engine;
      case HTTP_2 -> tls.withProtocols("h2")::engine;
    };
  }

  private void listen() throws IOException {
    var settings = setup.settings();
    var options = SocketOptions.DEFAULT;
    for (var address : settings.addresses) {
      listeners.add(
          fibers.listen(address, settings.sharesPort ? options.withReusePort() : options));
    }
    for (var listener : listeners) {
      fibers.spawn(() -> listener.serve(connection -> serve(connection, listener), limit, _ -> {}));
    }
    if (settings.admin != null) {
      listenForOperators(settings.admin);
    }
    checkOrigins();
  }

  private void listenForOperators(InetSocketAddress address) throws IOException {
    var listener = fibers.listen(address, SocketOptions.DEFAULT);
    admin = listener;
    var server = new HttpServer(fibers, new Admin(this)::handle, HttpSettings.DEFAULT);
    fibers.spawn(() -> listener.serve(connection -> server.serve(connection, listener.draining())));
  }

  /** Asks each origin whether it is well, again and again. */
  private void checkOrigins() {
    var now = setup;
    var path = now.settings().checkPath;
    if (path != null) {
      for (var member : now.origins().members()) {
        fibers.spawn(() -> new HealthCheck(this, checking, member, path).run(now));
      }
    }
  }

  private void serve(Connection accepted, Listener listener) throws IOException {
    var settings = setup.settings();
    var peer = ((InetSocketAddress) accepted.peerAddress()).getAddress();
    if (settings.acceptsProxyProtocol && settings.trust.includes(peer)) {
      peer = ProxyProtocol.read(accepted, peer);
    }
    var tls = settings.tls;
    var connection = tls == null ? accepted : accepted.overTls(tls.engine(), HANDSHAKE);
    serveHttp(connection, peer, listener);
  }

  private void serveHttp(Connection connection, InetAddress peer, Listener listener)
      throws IOException {
    var recipient = new Recipient();
    new HttpServer(
            fibers,
            exchange -> new Transaction(this, exchange, peer, recipient).run(),
            setup.settings().http,
            slowClients)
        .serve(connection, listener.draining());
  }

  /** Where it listens, with the ports that were chosen. */
  public List<InetSocketAddress> addresses() {
    return listeners.stream().map(each -> (InetSocketAddress) each.address()).toList();
  }

  /**
   * Goes on with other settings. What holds addresses, storage, processors and limits of
   * connections stays as it is; the file of the access log is opened anew.
   */
  public void reload(ProxySettings settings) {
    setup = Setup.of(settings);
    checkOrigins();
    if (accessLog != null) {
      accessLog.reopen();
    }
  }

  /** Where operators are answered; null if nowhere. */
  public @Nullable InetSocketAddress admin() {
    return admin == null ? null : (InetSocketAddress) admin.address();
  }

  long accessLogDropped() {
    return accessLog == null ? 0 : accessLog.dropped();
  }

  /**
   * Purges. When this returns nothing that was asked for before is served as fresh.
   *
   * @throws IOException if it might be lost when the machine goes down
   */
  public void purge(Purge purge) throws IOException {
    count(Count.PURGES);
    forget(purge);
  }

  private void forget(Purge purge) throws IOException {
    if (purge.soft()) {
      softPurges.add(purge, now());
    }
    try {
      storage.purge(purge);
    } finally {
      forgetParts(purge);
    }
  }

  /** What a URI's key is no part of is purged as all else is. */
  private void forgetParts(Purge purge) throws IOException {
    try {
      if (purge.kind() == Purge.Kind.URI) {
        storage.purge(new Purge(Purge.Kind.URI, Parts.key(purge.bytes()), purge.soft()));
      }
    } finally {
      fetches.detach();
    }
  }

  /**
   * Purges URIs, or all that begin with them, whoever may ask for them: one purge.
   *
   * @param how what is purged, by its key
   * @throws IOException if it might be lost when the machine goes down
   */
  void purge(List<String> uris, Function<MemorySegment, Purge> how) throws IOException {
    count(Count.PURGES);
    for (var uri : uris) {
      for (var reach : Reach.all(setup.settings().forward)) {
        forget(how.apply(segment(reach.key(uri))));
      }
    }
  }

  /** Purges what a request has invalidated: a URI with all variants. */
  void invalidate(String uri) {
    storage.invalidate(Purge.uri(segment(uri)));
    invalidateParts(uri);
    fetches.detach(uri);
  }

  /** Purges what is stored of a URI in parts. */
  void invalidateParts(String uri) {
    storage.invalidate(Purge.uri(segment(Parts.key(uri))));
  }

  /** What a request may have invalidated is to be validated. */
  void suspect(String uri) {
    var purge = Purge.uri(segment(uri)).softly();
    softPurges.add(purge, now());
    storage.invalidate(purge);
    storage.invalidate(Purge.uri(segment(Parts.key(uri))).softly());
    fetches.detach(uri);
  }

  /** Purges what a request has invalidated, whatever has the tag. */
  void invalidateTag(String tag) {
    storage.invalidate(Purge.tag(tag));
    fetches.detach();
  }

  Setup setup() {
    return setup;
  }

  Fibers fibers() {
    return fibers;
  }

  Storage storage() {
    return storage;
  }

  /** Connections to whom a request may be for. */
  Upstreams upstreams(Reach reach) {
    return reach == Reach.OTHERS ? toOthers : upstreams;
  }

  OriginClient client(Reach reach) {
    return reach == Reach.OTHERS ? clientOfOthers : client;
  }

  Fetches fetches() {
    return fetches;
  }

  SoftPurges softPurges() {
    return softPurges;
  }

  Statistics statistics() {
    return statistics;
  }

  /** The last transactions. */
  TransactionLog log() {
    return log;
  }

  Times times() {
    return times;
  }

  /** The time by which durations are counted. */
  long now() {
    return times.now();
  }

  /** The time by which dates are told. */
  long date() {
    return times.date();
  }

  void count(Count what) {
    statistics.count(what);
  }

  /** A transaction begins. */
  Course begin(RequestHead request, Client from) {
    var course = new Course(date(), log.isKept());
    if (log.isKept() || accessLog != null) {
      course.of(request, from.address());
    }
    return course;
  }

  /** A transaction has ended. */
  void end(Course course) {
    course.end();
    statistics.add(Count.BYTES_OUT, course.bytes);
    statistics.add(Count.MICROS, course.micros());
    log.add(course);
    if (accessLog != null) {
      accessLog.write(course);
    }
  }

  static MemorySegment segment(String text) {
    return MemorySegment.ofArray(text.getBytes(ISO_8859_1));
  }

  /**
   * Takes no new connections, lets requests that have begun come to their end for a time, and
   * closes. Blocks until then.
   *
   * @return whether all came to their end
   */
  public boolean drain() {
    boolean all = true;
    long until = System.nanoTime() + setup.settings().grace.toNanos();
    for (var listener : listeners) {
      all &= listener.drain(Duration.ofNanos(Math.max(0, until - System.nanoTime())));
    }
    close();
    return all;
  }

  /** Closes all at once; whoever waits for an answer gets none. Only the first call counts. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    listeners.forEach(Listener::close);
    if (admin != null) {
      admin.close();
    }
    upstreams.close();
    toOthers.close();
    checking.close();
    fibers.close();
    storage.close();
    if (accessLog != null) {
      accessLog.close();
    }
  }
}
