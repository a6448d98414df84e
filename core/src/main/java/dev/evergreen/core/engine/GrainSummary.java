package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.engine.Cache.Edge;
import dev.evergreen.core.engine.CycleSearch.Verdict;
import dev.evergreen.core.engine.Publication.Follower;
import dev.evergreen.core.engine.Publication.Subscribed;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Graph;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.Tasks;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The summary of an operation of a grain (004 §4.1): computes the result that its publication keeps
 * true in caches (004 §4.2). Guarded by the activation.
 *
 * <p><b>Depth.</b> A summary is deeper than all it reads. When a run finds that it is not, although
 * others may read the summary already, that is a suspicion of a circle ({@link CycleSearch}): it is
 * judged before the result is published, and if there is none the depth grows.
 */
final class GrainSummary extends Summary {

  private static final int ENDLESS = Graph.Read.ENDLESS;

  /** So often in a row it may become deeper although a circle cannot be excluded. */
  private static final int MAX_IN_VAIN = 8;

  private final Home home;
  private final CallKey key;
  private final Publication results;

  /** What it reads, if somebody follows that; written with the guard's monitor held. */
  private volatile @Nullable Publication reads;

  @GuardedBy("guard")
  private boolean removed;

  /** The greatest depth that it had outside of circles; 0 before the first. */
  @GuardedBy("guard")
  private int rank;

  /** What the verdict rests on that the present result is by; among the edges. */
  @GuardedBy("guard")
  private Edges evidence = Edges.NONE;

  @GuardedBy("guard")
  private boolean inCircle;

  /** How often in a row a circle could not be excluded. */
  @GuardedBy("guard")
  private int inVain;

  GrainSummary(Propagation parts, Home home, CallKey key) {
    super(parts, home);
    this.home = home;
    this.key = key;
    this.results = new Publication(parts, home, key);
    this.marked = true;
  }

  @Override
  public CallKey key() {
    return key;
  }

  /** Its results, as others subscribe them. */
  Publication results() {
    return results;
  }

  @Override
  @Nullable Object compute() throws Throwable {
    var operation = key.operation();
    return operation.call(home.object(), operation.copyIn(key.arguments()), key.grain());
  }

  // Running

  @Override
  public void schedule(Tasks next) {
    synchronized (guard) {
      if (!removed) {
        home.schedule(this, next);
      }
    }
  }

  @Override
  @GuardedBy("guard")
  boolean over() {
    return removed;
  }

  /**
   * The result of a member of a circle comes of the lists of the others, and these of what is no
   * member. If not all of the circle can be seen there is nothing to ask.
   */
  @Override
  @GuardedBy("guard")
  List<Cache> computedFrom(boolean isList) {
    var others = otherMembers();
    var caches = new ArrayList<Cache>();
    for (var edge : inCircle && inVain > 0 ? List.<Edge>of() : edges.list()) {
      var read = edge.cache().key();
      boolean counts =
          isList(edge)
              ? inCircle && !isList && edge.outcome() instanceof Outcome.Returned
              : !inCircle || !(read.equals(key) || others.contains(read.wire()));
      if (counts && edge.passed()) {
        caches.add(edge.cache());
      }
    }
    return caches;
  }

  /** Which list of its reads is the present one; null if nobody follows that. */
  @Nullable Version listVersion() {
    hasRead(); // what was accepted may be untold yet
    var followed = reads;
    return followed == null ? null : followed.version();
  }

  private boolean isList(Edge edge) {
    return base.models().graph().isReads(edge.cache().key());
  }

  @Override
  void accept(Run run, @Nullable Outcome computed, Tasks next) {
    var read = run.reads().edges();
    int deepest = read.deepest();
    var verdict = computed == null ? Verdict.UNSUSPICIOUS : judge(run, read, deepest);
    var outcome = verdict.circle() != null ? verdict.circle() : computed;
    var before = results.outcome();
    // A comparer is the user's code: it runs without the monitor.
    boolean same =
        Outcome.same(before, outcome, key.operation().result(), key.operation().comparer());
    accept(run, read, deepest, verdict, same ? before : outcome, next);
  }

