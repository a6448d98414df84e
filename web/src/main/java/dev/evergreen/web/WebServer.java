package dev.evergreen.web;

import dev.evergreen.core.Node;
import dev.evergreen.logs.LineLog;
import dev.evergreen.settings.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.io.ArrayByteBufferPool;
import org.eclipse.jetty.io.ByteBufferPool;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ProxyConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.resource.Resource;
import org.eclipse.jetty.util.resource.ResourceFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.core.WebSocketComponents;
import org.eclipse.jetty.websocket.core.WebSocketExtensionRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Serves live views, commands and files over HTTP/1.1, WebSocket and server-sent events. Handlers
 * run on virtual threads; a connection that waits holds no thread and no buffer. TLS and HTTP/2 are
 * left to a proxy in front.
 */
public final class WebServer implements AutoCloseable {

  static final String COMMANDS = "/commands/";
  static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  /** Bounds what the kernel keeps for a connection that does not read. */
  private static final int SEND_BUFFER_BYTES = 128 << 10;

  private static final long POOLED_BYTES = 16L << 20;
  private static final int PLATFORM_THREADS = 16;
  private static final Duration FAREWELL = Duration.ofSeconds(3);

  /** For the answers of those who waited for a result that will not come. */
  private static final Duration LAST_ANSWERS = Duration.ofSeconds(1);

  private final Server server;
  private final ServerConnector connector;
  private final Edge edge;
  private final Hub hub;
  private final Peers peers;
  private final Counters counters;
  private final Watchdog watchdog;
  private final @Nullable LineLog<AnsweredRequest> accessLog;
  private final AtomicBoolean closed = new AtomicBoolean();

  private WebServer(Builder builder) {
    var settings = builder.settings;
    counters = new Counters();
    var failures = new Failures(builder.errorMapping);
    hub = new Hub(builder.node, Map.copyOf(builder.views), settings, failures);
    peers = new Peers(settings, builder.proxies, counters);
    server = new Server(threads());
    var buffers = new ArrayByteBufferPool(0, 1024, 65536, 256, POOLED_BYTES, POOLED_BYTES);
    server.addBean(buffers);
    connector = connector(server, buffers, builder, peers);
    connector.addBean(peers);
    var guard =
        new Guard(
            builder.address(), builder.hosts, builder.origins, builder.contentSecurityPolicy());
    var answers = new Answers(settings, counters);
    var replies = new Replies(guard, settings, counters, answers);
    edge =
        new Edge(
            guard,
            settings,
            builder.authenticator,
            new Standings(
                builder.node,
                builder.authenticator,
                settings,
                () -> ThreadLocalRandom.current().nextDouble()),
            builder.routesWith(hub),
            hub,
            peers,
            failures,
            counters,
            replies,
            answers,
            components(server, buffers, builder.compressed),
            new Places(settings.maxRequests(), builder.goOnWithin));
    var handlers = new ArrayList<Handler>();
    handlers.add(edge);
    builder.files.forEach((path, base) -> handlers.add(new Files(path, base, builder.singlePage)));
    var answering = new Handler.Sequence(handlers);
    server.setHandler(new TracedHandler(answering, builder.tracing, edge, settings));
    server.setErrorHandler(replies::refuseForServer);
    watchdog = new Watchdog(settings, edge.live, peers, hub, counters, failures);
    // Last, as it has a thread.
    accessLog = builder.openAccessLog();
    var logs = new ArrayList<Consumer<? super AnsweredRequest>>();
    if (accessLog != null) {
      logs.add(accessLog::write);
    }
    if (builder.requestLog != null) {
      logs.add(builder.requestLog);
    }
    if (!logs.isEmpty()) {
      server.setRequestLog(
          new AnsweredRequests(answered -> logs.forEach(log -> log.accept(answered)), edge));
    }
  }

