package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.engine.Publication.Follower;
import dev.evergreen.core.engine.Publication.Subscribed;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Subscription;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.OneTimer;
import dev.evergreen.core.work.Retries;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Keeps this process's caches subscribed to their publishers, wherever these are (004 §4.2.1):
 * asks, asks again with growing patience while there is no answer, and renews what was answered.
 */
final class Subscriptions implements Caches.Lines {

  private static final int MAX_BATCH = 1_000;

  /** With so many requests open, further ones do not wait for results: pushes come in batches. */
  private static final int MAX_WAITING = 2_000;

  /**
   * A cache, and its wish that is sent.
   *
   * @param hasResult whether it had a result that the publisher may say still to be the present one
   */
  private record Wish(Cache cache, long generation, boolean hasResult) {
    boolean isLatest() {
      return cache.generation() == generation;
    }
  }

  /**
   * What was asked.
   *
   * @param waits whether the answer may wait for the results
   * @param finds how often publishers had been found before
   */
  private record Request(NodeId to, List<Wish> wishes, boolean waits, long finds, long sentAt) {}

  private final Base base;
  private final Workers workers;
  private final Caches caches;
  private final Outboxes outboxes;
  private final Activations activations;
  private final AtomicLong requests = new AtomicLong();
  private final Retries<Cache> retries;

  /** What was asked and not answered yet, the oldest first. */
  @GuardedBy("open")
  private final Map<Long, Request> open = new LinkedHashMap<>();

  /** One for all requests: one of its own for each would cost more than the answer. */
  private final OneTimer lateness;

  private final OneTimer renewal;

  Subscriptions(Propagation parts, Activations activations) {
    this.base = parts.base();
    this.workers = base.workers();
    this.caches = parts.caches();
    this.outboxes = parts.outboxes();
    this.activations = activations;
    this.lateness = new OneTimer(workers);
    this.renewal = new OneTimer(workers);
    this.retries =
        new Retries<>(
            workers, base.settings().renewEvery(), Cache::failedAttempt, this::subscribeAgain);
  }

  /** Subscribes a new cache; does not wait for the answer. */
  @Override
  public void begin(Cache cache) {
    base.observer().subscribed();
    workers.now(
        next -> {
          var to = subscribeIfHere(cache, next);
          if (to != null) {
            send(to, List.of(cache), true);
          }
        });
  }

  private void subscribeAgain(List<Cache> waiting, Tasks next) {
    base.observer().askedAgain(waiting.size());
    var byNode = new TreeMap<NodeId, List<Cache>>();
    for (var cache : waiting) {
      var to = subscribeIfHere(cache, next);
      if (to != null) {
        byNode.computeIfAbsent(to, n -> new ArrayList<>()).add(cache);
      }
    }
    byNode.forEach(this::sendInBatches);
  }

  private void sendInBatches(NodeId to, List<Cache> caches) {
    for (int i = 0; i < caches.size(); i += MAX_BATCH) {
      send(to, List.copyOf(caches.subList(i, Math.min(caches.size(), i + MAX_BATCH))), false);
    }
  }

  /**
   * Subscribes a cache whose publisher is on this node, or lets it try again later.
   *
   * @return the node to ask for it; null if there is nothing to ask
   */
  private @Nullable NodeId subscribeIfHere(Cache cache, Tasks next) {
    if (cache.closed() || base.lifetime().stopped()) {
      return null;
    }
    long finds = retries.finds();
    try {
      var grain = cache.key().grain();
      if (base.placement().isHere(grain)) {
        subscribeHere(cache, finds, next);
      } else {
        var to = base.placement().locate(grain);
        if (to == null || to.equals(base.peers().self())) {
          silent(cache, finds); // nobody is there who would say that it has changed
        } else if (base.peers().isGone(to)) {
          base.placement().notThere(grain, to);
          silent(cache, finds);
        } else {
          caches.isRemote(cache);
          return to;
        }
      }
    } catch (GrainException e) {
      failed(cache, e, next);
    } catch (RuntimeException | Error e) {
      // Who reads it waits, and others ask at the same time.
      Failures.log("asking for " + cache.key(), e);
      silent(cache, finds);
    }
    return null;
  }

