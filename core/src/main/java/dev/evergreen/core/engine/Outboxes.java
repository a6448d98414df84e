package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.Waiters;
import dev.evergreen.core.work.Workers;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * New results on their way to other nodes (004 §4.2, back-pressure): one outbox per node, the
 * latest result per cache, one acknowledged batch under way at a time. After a slow round trip the
 * next batch waits for as long again. What is not acknowledged in time is sent again, as it is by
 * then; so is what there was no connection or no room for, as soon as there is; and what failed,
 * after a pause that doubles with each failure in a row. Batches are halved then, too, until it is
 * known which result cannot be sent: that one comes again by itself, after pauses of its own, and
 * does not keep the others.
 */
final class Outboxes {

  /** A result that is larger than this part of a batch is a large one. */
  private static final int LARGE_RESULTS_IN_A_BATCH = 64;

  private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final int MAX_DOUBLINGS = 30;

  /** After this it is tried again whether there is a connection, and room. */
  private static final long NO_LINE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** So much of what has moved is told at a time. */
  private static final int MOST_MOVED = 1_000;

  /** More than a batch ever has. */
  private static final int ALL_RESULTS = 1 << 29;

  /** A cache of another node that is to have the latest result. */
  interface Recipient {
    NodeId node();

    /** The request that the next result answers, once; 0 if that is to be pushed. */
    long takeRequest();

    /** The result as it is now; null if the cache is to have none any more. */
    Message.@Nullable Update update();
  }

  /** Why a cache of another node gets no result for now. Of one cache all are equal. */
  private record NoResult(NodeId node, Message.Update update) implements Recipient {
    @Override
    public long takeRequest() {
      return 0;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof NoResult same && same.update.key().equals(update.key());
    }

    @Override
    public int hashCode() {
      return update.key().hashCode();
    }
  }

  private final Base base;
  private final Workers workers;
  private final Map<NodeId, Outbox> outboxes = new ConcurrentHashMap<>();
  private final AtomicLong batches = new AtomicLong();

  Outboxes(Base base) {
    this.base = base;
    this.workers = base.workers();
  }

  /** There is a new result for a cache of another node. */
  void send(Recipient subscriber) {
    long request = subscriber.takeRequest();
    boolean answered = request != 0 && answer(subscriber, request);
    if (!answered) {
      put(subscriber.node(), outbox -> outbox.add(subscriber));
    }
  }

  private void put(NodeId to, Consumer<Outbox> what) {
    what.accept(outboxes.computeIfAbsent(to, Outbox::new));
    // Checked when whoever forgets nodes that are gone can see this one.
    if (base.peers().isGone(to)) {
      forget(Set.of(to));
    }
  }

  /**
   * Sends the result that a cache of another node waits for. It is sent at once and needs no
   * acknowledgement: that node has asked for it, and asks again if no answer comes. It asks for a
   * bounded number at a time, and large ones are pushed, so that what is under way is bounded.
   */
  private boolean answer(Recipient subscriber, long request) {
    var to = subscriber.node();
    try {
      var update = subscriber.update();
      if (update == null
          || Outbox.sizeOf(update) > base.settings().maxBatchBytes() / LARGE_RESULTS_IN_A_BATCH) {
        return false;
      }
      var results = List.of(update);
      var answer = new Message.SubscribeAnswer(request, List.of(), results, List.of(), 0);
      boolean sent = base.peers().send(to, answer);
      if (sent) {
        base.observer().firstResultSent(to);
      }
      return sent;
    } catch (RuntimeException | Error e) {
      return false; // the outbox tells that it is too large for a link, and tries what else fails
    }
  }

  /**
   * A node's cache must look for the grain elsewhere. Nobody asks for that: it is told again until
   * it has left, or the node asks for the grain again. If it is lost then, so is the connection,
   * and the node asks for all.
   */
  void moved(NodeId to, SummaryKey name) {
    if (!base.peers().send(to, new Message.Moved(List.of(name)))) {
      put(to, outbox -> outbox.addMoved(name));
    }
  }

