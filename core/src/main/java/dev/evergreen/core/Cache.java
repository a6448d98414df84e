package dev.evergreen.core;

import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.TraceContext;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * This process's copy of one summary's result, shared by all summaries here that read it (004
 * §4.2).
 *
 * <p><b>Versions.</b> Inside an epoch only a higher sequence is installed. Another epoch is adopted
 * if it answers this cache's latest wish (its generation), or if there is none yet; any other
 * unknown one may come from an activation that does not know that it was replaced, and only makes
 * the cache ask again.
 *
 * <p>Fields are guarded by {@code this}.
 */
final class Cache {

  /** A result for this cache; see {@link dev.evergreen.core.spi.Message.Update}. */
  record Update(
      long generation,
      Version version,
      Outcome outcome,
      int depth,
      boolean inDoubt,
      boolean provisional,
      @Nullable TraceContext trace) {

    /** Why there is no result for now. */
    static Update provisional(long generation, Outcome failure) {
      return new Update(generation, new Version(0, 0), failure, 0, false, true, null);
    }
  }

  /** What became of an update. */
  enum Installed {
    /** Nothing: it was old. */
    IGNORED,
    /** It was of an epoch that this cache did not ask for. */
    UNKNOWN_EPOCH,
    /** The result is the same. */
    SAME,
    /** The result is the same, but more or less doubtful or deep. */
    MOVED,
    /** There is another result. */
    CHANGED
  }

  /** What became of a cache that was without dependents. */
  enum Grace {
    /** It is closed. */
    OVER,
    /** It was used meanwhile, and is without dependents again. */
    BEGUN_ANEW,
    /** It has dependents. */
    NOT_NEEDED
  }

  private final NodeRuntime node;
  private final CallKey key;
  private final Chain<Edge> edges = new Chain<>();
  private @Nullable Set<Thread> waiters; // only while somebody waits
  private volatile @Nullable Outcome outcome;
  private volatile @Nullable Outcome provisional;
  private @Nullable Version version;
  private long generation;
  private @Nullable NodeId publisher;
  private volatile int depth;
  private volatile boolean publisherDoubts;
  private volatile boolean unheard;
  private boolean givenUp;

  /**
   * Whether the publisher's last word was a failure: that it answers at all is no progress then.
   */
  private boolean failing;

  private boolean remote;
  private volatile boolean closed;

  /** Since when it has no dependents, and whether {@link Caches} looks whether that lasts. */
  private long idleSince;

  private boolean waitsForGrace;
  private volatile int attempts;

  Cache(NodeRuntime node, CallKey key) {
    this.node = node;
    this.key = key;
  }

  CallKey key() {
    return key;
  }

  /** The result to read: the last one, or why there is none yet; null while that is open. */
  @Nullable Outcome present() {
    var present = outcome;
    if (present == null) {
      present = provisional;
    }
    // Between the two looks a result may have taken the place of the failure.
    return present != null ? present : outcome;
  }

  int depth() {
    return depth;
  }

  /** Whether the result may be outdated, for all that is known. */
  boolean inDoubt() {
    return publisherDoubts || unheard;
  }

  // Dependents

  /** A new edge to this cache; null if it is closed. */
  @Nullable Edge retain(Summary dependent) {
    var edge = new Edge(this, dependent);
    synchronized (this) {
      if (closed) {
        return null;
      }
      edges.add(edge);
    }
    return edge;
  }

  /**
   * Removes an edge; a cache without any is closed after a short grace.
   *
   * @param graceSpent whether the dependent is gone because the grace of its own cache is over, so
   *     that this one need not wait again
   */
  void release(Edge edge, boolean graceSpent) {
    synchronized (this) {
      if (!edges.remove(edge) || !edges.isEmpty() || closed) {
        return;
      }
      idleSince = node.clock().nanos() - (graceSpent ? node.caches().grace() : 0);
      if (waitsForGrace && !graceSpent) {
        return;
      }
      waitsForGrace = true;
    }
    node.caches().idle(this, graceSpent);
  }

  /** Who depends on this cache; one that has two runs that read it is named twice. */
  synchronized List<Summary> dependents() {
    var dependents = new ArrayList<Summary>(1);
    edges.forEach(edge -> dependents.add(edge.dependent));
    return dependents;
  }

  /** How many runs' reads keep this cache. */
  synchronized int readers() {
    var count = new int[1];
    edges.forEach(edge -> count[0]++);
    return count[0];
  }

  /** Closes if it has had no dependents since then; for {@link Caches}, to whom it was idle. */
  synchronized Grace endGrace(long since) {
    if (edges.isEmpty() && !closed) {
      if (idleSince - since > 0) {
        return Grace.BEGUN_ANEW;
      }
      closed = true;
      return Grace.OVER;
    }
    waitsForGrace = false;
    return Grace.NOT_NEEDED;
  }

  boolean closed() {
    return closed;
  }

