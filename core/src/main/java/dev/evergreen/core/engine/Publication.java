package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.Tasks;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A result with the caches that it keeps true (004 §4.2): each gets the latest version, and may
 * skip earlier ones. Guarded by its activation, whose monitor every method takes that needs it.
 */
final class Publication {

  /**
   * One cache that is kept true. A node usually has one of this result. One of a newer version may
   * have several, whose arguments differ in what this version does not know.
   */
  final class Subscriber implements Outboxes.Recipient {
    private final NodeId node;

    /**
     * What the node asked for, in bytes of its own version: it knows its cache by them. Null for
     * this node.
     */
    private final @Nullable SummaryKey name;

    private long generation;

    /** What the present result answers; 0 if it is to be pushed. */
    private long request;

    private long renewed;

    /** Whether the present result is still to be sent. */
    private boolean owed = true;

    Subscriber(NodeId node, @Nullable SummaryKey name) {
      this.node = node;
      this.name = name;
    }

    boolean isHere() {
      return name == null;
    }

    /** Whether another node has not renewed it since then. */
    boolean isNotRenewedSince(long nanos) {
      return !isHere() && renewed - nanos < 0;
    }

    @Override
    public NodeId node() {
      return node;
    }

    @Override
    public long takeRequest() {
      synchronized (home) {
        long answered = request;
        request = 0;
        return answered;
      }
    }

    @Override
    public Message.@Nullable Update update() {
      // Values are written by code of the application's: without the monitor, and again if the
      // result is another by then.
      while (true) {
        Outcome result;
        synchronized (home) {
          result = outcome;
          if (ended || name == null || result == null || !subscribers.contains(this)) {
            return null;
          }
          if (encoded != null) {
            return new Message.Update(
                name, generation, version, encoded, depth, inDoubt, false, written);
          }
        }
        var bytes = result.encode(key.operation());
        synchronized (home) {
          if (result == outcome) {
            encoded = bytes;
          }
        }
      }
    }
  }

  /**
   * A cache that is to be kept true.
   *
   * @param name what its node calls the result; null if it is of this node
   * @param generation of its wish; older ones than the last are ignored
   * @param have what it holds
   * @param request what the present result, or else the next one, answers; 0 if it is to be pushed
   */
  record Follower(
      NodeId node,
      @Nullable SummaryKey name,
      long generation,
      @Nullable Version have,
      long request) {}

  /** What became of a subscription. */
  enum Subscribed {
    /** The grain is not here. */
    NOT_HERE,
    /** Nothing of that name can be followed, although the grain is here. */
    NOWHERE,
    /** The cache holds the present result. */
    CURRENT,
    /** A result follows. */
    OWED;

    static Subscribed of(boolean owed) {
      return owed ? OWED : CURRENT;
    }
  }

  /** What is to be sent: to this node's own cache, and to others. */
  record Owed(Cache.@Nullable Update local, List<Subscriber> remote) {
    static final Owed NOTHING = new Owed(null, List.of());
  }

  private final Propagation parts;
  private final Summary.Home home;
  private final CallKey key;

  @GuardedBy("home")
  private final List<Subscriber> subscribers = new ArrayList<>(1);

  @GuardedBy("home")
  private boolean ended;

  @GuardedBy("home")
  private @Nullable Outcome outcome;

  @GuardedBy("home")
  private Message.@Nullable Answer encoded;

  @GuardedBy("home")
  private Version version;

  /** Where in a trace the write was that led to the present result, if that is traced. */
  @GuardedBy("home")
  private @Nullable TraceContext written;

  @GuardedBy("home")
  private int depth;

  @GuardedBy("home")
  private boolean inDoubt;

  Publication(Propagation parts, Summary.Home home, CallKey key) {
    this.parts = parts;
    this.home = home;
    this.key = key;
    this.version = new Version(home.epoch(), 0);
  }

  /** The present result; null before the first. */
  @Nullable Outcome outcome() {
    synchronized (home) {
      return outcome;
    }
  }

  /** Where the present result stands. */
  Version version() {
    synchronized (home) {
      return version;
    }
  }

  /** How deep the present result is in the graph of dependencies. */
  int depth() {
    synchronized (home) {
      return depth;
    }
  }

  /**
   * Has a new result, or the same object that stands otherwise; {@link #owed} tells whom to send
   * it.
   *
   * @param write where in a trace the write was that led to it, if that is traced
   */
  void publish(Outcome result, int depthNow, boolean doubt, @Nullable TraceContext write) {
    synchronized (home) {
      if (result == outcome && depthNow == depth && doubt == inDoubt) {
        return;
      }
      if (result != outcome) {
        encoded = null;
      }
      outcome = result;
      depth = depthNow;
      inDoubt = doubt;
      written = write;
      version = new Version(home.epoch(), home.nextSequence());
      for (var subscriber : subscribers) {
        subscriber.owed = true;
      }
    }
  }

