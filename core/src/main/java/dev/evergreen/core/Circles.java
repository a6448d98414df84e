package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.Cache.Dependent;
import dev.evergreen.core.Cache.Edge;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A map of the part of the dependency graph that the suspects of this process can reach, and the
 * circles in it.
 *
 * <p><b>Pages.</b> What a summary reads is a {@linkplain Graph list} that is kept true like any
 * other result. The map has a page for each, with one edge to the cache of that list, however many
 * suspects can reach it. A page opens those of what is on it, as deep as its suspects are to look.
 * So the map follows the graph by itself, on whatever nodes that changes.
 *
 * <p><b>Verdicts.</b> A suspect is in a circle if something that it has read is in one component
 * with it. The components are found once for all, when the pages that were opened have answered or
 * have had their time. Then just those suspects are marked whose verdict is another. So a verdict
 * cannot outlive the edges that made it.
 *
 * <p><b>Doubt.</b> What is said of a circle rests on the lists of its members; that a suspect is in
 * none, on all lists that it can reach. It is in doubt as long as one of these is not heard of.
 *
 * <p><b>Cost.</b> Each process asks for each list once, and walks once along all of them for a
 * change of the graph, or for several. A suspect runs again only if its verdict has changed.
 *
 * <p>The monitor is taken with none held but those of caches, and none but that of {@link Waiters}
 * is taken with it held.
 */
final class Circles {

  /** A map of more pages leaves off, and finds no circles that are larger. */
  private static final int MAX_PAGES = 100_000;

  private static final int MAX_NAMED = 20;

  /** How deep what is read must be, for nothing to be looked at. */
  private static final int NOTHING = Integer.MAX_VALUE;

  private static final Comparator<SummaryKey> ORDER =
      Comparator.comparing(SummaryKey::grain)
          .thenComparing(SummaryKey::operation)
          .thenComparing(SummaryKey::arguments, Arrays::compare);

  private final Base base;
  private final Workers workers;
  private final Caches caches;
  private final long patience;

  @GuardedBy("this")
  private final Map<SummaryKey, Page> pages = new LinkedHashMap<>();

  @GuardedBy("this")
  private final Set<Suspect> suspects = new LinkedHashSet<>();

  /** Those of them who have a verdict, and are told when it is another. */
  @GuardedBy("this")
  private final Set<Suspect> judged = new LinkedHashSet<>();

  /** Pages whose lists nobody has asked for yet. */
  @GuardedBy("this")
  private final ArrayDeque<Page> toOpen = new ArrayDeque<>();

  /** Pages without a list that is still waited for, the oldest first. */
  @GuardedBy("this")
  private final Set<Page> awaited = new LinkedHashSet<>();

  /** Threads that wait until there are none. */
  private final Waiters judges = new Waiters();

  /** Whether the circles are to be found anew. */
  @GuardedBy("this")
  private boolean changed;

  /** Whether suspects are still to be told what was found. */
  @GuardedBy("this")
  private boolean untold;

  @GuardedBy("this")
  private boolean telling;

  @GuardedBy("this")
  private boolean watching;

  @GuardedBy("this")
  private boolean sweeping;

  Circles(Base base, Caches caches) {
    this.base = base;
    this.workers = base.workers();
    this.caches = caches;
    this.patience = base.settings().pushRetryAfter().toNanos();
  }

  /** What those end with that read or wait in a circle. */
  static Outcome.Threw failure(String circle) {
    return Outcome.Threw.of(
        new CycleException(circle + "; let one of them read less, or keep a copy in its state"));
  }

  // Suspects

  /** A summary that may be in a circle, by what a run of it has read. Guarded by the map. */
  final class Suspect {
    private final Dependent summary;
    private final SummaryKey own;
    private final List<Graph.Read> reads;

    private volatile @Nullable Circle circle;
    private volatile boolean inDoubt;

    /** Whether it was told that its verdict is another, and runs again. */
    private boolean outdated;

    private Suspect(Dependent summary, SummaryKey own, List<Graph.Read> reads) {
      this.summary = summary;
      this.own = own;
      this.reads = reads;
    }

    /** Its result as a member of a circle, when it was judged; null if it was in none. */
    Outcome.@Nullable Threw circle() {
      var known = circle;
      return known == null ? null : known.result;
    }