  private void subscribeHere(Cache cache, long finds, Tasks next) {
    long generation = cache.wish(base.peers().self());
    if (generation == 0) {
      return;
    }
    var activation = publisher(cache.key(), next);
    var subscribed =
        activation == null
            ? Subscribed.NOWHERE
            : activation.subscribe(
                cache.key(),
                new Follower(base.peers().self(), null, generation, cache.version(), 0),
                next);
    switch (subscribed) {
      case NOT_HERE, NOWHERE -> silent(cache, finds);
      case CURRENT -> caches.heard(cache, generation);
      case OWED -> {} // what is known is doubted until that comes
    }
    cache.asked(generation);
    if (cache.closed()) {
      // Whoever closed it may have ended its subscription before that began.
      unwanted(cache.key(), generation);
    }
  }

  /** The activation whose results a call asks for; null if it asks what nobody reads there. */
  private @Nullable Activation publisher(CallKey key, Tasks next) {
    return base.models().graph().isReads(key)
        ? activations.get(key.grain())
        : activations.open(key.model(), key.grain(), next);
  }

  /**
   * Asks a node for what these caches are of.
   *
   * @param mayWait whether the answer may wait for the results: for what has no result yet
   */
  private void send(NodeId to, List<Cache> caches, boolean mayWait) {
    var subscriptions = new ArrayList<Subscription>(caches.size());
    var wishes = new ArrayList<Wish>(caches.size());
    for (var cache : caches) {
      long generation = cache.wish(to);
      if (generation != 0) {
        var have = cache.version();
        wishes.add(new Wish(cache, generation, have != null));
        subscriptions.add(new Subscription(cache.key().wire(), generation, have));
      }
    }
    if (subscriptions.isEmpty()) {
      return;
    }
    long request = requests.incrementAndGet();
    long finds = retries.finds();
    boolean waits;
    synchronized (open) {
      waits = mayWait && open.size() < MAX_WAITING;
      open.put(request, new Request(to, wishes, waits, finds, workers.nanos()));
    }
    lateness.after(patience(), this::endLate);
    renewLater();
    wishes.forEach(wish -> wish.cache().asked(wish.generation()));
    try {
      if (!base.peers().send(to, new Message.Subscribe(request, subscriptions, waits))) {
        unanswered(forget(request));
      }
    } catch (IllegalArgumentException e) {
      forget(request);
      tooLarge(to, caches, e);
    } catch (RuntimeException | Error e) {
      Failures.log("asking " + to, e);
      unanswered(forget(request));
    }
    var closed = caches.stream().filter(Cache::closed).toList();
    if (!closed.isEmpty()) {
      end(closed);
    }
  }

  private @Nullable Request forget(long request) {
    synchronized (open) {
      return open.remove(request);
    }
  }

  /** No link takes that many at a time: fewer, then; the arguments of a single one may be it. */
  private void tooLarge(NodeId to, List<Cache> caches, IllegalArgumentException refusal) {
    int half = caches.size() / 2;
    if (half > 0) {
      send(to, List.copyOf(caches.subList(0, half)), false);
      send(to, List.copyOf(caches.subList(half, caches.size())), false);
      return;
    }
    var cache = caches.getFirst();
    var why = cache.key().operation().argumentsTooLarge(cache.key().grain(), refusal);
    workers.now(next -> failed(cache, why, next));
  }

  /** A cache's wish cannot be told to anybody. */
  private void failed(Cache cache, GrainException why, Tasks next) {
    long wish = cache.wish(null);
    if (wish != 0) { // else another one may have taken its place, with no wish yet
      var failure = Cache.Update.provisional(wish, Outcome.Threw.of(why));
      caches.install(cache.key(), failure, next);
    }
  }

