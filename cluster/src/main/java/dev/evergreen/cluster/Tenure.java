package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * Knows whether this node still belongs to the cluster, by asking the others.
 *
 * <p>Where the storage cannot fence, an operation is acknowledged only if that says that no other
 * node can have taken over its grain before its state was saved. What a node had goes to others
 * when all of those who stay have seen that it was given up, and the margin after that is over. Who
 * stays is decided by majority. So if a majority of the nodes that host grains, this one included,
 * answer a ping that was sent at a moment, then one of those who would stay had not given this node
 * up in that moment, and nothing of it was given away until the margin later. Answers are good for
 * half of the margin; the other half is for what lies between a member's knowing and its link's
 * acting. A process that was paused compares with the time after the pause, and finds no answer to
 * be young enough.
 *
 * <p>It also keeps one cluster from becoming two. Pekko decides who stays when nothing has changed
 * for a while; a node that is cut off may miss one of the others sooner than the rest, give up that
 * one by a majority that it does not have, and so on until it is alone. So what is decided must be
 * {@linkplain #agree agreed} to by a majority of those who decided before, and who stays must be a
 * majority of those who agreed last.
 *
 * <p>Nothing is sent while nothing is saved or decided. Thread-safe.
 */
final class Tenure {

  /** Sends a ping. */
  interface Pings {
    void ping(NodeId to, long token);
  }

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final NodeId self;
  private final Pings pings;
  private final long goodForNanos;
  private final long askAgainNanos;
  private final Map<NodeId, Long> answers = new ConcurrentHashMap<>(); // when they were asked
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final long marginNanos;
  private volatile List<NodeId> voters = List.of();
  private volatile boolean over;
  private volatile long lastToken;
  private volatile long lastGone;
  private long asked; // guarded by lock
  private final Set<NodeId> agreed = new TreeSet<>(Member.NODES_BY_ADDRESS); // guarded by lock

  /**
   * @param margin from the moment in which all know that a node is given up to that in which others
   *     get what it had
   */
  Tenure(NodeId self, Duration margin, Pings pings) {
    this.self = self;
    this.pings = pings;
    this.marginNanos = margin.toNanos();
    this.lastGone = System.nanoTime() - marginNanos;
    this.goodForNanos = marginNanos / 2;
    this.askAgainNanos = Math.max(1, goodForNanos / 4);
    this.asked = System.nanoTime() - askAgainNanos;
    this.lastToken = asked;
  }

  /**
   * Who decides from now on.
   *
   * @param now the nodes that host grains, by their addresses; half of them are a majority with the
   *     first
   */
  void voters(List<NodeId> now) {
    if (voters.contains(self) && !now.contains(self)) {
      // It has left. If it was alone nobody can take over.
      over = voters.size() > 1;
      signal();
      return;
    }
    lock.lock();
    try {
      now.stream().filter(node -> !voters.contains(node)).forEach(agreed::add);
      voters = List.copyOf(now);
      answers.keySet().retainAll(now);
      asked = System.nanoTime() - askAgainNanos; // new ones were not asked yet
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  List<NodeId> voters() {
    return voters;
  }

  /** A node has answered a ping; one that was not sent for this does not count. */
  void answered(NodeId from, long token) {
    if (token - lastToken > 0) {
      return;
    }
    answers.merge(from, token, (one, other) -> one - other > 0 ? one : other);
    signal();
  }

  /** Another node has left in good order, or is dead beyond doubt: nobody needs to ask it. */
  void left(NodeId other) {
    lock.lock();
    try {
      agreed.remove(other);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether those who stay are a majority of those who agreed last, or this node decides nothing
   * anyway. To be asked when one was given up; if so, {@link #agree} is to follow.
   */
  boolean isLargerPart() {
    lock.lock();
    try {
      return !agreed.contains(self) || isMajority(voters::contains, agreed);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until a majority of those who agreed last has answered a question that was asked after
   * this was called, which makes who stays those who agreed last; or until this node is given up.
   */
  void agree() {
    lock.lock();
    try {
      long since = lastToken + 1;
      while (!over
          && agreed.contains(self)
          && !isMajority(node -> hasVotedSince(node, since), agreed)) {
        ask();
        changed.awaitNanos(askAgainNanos);
      }
      agreed.retainAll(voters);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until a majority of these has answered a question that was asked after this was called,
   * whatever the clock says.
   *
   * @param these by their addresses
   * @return false if that did not come about within ten seconds, or this node was given up
   */
  boolean isHeardBy(List<NodeId> these) {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    lock.lock();
    try {
      long since = lastToken + 1;
      while (!over && !isMajority(node -> hasVotedSince(node, since), these)) {
        if (System.nanoTime() - deadline >= 0) {
          return false;
        }
        ask(these);
        changed.awaitNanos(askAgainNanos);
      }
      return !over;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Whether this node has stopped, or was given up. */
  boolean isOver() {
    return over;
  }

  /** Whether these are more than half of the others, or half with the first of them. */
  private static boolean isMajority(Predicate<NodeId> these, Collection<NodeId> all) {
    long votes = all.stream().filter(these).count();
    return 2 * votes > all.size()
        || (2 * votes == all.size() && all.stream().limit(1).allMatch(these));
  }

  /** Another node was given up, or is gone after that. */
  void gone() {
    lastGone = System.nanoTime();
  }

  /**
   * How long this node must wait until it may take over what others had: the margin, as far as this
   * node can see. Pekko keeps it, but for what a coordinator has not heard of that is new itself.
   */
  long nanosUntilTakeover() {
    return Math.max(0, lastGone + marginNanos - System.nanoTime());
  }

  /** This node has stopped, or was given up. */
  void end() {
    over = true;
    signal();
  }

  /**
   * As {@link dev.evergreen.core.spi.Placement#confirmed}: usually at once, at times after a round
   * trip, and after ten seconds if there is no majority.
   */
  boolean confirmed() {
    long now = System.nanoTime();
    if (isConfirmedSince(now - goodForNanos / 2)) {
      return !over;
    }
    ask(); // in good time for those that come next
    return awaitAnswers(now - goodForNanos, now + PATIENCE_NANOS);
  }

  private boolean awaitAnswers(long since, long deadline) {
    lock.lock();
    try {
      while (!over && !isConfirmedSince(since)) {
        if (System.nanoTime() - deadline >= 0) {
          return false;
        }
        ask();
        changed.awaitNanos(askAgainNanos);
      }
      return !over;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Asks all, but not again right away. */
  private void ask() {
    ask(voters);
  }

  private void ask(List<NodeId> these) {
    long now = System.nanoTime();
    long token;
    lock.lock();
    try {
      if (now - asked < askAgainNanos) {
        return;
      }
      asked = now;
      // No two questions are the same, even if the clock stands still.
      token = now - lastToken > 0 ? now : lastToken + 1;
      lastToken = token;
    } finally {
      lock.unlock();
    }
    for (var voter : these) {
      if (!voter.equals(self)) {
        pings.ping(voter, token);
      }
    }
  }

  private boolean isConfirmedSince(long nanos) {
    var all = voters;
    int votes = 0;
    boolean first = false;
    for (int i = 0; i < all.size(); i++) {
      if (hasVotedSince(all.get(i), nanos)) {
        votes++;
        first |= i == 0;
      }
    }
    return 2 * votes > all.size() || (first && 2 * votes == all.size());
  }

  private boolean hasVotedSince(NodeId voter, long nanos) {
    if (voter.equals(self)) {
      return true;
    }
    var answer = answers.get(voter);
    return answer != null && answer - nanos >= 0;
  }

  private void signal() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
