package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.Chain;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Waiters;
import dev.evergreen.core.work.Workers;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * This process's copy of one summary's result, shared by all summaries here that read it (004
 * §4.2).
 *
 * <p>What it holds ({@link Content}) and how it stands with its publisher ({@link Line}) change as
 * the table says: + holds the result, ! the failure, = what was held; ? has the publisher asked
 * again; a dot cannot be. That a result may be outdated follows from both ({@link #inDoubt}). A new
 * cache has Nothing, and one that is CLOSED changes no more.
 *
 * <pre>
 *                              Nothing    Failed     Held       Held       Held
 * event                        SILENT     FAILING    HEARD      SILENT     FAILING
 * a result, late enough        +HEARD     +HEARD     +HEARD     +HEARD     +HEARD
 * a result, too early          +SILENT?   +FAILING?  +HEARD     +SILENT?   +FAILING?
 * of another epoch, wished     +HEARD     +HEARD     +HEARD     +HEARD     +HEARD
 * of another epoch, unwished   +SILENT?   +FAILING?  =HEARD?    =SILENT?   =FAILING?
 * wished until compared        .          .          +SILENT?   +SILENT?   +SILENT?
 * the known one, late enough   .          .          =HEARD     =HEARD     =HEARD
 * the known one, too early     .          .          =HEARD     =SILENT    =FAILING
 * an answer, late enough       =SILENT    =FAILING   =HEARD     =HEARD     =HEARD
 * an answer, too early         =SILENT    =FAILING   =HEARD     =SILENT    =FAILING
 * an answer that is a failure  .          =FAILING   .          .          =FAILING
 * why there is none, wished    !FAILING?  !FAILING?  =FAILING?  =FAILING?  =FAILING?
 * why there is none, unwished  =SILENT    =FAILING   =HEARD     =SILENT    =FAILING
 * silence                      =SILENT    =FAILING   =SILENT    =SILENT    =FAILING
 * a wish                       =SILENT    =FAILING   =HEARD     =SILENT    =FAILING
 * the end                      =CLOSED    =CLOSED    =CLOSED    =CLOSED    =CLOSED
 * </pre>
 *
 * <p><b>Versions.</b> Inside an epoch only a higher sequence is installed. Another epoch is adopted
 * if it answers this cache's latest wish (its generation), or if there is none yet; any other
 * unknown one may come from an activation that does not know that it was replaced, and only makes
 * the cache ask again. A comparer may take longer than the next wish: what answered the latest one
 * when it came is adopted all the same, if no later wish was answered meanwhile, but in doubt.
 *
 * <p><b>Doubt.</b> Only what is said late enough, to a wish (its generation, or a later one) made
 * after the last silence, ends the doubt. Anything else may have been under way when the silence
 * began, from a publisher that is replaced by now; or it was for a cache that was here before this
 * one.
 *
 * <p><b>Marks.</b> A result marks those dependents that have read another outcome, be it a former
 * result, a failure, or what a reader of little patience has put in its place. What one reader goes
 * on with is its own affair: nobody else sees it.
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

  /**
   * What became of an update.
   *
   * @param asksAgain whether it was of an epoch that this cache did not ask for, or ends no doubt
   * @param version what the cache holds by it; null if nothing, or if the update has changed
   *     nothing
   * @param outdated the dependents that have read another outcome
   * @param affected those that have read this one, if its depth or its doubt has changed
   */
  record Installed(
      boolean asksAgain,
      @Nullable Version version,
      List<Dependent> outdated,
      List<Dependent> affected) {
    private static final Installed NOTHING = new Installed(false, null, List.of(), List.of());
    private static final Installed ASKS_AGAIN = new Installed(true, null, List.of(), List.of());
  }

  /** What a cache has to be read. */
  private sealed interface Content {
    default @Nullable Outcome outcome() {
      return null;
    }

    /** Which content it is, so that it can be said who knows of it. */
    default @Nullable Version version() {
      return null;
    }

    /** No answer yet: readers wait. */
    record Nothing() implements Content {}

    /** Why the runtime has no result; it tries again. */
    record Failed(Outcome outcome, Version version) implements Content {}

    /**
     * The publisher's result.
     *
     * @param published the object that the publisher of this node has for it, which may be another
     *     one than that which was read before, and is the same; so it need not be compared again
     */
    record Held(Outcome outcome, Outcome published, Version version, int depth, boolean inDoubt)
        implements Content {}
  }

  /** How a cache stands with its publisher. */
  private enum Line {
    /** The publisher's last word stands. */
    HEARD,
    /** It is not heard of, and asked again. */
    SILENT,
    /** Its last word was a failure of the runtime: that it answers at all is no progress. */
    FAILING,
    CLOSED
  }

  /**
   * What a cache holds, and how far it is to be trusted. Replaced as a whole with the monitor held,
   * so that anybody may look at it at any time.
   */
  private record Standing(Content content, Line line) {
    private static final Standing NEW = new Standing(new Content.Nothing(), Line.SILENT);

    Standing with(Line now) {
      return new Standing(content, now);
    }

    int depth() {
      return content instanceof Content.Held held ? held.depth() : 0;
    }

    boolean inDoubt() {
      return line != Line.HEARD || !(content instanceof Content.Held held) || held.inDoubt();
    }
  }

  /** All caches of a process, to one of them. */
  interface Keeper {
    Workers workers();

    /** How long a cache without dependents is kept, in nanoseconds. */
    long grace();

    /** A generation that is greater than all before. */
    long nextGeneration();

    /** A cache has no dependents: it goes if that lasts. */
    void idle(Cache cache, boolean graceSpent);
  }

  /** What depends on a cache, as far as that knows. */
  interface Dependent {

    /** What caches know it by; null for a root, which nobody reads. */
    @Nullable CallKey key();

    /**
     * Says that a dependency has changed. Nothing runs before {@link #schedule}.
     *
     * @param cause where in a trace the write was that changed it; null if that is not traced
     */
    void mark(@Nullable TraceContext cause);

    /** Lets what was marked run as soon as it may. */
    void schedule(Tasks next);

    /** Says that a dependency has become doubtful or certain, or deeper, but not different. */
    void standingChanged();
  }

  /** What a reader makes of a result that it does not take as a whole. */
  interface Reading {

    /**
     * Whether another result says the same to the reader, which need not know then. Called with the
     * cache's monitor held: it calls no code of the application's.
     */
    boolean same(Outcome before, Outcome now);
  }

  /**
   * That a run of a summary has read this cache: an edge of the dependency graph, from before the
   * value is taken until it is released.
   *
   * <p>An edge knows what was read, so that a new result marks just those dependents that have read
   * another. Its fields are written with the cache's monitor; the run that made it reads them
   * freely, so that no annotation names a guard.
   */
  final class Edge extends Chain.Link<Edge> {
    private final Dependent dependent;

    /**
     * What was read; null while that is open. Once there is an outcome, the whole run sees the
     * same.
     */
    private volatile @Nullable Outcome outcome;

    /** Whether the reader went on without the publisher's answer, so that it is in doubt. */
    private volatile boolean wentOn;

    /** Whether the publisher was in doubt about the outcome when the reader took it. */
    private volatile boolean tookInDoubt;

    /** How the reader has read the outcome; null if it was taken as a whole. */
    private volatile @Nullable Reading reading;

    private Edge(Dependent dependent) {
      this.dependent = dependent;
    }

    Cache cache() {
      return Cache.this;
    }

    @Nullable Outcome outcome() {
      return outcome;
    }

    /** From now on a result that says the same in this reading is the same. */
    void readAs(Reading how) {
      reading = how;
    }

    private boolean readsAsSame(Outcome now) {
      var how = reading;
      var read = outcome;
      return how != null && read != null && how.same(read, now);
    }

    /** Whether the reader has gone on, with an outcome or without. */
    boolean passed() {
      return outcome != null || wentOn;
    }

    /**
     * Whether what was read may be outdated, for all that is known. A branch that did not wait for
     * an answer, since another was first, has read nothing.
     */
    boolean inDoubt() {
      return wentOn || (outcome != null && (Cache.this.inDoubt() || tookOther()));
    }

    /** What was in doubt when it was read is not certain because another has its place. */
    private boolean tookOther() {
      return tookInDoubt && outcome != present();
    }
  }

  private final Keeper keeper;
  private final CallKey key;

  @GuardedBy("this")
  private final Chain<Edge> edges = new Chain<>();

  private final Waiters waiters = new Waiters();

  private volatile Standing standing = Standing.NEW;

  /** The last result of which all know that had read another. */
  @GuardedBy("this")
  private @Nullable Version told;

  @GuardedBy("this")
  private long generation;

  /** The latest wish by which somebody has come to ask. */
  @GuardedBy("this")
  private long asked;

  /** What is said to a wish of an earlier generation ends no doubt. */
  @GuardedBy("this")
  private long lateEnough;

  /** The latest wish that what is held is the answer to. */
  @GuardedBy("this")
  private long answered;

  /** The last one that was answered by a failure: that it was answered is no progress. */
  @GuardedBy("this")
  private long failedWish;

  @GuardedBy("this")
  private @Nullable NodeId publisher;

  @GuardedBy("this")
  private boolean wasRemote;

  @GuardedBy("this")
  private int attempts;

  /** The latest result that waits for a comparer, if one does. */
  @GuardedBy("this")
  private @Nullable Update deferred;

  /** Whether somebody asks the comparer, or is about to, and takes what is deferred. */
  @GuardedBy("this")
  private boolean comparing;

  /** Since when it has no dependents, if it has none. */
  @GuardedBy("this")
  private long idleSince;

  /** Since when its publisher owes an answer, if it does. */
  @GuardedBy("this")
  private long unheardSince;

  Cache(Keeper keeper, CallKey key) {
    this.keeper = keeper;
    this.key = key;
    this.lateEnough = keeper.nextGeneration();
    this.unheardSince = keeper.workers().nanos();
  }

  CallKey key() {
    return key;
  }

  /** The result to read: the last one, or why there is none yet; null while that is open. */
  @Nullable Outcome present() {
    return standing.content.outcome();
  }

  int depth() {
    return standing.depth();
  }

  /** Whether the result may be outdated, for all that is known. */
  boolean inDoubt() {
    return standing.inDoubt();
  }

  /** Whether its publisher is not heard of, and is asked again. */
  boolean isSilent() {
    return standing.line == Line.SILENT;
  }

  // Dependents

  /** A new edge to this cache, with what there is to read; null if it is closed. */
  synchronized @Nullable Edge retain(Dependent dependent) {
    if (closed()) {
      return null;
    }
    var edge = new Edge(dependent);
    take(edge);
    edges.add(edge);
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
      if (!edges.remove(edge) || !edges.isEmpty() || closed()) {
        return;
      }
      idleSince = keeper.workers().nanos() - (graceSpent ? keeper.grace() : 0);
    }
    keeper.idle(this, graceSpent);
  }

  /** Who depends on this cache; one that has two runs that read it is named twice. */
  synchronized List<Dependent> dependents() {
    var dependents = new ArrayList<Dependent>(1);
    edges.forEach(edge -> dependents.add(edge.dependent));
    return dependents;
  }

  /** How many runs' reads keep this cache. */
  synchronized int readers() {
    return dependents().size();
  }

  /** Whether nobody depends on it, and it is open. */
  synchronized boolean isIdle() {
    return edges.isEmpty() && !closed();
  }

  /** Closes for ever, whoever depends on it, or waits for it. */
  synchronized void close() {
    standing = standing.with(Line.CLOSED);
    waiters.wake(keeper.workers());
  }

  /** Closes if it has had no dependents since then. */
  synchronized boolean closeIfIdle(long since) {
    return closeIf(isIdle() && idleSince - since <= 0);
  }

  @GuardedBy("this")
  private boolean closeIf(boolean wanted) {
    if (wanted) {
      standing = standing.with(Line.CLOSED);
    }
    return wanted;
  }

  /**
   * Closes if only summaries of these calls depend on it. Not if there is nothing to read yet: who
   * waits for that would wait in vain.
   */
  synchronized boolean closeIfReadOnlyBy(Set<CallKey> calls) {
    var readers = dependents().stream().map(Dependent::key);
    return closeIf(
        !closed()
            && present() != null
            && readers.allMatch(reader -> reader != null && calls.contains(reader)));
  }

  boolean closed() {
    return standing.line == Line.CLOSED;
  }

  void addWaiter(Thread thread) {
    waiters.add(thread);
  }

  void removeWaiter(Thread thread) {
    waiters.remove(thread);
  }

  /** A reader takes what there is, if there is something. */
  synchronized @Nullable Outcome take(Edge edge) {
    var present = present();
    if (present != null) {
      edge.tookInDoubt = inDoubt();
      edge.outcome = present; // Who went on before is in doubt until it has run again.
    }
    return present;
  }

  /**
   * A reader goes on without an answer, unless there is one by now: that one has marked nobody, and
   * need not come again.
   *
   * @param instead what it goes on with; null if it may ask again
   * @return what it goes on with
   */
  synchronized @Nullable Outcome goOnWithout(Edge edge, @Nullable Outcome instead) {
    if (take(edge) == null) {
      edge.outcome = instead;
      edge.wentOn = true;
    }
    return edge.outcome();
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
    if (closed()) {
      return 0;
    }
    this.generation = keeper.nextGeneration();
    this.publisher = publisher;
    return generation;
  }

  /**
   * The publisher is on another node from now on.
   *
   * @param enter makes this cache known to answers of that node; not called if it is closed, as
   *     another may have taken its place
   */
  synchronized void becomeRemote(Runnable enter) {
    if (!closed()) {
      wasRemote = true;
      enter.run();
    }
  }

  /** Whether the publisher ever was on another node. */
  synchronized boolean wasRemote() {
    return wasRemote;
  }

  /**
   * Names the failure that answers a wish, among what all may {@linkplain #told have been told}.
   * Failures are of an epoch of their own.
   */
  static Version failure(long generation) {
    return new Version(0, generation);
  }

  /** Which result this cache holds; null if none. */
  @Nullable Version version() {
    return standing.content instanceof Content.Held held ? held.version() : null;
  }

  synchronized @Nullable NodeId publisher() {
    return publisher;
  }

  synchronized long generation() {
    return generation;
  }

  /** The publisher is asked by this wish, or it is seen to that it is asked again. */
  synchronized void asked(long wish) {
    asked = Math.max(asked, wish);
  }

  /** Whether it is not known that anybody has come to ask by the latest wish. */
  synchronized boolean isUnasked() {
    return generation == 0 || asked < generation;
  }

  /** How often in a row the publisher could not be reached. */
  synchronized int failedAttempt() {
    return attempts++;
  }

  /**
   * The publisher answered a wish of this generation; returns whether that ended a doubt. Who has
   * nothing yet waits for the result all the same.
   */
  synchronized boolean heard(long wish) {
    if (wish < lateEnough || wish <= failedWish || closed()) {
      return false;
    }
    attempts = 0;
    if (!(standing.content instanceof Content.Held)) {
      return false;
    }
    answered = Math.max(answered, wish);
    boolean wasSilent = isSilent();
    boolean endsDoubt = becomes(Line.HEARD);
    if (wasSilent) {
      waiters.wake(keeper.workers()); // who waits for that alone, and sees it by now
    }
    return endsDoubt;
  }

  /**
   * The publisher is not heard of, and is to be asked again after this; returns whether that began
   * a doubt.
   */
  synchronized boolean silent() {
    lateEnough = keeper.nextGeneration();
    if (standing.line != Line.HEARD) {
      return false;
    }
    if (present() != null) {
      unheardSince = keeper.workers().nanos();
    }
    return becomes(Line.SILENT);
  }

  /**
   * For how long there has been no answer: since the publisher became silent, or since this cache
   * was made if there never was one. Means nothing of a cache that is heard of.
   */
  synchronized long unheardFor() {
    return keeper.workers().nanos() - unheardSince;
  }

  @GuardedBy("this")
  private boolean becomes(Line now) {
    var before = standing;
    standing = before.with(now);
    return before.inDoubt() != inDoubt();
  }

  // Results

  /**
   * Defers an update until the comparer is asked, which may take its time: one thread at a time for
   * each cache, and of what comes meanwhile the latest.
   *
   * @return whether nobody does, so that the caller must have somebody do it
   */
  synchronized boolean defer(Update update) {
    if (deferred == null || !isLater(deferred, update)) {
      deferred = update;
    }
    boolean idle = !comparing;
    comparing = true;
    return idle;
  }

  /** What was deferred; if nothing was, nobody asks the comparer from now on. */
  synchronized @Nullable Update takeDeferred() {
    var update = closed() ? null : deferred;
    deferred = null;
    comparing = update != null;
    return update;
  }

  /** Who was to ask the comparer does not: the next who defers something has to see to it. */
  synchronized void stopComparing() {
    comparing = false;
  }

  private static boolean isLater(Update one, Update other) {
    var version = one.version();
    boolean comparable = version.epoch() == other.version().epoch();
    long ahead = comparable ? version.sequence() - other.version().sequence() : 0;
    return ahead != 0 ? ahead > 0 : one.generation() > other.generation();
  }

  /** Installs what was deferred. A comparer of the application's that it asks may take its time. */
  Installed install(Update update) {
    return Objects.requireNonNull(install(update, true));
  }

  /** Installs an update; does nothing and returns null if it is to be deferred. */
  @Nullable Installed installUncompared(Update update) {
    return install(update, false);
  }

  private @Nullable Installed install(Update update, boolean wasDeferred) {
    // A comparer is the user's code: it runs without the monitor, as often as results overtake it.
    while (true) {
      var seen = standing.content;
      boolean compares = key.operation().comparer() != null && isToBeCompared(seen, update);
      if (compares && !wasDeferred) {
        return isOvertaken(update) ? Installed.ASKS_AGAIN : null;
      }
      boolean same = sameAs(seen, update);
      synchronized (this) {
        if (seen == standing.content) {
          return update.provisional() ? fail(update) : take(update, same, wasDeferred);
        }
      }
    }
  }

  private boolean sameAs(Content seen, Update update) {
    return isToBeCompared(seen, update)
        ? Outcome.same(
            seen.outcome(), update.outcome(), key.operation().result(), key.operation().comparer())
        : seen instanceof Content.Held held && held.published() == update.outcome();
  }

  private static boolean isToBeCompared(Content seen, Update update) {
    return !update.provisional()
        && seen instanceof Content.Held held
        && held.published() != update.outcome()
        && !isOld(update.version(), held.version());
  }

  private static boolean isOld(Version version, Version known) {
    return version.epoch() == known.epoch() && version.sequence() <= known.sequence();
  }

  /** Whether it is of another epoch than what is held, and does not answer the latest wish. */
  private synchronized boolean isOvertaken(Update update) {
    var held = version();
    return held != null
        && update.version().epoch() != held.epoch()
        && update.generation() != generation;
  }

  @GuardedBy("this")
  private Installed take(Update update, boolean same, boolean wasDeferred) {
    var last = version();
    if (closed()) {
      return Installed.NOTHING;
    }
    if (last != null && isOld(update.version(), last)) {
      return heard(update.generation())
          ? new Installed(false, null, List.of(), dependents())
          : Installed.NOTHING;
    }
    boolean overtaken = isOvertaken(update);
    if (overtaken) {
      if (!wasDeferred || update.generation() <= answered) {
        return Installed.ASKS_AGAIN;
      }
      lateEnough = keeper.nextGeneration(); // what is said to wishes under way is not of this
    }
    var before = standing;
    var known = before.content.outcome();
    var outcome = same && known != null ? known : update.outcome();
    // What was decoded here is nobody's else, and never comes again.
    var published = wasRemote ? outcome : update.outcome();
    boolean isHeard = update.generation() >= Math.max(lateEnough, failedWish);
    var now =
        new Standing(
            new Content.Held(
                outcome, published, update.version(), update.depth(), update.inDoubt()),
            isHeard ? Line.HEARD : overtaken ? Line.SILENT : before.line());
    var installed = toldBy(now, known, outcome);
    if (overtaken && before.line() == Line.HEARD) {
      unheardSince = keeper.workers().nanos();
    }
    standing = now;
    answered = Math.max(answered, update.generation());
    attempts = isHeard ? 0 : attempts;
    return installed;
  }

  @GuardedBy("this")
  private Installed fail(Update update) {
    if (closed() || update.generation() != generation) {
      return Installed.NOTHING;
    }
    var held = standing.content instanceof Content.Held known ? known : null;
    var failed = new Content.Failed(update.outcome(), failure(generation));
    var now = new Standing(held == null ? failed : held, Line.FAILING);
    var before = held == null ? null : held.outcome();
    var installed = toldBy(now, before, before == null ? update.outcome() : before);
    standing = now;
    failedWish = update.generation();
    waiters.wake(keeper.workers()); // what is held was told before, but was silent maybe
    return installed;
  }

  /**
   * Whom a change concerns that is to be made; those that still wait for it will see it anyway.
   * Asked before it is made: if this fails, as where memory ends, nothing has changed.
   *
   * @param then how this cache stands by it
   * @param before what {@code now} takes the place of, and differs from if it is another object
   */
  @GuardedBy("this")
  private Installed toldBy(Standing then, @Nullable Outcome before, Outcome now) {
    boolean otherwise = then.depth() != depth() || then.inDoubt() != inDoubt();
    var outdated = new ArrayList<Dependent>(1);
    var affected = new ArrayList<Dependent>(0);
    edges.forEach(
        edge -> {
          if (edge.passed()) {
            boolean same = edge.outcome() == now || takesAsSame(edge, before, now);
            if (!same) {
              outdated.add(edge.dependent);
            } else if (otherwise) {
              affected.add(edge.dependent);
            }
          }
        });
    boolean asksAgain = then.line() != Line.HEARD;
    return new Installed(asksAgain, then.content.version(), outdated, affected);
  }

  /**
   * Whether a reader went on with a failure, and the failure that is here now is the same; or what
   * is here now says the same to it.
   */
  private static boolean takesAsSame(Edge edge, @Nullable Outcome before, Outcome now) {
    boolean same = edge.readsAsSame(now) || wentOnWithSame(edge, before, now);
    if (same) {
      edge.outcome = now;
      edge.wentOn = false;
    }
    return same;
  }

  private static boolean wentOnWithSame(Edge edge, @Nullable Outcome before, Outcome now) {
    return edge.outcome() != before
        && edge.outcome() instanceof Outcome.Threw x
        && now instanceof Outcome.Threw y
        && x.failure().same(y.failure());
  }

  /**
   * Who had read another result than this one, or an earlier one, is marked by now. Wakes all who
   * wait, be it for a first result: whatever is installed is told afterwards.
   */
  synchronized void told(Version version) {
    var known = standing.content.version();
    if (known == null || known.epoch() != version.epoch()) {
      return; // what another publisher said since then marks them all, or has
    }
    if (told == null || !isOld(version, told)) {
      told = version;
      waiters.wake(keeper.workers());
    }
  }

  /** Whether all know of this result, or of a later one. */
  synchronized boolean haveToldOf(Version version) {
    return told != null && told.epoch() == version.epoch() && told.sequence() >= version.sequence();
  }

  @Override
  public String toString() {
    return "cache of " + key;
  }
}