  /** A few platform threads wait for sockets; everything that may block is on virtual ones. */
  private static QueuedThreadPool threads() {
    var threads = new QueuedThreadPool(PLATFORM_THREADS, 2);
    threads.setName("evergreen-web");
    threads.setReservedThreads(0);
    threads.setVirtualThreadsExecutor(
        new ClientTurns(
            Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("evergreen-web-", 0).factory())));
    return threads;
  }

  private static ServerConnector connector(
      Server server, ByteBufferPool buffers, Builder builder, Peers peers) {
    var settings = builder.settings;
    var http = new HttpConfiguration();
    http.setSendServerVersion(false);
    http.setRequestHeaderSize(settings.maxHeaderBytes());
    http.setUriCompliance(UriCompliance.DEFAULT);
    var factories = new ArrayList<ConnectionFactory>();
    if (builder.proxies.speakProxyProtocol()) {
      factories.add(new ProxyConnectionFactory());
    }
    factories.add(new HttpConnectionFactory(http));
    int selectors = Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, 4);
    var connector =
        new Door(server, buffers, selectors, peers, factories.toArray(ConnectionFactory[]::new));
    connector.setHost(builder.address().getHostAddress());
    connector.setPort(builder.port);
    // None at all would be 0.
    connector.setIdleTimeout(Math.max(1, settings.requestWithin().multipliedBy(3).toMillis()));
    // When it stops: a connection that waits for its farewell is not idle.
    connector.setShutdownIdleTimeout(-1);
    connector.setAcceptedSendBufferSize(SEND_BUFFER_BYTES);
    connector.setAcceptQueueSize(1024);
    server.addConnector(connector);
    return connector;
  }

  /**
   * Of Jetty's extensions none: its compression would cost every connection hundreds of kilobytes.
   */
  private static WebSocketComponents components(
      Server server, ByteBufferPool buffers, boolean compressed) {
    var extensions = new WebSocketExtensionRegistry();
    for (var name : List.copyOf(extensions.getAvailableExtensionNames())) {
      extensions.unregister(name);
    }
    if (compressed) {
      extensions.register(SharedDeflate.NAME, SharedDeflate.Permit.class);
    }
    var components =
        new WebSocketComponents(extensions, null, buffers, null, null, server.getThreadPool());
    server.addBean(components);
    return components;
  }

  private WebServer start() {
    try {
      server.start();
    } catch (Exception e) {
      stopServer();
      throw e instanceof IOException io
          ? new UncheckedIOException(
              "Cannot listen on %s:%d; does another program? Then take another port."
                  .formatted(connector.getHost(), connector.getPort()),
              io)
          : new IllegalStateException("The web server did not start", e);
    }
    watchdog.start();
    return this;
  }

  /** A server for what this node computes. */
  public static Builder builder(Node node) {
    return new Builder(node);
  }

  /** The port that it listens on. */
  public int port() {
    return connector.getLocalPort();
  }

  /** The address of its root, such as {@code http://127.0.0.1:8080/}. */
  public URI uri() {
    var host = connector.getHost();
    return URI.create(
        "http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port() + "/");
  }

  /** What it holds and has done. */
  public WebCounts counts() {
    return new WebCounts(
        peers.size(),
        edge.live.size(),
        edge.subscriptions(),
        hub.size(),
        hub.heldBytes(),
        counters.requests.sum(),
        hub.written(),
        counters.sent.sum(),
        counters.skipped.sum(),
        counters.unchanged.sum(),
        hub.waits(),
        counters.malformed.sum(),
        counters.cut(),
        counters.refused());
  }

  /**
   * Cuts the live connections that these callers have to this server; they reconnect and are
   * authenticated anew. For rights that were withdrawn where {@link Authenticator#standing} does
   * not know of it.
   *
   * @return how many were cut
   */
  public int disconnect(Predicate<Caller> who) {
    int cut = 0;
    edge.disconnects();
    for (var connection : edge.live) {
      if (!connection.isOver() && who.test(connection.caller)) {
        connection.callerIsGone(Duration.ZERO);
        cut++;
      }
    }
    return cut;
  }

  /**
   * Tells live clients to come back later, answers all requests that have begun to arrive, ends all
   * connections and stops. What takes longer than three seconds is cut; who waits for a view's
   * first result for so long is told that there is none, and who waits for a turn is at once.
   * Idempotent; blocks until done, a few seconds at most. The node goes on.
   */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    // No new connections, and each that is there ends with its next answer.
    var unused = connector.shutdown();
    edge.end();
    awaitFarewells(FAREWELL);
    hub.close();
    awaitFarewells(LAST_ANSWERS);
    watchdog.stop();
    edge.live.forEach(
        connection -> {
          connection.close();
          connection.abort();
        });
    stopServer();
  }

  /**
   * Until every live connection has been told, also one that only now opens, and all is answered.
   */
  private void awaitFarewells(Duration limit) {
    long deadline = System.nanoTime() + limit.toNanos();
    try {
      while ((!edge.live.isEmpty() || edge.isBusy()) && System.nanoTime() - deadline < 0) {
        edge.live.forEach(LiveConnection::stopping);
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void stopServer() {
    try {
      server.stop();
    } catch (Exception e) {
      System.getLogger(WebServer.class.getName())
          .log(System.Logger.Level.WARNING, "The web server did not stop cleanly.", e);
    } finally {
      if (accessLog != null) {
        accessLog.close();
      }
    }
  }

  /** Opens the file of the access log anew, as after somebody has moved it away. */
  public void reopenAccessLog() {
    if (accessLog != null) {
      accessLog.reopen();
    }
  }

  /** How many lines the access log has left out, as its disk was too slow or full. */
  public long accessLogDropped() {
    return accessLog == null ? 0 : accessLog.dropped();
  }

  /** Collects what the server shall serve. */
  public static final class Builder {

    private final Node node;
    private final Map<String, LiveView<?>> views = new LinkedHashMap<>();
    private final List<Edge.Route> routes = new ArrayList<>();
    private final Map<String, FirstPage> pages = new LinkedHashMap<>();
    private final Map<String, Resource> files = new LinkedHashMap<>();
    private final Set<String> hosts = new LinkedHashSet<>();
    private final Set<String> origins = new LinkedHashSet<>();
    private String bind = "127.0.0.1";
    private int port = 8080;
    private boolean singlePage;
    private boolean compressed = true;
    private WebSettings settings = WebSettings.DEFAULT;
    private Duration goOnWithin = Places.GO_ON_WITHIN;
    private Proxies proxies = Proxies.NONE;
    private Authenticator authenticator = request -> Caller.ANONYMOUS;
    private Function<Exception, Optional<WebException>> errorMapping = failure -> Optional.empty();
    private final Set<String> peers = new LinkedHashSet<>();
    private WebTracing tracing = WebTracing.NONE;
    private @Nullable Consumer<? super AnsweredRequest> requestLog;
    private boolean logsAccess;
    private @Nullable Path accessLog;
    private @Nullable String contentSecurityPolicy;

    private final TypeScript typeScript = new TypeScript();

    private Builder(Node node) {
      this.node = node;
    }

    /** How long a request that goes on waits for a place at most. */
    Builder goOnWithin(Duration value) {
      goOnWithin = value;
      return this;
    }

    /** The port; 8080 by default, 0 for any free one. */
    public Builder port(int value) {
      port = value;
      return this;
    }

    /**
     * The address to listen on; {@code 127.0.0.1} by default. Only requests whose {@code Host} is
     * one of {@link #allowedHosts} are answered; on a loopback address also those for a loopback
     * name, on others, while no host is named, those for an address.
     */
    public Builder bind(String address) {
      bind = address;
      return this;
    }

    /** Host names, without port, by which browsers may reach this server; all others get 421. */
    public Builder allowedHosts(String... names) {
      Arrays.stream(names).map(name -> name.toLowerCase(Locale.ROOT)).forEach(hosts::add);
      return this;
    }

    /**
     * Origins other than the server's own whose pages may use views and commands, such as {@code
     * https://app.example.org}; also those of apps and extensions, such as {@code
     * capacitor://localhost} or {@code chrome-extension://…}, and {@code null}, which is that of
     * files and of every sandboxed frame, whoever wrote what is in it.
     *
     * @throws IllegalArgumentException if browsers do not write an origin so
     */
    public Builder allowedOrigins(String... values) {
      Arrays.stream(values).map(Guard::checkWritten).forEach(origins::add);
      return this;
    }

    /**
     * The origins of other servers of the same application, such as {@code http://10.0.0.2:8080}:
     * pages of theirs may use this server, and pages of this one may use them. So a page whose
     * server is gone can move to another. A cookie reaches them only on the same host.
     */
    public Builder peers(String... values) {
      for (var value : values) {
        if (!value.startsWith("http://") && !value.startsWith("https://")) {
          throw new IllegalArgumentException(
              "An origin is written as https://two.example, not '" + value + "'.");
        }
      }
      peers.addAll(List.of(values));
      return allowedOrigins(values);
    }

    /** The reverse proxies that stand before this server; none by default. */
    public Builder behind(Proxies value) {
      proxies = value;
      return this;
    }

    /**
     * Is told of each request when its answer has been taken, on the thread that has sent it: do
     * not block. {@link AnsweredRequest#line} is the usual line of a log. Nobody is told by
     * default.
     */
    public Builder requestLog(Consumer<? super AnsweredRequest> log) {
      requestLog = log;
      return this;
    }

    /**
     * Appends a line for each answered request to a file ({@link AnsweredRequest#line}), by a
     * thread of its own: a slow disk holds up no request. There is none by default.
     *
     * @param file null for the standard output
     */
    public Builder accessLog(@Nullable Path file) {
      logsAccess = true;
      accessLog = file;
      return this;
    }

    private @Nullable LineLog<AnsweredRequest> openAccessLog() {
      try {
        return logsAccess
            ? new LineLog<>("evergreen-web-log", accessLog, AnsweredRequest::line)
            : null;
      } catch (IOException e) {
        throw new UncheckedIOException(
            "The access log " + accessLog + " cannot be opened: " + e, e);
      }
    }

    /** Traces the work on requests; nothing does by default. */
    public Builder tracing(WebTracing value) {
      tracing = value;
      return this;
    }

    /** The limits; {@link WebSettings#DEFAULT} by default. */
    public Builder settings(WebSettings value) {
      settings = value;
      return this;
    }

    /**
     * Takes the settings that stand in a file of Java properties; the keys are in {@code
     * docs/settings.md}. What is called later changes them.
     *
     * @throws IllegalArgumentException if a key is not known or a value makes no sense; the message
     *     names the key and the file
     * @throws UncheckedIOException if the file cannot be read
     */
    public Builder configuredBy(Path file) {
      return configuredBy(Settings.of(file));
    }

    /**
     * Takes the settings that stand in the environment: each key of {@link #configuredBy} in
     * capitals, with {@code _} for {@code -}, behind {@code EVERGREEN_WEB_}.
     *
     * @throws IllegalArgumentException if a variable is not known or its value makes no sense; the
     *     message names it
     */
    public Builder configuredByEnvironment() {
      return configuredBy(Settings.of(System.getenv(), WebConfiguration.VARIABLES));
    }

    private Builder configuredBy(Settings given) {
      settings = WebConfiguration.apply(given, this, settings);
      return this;
    }

    /**
     * Whether results of more than a kilobyte are compressed for WebSockets whose clients can read
     * that, as browsers can; they are by default. It is done once for all who watch. Switch it off
     * where a result shows a secret beside what strangers have written, since its length tells
     * whether they are alike (BREACH).
     */
    public Builder compressed(boolean value) {
      compressed = value;
      return this;
    }

    /** Who is asking; by default everyone is anonymous. */
    public Builder authenticator(Authenticator value) {
      authenticator = value;
      return this;
    }

    /**
     * What browsers are told of exceptions that are no {@link WebException}: for instance that an
     * {@code IllegalArgumentException} of the application's grains is status 400 with its message.
     * Where the mapping gives nothing, the type is {@code timeout}, {@code unavailable}, {@code
     * stopped} or {@code failed}, and the message says nothing of the inside.
     */
    public Builder errors(Function<Exception, Optional<WebException>> mapping) {
      errorMapping = mapping;
      return this;
    }

    /**
     * The {@code Content-Security-Policy} of every answer; by default only what comes from this
     * server, connections to it and its {@link #peers}, and no frames around it.
     */
    public Builder contentSecurityPolicy(String policy) {
      contentSecurityPolicy = policy;
      return this;
    }

    /** Serves a live view at {@code /live/<name>} and over the WebSocket at {@code /live}. */
    public Builder view(LiveView<?> view) {
      if (views.putIfAbsent(view.name(), view) != null) {
        throw new IllegalArgumentException("There are two views named '" + view.name() + "'.");
      }
      typeScript.view(view);
      return this;
    }

    /**
     * Serves a command at {@code POST /commands/<name>}. Pages of foreign origins are refused, and
     * so is every content type but {@code application/json}.
     *
     * @param type a record
     */
    public <C extends Record> Builder command(
        String name,
        Class<C> type,
        Authorisation<? super C> authorisation,
        CommandHandler<C> handler) {
      typeScript.command(name, type);
      return commandAt(
          name,
          type,
          authorisation,
          (caller, command) -> {
            handler.handle(caller, command);
            return Reply.noContent();
          });
    }

    /** As {@link #command}, for a command that has an answer. */
    public <C extends Record> Builder commandWithResult(
        String name,
        Class<C> type,
        Authorisation<? super C> authorisation,
        CommandHandler.WithResult<C> handler) {
      typeScript.command(name, type, null);
      return commandAt(name, type, authorisation, handler);
    }

    /**
     * As {@link #commandWithResult(String, Class, Authorisation, CommandHandler.WithResult)}, and
     * says what its answers are, for {@link #typeScript}. The compiler cannot compare that with
     * what the handler gives, as it may give a {@link Reply}.
     */
    public <C extends Record> Builder commandWithResult(
        String name,
        Class<C> type,
        ResultType<?> answers,
        Authorisation<? super C> authorisation,
        CommandHandler.WithResult<C> handler) {
      typeScript.command(name, type, answers.type());
      return commandAt(name, type, authorisation, handler);
    }

    private <C extends Record> Builder commandAt(
        String name,
        Class<C> type,
        Authorisation<? super C> authorisation,
        CommandHandler.WithResult<C> handler) {
      return route(
          "POST",
          COMMANDS + LiveView.checkName(name),
          request -> {
            Refusals.require(authorisation.mayAsk(request.caller()), request.caller());
            var command = request.body(type);
            Refusals.require(authorisation.allows(request.caller(), command), request.caller());
            var result = handler.handle(request.caller(), command);
            return result instanceof Reply reply ? reply : Reply.json(result);
          });
    }

    /**
     * Serves any other path. Methods other than GET and HEAD are refused to pages of foreign
     * origins.
     *
     * @param path exact, or with {@code /*} at its end for all below
     */
    public Builder route(String method, String path, RouteHandler handler) {
      return route(Edge.Kind.APPLICATION, method, path, handler);
    }

    /**
     * As {@link #route(String, String, RouteHandler)}, for those who may: others are answered 401,
     * or 403 if they have signed in.
     */
    public Builder route(
        String method,
        String path,
        Authorisation<? super LiveView.NoParams> authorisation,
        RouteHandler handler) {
      return route(
          method,
          path,
          request -> {
            Refusals.require(
                authorisation.allows(request.caller(), new LiveView.NoParams()), request.caller());
            return handler.handle(request);
          });
    }

    private Builder route(Edge.Kind kind, String method, String path, RouteHandler handler) {
      if (!path.startsWith("/")) {
        throw new IllegalArgumentException(
            "A route's path begins with '/', not as '" + path + "'.");
      }
      var upper = method.toUpperCase(Locale.ROOT);
      for (var other : routes) {
        if (other.method().equals(upper) && other.path().equals(path)) {
          throw new IllegalArgumentException("There are two routes " + upper + " " + path + ".");
        }
      }
      routes.add(new Edge.Route(kind, upper, path, handler));
      return this;
    }

    /**
     * Serves metrics as text in Prometheus' format. Not served unless asked for: they tell the
     * names of grain types and how busy they are.
     *
     * @param path such as {@code "/metrics"}
     * @param authorisation who may see them
     * @param text asked at each request; may block
     */
    public Builder metrics(
        String path,
        Authorisation<? super LiveView.NoParams> authorisation,
        Supplier<String> text) {
      return route(
          "GET",
          path,
          authorisation,
          request ->
              Reply.bytes(
                  "text/plain; version=0.0.4; charset=utf-8",
                  text.get().getBytes(StandardCharsets.UTF_8)));
    }

    /**
     * Answers whether this process is well: status 200, or 503 with the trouble as text. Anybody
     * who reaches the server may ask, by whatever name, as those who look after processes do not
     * sign in; and is answered also when the server has too much to do for others.
     *
     * @param path such as {@code "/health/ready"}
     * @param trouble asked at each request; one line, or empty if there is none
     */
    public Builder health(String path, Supplier<Optional<String>> trouble) {
      return route(
          Edge.Kind.HEALTH,
          "GET",
          path,
          request ->
              trouble
                  .get()
                  .map(what -> Reply.text(what + "\n").withStatus(503))
                  .orElseGet(() -> Reply.text("ok\n")));
    }

    /** Adds what somebody else has made of views, routes and pages, such as a dashboard. */
    public Builder add(Consumer<? super Builder> part) {
      part.accept(this);
      return this;
    }

    /**
     * Serves a page with the results in it that it will show at first, so that they are there
     * without a further question; {@code @evergreen/client} takes them from the page. What the
     * caller may not see, what fails and what is not there within half a second is left out.
     *
     * @param path such as {@code "/"}; exact
     * @param html the page, with a {@code </head>} in it
     * @param first asked at each request
     */
    public Builder page(String path, String html, Function<Request, List<FirstResult>> first) {
      if (pages.putIfAbsent(path, new FirstPage(html, first)) != null) {
        throw new IllegalArgumentException("There are two pages for " + path + ".");
      }
      return this;
    }

    private List<Edge.Route> routesWith(Hub hub) {
      var all = new ArrayList<>(routes);
      pages.forEach(
          (path, page) ->
              all.add(
                  new Edge.Route(
                      Edge.Kind.APPLICATION,
                      "GET",
                      path,
                      request -> page.reply((Exchange) request, hub))));
      return List.copyOf(all);
    }

    /**
     * Serves the files of a directory, with ETags, but none whose path has a part that begins with
     * a dot, {@code .well-known} apart. What lies in {@code assets/} is taken to have a hash in its
     * name and is cached for a year.
     *
     * @param path where the directory appears, such as {@code "/"}
     */
    public Builder staticFiles(String path, Path directory) {
      return files(path, ResourceFactory.root().newResource(directory), directory.toString());
    }

    /**
     * As {@link #staticFiles}, from the class path.
     *
     * @param anchor a class of the same module
     * @param resource an absolute resource name, such as {@code "/public"}
     */
    public Builder staticResources(String path, Class<?> anchor, String resource) {
      var url = anchor.getResource(resource);
      return files(path, url == null ? null : ResourceFactory.root().newResource(url), resource);
    }

    private Builder files(String path, @Nullable Resource base, String name) {
      if (base == null || !base.isDirectory()) {
        throw new IllegalArgumentException("There is no directory " + name + ".");
      }
      if (files.putIfAbsent(path.endsWith("/") ? path : path + "/", base) != null) {
        throw new IllegalArgumentException("There are two directories for " + path + ".");
      }
      return this;
    }

    /**
     * Answers GET requests for pages that nothing else serves with the start page of the static
     * files, for applications that route in the browser.
     */
    public Builder singlePage() {
      singlePage = true;
      return this;
    }

    /**
     * The views and commands so far as a module of TypeScript, with an interface for each record,
     * by which {@code @evergreen/client} knows what there is. A build that writes it to the page's
     * sources finds there what no longer fits.
     */
    public String typeScript() {
      return typeScript.text();
    }

    /**
     * Starts.
     *
     * @throws UncheckedIOException if the port, or the file of the access log, cannot be had
     */
    public WebServer start() {
      return new WebServer(this).start();
    }

    private String contentSecurityPolicy() {
      if (contentSecurityPolicy != null) {
        return contentSecurityPolicy;
      }
      var policy =
          "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
              + " form-action 'self'; frame-ancestors 'none'";
      if (peers.isEmpty()) {
        return policy;
      }
      // A WebSocket's origin is another, http is ws and https is wss.
      return peers.stream()
          .map(peer -> " " + peer + " ws" + peer.substring("http".length()))
          .collect(Collectors.joining("", policy + "; connect-src 'self'", ""));
    }

    private InetAddress address() {
      try {
        return InetAddress.getByName(bind);
      } catch (UnknownHostException e) {
        throw new UncheckedIOException("No address named " + bind, e);
      }
    }
  }
}
