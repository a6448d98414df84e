package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * New results on their way to other nodes (004 §4.2, back-pressure): one outbox per node, the
 * latest result per cache, one acknowledged batch under way at a time. After a slow round trip the
 * next batch waits for as long again. What is not acknowledged in time is sent again, as it is by
 * then.
 */
final class Outboxes {

  /** A result that is larger than this part of a batch is a large one. */
  private static final int LARGE_RESULTS_IN_A_BATCH = 64;

  /** A cache of another node that is to have the latest result. */
  interface Recipient {
    NodeId node();

    /** The result as it is now; null if the cache is to have none any more. */
    Message.@Nullable Update update();
  }

  private final Base base;
  private final Workers workers;
  private final Map<NodeId, Outbox> outboxes = new ConcurrentHashMap<>();
  private final AtomicLong batches = new AtomicLong();

  Outboxes(Base base) {
    this.base = base;
    this.workers = base.workers();
  }

  long nextBatch() {
    return batches.incrementAndGet();
  }

  /** There is a new result for a cache of another node. */
  void add(Recipient subscriber) {
    if (!base.peers().isGone(subscriber.node())) {
      outboxes.computeIfAbsent(subscriber.node(), Outbox::new).add(subscriber);
    }
  }

  /**
   * There is the result that a cache of another node waits for. It is sent at once and needs no
   * acknowledgement: that node has asked for it, and asks again if no answer comes. It asks for a
   * bounded number at a time, and large ones are pushed, so that what is under way is bounded.
   */
  void answer(Recipient subscriber, long request) {
    var to = subscriber.node();
    var update = subscriber.update();
    if (update == null) {
      return;
    }
    boolean sent = false;
    if (Outbox.sizeOf(update) <= base.settings().maxBatchBytes() / LARGE_RESULTS_IN_A_BATCH) {
      try {
        sent =
            base.peers()
                .send(
                    to,
                    new Message.SubscribeAnswer(request, List.of(), List.of(update), List.of()));
      } catch (IllegalArgumentException e) {
        // It is too large for a link, which the outbox tells.
      }
    }
    if (sent) {
      base.observer().firstResultSent(to);
    } else {
      add(subscriber);
    }
  }

  /** A node's cache must look for the grain elsewhere. */
  void moved(NodeId to, SummaryKey name) {
    base.peers().send(to, new Message.Moved(List.of(name)));
  }

  /** Tells a node's cache why there is no result for now; it asks again. */
  void provisional(NodeId to, SummaryKey name, long generation, Failure why) {
    var outcome = new Message.Answer.Threw(why);
    var none = new Message.Version(0, 0);
    var update = new Message.Update(name, generation, none, outcome, 0, false, true, null);
    sendAlone(to, nextBatch(), update);
  }

  /**
   * Sends one result, or in its place that it is too large for the link.
   *
   * @return false if the link does not even take that; the cache renews its subscription
   */
  private boolean sendAlone(NodeId to, long batch, Message.Update update) {
    try {
      base.peers().send(to, new Message.Push(batch, List.of(update)));
      return true;
    } catch (IllegalArgumentException e) {
      return sendRefusal(to, batch, update, e);
    }
  }

  private boolean sendRefusal(
      NodeId to, long batch, Message.Update update, IllegalArgumentException why) {
    var refusal =
        new Message.Update(
            update.key(),
            update.generation(),
            update.version(),
            Outcome.tooLarge("the result of " + update.key(), why),
            update.depth(),
            update.inDoubt(),
            update.provisional(),
            update.trace());
    try {
      base.peers().send(to, new Message.Push(batch, List.of(refusal)));
      return true;
    } catch (IllegalArgumentException e) {
      Failures.log("a result for " + to, e);
      return false;
    }
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
    outboxes.keySet().removeAll(gone);
  }

  /** For one node. */
  private final class Outbox {
    private final NodeId to;

    @GuardedBy("this")
    private final LinkedHashSet<Recipient> waiting = new LinkedHashSet<>();

    @GuardedBy("this")
    private final Set<Recipient> underWay = new LinkedHashSet<>();

    /** The most bytes of a batch: fewer than the settings say if the link did not take so many. */
    @GuardedBy("this")
    private long most = base.settings().maxBatchBytes();