  // Subscribers

  /** Registers a cache, or renews that; returns whether it holds another result or is owed one. */
  boolean subscribe(Follower follower) {
    var name = follower.name();
    // Of the same version it has the same name for it, which need not be kept twice.
    var kept = name != null && name.equals(key.wire()) ? key.wire() : name;
    synchronized (home) {
      var subscriber = subscriber(follower);
      if (subscriber == null) {
        subscriber = new Subscriber(follower.node(), kept);
        subscribers.add(subscriber);
      }
      subscriber.renewed = parts.base().workers().nanos();
      boolean other = !version.equals(follower.have());
      if (follower.generation() >= subscriber.generation) {
        subscriber.generation = follower.generation();
        subscriber.owed = other;
        subscriber.request = other ? follower.request() : 0;
      }
      return other;
    }
  }

  /** Returns whether nobody subscribes any more. */
  boolean unsubscribe(Follower follower) {
    synchronized (home) {
      var subscriber = subscriber(follower);
      if (subscriber != null && subscriber.generation <= follower.generation()) {
        subscribers.remove(subscriber);
      }
      return subscribers.isEmpty();
    }
  }

  /** One cache among few, as every process subscribes once. */
  @GuardedBy("home")
  private @Nullable Subscriber subscriber(Follower follower) {
    for (var subscriber : subscribers) {
      if (subscriber.node.equals(follower.node())
          && Objects.equals(subscriber.name, follower.name())) {
        return subscriber;
      }
    }
    return null;
  }

  /** Drops those whose subscriptions are over; returns whether nobody subscribes any more. */
  boolean expire(Predicate<Subscriber> over) {
    synchronized (home) {
      subscribers.removeIf(over);
      return subscribers.isEmpty();
    }
  }

  int subscribers() {
    synchronized (home) {
      return subscribers.size();
    }
  }

  /** The caches of other nodes that are kept true, as those nodes know them. */
  List<Message.Located> cachesElsewhere() {
    var caches = new ArrayList<Message.Located>();
    synchronized (home) {
      for (var subscriber : subscribers) {
        if (subscriber.name != null) {
          caches.add(new Message.Located(subscriber.node, subscriber.name));
        }
      }
    }
    return caches;
  }

  // Sending

  /** Sends the present result to whom it is owed. */
  void pushOwed(Tasks next) {
    push(owed(), next);
  }

  /** The caches that have not got the present result; it counts as sent to them. */
  Owed owed() {
    synchronized (home) {
      var result = outcome;
      if (result == null || ended) {
        return Owed.NOTHING;
      }
      Cache.Update local = null;
      var remote = List.<Subscriber>of();
      for (var subscriber : subscribers) {
        if (!subscriber.owed) {
          continue;
        }
        subscriber.owed = false;
        if (subscriber.isHere()) {
          local =
              new Cache.Update(
                  subscriber.generation, version, result, depth, inDoubt, false, written);
        } else {
          remote = remote.isEmpty() ? new ArrayList<>() : remote;
          remote.add(subscriber);
        }
      }
      return new Owed(local, remote);
    }
  }

  /** Sends what {@link #owed} has given; called without the monitor. */
  void push(Owed owed, Tasks next) {
    if (owed.local != null) {
      parts.caches().install(key, owed.local, next);
    }
    owed.remote.forEach(parts.outboxes()::send);
  }

  // Ending

  /** Nothing is sent any more. */
  void end() {
    synchronized (home) {
      ended = true;
    }
  }

  /** Nothing is published any more: caches must look for the grain elsewhere. */
  void move() {
    for (var subscriber : endAll()) {
      if (subscriber.name != null) {
        parts.outboxes().moved(subscriber.node, subscriber.name);
      } else {
        parts.caches().moved(key);
      }
    }
  }

  /** Nothing was published, and this is why. */
  void fail(Outcome.Threw why, Tasks next) {
    for (var subscriber : endAll()) {
      if (subscriber.name != null) {
        parts
            .outboxes()
            .provisional(subscriber.node, subscriber.name, subscriber.generation, why.failure());
      } else {
        var update = Cache.Update.provisional(subscriber.generation, why);
        parts.caches().install(key, update, next);
      }
    }
  }

  private List<Subscriber> endAll() {
    synchronized (home) {
      var all = List.copyOf(subscribers);
      subscribers.clear();
      ended = true;
      return all;
    }
  }
}
