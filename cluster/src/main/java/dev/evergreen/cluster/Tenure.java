package dev.evergreen.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.work.Waiters;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
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
 * majority of those who agreed last. Until that has come about, an operation is acknowledged only
 * if a majority of those who agreed last has answered, too: of three nodes one that is cut off and
 * has given up another by itself would else be a majority of the two that it knows.
 *
 * <p>Whoever comes to belong to the cluster knows only what those say who have let it in. These may
 * be few who are cut off, have given up all others without being a majority, and are about to end:
 * then the newcomer would be a cluster of its own beside that of the others. So it is {@linkplain
 * #isAdmitted admitted} only when one of those who decided before it has answered it; and nobody
 * {@linkplain #mayAnswer answers} a newcomer before it is agreed who is gone.
 *
 * <p>Nothing is sent while nobody comes, and nothing is saved or decided. Thread-safe.
 */
final class Tenure {

  /** Sends a ping. */
  interface Pings {
    void ping(NodeId to, long token);
  }

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long PATIENCE_NANOS = 10 * SECOND;

  private final NodeId self;
  private final Pings pings;
  private final Workers workers;
  private final long goodForNanos;
  private final long askAgainNanos;
  private final Map<NodeId, Long> answers = new ConcurrentHashMap<>(); // when they were asked
  private final ReentrantLock lock = new ReentrantLock();
  private final Waiters waiting = new Waiters();
  private final long byEvidenceNanos;
  private final long otherwiseNanos;
  private volatile List<NodeId> voters = List.of();

  /** A copy of {@link #agreed}, read without the lock. */
  private volatile List<NodeId> quorum = List.of();

  private volatile boolean over;

  /** Not from when this node decides until one has answered who did so before. */
  private volatile boolean admitted = true;

  /** Those whose answers admit this node. */
  private volatile Set<NodeId> elders = Set.of();

  /** The first token by which they do. */
  private volatile long admittedFrom;

  private volatile long lastToken;

  @GuardedBy("lock")
  private long asked;

  @GuardedBy("lock")
  private long takeoverAt;

  /** Their margins. */
  @GuardedBy("lock")
  private final Map<NodeId, Long> givenUp = new HashMap<>();

  /** But not yet agreed to. */
  @GuardedBy("lock")
  private final Set<NodeId> gone = new HashSet<>();

  /** Have left, and had seen those who are {@link #gone}: as good as an answer. */
  @GuardedBy("lock")
  private final Set<NodeId> leftAgreeing = new HashSet<>();

  /** The first token after the last who is gone. */
  @GuardedBy("lock")
  private long seenFrom;

  @GuardedBy("lock")
  private final Set<NodeId> agreed = new TreeSet<>(Member.NODES_BY_ADDRESS);

  /**
   * @param byEvidence from the moment in which all know that a node is given up to that in which
   *     others get what it had, if there is evidence that its process has ended
   * @param otherwise the same for one that was only not heard of; not shorter
   */
  Tenure(NodeId self, Duration byEvidence, Duration otherwise, Pings pings, Workers workers) {
    this.self = self;
    this.pings = pings;
    this.workers = workers;
    this.byEvidenceNanos = byEvidence.toNanos();
    this.otherwiseNanos = otherwise.toNanos();
    this.takeoverAt = workers.nanos();
    // Also when there is none: those who judge this node may be deceived by theirs.
    this.goodForNanos = byEvidenceNanos / 2;
    this.askAgainNanos = Math.max(1, goodForNanos / 4);
    this.asked = workers.nanos() - askAgainNanos;
    this.lastToken = asked;
    this.seenFrom = asked;
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
      waiting.wake(workers);
      return;
    }
    lock.lock();
    try {
      boolean begins = now.contains(self) && !voters.contains(self);
      if (begins) {
        admitted = agreed.isEmpty(); // nobody decided before it, but for those who left
        goneIsAgreed(); // before it decided; who waits for that in agree() may come too late
        elders = Set.copyOf(voters);
        admittedFrom = lastToken + 1;
      }
      for (var node : now) {
        if (!voters.contains(node)) {
          agreed.add(node);
        }
      }
      quorum = List.copyOf(agreed);
      voters = List.copyOf(now);
      answers.keySet().retainAll(now);
      asked = workers.nanos() - askAgainNanos; // new ones were not asked yet
    } finally {
      lock.unlock();
    }
    waiting.wake(workers);
  }

  List<NodeId> voters() {
    return voters;
  }

  /** Whether everybody agrees with this node, as far as it knows, to who is gone. */
  @GuardedBy("lock")
  private boolean nothingIsOpen() {
    return givenUp.isEmpty() && gone.isEmpty();
  }

  /** Whether one who decided before this node has agreed to what it knows of the others. */
  boolean isAdmitted() {
    return admitted;
  }

  /** Whether it is, or there is somebody by whom it may be. */
  boolean mayBeAdmitted() {
    return admitted || voters.stream().anyMatch(elders::contains);
  }

  /** Asks until it is, or cannot be any more. */
  void awaitAdmission() {
    await(() -> admitted || !mayBeAdmitted(), () -> ask(voters), workers.never());
  }

  /**
   * Whether this node may answer the ping of another: if it counts that one, or would do so as it
   * has agreed to who is gone, as far as is known by now.
   */
  boolean mayAnswer(NodeId other, Roster roster) {
    if (over || !admitted || !voters.contains(self)) {
      return false;
    }
    lock.lock();
    try {
      return agreed.contains(other) || (nothingIsOpen() && roster.members().containsAll(agreed));
    } finally {
      lock.unlock();
    }
  }

  /** A node has answered a ping; one that was not sent for this does not count. */
  void answered(NodeId from, long token) {
    if (token - lastToken > 0) {
      return;
    }
    answers.merge(from, token, (one, other) -> one - other > 0 ? one : other);
    admitted |= token - admittedFrom >= 0 && elders.contains(from);
    waiting.wake(workers);
  }

  /**
   * Another node leaves in good order. It has seen who is gone by then, as a leader removes nobody
   * before all have; so it has agreed to that.
   */
  void leaves(NodeId other) {
    lock.lock();
    try {
      if (agreed.contains(other) && !gone.isEmpty() && givenUp.isEmpty()) {
        leftAgreeing.add(other);
      }
    } finally {
      lock.unlock();
    }
    left(other);
  }

  /** Another node has left before, or is dead beyond doubt: nobody needs to ask it. */
  void left(NodeId other) {
    lock.lock();
    try {
      agreed.remove(other);
      quorum = List.copyOf(agreed);
    } finally {
      lock.unlock();
    }
    waiting.wake(workers);
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
   * Waits until all who stay have seen who was given up, and a majority of those who agreed last
   * has answered a question that was asked after that and after this was called, which makes who
   * stays those who agreed last; or until this node is given up. An answer of one who has not seen
   * it does not count: that one may yet give this node up instead.
   *
   * @return false if this node is given up, or if for ten seconds those who stay were no majority:
   *     it is in the smaller part then, as somebody left who may not have seen who was given up
   */
  boolean agree() {
    long since = lastToken + 1;
    var hope = new Hope();
    var agrees = new AtomicBoolean();
    await(
        () -> {
          agrees.set(agreesSince(since));
          return agrees.get() || hope.isOver();
        },
        () -> {
          if (givenUpCount() == 0) {
            ask(voters);
          }
        },
        workers.never());
    return agrees.get();
  }

  /**
   * Ends when no agreement has been possible for ten seconds. Time in which this process stood
   * still does not count, but for a second: it may be about to hear of what makes it possible.
   */
  private final class Hope {
    private final long longestTurnNanos = Math.max(2 * askAgainNanos, SECOND);
    private long looked = workers.nanos();
    private long inVain;

    boolean isOver() {
      long now = workers.nanos();
      inVain = mayAgree() ? 0 : inVain + Math.min(now - looked, longestTurnNanos);
      looked = now;
      return inVain > PATIENCE_NANOS;
    }
  }

  private boolean mayAgree() {
    lock.lock();
    try {
      return !givenUp.isEmpty() || isAgreedBy(voters::contains);
    } finally {
      lock.unlock();
    }
  }

  private boolean agreesSince(long token) {
    lock.lock();
    try {
      if (!isAgreedSince(token)) {
        return false;
      }
      goneIsAgreed();
      quorum = List.copyOf(agreed);
    } finally {
      lock.unlock();
    }
    waiting.wake(workers);
    return true;
  }

  @GuardedBy("lock")
  private void goneIsAgreed() {
    agreed.removeAll(gone);
    gone.clear();
    leftAgreeing.clear();
  }

  @GuardedBy("lock")
  private boolean isAgreedSince(long token) {
    long since = token - seenFrom > 0 ? token : seenFrom;
    return admitted && givenUp.isEmpty() && isAgreedBy(node -> hasVotedSince(node, since));
  }

  /** Whether those who left and these are a majority of those who agreed last, if it is asked. */
  @GuardedBy("lock")
  private boolean isAgreedBy(Predicate<NodeId> these) {
    var have = leftAgreeing;
    var all = new TreeSet<>(Member.NODES_BY_ADDRESS);
    all.addAll(agreed);
    all.addAll(have);
    return !agreed.contains(self)
        || isMajority(node -> have.contains(node) || these.test(node), all);
  }

  /**
   * Waits until so many have answered a question that was asked after this was called, whatever the
   * clock says, that no others can have given this node up before ({@link Roster#decide}).
   *
   * @return false if that did not come about within ten seconds, or this node was given up
   */
  boolean isHeardBy(Roster roster) {
    long since = lastToken + 1;
    return await(
        () -> admitted && roster.decide(node -> hasVotedSince(node, since)),
        () -> ask(roster.possible()),
        workers.nanos() + PATIENCE_NANOS);
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

  /**
   * Another node was given up; {@link #gone} follows when all have seen it.
   *
   * @param evidence whether it is known that its process has ended
   */
  void givenUp(NodeId other, boolean evidence) {
    lock.lock();
    try {
      givenUp.put(other, evidence ? byEvidenceNanos : otherwiseNanos);
    } finally {
      lock.unlock();
    }
  }

  /** How many nodes agreed last: who was given up since then is among them, guests never are. */
  int quorumCount() {
    return quorum.size();
  }

  /** How many nodes were given up, which not all who stay have seen yet. */
  int givenUpCount() {
    lock.lock();
    try {
      return givenUp.size();
    } finally {
      lock.unlock();
    }
  }

  /** All have seen that another node was given up. */
  void gone(NodeId other) {
    lock.lock();
    try {
      gone.add(other);
      leftAgreeing.clear(); // of this one they know nothing
      seenFrom = lastToken + 1;
      var margin = givenUp.remove(other);
      long at = workers.nanos() + (margin == null ? otherwiseNanos : margin);
      takeoverAt = at - takeoverAt > 0 ? at : takeoverAt;
    } finally {
      lock.unlock();
    }
    waiting.wake(workers);
  }

  /**
   * How long this node must wait until it may take over what others had, or ask again: the margin
   * of each, as far as this node can see. Pekko keeps the shorter one, but for what a coordinator
   * has not heard of that is new itself.
   */
  long nanosUntilTakeover() {
    lock.lock();
    try {
      long wait = Math.max(0, takeoverAt - workers.nanos());
      return givenUp.values().stream().reduce(wait, Math::max);
    } finally {
      lock.unlock();
    }
  }

  /** This node has stopped, or was given up. */
  void end() {
    over = true;
    waiting.wake(workers);
  }

  /**
   * As {@link dev.evergreen.core.spi.Placement#confirmed}: usually at once, at times after a round
   * trip, and after ten seconds if there is no majority.
   */
  boolean confirmed() {
    long now = workers.nanos();
    if (belongedAt(now - goodForNanos / 2)) {
      return !over;
    }
    ask(voters); // in good time for those that come next
    return await(() -> belongedAt(now - goodForNanos), () -> ask(voters), now + PATIENCE_NANOS);
  }

  /** Whether nobody can have given this node up before a moment. */
  private boolean belongedAt(long nanos) {
    return admitted && haveVotedSince(voters, nanos) && haveVotedSince(quorum, nanos);
  }

  /**
   * Waits for answers, and asks for them until they have come.
   *
   * @return false if they have not come by the deadline, or this node is given up
   */
  private boolean await(BooleanSupplier enough, Runnable asks, long deadline) {
    var thread = Thread.currentThread();
    waiting.add(thread);
    try {
      while (!over && !enough.getAsBoolean()) {
        if (thread.isInterrupted() || workers.nanos() - deadline >= 0) {
          return false;
        }
        asks.run();
        workers.threads().parkNanosForOthers(askAgainNanos);
      }
      return !over;
    } finally {
      waiting.remove(thread);
    }
  }

  /** Asks these, but nobody again right away. */
  private void ask(List<NodeId> these) {
    long now = workers.nanos();
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

  /** Whether a majority of all has; makes no objects, as every write asks. */
  private boolean haveVotedSince(List<NodeId> all, long nanos) {
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
}
