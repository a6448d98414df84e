package dev.evergreen.http;

import dev.evergreen.fibers.Connection;
import dev.evergreen.http.Http1Output.Persistence;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A connection to an origin by HTTP/1.1, for one exchange after the other. */
final class Http1Upstream implements Upstream {
  /** More informational responses to one request are nonsense. */
  private static final int MOST_INFORMATIONAL = 100;

  private static final Pattern KEPT_FOR = Pattern.compile("(?i)timeout=(\\d{1,9})");

  private final Connection connection;
  private final Origin origin;
  private final HttpSettings settings;
  private final Input in;
  private final Http1Reader reader;
  private final Http1Writer writer;
  private long lastUsed = System.nanoTime();

  /** For how long the origin keeps it unused, as it says. */
  private long keptNanos = Long.MAX_VALUE;

  Http1Upstream(Connection connection, Origin origin, HttpSettings settings) {
    this.connection = connection;
    this.origin = origin;
    this.settings = settings;
    in = new Input(connection);
    reader = new Http1Reader(in, settings, true);
    writer = new Http1Writer(connection);
  }

  /**
   * Whether it was used lately, and its origin has not ended it, is not about to, and has sent
   * nothing unasked.
   */
  boolean isAlive(Duration idle) {
    try {
      long unused = System.nanoTime() - lastUsed;
      return unused < Math.min(idle.toNanos(), keptNanos) && in.isQuiet();
    } catch (IOException e) {
      return false;
    }
  }

  void closeConnection() {
    connection.close();
    in.close();
  }

  @Override
  public ClientExchange begin(Pool pool, boolean reused) {
    connection.readTimeout(settings.read());
    return new Turn(pool, reused);
  }

  /** Takes the connection for bytes both ways, without HTTP. */
  ClientExchange beginTunnel(Pool pool) throws IOException {
    connection.readTimeout(settings.read());
    var turn = new Turn(pool, false);
    turn.beginTunnel();
    return turn;
  }

  /** One exchange. */
  private final class Turn implements ClientExchange {
    private Pool pool;
    private final boolean reused;
    private boolean closed;
    private final long sentBefore = connection.report().sent();
    private boolean toHead;
    private boolean toConnect;

    /** To what it asks to go over from HTTP; none if it does not. */
    private List<String> upgrades = List.of();

    /**
     * Where it has a place for the time after it has left HTTP; null if it does not ask for that.
     */
    private @Nullable Pool lasting;

    private volatile boolean persistent;
    private boolean tunnelled;
    private int informational;
    private boolean looked;
    private volatile boolean anyReceived;
    private boolean amidHead;

    Turn(Pool pool, boolean reused) {
      this.pool = pool;
      this.reused = reused;
    }

    @Override
    public BodyWriter send(RequestHead head, long length) throws IOException {
      toHead = head.is("HEAD");
      toConnect = head.is("CONNECT");
      var fields = head.fields();
      int size = head.method().length() + head.targetLength() + fields.size();
      if (!Http1Output.hasRoom(size)) {
        throw new HeadTooLargeException(size);
      }
      upgrades = fields.hasMember("connection", "upgrade") ? fields.members("upgrade") : List.of();
      boolean asksToLeave = !upgrades.isEmpty();
      if (asksToLeave || toConnect) {
        // Before anything is sent: the origin would have agreed in vain.
        lasting = pool.takeLastingPlace();
      }
      var out = Http1Output.reserve(connection, size);
      head.putLine(out);
      if (!fields.has("host")) {
        Text.put(out, "Host: " + (toConnect ? head.target() : origin.authority()) + "\r\n");
      }
      Http1Output.fields(out, fields, asksToLeave);
      if (fields.hasMember("te", "trailers") && !asksToLeave) {
        // Of this connection, so it is said anew: who asks takes trailers (RFC 9110 §10.1.4).
        Text.put(out, "TE: trailers\r\nConnection: TE\r\n");
      }
      var persistence = asksToLeave ? Persistence.UPGRADES : Persistence.STAYS;
      if (length == 0 && !tellsThatNothingFollows(head)) {
        Http1Output.endWithout(out, persistence);
      } else {
        Http1Output.end(out, length, persistence);
      }
      writer.begin(length, false);
      return writer;
    }

    private static boolean tellsThatNothingFollows(RequestHead head) {
      return switch (head.method()) {
        case "POST", "PUT", "PATCH" -> true;
        default -> head.fields().has("content-length") && !head.is("CONNECT");
      };
    }