    /** Whether a list that the verdict rests on is not heard of. */
    boolean inDoubt() {
      return inDoubt;
    }

    /** Nobody rests on the verdict any more. */
    void forget() {
      synchronized (Circles.this) {
        judged.remove(this);
        if (suspects.remove(this)) {
          sweepLater();
        }
      }
    }
  }

  /** All who read each other, directly or through others. Guarded by the map. */
  private static final class Circle {
    final String description;
    final Outcome.Threw result;

    /** Whether a member's list is not heard of. */
    boolean inDoubt;

    Circle(String description) {
      this.description = description;
      this.result = failure(description);
    }
  }

  /**
   * Judges a summary by what it has read, and from then on marks it when the verdict is another.
   * Blocks while publishers are asked.
   *
   * @param least how deep what is read must be to be looked at; what has no result yet is anyway
   * @param stays whether it stays a suspect though it is in no circle
   * @return to be {@linkplain Suspect#forget forgotten} by whoever does not keep it; null if it is
   *     no suspect any more
   */
  @Nullable Suspect judge(
      Dependent summary, SummaryKey own, List<Graph.Read> reads, int least, boolean stays) {
    var suspect = new Suspect(summary, own, ownNames(reads));
    synchronized (this) {
      suspects.add(suspect);
      follow(suspect.reads, least);
    }
    explore(null);
    var next = new Tasks();
    synchronized (this) {
      if (!stays && isInnocent(suspect, least)) {
        suspects.remove(suspect);
        sweepLater();
        return null;
      }
      changed |= !awaited.isEmpty();
      findCircles();
      judged.add(suspect);
      suspect.circle = circleNow(suspect);
      suspect.inDoubt = inDoubtNow(suspect);
      tellLater(next);
    }
    workers.fork(next);
    return suspect;
  }

  /**
   * Whether it is certainly in no circle, by all that is so deep. This is the rule where a summary
   * has become deeper; that costs no look at the whole map.
   */
  @GuardedBy("this")
  private boolean isInnocent(Suspect suspect, int least) {
    var seen = new LinkedHashSet<Page>();
    var frontier = new ArrayDeque<Page>();
    for (var read : suspect.reads) {
      meet(read, least, seen, frontier);
    }
    for (var page = frontier.poll(); page != null; page = frontier.poll()) {
      if (page.key.equals(suspect.own) || page.circle != null || isInDoubt(page)) {
        return false;
      }
      for (var read : page.reads) {
        // How deep it is on a page may be less than it is by now.
        meet(read, Math.min(least, page.least), seen, frontier);
      }
    }
    return true;
  }

  @GuardedBy("this")
  private void meet(Graph.Read read, int least, Set<Page> seen, ArrayDeque<Page> frontier) {
    var page = follows(read, least) ? pages.get(read.summary()) : null;
    if (page != null && seen.add(page)) {
      frontier.add(page);
    }
  }

  @GuardedBy("this")
  private boolean isInDoubt(Page page) {
    return page.inDoubt || awaited.contains(page);
  }

  /**
   * Whether a run waits for itself, along reads that have no result. Blocks as {@link #judge}.
   *
   * @param scope of the calling thread, which holds a baton
   * @param first what it waits for
   * @param through whose reads are looked at
   * @return the circle; null if there is none
   */
  Outcome.@Nullable Threw waiting(
      Scope scope,
      Dependent summary,
      SummaryKey own,
      SummaryKey first,
      Predicate<SummaryKey> through) {
    var suspect = new Suspect(summary, own, ownNames(List.of(new Graph.Read(first, 0))));
    synchronized (this) {
      suspects.add(suspect);
    }
    try {
      var seen = new HashSet<SummaryKey>();
      var frontier = suspect.reads;
      while (!frontier.isEmpty()) {
        var waitedFor =
            frontier.stream()
                .filter(read -> read.depth() == 0 && through.test(read.summary()))
                .filter(read -> seen.add(read.summary()))
                .toList();
        frontier = waitedFor.isEmpty() ? List.of() : readOn(waitedFor, scope);
      }
      if (!seen.contains(own)) {
        return null;
      }
      synchronized (this) {
        findCircles();
        var circle = circleNow(suspect);
        return circle == null ? null : circle.result;
      }
    } finally {
      suspect.forget();
    }
  }

