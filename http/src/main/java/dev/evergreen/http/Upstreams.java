package dev.evergreen.http;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.WaitCancelledException;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/**
 * Connections to origins, made when they are needed and kept for the next request. Origins are
 * dialled at whichever of their addresses answers first.
 */
public final class Upstreams implements AutoCloseable {

  /** Makes the engines for connections by TLS, such as {@code ClientTls.engine}. */
  @FunctionalInterface
  public interface Engines {
    /** An engine for one connection with a host, whose certificate it asks for and checks. */
    SSLEngine engine(String host, int port);
  }

  private final Dialer dialer;
  private final @Nullable Engines engines;
  private final HttpSettings settings;
  private final UpstreamLimits limits;
  private final UpstreamVersion version;
  private final Map<Origin, Pool> pools = new ConcurrentHashMap<>();

  /**
   * Connections that last: tunnels, those that have left HTTP, and those that offer only HTTP/1.1,
   * for WebSockets. They have places of their own, as they keep them for long: for requests there
   * may be but one, by HTTP/2.
   */
  private final Map<Origin, Pool> lasting = new ConcurrentHashMap<>();

  private final Fibers.Timer[] sweep = new Fibers.Timer[1];
  private volatile boolean closed;

  /** Connections without TLS, with default settings and limits. */
  public Upstreams(Dialer dialer) {
    this(dialer, null, HttpSettings.DEFAULT, UpstreamLimits.DEFAULT, UpstreamVersion.BY_ALPN);
  }

  /**
   * Connections to origins.
   *
   * @param engines for those by TLS, or null if there shall be none; what they offer by ALPN must
   *     suit the version
   */
  public Upstreams(
      Dialer dialer,
      @Nullable Engines engines,
      HttpSettings settings,
      UpstreamLimits limits,
      UpstreamVersion version) {
    this.dialer = dialer;
    this.engines = engines;
    this.settings = settings;
    this.limits = limits;
    this.version = version;
    scheduleSweep();
  }

  /**
   * Answers an exchange with an origin, on a connection that is kept and alive, or on a new one;
   * waits for one if there are as many as there may be.
   *
   * @throws UpstreamBusyException if none is free in time
   * @throws IOException if a new one cannot be made
   */
  public ClientExchange open(Origin origin) throws IOException {
    return open(origin, false);
  }

  /**
   * Like {@link #open(Origin)}.
   *
   * @param fresh whether one that is kept will not do, as after a failure of one that was reused;
   *     one by HTTP/2 that is in use by others does
   */
  public ClientExchange open(Origin origin, boolean fresh) throws IOException {
    checkOpen();
    var pool = pool(origin);
    var shared = fresh && !pool.sharing() ? null : pool.share();
    if (shared != null) {
      return shared.begin(true);
    }
    if (!pool.sharing()) {
      return make(pool, origin, fresh);
    }
    return shareNext(pool, origin, fresh);
  }

  /** Waits for the connection that another makes, or makes one for the others. */
  private ClientExchange shareNext(Pool pool, Origin origin, boolean fresh) throws IOException {
    var before = pool.failure();
    pool.beginMaking();
    try {
      var made = pool.share();
      var failure = pool.failure();
      if (made == null && failure != null && failure != before) {
        // All who waited have waited as long as that: one after another would wait for ever.
        throw failure;
      }
      made = made == null ? pool.awaitShare() : made;
      return made == null ? make(pool, origin, fresh) : made.begin(true);
    } catch (WaitCancelledException | DeadlineException e) {
      throw e; // That its client has left, or has no more time, is nobody else's failure.
    } catch (IOException e) {
      pool.failed(e);
      throw e;
    } finally {
      pool.endMaking();
    }
  }

  /** Takes a connection that is free, or one of HTTP/2 that gets room, or makes one. */
  private ClientExchange make(Pool pool, Origin origin, boolean fresh) throws IOException {
    var kept = pool.take(fresh);
    if (kept != null) {
      return kept.begin(pool, true);
    }
    Connection connection = null;
    boolean done = false;
    try {
      connection = connect(origin);
      checkOpen();
      if (!speaksHttp2(connection, origin)) {
        pool.sharing(false);
        var exchange = new Http1Upstream(connection, origin, settings).begin(pool, false);
        done = true;
        return exchange;
      }
      var made = Http2Upstream.greet(dialer.fibers(), settings, connection, pool, origin);
      // Nobody else has it yet, so there is room.
      boolean _ = made.tryTake();
      pool.sharing(true);
      done = true; // The place is that connection's from now on.
      made.start();
      return made.begin(false);
    } finally {
      if (!done) {
        if (connection != null) {
          connection.close();
        }
        pool.free();
      }
    }
  }

  private boolean speaksHttp2(Connection connection, Origin origin) throws IOException {
    if (!origin.secure()) {
      return version == UpstreamVersion.HTTP_2;
    }
    var tls = connection.tlsSession();
    boolean chosen = tls.isPresent() && tls.get().applicationProtocol().equals(Optional.of("h2"));
    if (!chosen && version == UpstreamVersion.HTTP_2) {
      throw new IOException(origin + " does not speak HTTP/2");
    }
    return chosen;
  }

  private Pool pool(Origin origin) {
    return pools.computeIfAbsent(
        origin,
        it -> {
          var made = new Pool(it, limits, dialer.fibers(), () -> lasting(it));
          if (version == UpstreamVersion.HTTP_2) {
            made.sharing(true);
          }
          return made;
        });
  }

