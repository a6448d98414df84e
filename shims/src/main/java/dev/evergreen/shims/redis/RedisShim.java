package dev.evergreen.shims.redis;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.ConnectionLimit;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.FibersReport;
import dev.evergreen.fibers.Listener;
import dev.evergreen.shims.ClientOutput;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.Upstream;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Stands between clients and a Redis, passes on what they say to each other, and records it. {@link
 * #start} answers when it listens; {@link #drain} or {@link #close} ends it.
 */
public final class RedisShim implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(RedisShim.class.getName());
  private static final byte[] TOO_MANY = Inline.ascii("-ERR max number of clients reached\r\n");
  private static final Duration LONGEST_HANDSHAKE = Duration.ofSeconds(30);

  final Fibers fibers;
  final Upstream upstream;
  final Tape tape;
  final ClientOutput.Spilling spilling;
  final Redaction redaction;
  final Names names = new Names(this);
  final Lanes lanes;
  final Batches batches = new Batches();
  final Pause pause = new Pause();
  final Set<Session> sessions = ConcurrentHashMap.newKeySet();
  private final RedisShimSettings settings;
  final ServerWatch watch;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final ConnectionLimit limit;
  private final @Nullable ScriptWatch scripts;
  private final Set<Watch> watches = ConcurrentHashMap.newKeySet();
  private @Nullable Listener listener;

  private RedisShim(RedisShimSettings settings) {
    this.settings = settings;
    fibers =
        Fibers.builder()
            .name("redis-shim")
            .processors(settings.processors)
            .spinning(settings.spinning)
            .start();
    upstream = new Upstream(Dialer.of(fibers), settings.upstream, settings.clientTls);
    tape = new Tape(settings.spool);
    redaction = new Redaction(settings.redactor);
    spilling = new ClientOutput.Spilling(fibers, settings.spillDirectory, settings.spill);
    limit = new ConnectionLimit(settings.connections);
    watch = new ServerWatch(this, settings.user, settings.password);
    scripts = settings.monitor ? new ScriptWatch(this) : null;
    lanes = new Lanes(fibers, this::open, this::ended);
  }

  /**
   * Starts a shim.
   *
   * @throws IOException if Redis cannot be reached, or cannot be served, or the address to listen
   *     at cannot be had; the message says which, and nothing is left running then
   */
  public static RedisShim start(RedisShimSettings settings) throws IOException {
    var shim = new RedisShim(settings);
    try {
      shim.begin();
      return shim;
    } catch (IOException | RuntimeException e) {
      shim.close();
      throw e;
    }
  }

  private void begin() throws IOException {
    watch.begin();
    fibers.spawn(watch::run);
    if (settings.outside) {
      var outside = new OutsideWatch(this);
      watches.add(outside);
      var connection = outside.begin();
      tape.tell(outside::passes);
      fibers.spawn(() -> outside.run(connection));
    }
    if (scripts != null) {
      watches.add(scripts);
      var connection = scripts.begin();
      fibers.spawn(() -> scripts.run(connection));
    }
    var made = listen();
    listener = made;
    fibers.spawn(() -> made.serve(this::serve, limit, refused -> refused.write(TOO_MANY)));
  }

  private Listener listen() throws IOException {
    try {
      return fibers.listen(settings.listen.toListenAt());
    } catch (IOException e) {
      throw new IOException(
          "The shim cannot listen at %s: %s".formatted(settings.listen, e.getMessage()), e);
    }
  }

  private void serve(Connection connection) throws IOException {
    var tls = settings.serverTls;
    if (tls == null) {
      serveClient(connection);
    } else {
      var secured = secure(tls, connection);
      serveClient(secured);
      secured.shutdownOutput();
    }
  }

  private static Connection secure(ServerTls tls, Connection connection) throws IOException {
    return connection.overTls(tls.engine(), LONGEST_HANDSHAKE);
  }

  private void serveClient(Connection connection) throws IOException {
    var session = new Session(this, connection);
    sessions.add(session);
    try {
      session.serve();
    } finally {
      sessions.remove(session);
      endRetiredLanes();
    }
  }

  /** Of a client that was the last one to have it. */
  void endRetiredLanes() {
    lanes.endRetired(lane -> sessions.stream().anyMatch(session -> session.has(lane)));
  }

  /** Where it listens, with the port that was chosen. */
  public SocketAddress address() {
    var present = listener;
    if (present == null) {
      throw new IllegalStateException("the shim does not listen yet");
    }
    return present.address();
  }

  /** How its fibers are doing. */
  public FibersReport fibers() {
    return fibers.report();
  }

  /** Is cancelled when clients are to be let go. */
  CancelScope draining() {
    var present = listener;
    return present == null ? CancelScope.open() : present.draining();
  }

  /** What makes a connection one of the shim's own account. */
  List<byte[]> introduction() {
    return settings.password.isEmpty()
        ? List.of()
        : List.of(Identity.request("AUTH", settings.user, settings.password));
  }

  boolean isClosed() {
    return closed.get();
  }

  /** How long an upstream that clients share may be silent. */
  long patienceNanos() {
    return patience().toNanos();
  }

  /** The same. */
  Duration patience() {
    return settings.patience.isZero() ? watch.threshold() : settings.patience;
  }

  /** Waits until all is known of what scripts have done so far, if it is learnt. */
  void awaitEffects() {
    if (scripts != null) {
      scripts.awaitKnown();
    }
  }

  boolean shares() {
    return settings.sharing;
  }

  /** A connection to the store, and what that has replied to what was asked first. */
  record Introduced(Connection connection, List<Exchange.Reply> replies) {}

  /**
   * Makes a connection to the store that is the one on record: not to one that has come in its
   * place while that is not on record. None is older than that by which its process was met, as far
   * as that can be known: else it would be taken for one of a former recorder.
   *
   * @param requests what is asked first: once it is replied to, the store on record must show that
   *     it is still there, and that it is not another one that has replied
   */
  Introduced connect(List<byte[]> requests) throws IOException {
    while (true) {
      int lives = watch.lives();
      var connection = upstream.connect();
      try {
        watch.awaitKnown();
        if (watch.lives() == lives) {
          var replies = Exchange.ask(connection, requests);
          if (watch.isStill(lives)) {
            return new Introduced(connection, replies);
          }
        }
      } catch (IOException | RuntimeException | Error e) {
        connection.close();
        throw e;
      }
      connection.close();
    }
  }

  /**
   * The store is another one: all connections that were made before are of no use, though they may
   * not have ended where the store's machine has vanished. What comes by them would be put on
   * record as if this one had said it.
   */
  void leaveFormerStore() {
    lanes.endAll();
    sessions.forEach(Session::failOwn);
    watches.forEach(Watch::cut);
  }

  /** Lets some time pass. */
  void sleep(Duration time) {
    try {
      fibers.sleep(time);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Makes an upstream that clients share, which Redis knows by what they have in common. */
  private @Nullable Lane open(Identity identity) throws IOException {
    var requests = new ArrayList<>(identity.introduction(names));
    requests.add(Identity.request("PING"));
    var introduced = connect(requests);
    var replies = new ArrayList<>(introduced.replies());
    var pong = replies.removeLast();
    if (replies.stream().anyMatch(Exchange.Reply::isError)) {
      introduced.connection().close();
      return null;
    }
    return new Lane(
        introduced.connection(),
        pong.text().startsWith("-NOAUTH"),
        "shared by " + identity,
        tape,
        this::patienceNanos,
        fibers,
        names);
  }

  /** Makes an upstream for one client, which Redis knows as it knows the client. */
  OwnUpstream open(Session session, Identity identity, String name, int database)
      throws IOException {
    var introduction = identity.introduction(names);
    var requests = new ArrayList<>(introduction);
    if (!name.isEmpty()) {
      requests.add(names.request("CLIENT", "SETNAME", name));
    }
    if (database != 0) {
      requests.add(names.request("SELECT", String.valueOf(database)));
    }
    if (requests.isEmpty()) {
      // Who was answered is in Redis's list of clients until all is over: see Leftovers.
      requests.add(Identity.request("PING"));
    }
    var introduced = connect(requests);
    var connection = introduced.connection();
    var replies = introduced.replies();
    try {
      for (var reply : replies.subList(0, introduction.size())) {
        if (reply.isError()) {
          throw new IOException("Redis does not know the client any more: " + reply.text().strip());
        }
      }
      // While a script is busy a database cannot be selected, nor a name be given: that is done
      // when one is needed.
      boolean named =
          name.isEmpty() || !OwnUpstream.isBusy(replies.get(introduction.size()).bytes());
      boolean selected = database != 0 && !replies.getLast().isError();
      return new OwnUpstream(
          session,
          connection,
          selected ? database : 0,
          named ? name : "",
          tape,
          scripts == null ? null : scripts.of(connection));
    } catch (IOException | RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  /** Ends a pause by a connection of its own, if the identity may; of a pause only that is lost. */
  void unpause(Identity identity) {
    try {
      var introduced = connect(identity.introduction(names));
      try (var connection = introduced.connection()) {
        // Who is not let in would be the default user to Redis.
        if (introduced.replies().stream().noneMatch(Exchange.Reply::isError)) {
          var _ = Exchange.ask(connection, List.of(names.request("CLIENT", "UNPAUSE")));
        }
      }
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.DEBUG, "a pause could not be ended", e);
    }
  }

  /** A lane has ended: of one that was left, only those need to know who wait for its replies. */
  void ended(Lane lane) {
    if (!lane.wasLeft()) {
      for (var session : sessions) {
        session.ended(lane);
      }
    }
    lane.owed().forEach(Session::cutOff);
  }

  /**
   * Stops listening and lets clients go when what they have asked for is replied to; those that are
   * not done after a time are cut off. Blocks.
   *
   * @return whether nobody was cut off
   */
  public boolean drain(Duration grace) {
    var present = listener;
    boolean inOrder = present == null || present.drain(grace);
    close();
    return inOrder;
  }

  /** Ends it; clients and Redis see their connections end. */
  @Override
  public void close() {
    if (!closed.getAndSet(true)) {
      fibers.close();
    }
  }
}