  /** A node asks for a grain, and need not be told any more that it has moved. */
  void asked(NodeId from, SummaryKey name) {
    var outbox = outboxes.get(from);
    if (outbox != null) {
      outbox.asked(name);
    }
  }

  private boolean isOver(NodeId to) {
    return base.lifetime().stopped() || base.peers().isGone(to);
  }

  private long pauseAfter(int before) {
    long longest = base.settings().pushRetryAfter().toNanos();
    return Math.min(FIRST_PAUSE_NANOS << Math.min(before, MAX_DOUBLINGS), longest);
  }

  /** Tells a node's cache why there is no result for now; it asks again. */
  void provisional(NodeId to, SummaryKey name, long generation, Failure why) {
    var outcome = new Message.Answer.Threw(why);
    var none = new Message.Version(0, 0);
    var update = new Message.Update(name, generation, none, outcome, 0, false, true, null);
    put(to, outbox -> outbox.add(new NoResult(to, update)));
  }

  void acknowledged(NodeId from, long batch) {
    var outbox = outboxes.get(from);
    if (outbox != null) {
      outbox.acknowledged(batch);
    }
  }

  /** How much waits for each node, by its address; lives of one address are added up. */
  Map<String, Integer> lengths() {
    var lengths = new TreeMap<String, Integer>();
    outboxes.forEach((to, outbox) -> lengths.merge(to.address(), outbox.length(), Integer::sum));
    return lengths;
  }

  /** Nothing more is sent to nodes that are gone. */
  void forget(Set<NodeId> gone) {
    for (var node : gone) {
      var outbox = outboxes.remove(node);
      if (outbox != null) {
        outbox.end();
      }
    }
  }

  /** Which of two that are equal is to be told: answers to earlier questions are worth nothing. */
  private static Recipient latest(Recipient one, Recipient other) {
    boolean earlier =
        one instanceof NoResult(var to, var first)
            && other instanceof NoResult(var same, var second)
            && first.generation() < second.generation();
    return earlier ? other : one;
  }

  /** For one node: a thread sends batch after batch while there is something to send. */
  private final class Outbox {
    private final NodeId to;

    @GuardedBy("this")
    private final LinkedHashMap<Recipient, Recipient> waiting = new LinkedHashMap<>();

    /** What has moved, and could not be told yet. */
    @GuardedBy("this")
    private final Set<SummaryKey> moved = new LinkedHashSet<>();

    @GuardedBy("this")
    private boolean sending;

    private final Waiters sender = new Waiters();

    /** The batch that is to be acknowledged; 0 if none is. */
    private final AtomicLong open = new AtomicLong();

    private volatile int underWay;

    /** The most bytes of a batch: fewer than the settings say if the link did not take so many. */
    private long most = base.settings().maxBatchBytes(); // for the thread that sends

    // For the thread that sends, as those above:

    /** How often in a row a batch of several could not be sent. */
    private int failures;

    /** How many may be in a batch because of that. */
    private int mostResults = ALL_RESULTS;

    /** Else it is tried for one whether there is a line: what does not leave is written in vain. */
    private boolean hasLine = true;

    /** What could not be sent although nothing else was in the batch, and how often in a row. */
    private final Map<Recipient, Integer> failedAlone = new HashMap<>();

    Outbox(NodeId to) {
      this.to = to;
    }

    /** How much waits to be sent or acknowledged. */
    synchronized int length() {
      return waiting.size() + underWay;
    }

    void add(Recipient subscriber) {
      synchronized (this) {
        await(subscriber);
      }
      begin();
    }

    @GuardedBy("this")
    private void await(Recipient one) {
      waiting.merge(one, one, Outboxes::latest);
    }

    void addMoved(SummaryKey name) {
      synchronized (this) {
        moved.add(name);
      }
      begin();
    }

    synchronized void asked(SummaryKey name) {
      moved.remove(name);
    }