  private Verdict judge(Run run, Edges read, int deepest) {
    int least;
    boolean patient;
    boolean othersMayRead;
    synchronized (guard) {
      least = rank;
      patient = deepest != ENDLESS && inVain < MAX_IN_VAIN;
      othersMayRead = results.outcome() != null;
    }
    boolean waited = run.reads().waitedInCircle();
    if (!waited && deepest != ENDLESS && !(othersMayRead && deepest >= least)) {
      return Verdict.UNSUSPICIOUS;
    }
    boolean overtaken = run.discardedBefore() > 0;
    var verdict = search(read, least, deepest == ENDLESS, waited, overtaken);
    return verdict.hidden() == null || patient ? verdict : verdict.inVain();
  }

  private Verdict search(
      Edges read, int least, boolean readsMember, boolean waited, boolean overtaken) {
    try {
      var listed = listed(read, Edges.NONE);
      return parts.cycles().judge(this, key, listed, least, readsMember, waited, overtaken);
    } catch (RuntimeException | Error e) {
      return Verdict.failed(e);
    }
  }

  private void accept(
      Run run, Edges read, int deepest, Verdict verdict, @Nullable Outcome result, Tasks next) {
    var released = read.and(verdict.edges());
    Publication.Owed owed;
    synchronized (guard) {
      boolean wanted = home.ended(run);
      ended(run, result == null);
      if (wanted && !removed && result != null) {
        released = accepted(released);
        evidence = verdict.edges();
        inCircle = verdict.circle() != null;
        inVain = verdict.hidden() == null ? 0 : inVain + 1;
        if (!inCircle && deepest != ENDLESS) {
          rank = Math.max(rank, deepest + 1);
        }
        // What moves before this moment is told to the run that was accepted before.
        marked |= read.deepest() > deepest;
        results.publish(
            result, inCircle || deepest == ENDLESS ? ENDLESS : rank, doubt(), run.cause());
      }
      goOn(next);
      owed = result == null ? Publication.Owed.NOTHING : results.owed();
    }
    released.release();
    // First what the result depends on: whom that makes suspicious judges by it.
    publishReads(next);
    results.push(owed, next);
  }

  @GuardedBy("guard")
  private void goOn(Tasks next) {
    if (marked && !removed) {
      home.schedule(this, next);
    } else {
      home.admit(next);
    }
  }