  /** What these read themselves, by their pages. */
  private List<Graph.Read> readOn(List<Graph.Read> reads, Scope scope) {
    synchronized (this) {
      for (var read : reads) {
        page(read.summary(), NOTHING);
      }
    }
    explore(scope);
    synchronized (this) {
      return pagesOf(reads).stream().flatMap(page -> page.reads.stream()).toList();
    }
  }

  /** Opens all pages that are to be looked at, and waits for them with patience. */
  private void explore(@Nullable Scope scope) {
    openPages();
    if (isExplored()) {
      return;
    }
    var thread = Thread.currentThread();
    judges.add(thread);
    try {
      Scope.await(workers, scope, this::isExplored, workers.nanos() + patience, false);
    } catch (CallInterruptedException e) {
      // What has not answered by now leaves it in doubt, and is looked at when it does.
      return;
    } finally {
      judges.remove(thread);
    }
  }

  private synchronized boolean isExplored() {
    return awaited.isEmpty();
  }

  @GuardedBy("this")
  private @Nullable Circle circleNow(Suspect suspect) {
    var page = pages.get(suspect.own);
    var circle = page == null ? null : page.circle;
    if (circle != null) {
      for (var read : pagesOf(suspect.reads)) {
        if (read.circle == circle) {
          return circle;
        }
      }
    }
    return null;
  }

  @GuardedBy("this")
  private boolean inDoubtNow(Suspect suspect) {
    var circle = circleNow(suspect);
    return circle != null
        ? circle.inDoubt
        : pagesOf(suspect.reads).stream().anyMatch(page -> page.reachesDoubt);
  }

  private List<Graph.Read> ownNames(List<Graph.Read> reads) {
    return reads.stream()
        .map(read -> new Graph.Read(base.models().ownName(read.summary()), read.depth()))
        .toList();
  }

  // Pages

  /** What one summary reads. Guarded by the map. */
  private final class Page implements Dependent {
    private final SummaryKey key;
    private final long since = workers.nanos();

    /** Null until it is open, which ends with a look. */
    private volatile @Nullable Edge line;

    private List<Graph.Read> reads = List.of();

    /** How deep what is read must be to have a page, too. */
    private int least;

    /** Whether it is not heard of, other than that its first list is still waited for. */
    private boolean inDoubt;

    /** Whether a page is in doubt or waited for that can be reached from it, or itself. */
    private boolean reachesDoubt;

    private @Nullable Circle circle;

    Page(SummaryKey key, int least) {
      this.key = key;
      this.least = least;
    }

    /** To be called once, without monitors. */
    void open() {
      var edge = caches.retain(base.models().graph().readsOf(key), this);
      // From now on whatever comes marks this page.
      edge.cache().goOnWithout(edge, null);
      line = edge;
      look();
    }

    /** Takes what the list says now. */
    private void look() {
      var edge = line;
      if (edge == null) {
        return;
      }
      var said = edge.cache().take(edge);
      var now = ownNames(Graph.Names.list(said));
      synchronized (Circles.this) {
        if (pages.get(key) != this) {
          return;
        }
        // Another thread may have seen a later list meanwhile.
        if (said != null && edge.outcome() == said) {
          lists(this, now);
        }
        boolean doubt = edge.inDoubt() && !awaited.contains(this);
        changed |= inDoubt != doubt;
        inDoubt = doubt;
      }
    }

    @Override
    public @Nullable CallKey key() {
      return null;
    }

    @Override
    public void mark(@Nullable TraceContext cause) {
      look();
    }

    @Override
    public void schedule(Tasks next) {
      tellLater(next);
    }

    @Override
    public void standingChanged() {
      look();
      var next = new Tasks();
      tellLater(next);
      workers.fork(next);
    }
  }

  @GuardedBy("this")
  private void lists(Page page, List<Graph.Read> now) {
    if (!new HashSet<>(pagesOf(now)).equals(new HashSet<>(pagesOf(page.reads)))) {
      changed = true;
      sweepLater();
    }
    page.reads = now;
    follow(now, page.least);
    if (awaited.remove(page)) {
      changed |= page.reachesDoubt;
      wakeJudges();
    }
  }

