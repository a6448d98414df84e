package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.live.Present;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Gatherers;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.core.ExtensionConfig;
import org.eclipse.jetty.websocket.core.WebSocketComponents;
import org.eclipse.jetty.websocket.core.server.Handshaker;
import org.jspecify.annotations.Nullable;

/** What the server answers, path by path; what it does not know is left to the static files. */
final class Edge extends Handler.Abstract {

  /** Whose question a route answers: that of those who look after the process is none of work. */
  enum Kind {
    APPLICATION,
    HEALTH
  }

  /** A method and path with what answers it. */
  record Route(Kind kind, String method, String path, RouteHandler handler) {

    @Nullable String rest(String actual) {
      if (!path.endsWith("/*")) {
        return path.equals(actual) ? "" : null;
      }
      var prefix = path.substring(0, path.length() - 1);
      return actual.startsWith(prefix) ? actual.substring(prefix.length()) : null;
    }

    @Override
    public String toString() {
      return path.startsWith(WebServer.COMMANDS)
          ? "Command " + path.substring(WebServer.COMMANDS.length())
          : "Route " + method + " " + path;
    }
  }

  /** The attribute of a request that was authenticated: who asks. */
  static final String CALLER = Edge.class.getName() + ".caller";

  /** Until who asks for too much is told so, and may ask again: else it asks at full speed. */
  static final Duration REFUSED_PAUSE = Duration.ofMillis(500);

  private static final String LIVE = "/live";

  private final Guard guard;
  private final WebSettings settings;
  private final Authenticator authenticator;
  private final Standings standings;
  private final List<Route> routes;
  private final Hub hub;
  private final Peers peers;
  private final Failures failures;
  private final Counters counters;
  private final Replies replies;
  private final Answers answers;
  private final WebSocketComponents components;
  private final Handshaker handshaker = Handshaker.newInstance();
  private final Places places;
  private final AtomicInteger underWay = new AtomicInteger();
  private final AtomicInteger disconnects = new AtomicInteger();
  final Set<LiveConnection> live = ConcurrentHashMap.newKeySet();

  Edge(
      Guard guard,
      WebSettings settings,
      Authenticator authenticator,
      Standings standings,
      List<Route> routes,
      Hub hub,
      Peers peers,
      Failures failures,
      Counters counters,
      Replies replies,
      Answers answers,
      WebSocketComponents components,
      Places places) {
    this.guard = guard;
    this.settings = settings;
    this.authenticator = authenticator;
    this.standings = standings;
    this.routes = routes;
    this.hub = hub;
    this.peers = peers;
    this.failures = failures;
    this.counters = counters;
    this.replies = replies;
    this.answers = answers;
    this.components = components;
    this.places = places;
  }

  /** Finds out who asks, if a proxy says so; before anything else is done with a request. */
  void identify(Request request) {
    peers
        .identify(Peer.of(request), request.getHeaders())
        .ifPresent(client -> request.setAttribute(Exchange.CLIENT, client.getHostAddress()));
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    counters.requests.increment();
    guard.secure(response.getHeaders());
    // That nothing is read or written while a request is worked on, or a stream has no news, is no
    // fault of the connection's; a read or write that is stuck ends nevertheless.
    request.addIdleTimeoutListener(timeout -> false);
    var peer = Peer.of(request);
    peer.begin();
    underWay.incrementAndGet();
    Request.addCompletionListener(
        request,
        failure -> {
          peer.end();
          underWay.decrementAndGet();
        });
    try {
      return admit(request, response, callback, peer);
    } catch (Exception e) {
      replies.refuse(request, response, callback, told(request, e));
      return true;
    }
  }

  /** What the server below finds wrong with a request is told as it tells it elsewhere. */
  private WebException told(Request request, Exception e) {
    return e instanceof HttpException http
        ? Replies.asFailure(http.getCode())
        : failures.tell(declared(request), e);
  }

  /** What the application calls what was asked for: never the words of who asks. */
  private String declared(Request request) {
    var path = Request.getPathInContext(request);
    for (var kind : Kind.values()) {
      var route = find(kind, request, path);
      if (route != null) {
        return route.toString();
      }
    }
    return path.startsWith(LIVE) ? "A request for a view" : "A request";
  }