  private void unanswered(@Nullable Request request) {
    if (request == null) {
      return;
    }
    for (var wish : request.wishes()) {
      if (!wish.isLatest()) {
        continue;
      }
      if (request.waits()) {
        // The result may only take its time, or may have come as a push, but maybe one of a former
        // subscription: asking again settles it.
        retries.later(wish.cache(), request.finds());
      } else {
        silent(wish.cache(), request.finds());
      }
    }
  }

  private long patience() {
    return base.settings().pushRetryAfter().toNanos();
  }

  /** Ends the requests that were not answered in time. */
  private void endLate(Tasks next) {
    var late = new ArrayList<Request>();
    long remaining = 0;
    synchronized (open) {
      for (var i = open.values().iterator(); i.hasNext() && remaining <= 0; ) {
        var request = i.next();
        remaining = request.sentAt() + patience() - workers.nanos();
        if (remaining <= 0) {
          late.add(request);
          i.remove();
        }
      }
    }
    late.forEach(request -> Failures.alone("asking again", () -> unanswered(request)));
    if (remaining > 0) {
      lateness.after(remaining, this::endLate);
    }
  }

  /** A node answered a request of this one. */
  void answered(NodeId from, Message.SubscribeAnswer answer, Tasks next) {
    caches.install(from, answer.results(), next);
    Request request;
    synchronized (open) {
      request = open.get(answer.request());
      if (request == null || !request.to().equals(from)) {
        return;
      }
      open.remove(answer.request());
    }
    int elsewhere = answer.notHere().size() - answer.nowhere();
    var notHere = new LinkedHashSet<>(answer.notHere());
    var mayBeElsewhere = new HashSet<>(answer.notHere().subList(0, elsewhere));
    var owed = new LinkedHashSet<>(answer.owed());
    // What came with the answer ends the doubt itself, when it is installed.
    answer.results().forEach(result -> owed.add(result.key()));
    for (var wish : request.wishes()) {
      var cache = wish.cache();
      var name = cache.key().wire();
      if (!wish.isLatest()) {
        continue;
      }
      if (notHere.contains(name)) {
        if (mayBeElsewhere.contains(name)) {
          base.placement().notThere(cache.key().grain(), from);
        }
        silent(cache, request.finds());
      } else if (wish.hasResult() && !owed.contains(name)) {
        caches.heard(cache, wish.generation());
      }
    }
  }

  private void silent(Cache cache, long finds) {
    caches.silent(cache);
    retries.later(cache, finds);
  }

  /** The connections to nodes are gone: what these published is in doubt. */
  void silent(Set<NodeId> gone) {
    synchronized (open) {
      open.values().removeIf(request -> gone.contains(request.to()));
    }
    for (var cache : caches.all()) {
      var publisher = cache.publisher();
      if (publisher != null && gone.contains(publisher)) {
        silent(cache, retries.finds());
      }
    }
  }

  @Override
  public void askAgain(Cache cache) {
    retries.later(cache);
  }

  /** Does not let caches wait any longer whose publishers are found. */
  void retryNow(Predicate<GrainId> found) {
    retries.now(cache -> found.test(cache.key().grain()));
  }

  // Renewal

  /** There is something to be renewed; if that is due already, nothing changes. */
  private void renewLater() {
    if (!base.lifetime().stopped() && !renewal.isSet()) {
      long period = base.settings().renewEvery().toNanos();
      renewal.after(period - workers.randomBelow(period / 10 + 1), this::renew);
    }
  }

  /** Renews the subscriptions at other nodes, in batches per node. */
  private void renew(Tasks next) {
    var byNode = new TreeMap<NodeId, List<Cache>>();
    for (var cache : caches.all()) {
      var publisher = cache.publisher();
      if (publisher != null && !publisher.equals(base.peers().self())) {
        // Before anything can fail, as nobody else asks for the next renewal of what is not sent.
        renewLater();
        if (!retries.contains(cache)) {
          byNode.computeIfAbsent(publisher, n -> new ArrayList<>()).add(cache);
        }
      }
    }
    byNode.forEach(
        (publisher, caches) -> {
          base.observer().renewed(publisher, caches.size());
          sendInBatches(publisher, caches);
        });
  }