    @Override
    public ResponseHead receive() throws IOException {
      awaitHead();
      var head = ResponseHead.of(200);
      amidHead = true;
      Http1Heads.response(in, head, settings);
      amidHead = false;
      if (head.isInformational()) {
        long _ = Framing.ofResponse(head, toHead);
        if (++informational > MOST_INFORMATIONAL) {
          throw new MalformedMessageException("too many informational responses");
        }
        return head;
      }
      begin(head);
      return head;
    }

    @Override
    public boolean amidHead() {
      return amidHead;
    }

    /**
     * Nothing counts as an answer while the request is in the output: whoever got the connection
     * next would write behind it, into a buffer that this fiber sends, too.
     */
    private void awaitHead() throws IOException {
      if (!looked) {
        looked = true;
        if ((in.available() > 0 || in.fill()) && !anySent()) {
          throw new MalformedMessageException("the origin answers before it is asked");
        }
      }
      while (in.available() == 0 && !in.fill()) {
        if (in.ended()) {
          throw new IncompleteMessageException("the origin has ended before it answered");
        }
        in.awaitMore();
      }
      connection.flushOwn();
      anyReceived = true;
    }

    private void begin(ResponseHead head) throws IOException {
      if (head.status() == 101 || (toConnect && head.status() / 100 == 2)) {
        if (lasting == null) {
          throw new MalformedMessageException("the origin leaves HTTP though it was not asked to");
        }
        if (head.status() == 101 && !isAskedFor(head.fields().members("upgrade"))) {
          throw new MalformedMessageException("the origin goes over to what it was not asked for");
        }
        leaveHttp(lasting);
        return;
      }
      giveLastingPlaceBack();
      long framing = Framing.ofResponse(head, toHead);
      var fields = head.fields();
      boolean stays =
          !fields.hasMember("connection", "close")
              && (head.version() == Version.HTTP_1_1
                  || fields.hasMember("connection", "keep-alive"));
      if (framing > 0 && in.available() > framing) {
        // Known before anything is passed on.
        throw new MalformedMessageException("bytes after the end of a response");
      }
      if (Framing.isWithoutBody(head.status(), toHead)) {
        // A 204 that tells of a body may be followed by one later.
        stays &= reader.beginNone() && !(head.status() == 204 && tellsOfBody(fields));
      } else {
        reader.begin(framing, fields);
      }
      persistent = stays && framing != Framing.TO_END;
      fields.forEachMember("keep-alive", this::keptAsTold);
    }

    private static boolean tellsOfBody(Fields fields) throws IOException {
      return Framing.contentLength(fields) > 0 || fields.has("transfer-encoding");
    }

    /**
     * Else a request might meet the origin's end of the connection, and not all can be repeated.
     */
    private void keptAsTold(String parameter) {
      var told = KEPT_FOR.matcher(parameter);
      if (told.matches()) {
        long seconds = Long.parseLong(told.group(1));
        keptNanos = TimeUnit.MILLISECONDS.toNanos(seconds * 1000 - Math.min(1000, seconds * 500));
      }
    }

    /**
     * RFC 9110 §7.8: an origin must say what it goes over to, and only to what it was asked for.
     */
    private boolean isAskedFor(List<String> named) {
      return !named.isEmpty()
          && named.stream().allMatch(one -> upgrades.stream().anyMatch(one::equalsIgnoreCase));
    }

    /** The other place is free from now on. */
    private void leaveHttp(Pool itsNext) throws IOException {
      var before = pool;
      pool = itsNext;
      lasting = null;
      if (before != itsNext) {
        before.free();
      }
      beginTunnel();
    }

    private void giveLastingPlaceBack() {
      if (lasting != null && lasting != pool) {
        lasting.free();
      }
      lasting = null;
    }

    void beginTunnel() throws IOException {
      tunnelled = true;
      reader.begin(Framing.TO_END);
    }

    @Override
    public BodyReader body() {
      return reader;
    }

    @Override
    public Tunnel tunnel() {
      if (!tunnelled) {
        throw new IllegalStateException("the origin has not left HTTP");
      }
      return new Tunnel(reader, new TunnelWriter(connection));
    }

    @Override
    public boolean reused() {
      return reused;
    }

    @Override
    public boolean anySent() {
      return connection.report().sent() > sentBefore;
    }

    @Override
    public boolean anyReceived() {
      return anyReceived;
    }

    @Override
    public Connection connection() {
      return connection;
    }

    @Override
    public void abort() {
      persistent = false;
      connection.reset();
    }

    @Override
    public void close() {
      if (closed) {
        return;
      }
      closed = true;
      giveLastingPlaceBack();
      if (persistent && reader.ended() && reader.failure() == null && writer.isWhole()) {
        in.giveBack();
        lastUsed = System.nanoTime();
        pool.keep(Http1Upstream.this);
      } else {
        closeConnection();
        pool.free();
      }
    }
  }
}