  synchronized void addWaiter(Thread thread) {
    if (waiters == null) {
      waiters = new LinkedHashSet<>(2);
    }
    waiters.add(thread);
  }

  synchronized void removeWaiter(Thread thread) {
    if (waiters != null && waiters.remove(thread) && waiters.isEmpty()) {
      waiters = null;
    }
  }

  /**
   * A reader goes on with a failure of the runtime, unless there is a result by now: that one has
   * marked nobody, and need not come again.
   */
  Outcome givenUp(Outcome instead) {
    synchronized (this) {
      var arrived = outcome;
      if (arrived != null) {
        return arrived;
      }
      givenUp = true;
      if (instead instanceof Outcome.Threw t && !t.isCycle()) {
        provisional = instead;
      }
    }
    return instead;
  }

  /**
   * A reader goes on without any result, since it was interrupted.
   *
   * @return the result that it may take after all, if there is one by now
   */
  synchronized @Nullable Outcome left() {
    givenUp |= outcome == null;
    return outcome;
  }

  // Wishes

  /**
   * A new wish towards a publisher; answers to earlier ones no longer count. A closed cache has no
   * wishes: its last one is what its subscription ends by, and a later one would outdo that of the
   * cache that took its place.
   *
   * @return the wish's generation; 0 if this cache is closed
   */
  synchronized long wish(@Nullable NodeId publisher) {
    if (closed) {
      return 0;
    }
    this.generation = node.subscriptions().nextGeneration();
    this.publisher = publisher;
    return generation;
  }

  /** The publisher is on another node from now on. */
  synchronized void becomeRemote() {
    remote = true;
  }

  /** Whether the publisher ever was on another node. */
  synchronized boolean wasRemote() {
    return remote;
  }

  synchronized @Nullable Version version() {
    return version;
  }

  synchronized @Nullable NodeId publisher() {
    return publisher;
  }

  synchronized long generation() {
    return generation;
  }

  /** How often in a row the publisher could not be reached. */
  synchronized int failedAttempt() {
    return attempts++;
  }

  /** The publisher answered; returns whether that ended a doubt. */
  boolean heard() {
    if (!unheard && attempts == 0) {
      return false;
    }
    synchronized (this) {
      if (failing) {
        return false;
      }
      attempts = 0;
      boolean before = inDoubt();
      unheard = false;
      return before != inDoubt();
    }
  }

  /** The publisher is not heard of; returns whether that began a doubt. */
  synchronized boolean unheard() {
    boolean before = inDoubt();
    unheard = true;
    return before != inDoubt();
  }

  // Results

  Installed install(Update update) {
    List<Thread> wake;
    Installed installed;
    synchronized (this) {
      int depthBefore = depth;
      boolean doubtBefore = inDoubt();
      installed = closed ? Installed.IGNORED : update.provisional() ? fail(update) : take(update);
      if (installed == Installed.SAME
          && (depth != depthBefore || inDoubt() != doubtBefore)
          && !onlyReaderWaits()) {
        installed = Installed.MOVED;
      }
      wake = present() != null && waiters != null ? List.copyOf(waiters) : List.of();
    }
    wake.forEach(node.threads()::unpark);
    return installed;
  }

  /** Whether the one run that reads this cache still waits for it: it will see what it gets. */
  private boolean onlyReaderWaits() {
    return waiters != null && edges.hasOne();
  }

  private Installed take(Update update) {
    var known = version;
    if (known != null && isOld(update.version(), known)) {
      return Installed.IGNORED;
    }
    if (known != null
        && update.version().epoch() != known.epoch()
        && update.generation() != generation) {
      return Installed.UNKNOWN_EPOCH;
    }
    var before = present();
    boolean mark = before != null || givenUp;
    boolean same =
        mark
            && Outcome.same(
                before, update.outcome(), key.operation().result(), key.operation().comparer());
    version = update.version();
    outcome = same && outcome != null ? outcome : update.outcome();
    provisional = null;
    depth = Math.max(depth, update.depth());
    publisherDoubts = update.inDoubt();
    unheard = false;
    failing = false;
    attempts = 0;
    boolean changed = mark && (!same || givenUp);
    givenUp = false;
    return changed ? Installed.CHANGED : Installed.SAME;
  }

  private static boolean isOld(Version version, Version known) {
    return version.epoch() == known.epoch() && version.sequence() <= known.sequence();
  }

  private Installed fail(Update update) {
    if (update.generation() != generation) {
      return Installed.IGNORED;
    }
    unheard = true;
    failing = true;
    if (outcome != null) {
      return Installed.SAME;
    }
    var before = provisional;
    provisional = update.outcome();
    boolean changed =
        before != null && !Outcome.same(before, provisional, key.operation().result(), null);
    return changed || givenUp ? Installed.CHANGED : Installed.SAME;
  }

  @Override
  public String toString() {
    return "cache of " + key;
  }
}