  /**
   * The path that the application declared for what is asked for: a route's, a command's or a
   * view's; empty where it did not. Never the words of who asks, of which there is no end.
   */
  String route(Request request) {
    var path = Request.getPathInContext(request);
    if (path.equals(LIVE)) {
      return LIVE;
    }
    if (path.startsWith(LIVE + "/")) {
      return hub.has(path.substring(LIVE.length() + 1)) ? path : "";
    }
    return routes.stream()
        .filter(route -> route.rest(path) != null)
        .map(Route::path)
        .findFirst()
        .orElse("");
  }

  private boolean admit(Request request, Response response, Callback callback, Peer peer)
      throws Exception {
    var path = Request.getPathInContext(request);
    var health = find(Kind.HEALTH, request, path);
    if (health != null) {
      var asked = new Exchange(request, settings, path, "", Caller.ANONYMOUS);
      replies.send(request, response, callback, health.handler().handle(asked));
      return true;
    }
    if (overLimit(request, response, callback, peer)) {
      return true;
    }
    guard.checkHost(request);
    guard.allowForeignReader(request, response.getHeaders());
    return dispatch(request, response, callback, path, peer.address);
  }

  private @Nullable Route find(Kind kind, Request request, String path) {
    for (var route : routes) {
      if (route.kind() == kind && route.rest(path) != null && answers(route, request)) {
        return route;
      }
    }
    return null;
  }

  private boolean overLimit(Request request, Response response, Callback callback, Peer peer) {
    try {
      peers.admit(peer);
      return false;
    } catch (WebException e) {
      response.getHeaders().put(HttpHeader.CONNECTION, "close");
      replies.refuse(request, response, callback, e);
      return true;
    }
  }

  private boolean dispatch(
      Request request, Response response, Callback callback, String path, Object address)
      throws Exception {
    if (HttpMethod.OPTIONS.is(request.getMethod())
        && guard.preflight(request, response.getHeaders())) {
      replies.send(request, response, callback, Reply.noContent());
      return true;
    }
    if (path.equals(LIVE) || path.startsWith(LIVE + "/")) {
      try (var place = places.take(address)) {
        if (path.equals(LIVE) && HttpMethod.POST.is(request.getMethod())) {
          streamMany(request, response, callback, address, place);
        } else if (path.equals(LIVE)) {
          openSocket(request, response, callback, address, place);
        } else {
          look(request, response, callback, place);
        }
      }
      return true;
    }
    return route(request, response, callback, path);
  }

  private void openSocket(
      Request request, Response response, Callback callback, Object address, Places.Place place)
      throws InterruptedException {
    guard.checkOrigin(request);
    payForOpening(address, place);
    var still = stillConnected();
    var caller = caller(request, LIVE);
    var opened =
        handshaker.isWebSocketUpgradeRequest(request)
            && handshaker.upgradeRequest(
                (upgrade, answer, done) -> {
                  var extensions =
                      components.getExtensionRegistry().isAvailable(SharedDeflate.NAME)
                          ? SharedDeflate.accept(upgrade.getExtensions())
                          : List.<ExtensionConfig>of();
                  answer.setExtensions(extensions);
                  return socket(request, caller, still, address, !extensions.isEmpty());
                },
                request,
                response,
                callback,
                components,
                session -> {
                  // Unlimited for what is sent; what is received is limited by the socket itself.
                  session.setMaxFrameSize(0);
                  session.setAutoFragment(true);
                  session.setInputBufferSize(4096);
                  session.setIdleTimeout(Duration.ZERO);
                });
    if (!opened) {
      response.getHeaders().put(HttpHeader.UPGRADE, "websocket");
      throw new WebException(
          426, "upgrade-required", "This is the address of a WebSocket, version 13.");
    }
  }

  /** Before anybody is authenticated, since that may take long. */
  private void payForOpening(Object address, Places.Place place) throws InterruptedException {
    place.rest(hub.pay(List.of(address), Hub.WORK_OF_OPENING));
  }

  private LiveSocket socket(
      Request request, Caller caller, BooleanSupplier still, Object address, boolean compressed) {
    var socket =
        new LiveSocket(caller, address, compressed, settings, counters, hub, standings, live);
    socket.onlyIf(still);
    if (wantsDeltas(request)) {
      socket.takeDeltas();
    }
    return socket;
  }

  /**
   * Whether no callers have been disconnected since: who was authenticated before that, but has no
   * connection yet, was not among them.
   */
  private BooleanSupplier stillConnected() {
    int before = disconnects.get();
    return () -> disconnects.get() == before;
  }

  /** Nobody waits for a turn any more. */
  void end() {
    places.end();
  }