    private void begin() {
      synchronized (this) {
        if (sending) {
          return;
        }
        sending = true;
      }
      try {
        workers.begin(this::sendAll);
      } catch (RuntimeException | Error e) {
        synchronized (this) {
          sending = false; // by no call: there may be no stack for one
        }
        throw e;
      }
    }

    void acknowledged(long batch) {
      // In one step, as the next batch may be under way already: that one is not acknowledged by
      // this.
      if (open.compareAndSet(batch, 0)) {
        sender.wake(workers);
      }
    }

    /** Nothing is to be acknowledged any more. */
    void end() {
      open.set(0);
      sender.wake(workers);
    }

    private void sendAll() {
      sender.add(Thread.currentThread());
      boolean done = false;
      try {
        while (goesOn()) {
          sendNext();
        }
        done = true;
      } finally {
        sender.remove(Thread.currentThread());
        if (!done) {
          stopSending();
        }
      }
    }

    /**
     * The next result that is added starts another thread; what this one had is renewed. Nobody
     * asks for what has moved.
     */
    private void stopSending() {
      boolean isUntold;
      synchronized (this) {
        sending = false;
        underWay = 0;
        isUntold = !moved.isEmpty();
      }
      if (isUntold) {
        workers.afterShortly(NO_LINE_NANOS, this::begin);
      }
    }

    private synchronized boolean goesOn() {
      sending = !(waiting.isEmpty() && moved.isEmpty()) && !isOver(to);
      return sending;
    }

    private void sendNext() {
      var batch = new LinkedHashMap<Recipient, Message.Update>();
      try {
        boolean told = tellMoved();
        if (told) {
          fill(batch);
        }
        if (told && (batch.isEmpty() || send(batch))) {
          sent(batch.keySet());
        } else {
          hasLine = false;
          sendAgain(batch.keySet());
          pauseFor(NO_LINE_NANOS);
        }
      } catch (RuntimeException | Error e) {
        failed(batch.keySet(), e);
      }
    }

    private void failed(Set<Recipient> batch, Throwable why) {
      mostResults = Math.max(1, batch.size() / 2);
      if (batch.size() == 1) {
        failedAlone(batch.iterator().next(), why);
        pauseFor(pauseAfter(0));
      } else {
        sendAgain(batch);
        pauseFor(pauseAfter(failures++));
      }
    }

    private void sent(Set<Recipient> batch) {
      hasLine |= !batch.isEmpty();
      failures = 0;
      mostResults = Math.min(2 * mostResults, ALL_RESULTS);
      failedAlone.keySet().removeAll(batch);
    }

    /** Lets the others go first, for longer each time. */
    private void failedAlone(Recipient one, Throwable why) {
      int before = failedAlone.merge(one, 1, Integer::sum) - 1;
      if (before == 0) {
        Failures.log("a result for " + to, why);
      }
      underWay = 0;
      workers.afterShortly(pauseAfter(before), () -> add(one));
    }

    private void pauseFor(long nanos) {
      Thread.interrupted(); // it may be what has failed
      workers.await(() -> isOver(to), workers.nanos() + nanos, false);
    }

    /** Returns false if there is something to tell that certainly did not leave. */
    private boolean tellMoved() {
      var names = takeMoved();
      boolean told = false;
      try {
        told = names.isEmpty() || base.peers().sendParts(to, names, Message.Moved::new);
      } finally {
        if (!told) {
          putBack(names);
        }
      }
      return told;
    }

    /** Taken before it is told: what moves once more meanwhile is told once more. */
    private synchronized List<SummaryKey> takeMoved() {
      var names = moved.stream().limit(MOST_MOVED).toList();
      names.forEach(moved::remove);
      return names;
    }

    private synchronized void putBack(List<SummaryKey> names) {
      moved.addAll(names);
    }

