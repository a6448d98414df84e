package dev.evergreen.core;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Subscription;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.ArrayList;
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
final class Subscriptions {

  private static final long FIRST_RETRY_NANOS = 10_000_000;
  private static final int MAX_DOUBLINGS = 11;
  private static final int MAX_BATCH = 1_000;

  private record Request(NodeId to, List<Cache> caches) {}

  private final NodeRuntime node;
  private final AtomicLong generations = new AtomicLong();
  private final AtomicLong requests = new AtomicLong();
  private final Map<Long, Request> open = new LinkedHashMap<>(); // guarded by itself
  private final Set<Cache> retrying = new LinkedHashSet<>(); // guarded by itself
  private boolean renewing; // guarded by open

  Subscriptions(NodeRuntime node) {
    this.node = node;
  }

  long nextGeneration() {
    return generations.incrementAndGet();
  }

  /** Subscribes a new cache; does not wait for the answer. */
  void begin(Cache cache) {
    node.meters().subscribed.increment();
    var next = new Tasks();
    subscribe(cache, next);
    node.fork(next);
  }

  private void subscribe(Cache cache, Tasks next) {
    if (cache.closed() || node.stopped()) {
      return;
    }
    try {
      var grain = cache.key().grain();
      if (node.placement().isHere(grain)) {
        subscribeHere(cache, next);
      } else {
        var to = node.placement().locate(grain);
        if (to.equals(node.self())) {
          retryLater(cache);
        } else if (node.isGone(to)) {
          node.placement().notThere(grain, to);
          lost(cache);
        } else {
          node.caches().isRemote(cache);
          send(to, List.of(cache));
        }
      }
    } catch (NotStartedException e) {
      retryLater(cache);
    } catch (GrainException e) {
      failed(cache, e, next);
    }
  }

  private void subscribeHere(Cache cache, Tasks next) {
    long generation = cache.wish(node.self());
    if (generation == 0) {
      return;
    }
    var activation = node.activations().open(cache.key().model(), cache.key().grain(), next);
    if (!activation.subscribe(cache.key(), node.self(), generation, cache.version(), next)) {
      retryLater(cache);
    } else if (cache.heard()) {
      node.dependentsMoved(cache);
    }
    if (cache.closed()) {
      // Whoever closed it may have ended its subscription before that began.
      unsubscribeHere(cache.key(), generation);
    }
  }

  private void send(NodeId to, List<Cache> caches) {
    var subscriptions = new ArrayList<Subscription>(caches.size());
    for (var cache : caches) {
      long generation = cache.wish(to);
      if (generation != 0) {
        subscriptions.add(new Subscription(cache.key().wire(), generation, cache.version()));
      }
    }
    if (subscriptions.isEmpty()) {
      return;
    }
    long request = requests.incrementAndGet();
    synchronized (open) {
      open.put(request, new Request(to, caches));
      if (!renewing) {
        renewing = true;
        renewLater();
      }
    }
    node.clock()
        .after(
            node.settings().pushRetryAfter().toNanos(), () -> node.start(n -> unanswered(request)));
    try {
      if (!node.send(to, new Message.Subscribe(request, subscriptions))) {
        unanswered(request);
      }
    } catch (IllegalArgumentException e) {
      forget(request);
      tooLarge(to, caches, e);
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
      send(to, List.copyOf(caches.subList(0, half)));
      send(to, List.copyOf(caches.subList(half, caches.size())));
      return;
    }
    var cache = caches.getFirst();
    var next = new Tasks();
    failed(
        cache,
        new ValueTooLargeException(
            cache.key().grain()
                + "."
                + cache.key().operation().name()
                + ": the arguments are too large",
            refusal),
        next);
    node.fork(next);
  }

  /** A cache's wish cannot be told to anybody. */
  private void failed(Cache cache, GrainException why, Tasks next) {
    node.caches()
        .install(
            cache.key(),
            new Cache.Update(
                cache.wish(null),
                new Message.Version(0, 0),
                Outcome.Threw.of(why),
                0,
                false,
                true,
                null),
            next);
  }

  private void unanswered(long request) {
    var lost = forget(request);
    if (lost != null) {
      lost.caches().forEach(this::lost);
    }
  }

  /** A node answered a request of this one. */
  void answered(NodeId from, Message.SubscribeAnswer answer) {
    Request request;
    synchronized (open) {
      request = open.get(answer.request());
      if (request == null || !request.to().equals(from)) {
        return;
      }
      open.remove(answer.request());
    }
    var notHere = new LinkedHashSet<>(answer.notHere());
    for (var cache : request.caches()) {
      if (notHere.contains(cache.key().wire())) {
        node.placement().notThere(cache.key().grain(), from);
        lost(cache);
      } else if (cache.heard()) {
        node.dependentsMoved(cache);
      }
    }
  }

  /** A cache got a result of an epoch that it does not know. */
  void askAgain(Cache cache) {
    retryLater(cache);
  }

  /** The publisher of a cache is gone or silent. */
  void lost(Cache cache) {
    if (cache.unheard()) {
      node.dependentsMoved(cache);
    }
    retryLater(cache);
  }

  /** The connection to a node is gone: what it published is in doubt. */
  void lost(NodeId gone) {
    synchronized (open) {
      open.values().removeIf(request -> request.to().equals(gone));
    }
    for (var cache : node.caches().all()) {
      if (gone.equals(cache.publisher())) {
        lost(cache);
      }
    }
  }

