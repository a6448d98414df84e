package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.http.Version;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.CacheKey;
import dev.evergreen.proxy.rules.CacheStatus;
import dev.evergreen.proxy.rules.CacheStatus.Forward;
import dev.evergreen.proxy.rules.Conditions;
import dev.evergreen.proxy.rules.Demands;
import dev.evergreen.proxy.rules.Forwarding;
import dev.evergreen.proxy.rules.Freshening;
import dev.evergreen.proxy.rules.Life;
import dev.evergreen.proxy.rules.Reuse;
import dev.evergreen.proxy.rules.Storing;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.DamagedException;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Recipient;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One request and its answer, from the first line to the log, in one fiber. It reads from top to
 * bottom: {@link #run}, {@link #answer}, {@link #serve}, {@link #fetch}, and then what becomes of
 * the origin's response. Each {@link Point} that it reaches is named where it is reached.
 */
final class Transaction {

  /** More rounds by the same name, and a message goes in a circle. */
  private static final int PASSES = 10;

  /** So often the cache is looked up because something has come into it meanwhile. */
  private static final int ROUNDS = 3;

  private final Proxy proxy;
  private final Proxy.Setup setup;
  private final Exchange exchange;
  private final RequestHead request;
  private final Client client;
  private final Course course;
  private final Demands demands;
  private final Delivery delivery;
  private final Recipient recipient;
  private final String authority;
  private final Reach reach;
  private final String uri;
  private final String key;

  /** Why the cache could not answer at first; null if it could. */
  private @Nullable Forward missed;

  /** Whether it has waited for another one's answer. */
  private boolean collapsed;

  /**
   * The transaction of an exchange.
   *
   * @param recipient the client's connection
   */
  Transaction(Proxy proxy, Exchange exchange, InetAddress peer, Recipient recipient) {
    this.proxy = proxy;
    this.exchange = exchange;
    this.recipient = recipient;
    setup = proxy.setup();
    request = exchange.request();
    if (request.fields().has("connection")) {
      Forwarding.stripListed(request.fields());
    }
    client = Client.of(request, peer, setup.settings().trust);
    course = proxy.begin(request, client);
    demands = Demands.of(request.fields());
    delivery = new Delivery(exchange, course, setup);
    authority = OriginRequests.authority(request, client, setup);
    var scheme = setup.settings().forward == null ? client.scheme() : request.namedScheme();
    reach = Reach.of(setup.settings().forward, client, request.fields());
    uri = CacheKey.of(scheme, authority, request.path());
    key = reach.key(uri);
  }

  /** Answers the request. */
  void run() throws IOException {
    course.reached(Point.REQUEST, request.method());
    proxy.count(Count.REQUESTS);
    try {
      answer();
    } catch (IOException e) {
      course.failure = String.valueOf(e.getMessage());
      throw e;
    } finally {
      course.reached(Point.LOG, "");
      proxy.end(course);
    }
  }

  private void answer() throws IOException {
    course.reached(Point.KEY, key);
    if (setup.settings().forward != null && request.version() == Version.HTTP_1_0) {
      exchange.closeAfterwards(); // RFC 9112 §9.3: it may not know what it says to a proxy.
    }
    if (answeredHere()) {
      proxy.count(Count.ANSWERED_HERE);
    } else if (!request.is("GET") && !request.is("HEAD")) {
      pass(Forward.METHOD, null);
    } else if (mustPass()) {
      passUnlessOnlyCached();
    } else {
      serve();
    }
  }

  /** A body of a GET has no meaning that a key could have (RFC 9110 §9.3.1). */
  private boolean mustPass() {
    return Conditions.forOrigin(request.fields())
        || !exchange.body().ended()
        || !OriginRequests.upgrade(request).isEmpty();
  }

  private void passUnlessOnlyCached() throws IOException {
    if (demands.onlyIfCached()) {
      own().refuseUncached();
    } else {
      pass(Forward.BYPASS, null);
    }
  }

  // Requests that are for the proxy itself, or for nobody.

  private boolean answeredHere() throws IOException {
    var forward = setup.settings().forward;
    if (forward != null && !forward.clients().includes(client.peer())) {
      own().refuse(403, "this proxy is not for you");
    } else if (request.is("CONNECT") && forward != null) {
      own().tunnel(forward);
    } else if (request.is("CONNECT")) {
      // RFC 9110 §15.5.6: there is nothing else that can be done with what is only an authority.
      own().refuse(405, "this proxy makes no tunnels", "Allow", "");
    } else if (forward != null && OriginRequests.named(request) == null) {
      own().refuse(400, "a forward proxy is asked for whole URIs, of http or https");
    } else if (forward == null && request.isAbsolute() && !hasOwnScheme()) {
      own().refuse(421, "this connection is not by the scheme of that URI");
    } else if (Forwarding.passes(request.fields(), setup.settings().name) > PASSES) {
      own().refuse(508, "the request goes in a circle");
    } else if (Forwarding.maxForwards(request).orElse(1) == 0) {
      own().answerAsLastHop();
    } else if (OriginRequests.standsForConnect(request)
        && OriginRequests.upgrade(request).isEmpty()) {
      own().refuse(501, "that protocol does not pass"); // RFC 9220 §3 says so of :protocol
    } else if (request.is("PURGE")) {
      own().purge();
    } else {
      return false;
    }
    return true;
  }

  private OwnAnswers own() {
    return new OwnAnswers(asker());
  }

  /** For what is answered otherwise than from the cache: a hit needs none. */
  private Asker asker() {
    return new Asker(proxy, setup, exchange, client, course, reach, authority);
  }

  /**
   * Else anybody could have origins told that a request came by TLS (RFC 9110 §7.4). A proxy that
   * is trusted may have ended TLS.
   */
  private boolean hasOwnScheme() {
    var scheme = request.scheme();
    return scheme.equals(request.secure() ? "https" : "http")
        || (setup.settings().trust.includes(client.peer())
            && scheme.equals(request.fields().get("x-forwarded-proto")));
  }

  // Requests that the cache may answer.

  private void serve() throws IOException {
    for (int round = 1; !serveOnce(round < ROUNDS); round++) {
      course.reached(Point.LOOKUP, "again");
    }
  }

  /**
   * Looks up the cache and answers.
   *
   * @param collapse whether another request that is under way may be waited for
   * @return whether the client was answered; else the cache has changed
   */
  private boolean serveOnce(boolean collapse) throws IOException {
    var variants = new Variants(request.fields());
    try (var found = Found.find(proxy.storage(), Proxy.segment(key), variants, recipient);
        var parts = found == null ? partial().find() : null) {
      course.reached(Point.LOOKUP, seen(found, parts));
      if ((found != null && mayBeUsed(found, variants)) || (parts != null && mayBeUsed(parts))) {
        return true;
      }
      var why = parts == null ? why(found, variants) : why(parts);
      course.reached(Point.DECISION, why);
      if (demands.onlyIfCached()) {
        own().refuseUncached();
        return true;
      }
      if (missed == null) {
        missed = why;
        proxy.count(Count.MISSES);
      }
      var what = what(parts == null ? variants.seen() : parts.vary());
      var wish = found == null ? partial().wish(parts, what) : Wish.whole(null);
      var name = wish.name(what);
      exchange.keepNoBuffer();
      if (isAlone(what) || isAlone(name) || wish.isOneOfMany(request, proxy.fetches(), key, name)) {
        return fetchAlone(name, found, wish, why);
      }
      return collapse
          ? collapse(what, found, wish, why)
          : fetch(name, new Fetch(), found, wish, why);
    } catch (DamagedException e) {
      if (exchange.responded()) {
        throw e;
      }
      return false; // It is as if it had not been stored.
    }
  }

  private PartialAnswers partial() {
    return new PartialAnswers(proxy, setup, request, key, delivery, recipient);
  }

  private boolean isAlone(String what) {
    return proxy.fetches().alone(what, proxy.now());
  }

  private static Object seen(@Nullable Found found, @Nullable Incomplete parts) {
    return found != null ? found.lease().source() : parts != null ? "parts" : "nothing";
  }

  // What is stored in parts.

  /** Answers by parts, if they may be used as they are and have all that is wanted. */
  private boolean mayBeUsed(Incomplete parts) throws IOException {
    long now = proxy.now();
    var whole = parts.asWhole();
    var reuse = reuse(whole, now);
    if ((reuse != Reuse.FRESH && reuse != Reuse.STALE) || !partial().gaps(parts).isEmpty()) {
      return false; // They are not validated in the background.
    }
    use(whole, reuse, now);
    return true;
  }

  private Forward why(Incomplete parts) throws IOException {
    if (!partial().gaps(parts).isEmpty()) {
      return Forward.PARTIAL;
    }
    return reuse(parts.asWhole(), proxy.now()) == Reuse.VALIDATE_FOR_REQUEST
        ? Forward.REQUEST
        : Forward.STALE;
  }

  private long aloneUntil() {
    return proxy.now() + setup.settings().aloneFor.toMillis();
  }

  // What is stored whole.

  /** Answers by what is stored, if it may be used as it is. */
  private boolean mayBeUsed(Found found, Variants variants) throws IOException {
    long now = proxy.now();
    var reuse = reuse(found, now);
    if (reuse == Reuse.VALIDATE || reuse == Reuse.VALIDATE_FOR_REQUEST) {
      return false;
    }
    if (reuse == Reuse.STALE_WHILE_REVALIDATE) {
      validateInBackground(found, variants.seen());
    }
    use(found, reuse, now);
    return true;
  }

  private void use(Found found, Reuse reuse, long now) throws IOException {
    course.reached(Point.DECISION, reuse);
    if (missed == null) {
      proxy.count(Count.HITS);
    }
    if (reuse != Reuse.FRESH) {
      proxy.count(Count.STALE_HITS);
    }
    deliver(found.head(), found.lease(), usedAsItIs(life(found).ttl(now)), age(found.head()));
  }

  /** What is stored was used as it is, perhaps after a wait for another that has asked. */
  private CacheStatus usedAsItIs(long ttl) {
    return collapsed && missed != null
        ? CacheStatus.forwarded(missed).withTtl(ttl).asCollapsed()
        : CacheStatus.hit(ttl);
  }

  private Reuse reuse(Found found, long now) throws IOException {
    return Reuse.of(life(found), demands, now);
  }

  /** Hardly any was softly purged, so that a hit needs no keeper. */
  private Life life(Found found) throws IOException {
    return found.lease().isStale() ? keeper().life(found) : found.head().life();
  }

  private Forward why(@Nullable Found found, Variants variants) throws IOException {
    if (found == null) {
      return variants.seen() == null ? Forward.URI_MISS : Forward.VARY_MISS;
    }
    return reuse(found, proxy.now()) == Reuse.VALIDATE_FOR_REQUEST
        ? Forward.REQUEST
        : Forward.STALE;
  }

  /**
   * Answers by what is stored, or is being stored.
   *
   * @param age the Age that the client is told, or null
   */
  private void deliver(StoredHead head, Lease lease, CacheStatus status, @Nullable String age)
      throws IOException {
    if (SteadyLease.isWorthwhile(lease)) {
      try (var steady = new SteadyLease(head, lease, new Elsewhere())) {
        delivery.send(head, steady, status, age, proxy.times());
      }
    } else {
      delivery.send(head, lease, status, age, proxy.times());
    }
  }

  /** The Age of what is used without a question to the origin (RFC 9111 §4). */
  private String age(StoredHead head) {
    return Long.toString(head.life().age(proxy.now()));
  }

  /** Where else there may be what is being delivered. */
  private final class Elsewhere implements SteadyLease.Elsewhere {
    @Override
    public boolean isTooLateToBeginAnew() {
      return exchange.responded();
    }

    @Override
    public @Nullable Found find() {
      var variants = new Variants(request.fields());
      return Found.find(proxy.storage(), Proxy.segment(key), variants, recipient);
    }

    @Override
    public boolean ask(String range, String tag, SteadyLease.Part reader) throws IOException {
      if (demands.onlyIfCached()) {
        return false;
      }
      var origin = origin();
      var asked = origin.request();
      Conditions.clear(asked.fields());
      asked.fields().set("Range", range).set("If-Range", tag);
      return origin.asLongAsClientStays(
          () -> {
            try (var answer = origin.ask(asked, null)) {
              return reader.read(answer);
            }
          });
    }
  }

  // Several that want the same.

  private boolean collapse(String whole, @Nullable Found found, Wish wish, Forward why)
      throws IOException {
    var what = wish.name(whole);
    var reason = why;
    while (true) {
      var fetch = new Fetch();
      var other =
          request.is("HEAD") ? proxy.fetches().find(what) : proxy.fetches().begin(what, fetch);
      if (other == null) {
        return lead(what, fetch, found, wish, reason);
      }
      Fetch.Outcome came;
      try (var waiter = join(other)) {
        came = waiter.await(setup.settings().collapsedWait.toMillis());
        if (came instanceof Fetch.Arriving(var arrival) && suits(arrival)) {
          if (!has(arrival, wish)) {
            return false; // It is of something else than what is stored, which counts no more.
          }
          if (!follow(arrival, waiter, found, wish, reason)) {
            // Nobody can follow it any more: who wants the same from now on follows another one.
            proxy.fetches().end(what, other);
            return false;
          }
          return true;
        }
      }
      switch (came) {
        case Fetch.Arriving(var arrival) -> {
          var narrower = wish.name(what(arrival.vary()));
          if (narrower.equals(what)) {
            return fetch(what, new Fetch(), found, wish, reason);
          }
          what = narrower;
          reason = Forward.VARY_MISS;
        }
        case Fetch.LookAgain() -> {
          return false;
        }
        case Fetch.Released() -> {
          return fetchAlone(what, found, wish, reason);
        }
        case Fetch.Failed(var failure) -> {
          fail(wish.kept(found), failure);
          return true;
        }
      }
    }
  }

  /** The first that wants it makes the fetch. It may have come between the look-up and now. */
  private boolean lead(String what, Fetch fetch, @Nullable Found found, Wish wish, Forward why)
      throws IOException {
    boolean asks = false;
    try {
      var variants = new Variants(request.fields());
      asks =
          !Found.changed(proxy.storage(), Proxy.segment(key), variants, found)
              && !partial().haveChanged(wish);
    } finally {
      if (!asks) {
        proxy.fetches().end(what, fetch);
      }
    }
    return asks && fetch(what, fetch, found, wish, why);
  }

  private Fetch.Waiter join(Fetch other) {
    var waiter = other.join();
    if (!other.decided()) {
      proxy.count(Count.COLLAPSED);
      collapsed = true;
    }
    return waiter;
  }

  /** The name of what is wanted, by what the URI's responses vary. */
  private String what(@Nullable Vary vary) {
    return vary == null || vary.names().isEmpty()
        ? key
        : Fetches.name(key, vary.select(request.fields()));
  }

  /** Whether what arrives for another may be used for this request, too (RFC 9111 §4). */
  private boolean suits(Arrival arrival) {
    var reuse = Reuse.of(arrival.head().life(), demands, proxy.now());
    boolean usable = reuse != Reuse.VALIDATE && (collapsed || reuse != Reuse.VALIDATE_FOR_REQUEST);
    return usable && new Variants(request.fields()).takes(arrival.variant());
  }

  /** Whether that has all that this request wants, with what is there of it. */
  private boolean has(Arrival arrival, Wish wish) throws IOException {
    var part = arrival.part();
    return part == null || partial().completes(part, arrival.head(), wish.parts());
  }

  /**
   * Answers by what arrives for another. Who comes when it has begun to arrive gets it like what is
   * stored. Who wants a part that is far from having arrived asks for it.
   *
   * @return false if it has arrived meanwhile, or its beginning is gone
   */
  private boolean follow(
      Arrival arrival, Fetch.Waiter waiter, @Nullable Found found, Wish wish, Forward why)
      throws IOException {
    var head = arrival.head();
    try (var lease = arrival.follow()) {
      waiter.done(); // From here on what it needs is kept for its lease.
      var failure = arrival.failure();
      if (lease == null && failure != null && waiter.isEarly()) {
        fail(wish.kept(found), failure); // Else each that wakes too late would ask for itself.
        return true;
      }
      if (lease == null) {
        return false;
      }
      if (!isFar(arrival, lease)) {
        if (!request.is("HEAD") && !hasBeginning(lease)) {
          return false;
        }
        if (found != null) {
          found.close(); // As for who has fetched it.
        }
        var joined = PartialAnswers.join(wish.parts(), arrival, lease);
        deliver(head, joined, usedAsItIs(head.life().ttl(proxy.now())), age(head));
        return true;
      }
    }
    pass(why, null);
    return true;
  }

  /** A part begins where it is wanted. */
  private boolean isFar(Arrival arrival, Lease lease) throws IOException {
    var head = arrival.head();
    return arrival.part() == null
        && delivery.isFar(head.status(), head.fields(), lease.length(), arrival.received());
  }

  /** Who comes late to what cannot be stored may have missed something; others may be cut off. */
  private static boolean hasBeginning(Lease lease) {
    try {
      var _ = lease.read(0, 1);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  // The origin.

  /**
   * Asks the origin for all who want the same; for a validation, if something is stored.
   *
   * @param what the name under which the fetch can be found
   * @return true, as the client was answered
   */
  private boolean fetch(String what, Fetch fetch, @Nullable Found found, Wish wish, Forward why)
      throws IOException {
    if (request.is("HEAD")) {
      passHead(found, why);
      return true;
    }
    if (!fetch(what, fetch, found, wish, why, true)) {
      // The first answer has left its place, for which the second question may have to wait.
      boolean _ = fetch(what, fetch, found, wish.anew(request), why, false);
    }
    return true;
  }

  /**
   * Asks the origin.
   *
   * @param validates whether it may answer that something that is stored is still right
   * @return false if it did so in vain: the fetch goes on, and the origin is to be asked anew
   */
  private boolean fetch(
      String what, Fetch fetch, @Nullable Found whole, Wish wish, Forward why, boolean validates)
      throws IOException {
    boolean handedOver = false;
    var validation = validates && wish.isPlain() ? new Validation(proxy, key, keeper()) : null;
    var parts = wish.parts();
    var found = wish.kept(whole);
    // Whatever fails from here on, also of what is asked, ends the fetch: others wait for it.
    try (var _ = wish.isPlain() ? null : proxy.storage().ask(Proxy.segment(Parts.key(key)));
        var question = proxy.storage().ask(Proxy.segment(key));
        var answer = new Held(askFor(fetch, asked(validation, whole, wish)))) {
      long stamp = question.stamp(); // By then the parts are asked for, too.
      var head = answer.get().head();
      if (head.status() == 304 && wish.validates()) {
        boolean freshened = freshenParts(wish, answer, stamp, fetch, why);
        handedOver = !freshened;
        return freshened;
      }
      if (head.status() == 304 && validation != null && validation.hasCondition()) {
        boolean freshened = freshen(validation, whole, answer, stamp, fetch, why);
        handedOver = !freshened;
        return freshened;
      }
      if (Reuse.failure(head.status()) && usableAfterFailure(found)) {
        fetch.decide(new Fetch.LookAgain());
        int status = head.status();
        answer.letGo(); // What is delivered may need its place at the origin.
        deliverStale(found, status);
        return true;
      }
      var arrival = arrival(answer.get(), wish, stamp);
      if (arrival == null && parts != null && wish.isInVain(head.status())) {
        if (partial().isAnother(answer.get(), parts) && !keeper().isOwn()) {
          keeper().retire(parts.newest(), stamp); // A 416 contradicts the length that they tell.
        }
        handedOver = true;
        return false;
      }
      course.reached(Point.STORE, arrival == null ? "not stored" : "stored");
      if (arrival == null) {
        release(what, parts == null ? whole : parts.newest(), head, stamp, fetch);
        if (isBetterAskedAnew(answer.get(), wish)) {
          answer.letGo();
          pass(why, null);
          return true;
        }
        var status = CacheStatus.forwarded(why).withForwardStatus(head.status());
        whileClientStays(() -> passage().relay(answer.get(), status, true));
        return true;
      }
      handedOver = true;
      if (whole != null) {
        whole.close(); // It would be kept, beside the new one, as long as the client takes.
        found = null;
      }
      store(what, fetch, arrival, answer.handOver(), wish, why);
      return true;
    } catch (OriginFailure e) {
      fetch.decide(new Fetch.Failed(e));
      fail(found, e);
      return true;
    } catch (Leaving.GoneException e) {
      gone(e);
      return true;
    } finally {
      if (!handedOver) {
        proxy.fetches().end(what, fetch);
      }
    }
  }

  /**
   * Whether an answer that is not stored is better asked for anew, by the client's own request: it
   * has much that the client does not want, or tells that there is no such range to who may have
   * all already, which is to be judged before that (RFC 9110 §13.2.2).
   */
  private boolean isBetterAskedAnew(OriginAnswer answer, Wish wish) {
    var head = answer.head();
    boolean precedes =
        head.status() == 416 && wish.range() != null && Conditions.has(request.fields());
    return precedes
        || delivery.isFar(head.status(), head.fields(), answer.exchange().body().length(), 0);
  }

  /** How an answer is stored, or the part that it has; null if it may not be. */
  private @Nullable Arrival arrival(OriginAnswer answer, Wish wish, long stamp) throws IOException {
    if (answer.head().status() == 206) {
      return partial().arrival(answer, wish, stamp);
    }
    var head = answer.head();
    partial().learn(wish, head);
    if (wish.range() != null && !Storing.tellsOfResource(head.status())) {
      return null; // It may be about the range, though RFC 9110 §14.2 does not want that.
    }
    var entry = keeper().entry(answer, stamp);
    return entry == null ? null : new Arrival(entry, proxy.storage(), recipient);
  }

  /** The request for all who want the same; with our conditions, or none. */
  private RequestHead asked(@Nullable Validation validation, @Nullable Found found, Wish wish)
      throws IOException {
    var asked = origin().request();
    if (validation == null) {
      wish.ask(asked.fields()); // A 304 to the client's own would be no answer either.
    } else {
      validation.condition(asked.fields(), found);
    }
    return asked;
  }

  private OriginQuestions origin() {
    return new OriginQuestions(asker());
  }

  private OriginAnswer askFor(Fetch fetch, RequestHead asked) throws IOException {
    return fetch.isAlone() ? origin().askForClient(asked) : origin().ask(asked, null);
  }

  /**
   * Asks the origin for this client, as others need not wait for what will probably be for it
   * alone. If it is for all nevertheless, it is stored. What the client has already, or a part, is
   * asked for as such: in vain the whole would be fetched each time.
   */
  private boolean fetchAlone(String what, @Nullable Found found, Wish wish, Forward why)
      throws IOException {
    if (request.is("GET") && (Conditions.has(request.fields()) || request.fields().has("range"))) {
      pass(why, wish.kept(found));
      return true;
    }
    return fetch(what, Fetch.alone(), found, wish, why);
  }

  /**
   * Those who wait ask for themselves, and the next ones do not wait at all for a while, if that
   * tells what there is; not if it tells what was wrong with this request.
   */
  private void release(
      String what, @Nullable Found found, ResponseHead head, long stamp, Fetch fetch)
      throws IOException {
    proxy.count(Count.UNSTORABLE);
    if (Reuse.failure(head.status())) {
      // Who has trouble is not asked by all at once.
      fetch.decide(new Fetch.Failed(OriginFailure.answered(head.status())));
      return;
    }
    fetch.decide(new Fetch.Released());
    if (keeper().displace(found, head.status(), stamp)) {
      proxy.fetches().remember(what, aloneUntil());
    }
  }

  private Keeper keeper() {
    return new Keeper(proxy, setup, request, key);
  }

  /**
   * Stores the response by a fiber of its own, and answers from what has come of it. A part that is
   * far from having come is asked for beside that: it would take as long as all before it.
   */
  private void store(
      String what, Fetch fetch, Arrival arrival, OriginAnswer answer, Wish wish, Forward why)
      throws IOException {
    proxy.count(Count.STORED);
    var head = arrival.head();
    // A copy, as the exchange's own head is used again when the client has left.
    var keeper = new Keeper(proxy, setup, request.copy(), key);
    boolean received = false;
    try (var lease = arrival.appender().follow()) {
      var forFirst = keeper.headForFirst(answer, arrival);
      var age = answer.age();
      fetch.decide(new Fetch.Arriving(arrival));
      proxy.fibers().spawn(() -> keeper.receive(what, fetch, answer, arrival));
      received = true;
      var status =
          CacheStatus.forwarded(why)
              .withForwardStatus(answer.head().status())
              .withTtl(head.life().ttl(proxy.now()))
              .asStored();
      if (!isFar(arrival, lease)) {
        deliver(forFirst, PartialAnswers.join(wish.parts(), arrival, lease), status, age);
        return;
      }
    } finally {
      if (!received) {
        keeper.drop(what, fetch, answer, arrival); // No other fiber will end any of them.
      }
    }
    pass(why, null);
  }

  /**
   * Updates all that a 304 is about, and answers by the one that is for this request, or that the
   * origin has chosen for it (RFC 9111 §4.3.3, §4.3.4).
   *
   * @return false if the 304 is about nothing that is stored, or has come to more than can be kept
   */
  private boolean freshen(
      Validation validation, @Nullable Found found, Held held, long stamp, Fetch fetch, Forward why)
      throws IOException {
    var answer = held.get();
    try (var freshened = validation.freshen(found, answer, stamp)) {
      if (freshened == null) {
        return false;
      }
      fetch.decide(new Fetch.LookAgain());
      course.reached(Point.STORE, "freshened");
      var first = freshened.first();
      var head = keeper().headForAsker(first, answer, freshened.head());
      var status =
          CacheStatus.forwarded(why).withForwardStatus(304).withTtl(head.life().ttl(proxy.now()));
      var age = answer.age();
      held.letGo(); // What is delivered may need its place at the origin.
      deliver(head, first.lease(), status, age);
      return true;
    }
  }

  /** The same of parts, all of which are right if the newest is. */
  private boolean freshenParts(Wish wish, Held held, long stamp, Fetch fetch, Forward why)
      throws IOException {
    var parts = Objects.requireNonNull(wish.parts());
    var newest = parts.newest();
    var answer = held.get();
    if (Freshening.chosen(answer.head(), List.of(newest.validators())).isEmpty()) {
      return false;
    }
    var keeper = keeper();
    var refreshed = keeper.refresh(newest, answer, stamp);
    if (refreshed == null) {
      return false;
    }
    var head = keeper.headForAsker(newest, answer, refreshed);
    if (!PartialAnswers.gaps(delivery.wanted(head, parts.complete()), parts.ranges()).isEmpty()) {
      return false; // By the newer date the client has not got it already.
    }
    proxy.count(Count.FRESHENED);
    fetch.decide(new Fetch.LookAgain());
    course.reached(Point.STORE, "freshened");
    var status =
        CacheStatus.forwarded(why).withForwardStatus(304).withTtl(head.life().ttl(proxy.now()));
    var age = answer.age();
    held.letGo();
    deliver(head, parts.asWhole().lease(), status, age);
    return true;
  }

  // No answer of the origin, or a bad one.

  private boolean usableAfterFailure(@Nullable Found found) throws IOException {
    return found != null && Reuse.afterFailure(life(found), demands, proxy.now());
  }

  private void deliverStale(@Nullable Found found, int originStatus) throws IOException {
    if (found == null) {
      throw new IllegalStateException("nothing is stored");
    }
    proxy.count(Count.STALE_HITS);
    var status =
        CacheStatus.forwarded(Forward.STALE)
            .withForwardStatus(originStatus)
            .withTtl(life(found).ttl(proxy.now()))
            .withDetail("stale-if-error");
    deliver(found.head(), found.lease(), status, age(found.head()));
  }

  private void fail(@Nullable Found found, OriginFailure failure) throws IOException {
    own().note(failure);
    if (usableAfterFailure(found)) {
      deliverStale(found, failure.status());
      return;
    }
    // RFC 9111 §5.2.2.2, §5.2.2.4: what must be validated and cannot be is told by 504.
    boolean cannotValidate =
        found != null && found.head().life().mustBeValidated() && failure.isNoAnswer();
    own().tell(failure, cannotValidate ? 504 : failure.status());
  }

  /** The cache asks for itself, as what comes of it is for all. */
  private void validateInBackground(Found found, @Nullable Vary vary) throws IOException {
    // What is stored is the answer to GET, also when a HEAD has found it stale.
    var get = request.copy().method("GET");
    get.fields().remove("cache-control").remove("pragma");
    if (!Storing.shareable(found.head().fields(), setup.settings().rules)) {
      get.fields().remove("authorization"); // It was not asked for with any.
    }
    var origin = origin();
    new Background(proxy, setup, reach, origin.origins(), get, origin.of(get), key)
        .start(what(vary));
  }

  // Requests that go to the origin without the cache.

  /**
   * Passes the request on, and its answer.
   *
   * @param found what is stored for it but may not be used as it is, or null
   */
  private void pass(Forward why, @Nullable Found found) throws IOException {
    if (why == Forward.METHOD || why == Forward.BYPASS) {
      proxy.count(Count.PASSED);
    }
    exchange.keepNoBuffer();
    var invalidations = new Invalidations(proxy, setup, request, uri);
    Pass.Stored stored = () -> usableAfterFailure(found);
    try {
      var failure =
          new Pass(exchange, course, origin(), own(), passage(), invalidations, why, stored).run();
      if (failure.isPresent()) {
        fail(found, failure.get());
      }
    } catch (Leaving.GoneException e) {
      gone(e);
    }
  }

  private Passage passage() {
    return new Passage(proxy, setup, exchange, course, reach);
  }

  /** RFC 9111 §4.3.5: the answer to HEAD tells of what is stored for GET. */
  private void passHead(@Nullable Found found, Forward why) throws IOException {
    var parts =
        found == null
            ? Incomplete.find(
                proxy.storage(), key, request.fields(), (_, _) -> List.of(), recipient)
            : null;
    try (parts) {
      var stored = parts == null ? found : parts.newest();
      whileClientStays(() -> passHeadAlone(found, stored, why));
    }
  }

  /**
   * Passes it on.
   *
   * @param found what is stored whole, or null
   * @param stored the same, or the newest part
   */
  private void passHeadAlone(@Nullable Found found, @Nullable Found stored, Forward why)
      throws IOException {
    var asked = origin().request();
    if (stored != null) {
      Conditions.clear(asked.fields()); // A 304 to the client's own would tell nothing of it.
    }
    boolean isPart = stored != null && stored.part() != null;
    try (var _ = isPart ? proxy.storage().ask(Proxy.segment(Parts.key(key))) : null;
        var question = proxy.storage().ask(Proxy.segment(key));
        var answer = origin().ask(asked, null)) {
      long stamp = question.stamp();
      var head = answer.head();
      if (stored != null && head.status() == 200 && stored.head().status() == 200) {
        var keeper = keeper();
        if (Freshening.confirms(head, stored.head().fields(), stored.length())) {
          var _ = keeper.refresh(stored, answer, stamp);
        } else if (!keeper.isOwn()) {
          keeper.end(stored, stamp);
        }
      }
      var status = CacheStatus.forwarded(why).withForwardStatus(head.status());
      passage().relay(answer, status, true);
    } catch (OriginFailure e) {
      fail(found, e);
    }
  }

  /** Does what nobody else waits for. */
  private void whileClientStays(CancelScope.Action<IOException> action) throws IOException {
    try (var leaving = new Leaving(proxy.fibers(), exchange)) {
      leaving.run(action);
    } catch (Leaving.GoneException e) {
      gone(e);
    }
  }

  private void gone(Leaving.GoneException why) throws IOException {
    if (exchange.responded() || request.version() == Version.HTTP_2) {
      throw why;
    }
    // It may have ended its half only, and still read.
    course.failure = String.valueOf(why.getMessage());
    own().refuse(504, "the origin: timeout");
  }
}