    /**
     * Takes what goes into the next batch. Results are written by code of the application's, so
     * that the monitor is not held meanwhile.
     */
    private void fill(Map<Recipient, Message.Update> batch) {
      long bytes = 0;
      for (var next = take(batch); next != null; next = take(batch)) {
        var update = update(next);
        if (update != null) {
          bytes += sizeOf(update);
          if (bytes > most && !batch.isEmpty()) {
            putBack(next);
            break;
          }
          batch.put(next, update);
        }
      }
      // User code that interrupted its own thread must not disturb the runtime's waiting.
      Thread.interrupted();
    }

    private Message.@Nullable Update update(Recipient next) {
      try {
        var update = next.update();
        if (update == null) {
          failedAlone.remove(next);
        }
        return update;
      } catch (RuntimeException | Error e) {
        failedAlone(next, e);
        return null;
      }
    }

    /** The next for a batch, or null if there is none or the batch has as many as it may. */
    private synchronized @Nullable Recipient take(Map<Recipient, Message.Update> batch) {
      boolean full = batch.size() == (hasLine ? mostResults : 1);
      // One that waits again already is another's, or has changed: it is for the next batch.
      return full || waiting.isEmpty() || batch.containsKey(waiting.firstEntry().getKey())
          ? null
          : waiting.pollFirstEntry().getValue();
    }

    private synchronized void putBack(Recipient last) {
      waiting.putFirst(last, latest(last, waiting.getOrDefault(last, last)));
    }

    /** Returns false if the batch certainly did not leave, and may another time. */
    private boolean send(Map<Recipient, Message.Update> batch) {
      long number = batches.incrementAndGet();
      long sentAt = workers.nanos();
      long late = sentAt + base.settings().pushRetryAfter().toNanos();
      open.set(number);
      underWay = batch.size();
      try {
        if (!leaves(number, List.copyOf(batch.values()))) {
          return false;
        }
      } catch (IllegalArgumentException e) {
        most = Math.max(1, most / 2);
        sendAgain(batch.keySet());
        return true;
      }
      base.observer().batchSent(to, batch.size());
      if (!workers.await(() -> open.get() != number, late, true)) {
        base.observer().batchOverdue(batch.size());
        sendAgain(batch.keySet());
      } else {
        base.observer().batchAcknowledged(batch.size());
        underWay = 0;
        restAfter(workers.nanos() - sentAt);
      }
      return true;
    }

    /**
     * Sends a batch; in the place of a single result that is too large for the link, that it is.
     *
     * @return false if it certainly did not leave
     * @throws IllegalArgumentException if it is too large and can go in smaller ones
     */
    private boolean leaves(long number, List<Message.Update> updates) {
      try {
        return base.peers().send(to, new Message.Push(number, updates));
      } catch (IllegalArgumentException e) {
        if (updates.size() > 1) {
          throw e;
        }
        return leavesRefused(number, updates.getFirst(), e);
      }
    }

    private boolean leavesRefused(
        long number, Message.Update update, IllegalArgumentException why) {
      var refusal = update.with(Outcome.tooLarge("the result of " + update.key(), why));
      try {
        return base.peers().send(to, new Message.Push(number, List.of(refusal)));
      } catch (IllegalArgumentException e) {
        Failures.log("a result for " + to, e);
        open.set(0); // the cache renews its subscription
        return true;
      }
    }

    private synchronized void sendAgain(Set<Recipient> batch) {
      batch.forEach(this::await);
      underWay = 0;
    }

    private void restAfter(long roundTrip) {
      if (roundTrip > base.settings().pushRoundTrip().toNanos()) {
        workers.await(() -> false, workers.nanos() + roundTrip, false);
      }
    }

    private static long sizeOf(Message.Update update) {
      return 100L
          + update.key().arguments().length
          + switch (update.outcome()) {
            case Message.Answer.Returned(var value) -> value.length;
            case Message.Answer.Threw(var failure) -> failure.size();
            case Message.Answer.NotStarted(var reason, var again) -> reason.length();
          };
    }
  }
}