  private Pool lasting(Origin origin) {
    return lasting.computeIfAbsent(origin, it -> new Pool(it, limits, dialer.fibers(), null));
  }

  /** Those of all origins. */
  private Stream<Pool> allPools() {
    return Stream.concat(pools.values().stream(), lasting.values().stream());
  }

  /**
   * Answers a tunnel to an origin, on a new connection; nothing of HTTP is said on it, nor of TLS.
   * Of these, and of those that have left HTTP, there may be as many as of the others.
   *
   * @return an exchange of which only {@link ClientExchange#tunnel} is to be used, to be closed
   * @throws UpstreamBusyException if there are too many connections
   * @throws IOException if it cannot be made
   */
  public ClientExchange tunnel(Origin origin) throws IOException {
    return beginOnNew(origin, false, Http1Upstream::beginTunnel);
  }

  /** Whether an origin that speaks HTTP/2 may be asked by HTTP/1.1 as well. */
  public boolean mayAskByHttp1(Origin origin) {
    return origin.secure() && version == UpstreamVersion.BY_ALPN;
  }

  /**
   * Like {@link #open(Origin)}, but on a new connection that offers only HTTP/1.1 by ALPN; if that
   * {@linkplain #mayAskByHttp1 may be}. It counts as one that lasts, like a {@linkplain #tunnel
   * tunnel}.
   *
   * @throws UpstreamBusyException if there are too many connections
   * @throws IOException if it cannot be made
   */
  public ClientExchange openByHttp1(Origin origin) throws IOException {
    return beginOnNew(origin, true, (connection, its) -> connection.begin(its, false));
  }

  /** What a new connection is used for. */
  private interface Use {
    ClientExchange begin(Http1Upstream connection, Pool pool) throws IOException;
  }

  private ClientExchange beginOnNew(Origin origin, boolean byHttp1, Use use) throws IOException {
    checkOpen();
    var pool = lasting(origin);
    var kept = pool.take(true);
    if (kept != null) {
      throw new IllegalStateException("it was to be a new connection");
    }
    boolean done = false;
    try {
      var exchange = use.begin(new Http1Upstream(connect(origin, byHttp1), origin, settings), pool);
      done = true;
      return exchange;
    } finally {
      if (!done) {
        pool.free();
      }
    }
  }

  private void checkOpen() throws ClosedChannelException {
    if (closed) {
      throw new ClosedChannelException();
    }
  }

  /**
   * A new connection to an origin, which is its caller's: by TLS if the origin has it.
   *
   * @throws IOException if it cannot be made
   */
  public Connection connect(Origin origin) throws IOException {
    return connect(origin, false);
  }

  private Connection connect(Origin origin, boolean byHttp1) throws IOException {
    var raw = dialer.dial(origin.host(), origin.port());
    raw.writeTimeout(settings.write());
    if (!origin.secure()) {
      return raw;
    }
    boolean done = false;
    try {
      var connection = raw.overTls(engine(origin, byHttp1), limits.handshake());
      connection.writeTimeout(settings.write());
      done = true;
      return connection;
    } finally {
      if (!done) {
        raw.close();
      }
    }
  }

  private SSLEngine engine(Origin origin, boolean byHttp1) throws IOException {
    if (engines == null) {
      throw new IOException("there is no TLS for " + origin);
    }
    var engine = engines.engine(origin.host(), origin.port());
    if (byHttp1) {
      var parameters = engine.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"http/1.1"});
      engine.setSSLParameters(parameters);
    }
    return engine;
  }

  /** How many connections there are to an origin, used or kept. */
  public int connections(Origin origin) {
    return open(pools.get(origin)) + open(lasting.get(origin));
  }

  private static int open(@Nullable Pool pool) {
    return pool == null ? 0 : pool.open();
  }

  /**
   * Peers for whose sake exchanges with an origin last, such as a client whose request has not all
   * come. When an exchange has waited for a connection for a while, the slowest of them pays.
   */
  public SlowPeers slowPeers(Origin origin) {
    return pool(origin).slowPeers();
  }

  /**
   * Permits for exchanges with an origin for whose end nobody waits: an eighth of its connections.
   * So there are always some left for the others.
   */
  public Semaphore background(Origin origin) {
    return pool(origin).background();
  }

  /**
   * How one of them gets on: what was long before anybody could have been waiting for it counts
   * neither for nor against it.
   */
  public Pace pace() {
    return new Pace(limits.patience().multipliedBy(2));
  }

  private void scheduleSweep() {
    synchronized (sweep) {
      if (!closed) {
        sweep[0] = dialer.fibers().schedule(limits.idle().dividedBy(2), this::sweep);
      }
    }
  }

  /** Closes what nobody has used for long, or what its origin has ended. */
  private void sweep() {
    CancelScope.open().run(() -> allPools().forEach(Pool::sweep));
    // Who has got one meanwhile uses it up without keeping its connection.
    pools.values().removeIf(Pool::closeIfUnused);
    lasting.values().removeIf(Pool::closeIfUnused);
    scheduleSweep();
  }

  /** Closes the connections that nobody uses; the others when they are no longer used. */
  @Override
  public void close() {
    closed = true;
    synchronized (sweep) {
      sweep[0].cancel();
    }
    allPools().forEach(Pool::close);
  }
}