  /** Callers are disconnected now. */
  void disconnects() {
    disconnects.incrementAndGet();
  }

  /** In the query, where a server that knows of none does not look. */
  private static boolean wantsDeltas(Request request) {
    return "deltas=1".equals(request.getHttpURI().getQuery());
  }

  private Caller caller(Request request, String path) {
    var caller =
        authenticator.authenticate(new Exchange(request, settings, path, "", Caller.ANONYMOUS));
    request.setAttribute(CALLER, caller);
    return caller;
  }

  private void look(Request request, Response response, Callback callback, Places.Place place)
      throws InterruptedException {
    try {
      answerView(request, response, callback, place);
    } catch (WebException e) {
      if (e.status() == 429) {
        place.close();
        Thread.sleep(REFUSED_PAUSE);
      }
      throw e;
    }
  }

  private void answerView(Request request, Response response, Callback callback, Places.Place place)
      throws InterruptedException {
    if (!isRead(request)) {
      throw notAllowed(response, Set.of("GET", "HEAD"));
    }
    guard.checkOrigin(request);
    var path = Request.getPathInContext(request);
    var view = hub.view(path.substring(LIVE.length() + 1));
    if (wantsStream(request)) {
      payForOpening(Peer.of(request).address, place);
    }
    var still = stillConnected();
    var asked =
        new Exchange(request, settings, path, "", () -> caller(request, path), place, hub::pay);
    var caller = asked.caller();
    var address = asked.payer();
    var params = Json.fromQuery(asked.query(), view.paramsType());
    var result = hub.acquire(view, caller, address, params);
    response.getHeaders().add(HttpHeader.VARY, "Accept");
    if (wantsStream(request)) {
      stream(request, response, callback, caller, address, still, result);
    } else {
      try {
        var present = present(result, asked);
        // Who has an answer may ask again at once.
        place.close();
        replies.present(request, response, callback, present, caller.payers(address));
      } finally {
        hub.release(result, caller, address);
      }
    }
  }

  /**
   * The result, once there is one; who asks, and what they may, is looked at after that.
   *
   * @throws WebException if it may not be answered, or there is none
   */
  private Present present(WatchedView<?> result, Exchange asked) throws InterruptedException {
    if (!result.isReady()) {
      asked.leaveFor(() -> result.awaitFirst(settings.firstResultWithin()));
    }
    var present = result.present();
    var before = asked.caller();
    var now = asked.callerByNow();
    Refusals.require(result.allows(before, now), now);
    return result.value(present);
  }

  private static boolean wantsStream(Request request) {
    var accept = request.getHeaders().get(HttpHeader.ACCEPT);
    return HttpMethod.GET.is(request.getMethod())
        && accept != null
        && accept.contains("text/event-stream");
  }

  private void stream(
      Request request,
      Response response,
      Callback callback,
      Caller caller,
      Object address,
      BooleanSupplier still,
      WatchedView<?> result) {
    EventStream stream;
    try {
      stream = stream(request, response, callback, caller, address);
      stream.onlyIf(still);
      stream.start();
    } catch (RuntimeException | Error e) {
      // Nobody watches it, as the application's code has thrown, or there is no memory.
      hub.release(result, caller, address);
      throw e;
    }
    stream.watch(null, result, request.getHeaders().get("Last-Event-ID"));
  }

  private EventStream stream(
      Request request, Response response, Callback callback, Caller caller, Object address) {
    // First, as it may throw.
    var stream =
        new EventStream(
            request, response, callback, caller, address, settings, counters, hub, standings, live);
    response.setStatus(200);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/event-stream");
    response.getHeaders().put(HttpHeader.CACHE_CONTROL, "no-store");
    // Its connection is read to notice its end, and so is not fit for another request.
    response.getHeaders().put(HttpHeader.CONNECTION, "close");
    response.getHeaders().put("X-Accel-Buffering", "no");
    return stream;
  }

  /** What the body of a stream of many views says: the messages of a WebSocket that subscribe. */
  record Watch(List<Wish> subscribe) {}

  /** One view of many. */
  record Wish(long id, String view, Optional<JsonNode> params, Optional<String> have) {}