  /**
   * Sees to it that there are pages for all that is so deep, and for what these read, and so on.
   */
  @GuardedBy("this")
  private void follow(List<Graph.Read> reads, int least) {
    var lowered = new ArrayDeque<List<Graph.Read>>();
    for (List<Graph.Read> at = reads; at != null; at = lowered.poll()) {
      for (var read : at) {
        var page = follows(read, least) ? page(read.summary(), least) : null;
        if (page != null && least < page.least) {
          page.least = least;
          lowered.add(page.reads);
        }
      }
    }
  }

  private static boolean follows(Graph.Read read, int least) {
    return least != NOTHING && (read.depth() == 0 || read.depth() >= least);
  }

  /** The page of a summary, which is made if there is none; null if the map is full. */
  @GuardedBy("this")
  private @Nullable Page page(SummaryKey key, int least) {
    var known = pages.get(key);
    if (known != null || pages.size() >= MAX_PAGES) {
      return known;
    }
    var page = new Page(key, least);
    pages.put(key, page);
    toOpen.add(page);
    awaited.add(page);
    watch();
    return page;
  }

  private void openPages() {
    for (var page = nextToOpen(); page != null; page = nextToOpen()) {
      page.open();
    }
  }

  private synchronized @Nullable Page nextToOpen() {
    return toOpen.poll();
  }

  @GuardedBy("this")
  private void wakeJudges() {
    if (awaited.isEmpty()) {
      judges.wake(workers);
    }
  }

  @GuardedBy("this")
  private void watch() {
    if (!watching && !awaited.isEmpty()) {
      watching = true;
      long left = awaited.iterator().next().since + patience - workers.nanos();
      workers.after(Math.max(1, left), this::endWaiting);
    }
  }

  /** Goes on without the lists that have had their time. */
  private void endWaiting(Tasks next) {
    synchronized (this) {
      watching = false;
      long due = workers.nanos() - patience;
      for (var late = awaited.iterator(); late.hasNext(); ) {
        var page = late.next();
        if (page.since - due <= 0) {
          late.remove();
          page.inDoubt = true;
          changed = true;
        }
      }
      wakeJudges();
      watch();
    }
    tell(next);
  }

  /** The pages of these, as far as there are any. */
  @GuardedBy("this")
  private List<Page> pagesOf(List<Graph.Read> reads) {
    var known = new ArrayList<Page>(reads.size());
    for (var read : reads) {
      var page = pages.get(read.summary());
      if (page != null) {
        known.add(page);
      }
    }
    return known;
  }

  // Telling

  /** Lets a task look at what has changed, unless one is to do so already. */
  private synchronized void tellLater(Tasks next) {
    boolean news = awaited.isEmpty() && !judged.isEmpty() && (changed || untold);
    boolean due = news || !toOpen.isEmpty();
    if (due && !telling) {
      telling = true;
      next.add(this::tellWhenExplored);
    }
  }

  private void tellWhenExplored(Tasks next) {
    synchronized (this) {
      telling = false;
    }
    openPages();
    if (isExplored()) {
      tell(next);
    }
  }

  /** Marks those whose verdict is another now, and tells those whose verdict stands otherwise. */
  private void tell(Tasks next) {
    var marked = new ArrayList<Suspect>();
    var affected = new ArrayList<Suspect>();
    synchronized (this) {
      if (judged.isEmpty()) {
        return;
      }
      findCircles();
      if (!untold) {
        return;
      }
      untold = false;
      for (var suspect : judged) {
        if (!suspect.outdated && suspect.circle != circleNow(suspect)) {
          suspect.outdated = true;
          marked.add(suspect);
        }
        if (suspect.inDoubt != inDoubtNow(suspect)) {
          suspect.inDoubt = !suspect.inDoubt;
          affected.add(suspect);
        }
      }
    }
    marked.forEach(suspect -> suspect.summary.mark(null));
    marked.forEach(suspect -> suspect.summary.schedule(next));
    affected.forEach(suspect -> suspect.summary.standingChanged());
  }

  // Circles