  /** Tries again after a delay that doubles with every failure, with jitter. */
  void retryLater(Cache cache) {
    synchronized (retrying) {
      if (!retrying.add(cache)) {
        return;
      }
    }
    long most = node.settings().renewEvery().toNanos();
    long delay = FIRST_RETRY_NANOS << Math.min(cache.failedAttempt(), MAX_DOUBLINGS);
    delay = Math.min(delay, most);
    delay = delay / 2 + node.randomBelow(delay / 2 + 1);
    node.clock().after(delay, () -> node.start(next -> retry(cache, next)));
  }

  private void retry(Cache cache, Tasks next) {
    boolean waits;
    synchronized (retrying) {
      waits = retrying.remove(cache);
    }
    if (waits) {
      node.meters().askedAgain.increment();
      subscribe(cache, next);
    }
  }

  /** Does not let caches wait any longer whose publishers are found. */
  void retryNow(Predicate<GrainId> found) {
    List<Cache> ready;
    synchronized (retrying) {
      ready = retrying.stream().filter(cache -> found.test(cache.key().grain())).toList();
    }
    ready.forEach(cache -> node.start(next -> retry(cache, next)));
  }

  // Renewal

  private void renewLater() {
    long period = node.settings().renewEvery().toNanos();
    node.clock()
        .after(period - node.randomBelow(period / 10 + 1), () -> node.start(next -> renew()));
  }

  /** Renews the subscriptions at other nodes, in batches per node. */
  private void renew() {
    var byNode = new TreeMap<NodeId, List<Cache>>();
    boolean any = false;
    for (var cache : node.caches().all()) {
      var publisher = cache.publisher();
      if (publisher != null && !publisher.equals(node.self())) {
        any = true;
        synchronized (retrying) {
          if (retrying.contains(cache)) {
            continue;
          }
        }
        byNode.computeIfAbsent(publisher, n -> new ArrayList<>()).add(cache);
      }
    }
    synchronized (open) {
      renewing = any && !node.stopped();
      if (renewing) {
        renewLater();
      }
    }
    byNode.forEach(
        (publisher, caches) -> {
          node.meters().renewed.add(caches.size());
          Events.Renewed.commitFor(publisher, caches.size());
          for (int i = 0; i < caches.size(); i += MAX_BATCH) {
            send(publisher, List.copyOf(caches.subList(i, Math.min(caches.size(), i + MAX_BATCH))));
          }
        });
  }

  /** Ends the subscriptions of closed caches. */
  void end(List<Cache> caches) {
    var byNode = new TreeMap<NodeId, List<Subscription>>();
    for (var cache : caches) {
      var publisher = cache.publisher();
      if (publisher == null) {
        continue;
      }
      if (publisher.equals(node.self())) {
        unsubscribeHere(cache.key(), cache.generation());
      } else {
        byNode
            .computeIfAbsent(publisher, n -> new ArrayList<>())
            .add(new Subscription(cache.key().wire(), cache.generation(), null));
      }
    }
    byNode.forEach((publisher, gone) -> node.sendParts(publisher, gone, Message.Unsubscribe::new));
  }

  private void unsubscribeHere(CallKey key, long generation) {
    var activation = node.activations().get(key.grain());
    if (activation != null) {
      activation.unsubscribe(key, node.self(), generation);
    }
  }

  // Requests of other nodes

  /** Registers the subscriptions of another node's caches. */
  void subscribe(NodeId from, Message.Subscribe message, Tasks next) {
    var notHere = new ArrayList<SummaryKey>();
    for (var subscription : message.subscriptions()) {
      if (!subscribe(from, subscription, next)) {
        notHere.add(subscription.key());
      }
    }
    node.send(from, new Message.SubscribeAnswer(message.request(), notHere));
  }

  private boolean subscribe(NodeId from, Subscription subscription, Tasks next) {
    GrainId grain = subscription.key().grain();
    if (!node.placement().isHere(grain)) {
      return false;
    }
    CallKey key;
    try {
      key = node.callKey(subscription.key());
    } catch (GrainException e) {
      node.send(
          from,
          new Message.Push(
              node.outboxes().nextBatch(),
              List.of(
                  new Message.Update(
                      subscription.key(),
                      subscription.generation(),
                      new Message.Version(0, 0),
                      new Message.Answer.Threw(Failures.of(e)),
                      0,
                      false,
                      true,
                      null))));
      return true;
    }
    return node.activations()
        .open(key.model(), grain, next)
        .subscribe(key, from, subscription.generation(), subscription.have(), next);
  }

  /** Ends subscriptions of another node's caches. */
  void unsubscribe(NodeId from, Message.Unsubscribe message) {
    for (var subscription : message.subscriptions()) {
      var activation = node.activations().get(subscription.key().grain());
      var key = activation == null ? null : node.knownCallKey(subscription.key());
      if (activation != null && key != null) {
        activation.unsubscribe(key, from, subscription.generation());
      }
    }
  }

  /** Another node does not host these grains any more. */
  void moved(NodeId from, Message.Moved message) {
    for (var key : message.keys()) {
      var cache = node.caches().remote(key);
      if (cache != null && from.equals(cache.publisher())) {
        node.placement().notThere(key.grain(), from);
        lost(cache);
      }
    }
  }
}