  @Override
  public void end(List<Cache> closed) {
    var byNode = new TreeMap<NodeId, List<Subscription>>();
    for (var cache : closed) {
      var publisher = cache.publisher();
      if (publisher == null) {
        continue;
      }
      if (publisher.equals(base.peers().self())) {
        Failures.alone("the end of " + cache, () -> unwanted(cache.key(), cache.generation()));
      } else {
        byNode
            .computeIfAbsent(publisher, n -> new ArrayList<>())
            .add(new Subscription(cache.key().wire(), cache.generation(), null));
      }
    }
    byNode.forEach(
        (to, gone) ->
            Failures.alone(
                "a farewell to " + to,
                () -> base.peers().sendParts(to, gone, Message.Unsubscribe::new)));
  }

  /** Also says that a cache of this node wants no result of this node any more. */
  @Override
  public void unwanted(CallKey key, long wish) {
    var activation = activations.get(key.grain());
    if (activation != null) {
      activation.unsubscribe(key, new Follower(base.peers().self(), null, wish, null, 0));
    }
  }

  // Requests of other nodes

  /** Registers the subscriptions of another node's caches. */
  void subscribe(NodeId from, Message.Subscribe message, Tasks next) {
    var notHere = new ArrayList<SummaryKey>();
    var nowhere = new ArrayList<SummaryKey>();
    var owed = new ArrayList<SummaryKey>();
    long request = message.waits() ? message.request() : 0;
    boolean nothingFollows = false;
    for (var subscription : message.subscriptions()) {
      outboxes.asked(from, subscription.key());
      switch (subscribe(from, subscription, request, next)) {
        case NOT_HERE -> notHere.add(subscription.key());
        case NOWHERE -> nowhere.add(subscription.key());
        case OWED -> {
          if (subscription.have() != null) {
            owed.add(subscription.key());
          }
        }
        case CURRENT -> nothingFollows = true;
      }
    }
    notHere.addAll(nowhere);
    if (!message.waits() || nothingFollows || !notHere.isEmpty()) {
      var answer =
          new Message.SubscribeAnswer(message.request(), notHere, List.of(), owed, nowhere.size());
      base.peers().send(from, answer);
    }
  }

  private Subscribed subscribe(NodeId from, Subscription subscription, long request, Tasks next) {
    GrainId grain = subscription.key().grain();
    if (!base.placement().isHere(grain)) {
      return Subscribed.NOT_HERE;
    }
    try {
      var key = base.models().callKey(subscription.key());
      var activation = publisher(key, next);
      return activation == null
          ? Subscribed.NOWHERE
          : activation.subscribe(key, follower(from, subscription, request), next);
    } catch (GrainException e) {
      outboxes.provisional(from, subscription.key(), subscription.generation(), Failures.of(e));
      return Subscribed.OWED;
    }
  }

  private static Follower follower(NodeId from, Subscription asked, long request) {
    return new Follower(from, asked.key(), asked.generation(), asked.have(), request);
  }

  /** Ends subscriptions of another node's caches. */
  void unsubscribe(NodeId from, Message.Unsubscribe message) {
    for (var subscription : message.subscriptions()) {
      var activation = activations.get(subscription.key().grain());
      var key = activation == null ? null : base.models().knownCallKey(subscription.key());
      if (activation != null && key != null) {
        activation.unsubscribe(key, follower(from, subscription, 0));
      }
    }
  }

  /** Another node does not host these grains any more. */
  void moved(NodeId from, Message.Moved message) {
    for (var key : message.keys()) {
      var cache = caches.remote(key);
      if (cache != null && from.equals(cache.publisher())) {
        base.placement().notThere(key.grain(), from);
        silent(cache, retries.finds());
      }
    }
  }
}