  /** Finds the circles, and what leads to lists that are not heard of. */
  @GuardedBy("this")
  private void findCircles() {
    if (!changed) {
      return;
    }
    changed = false;
    untold = true;
    var edges = new LinkedHashMap<Page, List<Page>>();
    for (var page : pages.values()) {
      edges.put(page, pagesOf(page.reads));
    }
    // What a component reads comes before it.
    for (var component : Components.of(edges.keySet(), at -> edges.getOrDefault(at, List.of()))) {
      boolean inDoubt = false;
      boolean reachesDoubt = false;
      boolean isCircle = component.size() > 1;
      var members = new HashSet<>(component);
      for (var page : component) {
        inDoubt |= isInDoubt(page);
        for (var read : edges.getOrDefault(page, List.of())) {
          isCircle |= read == page;
          reachesDoubt |= !members.contains(read) && read.reachesDoubt;
        }
      }
      var circle = isCircle ? circleOf(component) : null;
      if (circle != null) {
        circle.inDoubt = inDoubt;
      }
      for (var page : component) {
        page.circle = circle;
        page.reachesDoubt = reachesDoubt || inDoubt;
      }
    }
  }

  /** The circle of these, which is the same object as before if it is the same. */
  @GuardedBy("this")
  private Circle circleOf(List<Page> component) {
    var description = describe(component);
    var before = component.getFirst().circle;
    return before != null && before.description.equals(description)
        ? before
        : new Circle(description);
  }

  /** The same words for all members of a circle. */
  @GuardedBy("this")
  private String describe(List<Page> component) {
    var members = component.stream().sorted(Comparator.comparing(page -> page.key, ORDER)).toList();
    var path = simplePath(members);
    var names = (path != null ? path : members).stream().map(page -> page.key.toString()).toList();
    int more = names.size() - MAX_NAMED;
    var shown =
        String.join(
            path != null ? " -> " : ", ", names.subList(0, names.size() - Math.max(0, more)));
    return "reads go in "
        + (path != null ? "a circle: " : "circles among ")
        + shown
        + (more > 0 ? " and " + more + " more" : "")
        + argumentsOf(members);
  }

  /** The way around from the first member to itself, if each reads just one other. */
  @GuardedBy("this")
  private @Nullable List<Page> simplePath(List<Page> members) {
    var all = new HashSet<>(members);
    var path = new ArrayList<Page>();
    var first = members.getFirst();
    for (var at = first; path.isEmpty() || at != first; ) {
      path.add(at);
      var next = new LinkedHashSet<>(pagesOf(at.reads));
      next.retainAll(all);
      if (next.size() != 1) {
        return null;
      }
      at = next.getFirst();
    }
    path.add(first);
    return path;
  }

  /** Tells circles apart that differ in their members' arguments only. */
  private static String argumentsOf(List<Page> members) {
    int hash = 1;
    for (var member : members) {
      hash = 31 * hash + Arrays.hashCode(member.key.arguments());
    }
    boolean none = members.stream().allMatch(member -> member.key.arguments().length == 0);
    return none ? "" : " (arguments " + Integer.toHexString(hash) + ")";
  }

  // Reclaim

  @GuardedBy("this")
  private void sweepLater() {
    if (!sweeping) {
      sweeping = true;
      workers.after(caches.grace() + 1, this::sweep);
    }
  }

  /** Gives up the pages that no suspect can reach. */
  private void sweep(Tasks next) {
    var unused = new ArrayList<Edge>();
    synchronized (this) {
      sweeping = false;
      var from = new ArrayList<Graph.Read>();
      suspects.forEach(suspect -> from.addAll(suspect.reads));
      var used = reached(from);
      for (var all = pages.values().iterator(); all.hasNext(); ) {
        var page = all.next();
        var line = page.line;
        if (line != null && !used.contains(page.key)) {
          all.remove();
          awaited.remove(page);
          unused.add(line);
        }
      }
      wakeJudges();
    }
    new Edges(unused).releaseForGood();
    tellWhenExplored(next);
  }

  /** What has pages and can be reached. */
  @GuardedBy("this")
  private Set<SummaryKey> reached(Collection<Graph.Read> from) {
    var reached = new HashSet<SummaryKey>();
    var frontier = new ArrayDeque<>(from);
    while (!frontier.isEmpty()) {
      var page = pages.get(frontier.poll().summary());
      if (page != null && reached.add(page.key)) {
        frontier.addAll(page.reads);
      }
    }
    return reached;
  }
}