    @GuardedBy("this")
    private long batch;

    @GuardedBy("this")
    private long sentAt;

    @GuardedBy("this")
    private boolean watching;

    /** Whether a thread puts the next batch together. */
    @GuardedBy("this")
    private boolean filling;

    @GuardedBy("this")
    private boolean resting;

    Outbox(NodeId to) {
      this.to = to;
    }

    /** How much waits to be sent or acknowledged. */
    synchronized int length() {
      return waiting.size() + underWay.size();
    }

    void add(Recipient subscriber) {
      synchronized (this) {
        waiting.add(subscriber);
      }
      flush();
    }

    private void flush() {
      while (beginFilling()) {
        var updates = fill();
        long number;
        synchronized (this) {
          filling = false;
          underWay.addAll(updates.keySet());
          batch = nextBatch();
          number = batch;
          sentAt = workers.nanos();
          if (!updates.isEmpty() && !watching) {
            watchFor(patience());
          }
        }
        if (!updates.isEmpty()) {
          base.observer().batchSent(to, updates.size());
          send(number, List.copyOf(updates.values()));
        }
      }
    }

    private synchronized boolean beginFilling() {
      boolean begins = underWay.isEmpty() && !resting && !filling && !waiting.isEmpty();
      filling |= begins;
      return begins;
    }

    /**
     * Takes what goes into the next batch. Results are written by code of the application's, so
     * that the monitor is not held meanwhile.
     */
    private Map<Recipient, Message.Update> fill() {
      var updates = new LinkedHashMap<Recipient, Message.Update>();
      long bytes = 0;
      for (var next = take(); next != null; next = take()) {
        var update = next.update();
        if (update != null) {
          bytes += sizeOf(update);
          if (!updates.isEmpty() && isTooLarge(bytes, next)) {
            break;
          }
          updates.put(next, update);
        }
      }
      return updates;
    }

    private synchronized @Nullable Recipient take() {
      return waiting.isEmpty() ? null : waiting.removeFirst();
    }

    /** Whether a batch is too large with its last; then that waits again. */
    private synchronized boolean isTooLarge(long bytes, Recipient last) {
      boolean tooLarge = bytes > most;
      if (tooLarge) {
        waiting.addFirst(last);
      }
      return tooLarge;
    }

    private long patience() {
      return base.settings().pushRetryAfter().toNanos();
    }

    /** One timer for all batches: one of its own for each would cost more than the batch. */
    @GuardedBy("this")
    private void watchFor(long nanos) {
      watching = true;
      workers.after(nanos, next -> sendAgainIfLate());
    }

    private void send(long number, List<Message.Update> updates) {
      if (updates.size() == 1) {
        if (!sendAlone(to, number, updates.getFirst())) {
          acknowledged(number);
        }
        return;
      }
      try {
        base.peers().send(to, new Message.Push(number, updates));
      } catch (IllegalArgumentException e) {
        takeBack(number);
        flush();
      }
    }

    /** A batch is too large for the link: its results go in smaller ones. */
    private synchronized void takeBack(long number) {
      if (number == batch) {
        most = Math.max(1, most / 2);
        waiting.addAll(underWay);
        underWay.clear();
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

    void acknowledged(long number) {
      long roundTrip;
      boolean rests;
      synchronized (this) {
        if (number != batch || underWay.isEmpty()) {
          return;
        }
        base.observer().batchAcknowledged(underWay.size());
        underWay.clear();
        roundTrip = workers.nanos() - sentAt;
        rests = roundTrip > base.settings().pushRoundTrip().toNanos();
        resting = rests;
      }
      if (rests) {
        workers.after(roundTrip, next -> rested());
      } else {
        flush();
      }
    }

    private void rested() {
      synchronized (this) {
        resting = false;
      }
      flush();
    }

    private void sendAgainIfLate() {
      synchronized (this) {
        watching = false;
        if (underWay.isEmpty()) {
          return;
        }
        long left = sentAt + patience() - workers.nanos();
        if (left > 0) {
          watchFor(left);
          return;
        }
        base.observer().batchOverdue(underWay.size());
        waiting.addAll(underWay);
        underWay.clear();
      }
      flush();
    }
  }
}