  /**
   * What is in a circle does not doubt because other members do, as then all would for ever: it
   * doubts as long as one of the lists that the verdict rests on is not heard of. One that cannot
   * be had is no reason: it may never be.
   */
  @GuardedBy("guard")
  private boolean doubt() {
    for (var edge : (inCircle ? evidence : edges).list()) {
      if (edge.inDoubt() && !(edge.outcome() instanceof Outcome.Threw && isList(edge))) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void standingChanged() {
    base.workers().now(this::standingChanged);
  }

  private void standingChanged(Tasks next) {
    synchronized (guard) {
      var outcome = results.outcome();
      if (removed || outcome == null) {
        return;
      }
      int deepest = edges.deepest();
      boolean known = deepest == ENDLESS && results.depth() == ENDLESS;
      if (!inCircle && deepest >= rank && !known) {
        // Deeper than it was taken to be: the run after this mark is judged. Doubt does not wait.
        results.publish(outcome, results.depth(), doubt(), null);
        marked = true;
        goOn(next);
      } else {
        results.publish(outcome, inCircle || deepest == ENDLESS ? ENDLESS : rank, doubt(), null);
      }
    }
    results.pushOwed(next);
    publishReads(next);
  }

  // The list of reads

  /** Somebody follows what this summary reads. */
  Subscribed followReads(Follower follower, Tasks next) {
    boolean owed;
    synchronized (guard) {
      if (removed) {
        return Subscribed.NOWHERE;
      }
      var followed = reads;
      if (followed == null) {
        // By its own name: a node of another version may be the first who asks, by other bytes.
        followed = new Publication(parts, home, base.models().graph().readsOf(key.wire()));
        reads = followed;
      }
      owed = followed.subscribe(follower);
    }
    publishReads(next);
    return Subscribed.of(owed);
  }

  void unfollowReads(Follower follower) {
    synchronized (guard) {
      var followed = reads;
      if (followed != null && followed.unsubscribe(follower)) {
        reads = null;
      }
    }
  }

  @Override
  public void hasRead() {
    if (reads != null) {
      base.workers().now(this::publishReads);
    }
  }

  /** Tells who follows that what the summary has read, and what a run of it under way has. */
  private void publishReads(Tasks next) {
    var followed = reads;
    if (followed == null) {
      return;
    }
    synchronized (guard) {
      var before = followed.outcome();
      var now = list();
      boolean same =
          now instanceof Outcome.Threw
              ? Outcome.same(before, now, key.operation().result(), null)
              : now.equals(before);
      followed.publish(same && before != null ? before : now, 0, false, null);
    }
    followed.pushOwed(next);
  }

  @GuardedBy("guard")
  private Outcome list() {
    try {
      var readByRun = underWay == null ? Edges.NONE : underWay.reads().edges();
      var list = new ArrayList<>(listed(edges, readByRun));
      if (!list.isEmpty()) {
        list.set(0, list.getFirst().by(key.wire()));
      }
      return new Outcome.Returned(List.copyOf(list));
    } catch (GrainException e) {
      return Outcome.Threw.of(e); // the name of one of them is too large
    }
  }

  /** Without what reads nothing, and without what is read in the search for circles. */
  private List<Graph.Read> listed(Edges accepted, Edges tentative) {
    var listed = new LinkedHashMap<CallKey, Graph.Read>();
    accepted.list().forEach(edge -> list(edge, false, listed));
    tentative.list().forEach(edge -> list(edge, true, listed));
    return List.copyOf(listed.values());
  }

  private void list(Edge edge, boolean tentative, Map<CallKey, Graph.Read> listed) {
    var read = edge.cache().key();
    int known = edge.cache().depth();
    // What reads itself is in a circle, also if it was not deep until it did.
    int depth = known != 0 && read.equals(key) ? ENDLESS : known;
    if (depth != 1 && !isList(edge)) {
      listed.putIfAbsent(read, new Graph.Read(read.wire(), depth, tentative));
    }
  }

  // Ending

  /** Drops caches whose subscriptions are over; returns whether none is left. */
  boolean expire(Predicate<Publication.Subscriber> over) {
    synchronized (guard) {
      var followed = reads;
      if (followed != null && followed.expire(over)) {
        reads = null;
      }
      return results.expire(over);
    }
  }

  /** Nobody subscribes any more; returns the run that was under way. */
  @Nullable Run remove() {
    synchronized (guard) {
      removed = true;
      results.end();
      return stop();
    }
  }

  /** Releases what the accepted run has read. */
  void releaseReads() {
    Edges released;
    Publication followed;
    synchronized (guard) {
      released = accepted(Edges.NONE);
      followed = reads;
      reads = null;
    }
    released.list().forEach(edge -> edge.cache().release(edge, true)); // after its cache's grace
    if (followed != null) {
      followed.move();
    }
  }

  /** The activation is closed: subscribers are told, with the failure if it never was active. */
  void end(Outcome.@Nullable Threw failed, Tasks next) {
    remove();
    releaseReads();
    if (failed == null) {
      results.move();
    } else {
      results.fail(failed, next);
    }
  }

  /** Whether it is kept by members of a circle, which may be all that keeps it. */
  boolean inCircle() {
    synchronized (guard) {
      return inCircle && !removed;
    }
  }

  /**
   * The others of the circle that it is in, as this node names them, and what they read of other
   * circles; none if it is in none.
   */
  List<SummaryKey> otherMembers() {
    var graph = base.models().graph();
    synchronized (guard) {
      var lists = inCircle ? evidence : Edges.NONE;
      return lists.list().stream().map(edge -> graph.summaryOf(edge.cache().key())).toList();
    }
  }
}