  /**
   * Many views over one response, where no WebSocket gets through: browsers have few connections.
   */
  private void streamMany(
      Request request, Response response, Callback callback, Object address, Places.Place place)
      throws InterruptedException {
    guard.checkOrigin(request);
    payForOpening(address, place);
    var still = stillConnected();
    // The views in its body are paid for one by one.
    var exchange =
        new Exchange(request, settings, LIVE, "", () -> caller(request, LIVE), place, (_, _) -> 0);
    var wishes = exchange.body(Watch.class).subscribe();
    var caller = exchange.caller();
    if (wishes.stream().map(Wish::id).distinct().count() < wishes.size()) {
      throw Json.badParams("Two views have the same id.");
    }
    var stream = stream(request, response, callback, caller, address);
    stream.onlyIf(still);
    if (wantsDeltas(request)) {
      stream.takeDeltas();
    }
    stream.start();
    // The rest is the stream's work, as what a WebSocket asks for is its own.
    place.close();
    wishes.stream()
        .gather(Gatherers.windowFixed(Hub.MOST_WORK_AT_A_TIME))
        .takeWhile(some -> !stream.isOver())
        .forEachOrdered(
            some -> {
              stream.awaitTurn(some.size());
              some.forEach(wish -> fulfil(wish, stream, caller, address));
            });
  }

  private void fulfil(Wish wish, EventStream stream, Caller caller, Object address) {
    if (stream.isOver()) {
      return;
    }
    try {
      hub.checkRoom(stream.subscriptions().size());
      var params = wish.params().filter(JsonNode::isObject).orElseGet(Json::emptyObject);
      var result = hub.acquire(hub.view(wish.view()), caller, address, params);
      stream.watch(wish.id(), result, wish.have().orElse(null));
    } catch (WebException e) {
      stream.refuse(wish.id(), e);
    }
  }

  private boolean route(Request request, Response response, Callback callback, String path)
      throws Exception {
    var route = find(Kind.APPLICATION, request, path);
    if (route != null) {
      run(route, request, response, callback, path);
      return true;
    }
    var methods = methods(path);
    if (!methods.isEmpty()) {
      throw notAllowed(response, methods);
    }
    if (!isRead(request)) {
      throw notFoundOrNotAllowed(path, response);
    }
    return false;
  }

  private void run(Route route, Request request, Response response, Callback callback, String path)
      throws Exception {
    if (!isRead(request)) {
      guard.checkOrigin(request);
    }
    Reply reply;
    List<Object> payers;
    try (var place = places.take(Peer.of(request).address)) {
      var rest = Objects.requireNonNull(route.rest(path));
      var exchange =
          new Exchange(request, settings, path, rest, () -> caller(request, path), place, hub::pay);
      payers = exchange.caller().payers(exchange.payer());
      // What has an effect is refused before it has.
      answers.checkRoom(payers);
      reply = route.handler().handle(exchange);
    }
    // Without a place, as who has an answer may ask again at once.
    if (reply.setsCookie(SignedSessions.COOKIE)) {
      // It has begun or ended a session, for which a grain is kept. That is done, so not refused.
      places.pause(hub.pay(payers, Hub.WORK_OF_OPENING));
    }
    replies.send(request, response, callback, reply, payers);
  }

  /** By which the routes of this path are asked for. */
  private Set<String> methods(String path) {
    var methods = new TreeSet<String>();
    for (var route : routes) {
      if (route.rest(path) != null) {
        methods.add(route.method());
        if (route.method().equals("GET")) {
          methods.add("HEAD");
        }
      }
    }
    return methods;
  }

  private static WebException notFoundOrNotAllowed(String path, Response response) {
    return path.startsWith(WebServer.COMMANDS)
        ? new WebException(404, "no-such-command", "There is no command of this name.")
        : notAllowed(response, Set.of("GET", "HEAD"));
  }

  private static boolean answers(Route route, Request request) {
    return route.method().equals(request.getMethod())
        || (route.method().equals("GET") && HttpMethod.HEAD.is(request.getMethod()));
  }

  private static boolean isRead(Request request) {
    return HttpMethod.GET.is(request.getMethod()) || HttpMethod.HEAD.is(request.getMethod());
  }

  private static WebException notAllowed(Response response, Set<String> allowed) {
    response.getHeaders().put(HttpHeader.ALLOW, String.join(", ", new TreeSet<>(allowed)));
    return new WebException(
        405, "method-not-allowed", "Allowed are " + new TreeSet<>(allowed) + ".");
  }

  /** Whether a request, or its answer, is under way. */
  boolean isBusy() {
    return underWay.get() > 0;
  }

  int subscriptions() {
    int count = 0;
    for (var connection : live) {
      count += connection.isOver() ? 0 : connection.subscriptions().size();
    }
    return count;
  }
}
