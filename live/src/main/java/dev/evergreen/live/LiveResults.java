package dev.evergreen.live;

import dev.evergreen.core.Node;
import dev.evergreen.live.RefusedException.Reason;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The live results of an edge, one for each key. One without users is kept for a while, so that
 * whoever comes back finds it warm.
 *
 * <p>Safe for any number of threads. Who calls an edge's method under the lock of a result may call
 * this; this calls no result's method that takes that lock while it holds its own.
 *
 * @param <R> what the edge makes of them
 */
public final class LiveResults<R extends LiveResult> implements AutoCloseable {

  private static final int BURST_SECONDS = 60;
  private static final int BURST_SECONDS_OF_WORK = 10;

  /**
   * To follow a computation again takes as much work as ten short results: what it reads is
   * subscribed, and runs with each write until a while after it is followed no more.
   */
  static final int WORK_OF_FOLLOWING = 10;

  /** To write, hash and send so many bytes costs about as much as to make a short result. */
  static final int BYTES_OF_WORK = 16 << 10;

  /** So long may computations be asked for each unit of work, a quarter of the time at least. */
  private static final double NANOS_OF_WORK = 625_000;

  private static final double LEAST_NANOS = 2.5e8;

  /** What takes longer waits for somebody rather than works. */
  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** So much for its key is a part of what every computation costs. */
  private static final int SHORT_KEY_BYTES = 512;

  private final Node node;
  private final LiveLimits limits;
  private final Rendering rendering;
  private final LongAdder written = new LongAdder();
  private final LongAdder waits = new LongAdder();

  /** Changed under this object's lock, which guards the users of its values, and all below. */
  private final Map<String, R> live = new ConcurrentHashMap<>();

  /** Those of them without users, the longest first. */
  private final Set<LiveResult> idle = new LinkedHashSet<>();

  private final Map<Object, Share> shares = new HashMap<>();

  private final Held held;

  private boolean closed;

  /** What was made for one payer. */
  private final class Share {
    private final Allowance newResults =
        new Allowance(limits.maxNewPerSecond(), BURST_SECONDS, System.nanoTime());

    /** Of what it asks for. */
    private final Allowance asked = ofWork(limits.maxWorkPerSecond());

    /** Of results: by themselves, as there may be more of them than any message is to wait for. */
    private final Allowance results = ofWork(limits.maxWorkPerSecond());

    /** Of the time in which its computations are asked, in nanoseconds. */
    private final Allowance asking =
        ofWork(Math.max(LEAST_NANOS, NANOS_OF_WORK * limits.maxWorkPerSecond()));

    /** Until then that is counted. */
    private long askedUntil = System.nanoTime() - LONGEST_NANOS;

    /** Those of its results without users, the longest first. */
    private final Set<LiveResult> idle = new LinkedHashSet<>();

    private int made;

    /** Of its results. */
    private long bytes;

    /**
     * What is asked for at the same time takes longer for that, so the time counts once: that in
     * which something is asked, whatever it is.
     *
     * <p>If each of its results pauses for as long as all take that are like it, all together keep
     * to their part of the time. So that is the most that one pauses, and that is owed for it: what
     * takes no time has no pause for what others took, nor after they have gone.
     *
     * @return for how many nanoseconds that is not to be asked for which took so long
     */
    private long payForAsking(long took, long now) {
      if (took <= 0) {
        return 0;
      }
      long uncounted = now - askedUntil;
      askedUntil = now;
      double one = Math.min(took, LONGEST_NANOS);
      return asking.owe(Math.min(one, (double) uncounted), one * Math.max(1, made), now);
    }

    private boolean isLikeNew(long now) {
      return made == 0
          && Stream.of(newResults, asked, results, asking).allMatch(each -> each.isFull(now));
    }
  }

  private static Allowance ofWork(double perSecond) {
    return new Allowance(perSecond, BURST_SECONDS_OF_WORK, System.nanoTime());
  }

  /** None yet, of what a node computes. */
  public LiveResults(Node node, LiveLimits limits, Rendering rendering) {
    this.node = node;
    this.limits = limits;
    this.rendering = rendering;
    this.held = new Held(rendering);
  }

  Node node() {
    return node;
  }

  Rendering rendering() {
    return rendering;
  }

  void countWritten() {
    written.increment();
  }

  /** The result of this key, which may be over; null if there is none. Takes no lock. */
  public @Nullable R find(String key) {
    return live.get(key);
  }

  /**
   * The result of this key, for one more user; give it back with {@link #release}. It is made and
   * begun if there is none, or if the one that there is is over.
   *
   * @param payers for whom; they pay for it if it must be made, and may have to later
   * @param made makes it, with this key and these payers; must not block
   * @throws RefusedException if it must be made and may not be
   */
  public synchronized R acquire(String key, List<?> payers, Supplier<R> made) {
    if (closed) {
      throw new RefusedException(Reason.CLOSED);
    }
    var found = live.get(key);
    if (found != null && !found.isOver()) {
      use(found, payers);
      return found;
    }
    if (found != null) {
      remove(found);
    }
    makeRoom(payers.stream().map(this::share).toList());
    var result = made.get();
    result.users.put(payers, 1);
    shares(result).forEach(share -> share.made++);
    live.put(key, result);
    boolean started = false;
    try {
      result.start();
      started = true;
    } finally {
      if (!started) {
        result.stop();
        remove(result); // Else who comes next would wait for it.
      }
    }
    return result;
  }

  private void use(LiveResult found, List<?> payers) {
    found.users.merge(payers, 1, Integer::sum);
    setIdle(found, false);
    if (!found.users.containsKey(found.payers)) {
      passOn(found, payers, charged(found));
    }
  }

  /**
   * What nobody uses makes room first, that of the same payer at that; nothing does if it would not
   * be enough.
   */
  private void makeRoom(List<Share> payers) {
    for (var share : payers) {
      if (!share.newResults.use(1, System.nanoTime())) {
        throw new RefusedException(Reason.TOO_MANY_NEW);
      }
    }
    if (!payers.stream().allMatch(this::mayHaveMore)) {
      throw new RefusedException(Reason.TOO_MANY_OF_PAYER);
    }
    if (live.size() >= limits.maxResults() && idle.isEmpty()) {
      throw new RefusedException(Reason.TOO_MANY);
    }
    payers.forEach(this::makeRoomForOne);
    if (live.size() >= limits.maxResults()) {
      evictFirst(idle);
    }
  }

  private boolean mayHaveMore(Share share) {
    return share.made < limits.maxResultsOfPayer() || !share.idle.isEmpty();
  }

  private void makeRoomForOne(Share share) {
    if (share.made >= limits.maxResultsOfPayer()) {
      evictFirst(share.idle);
    }
  }

  /**
   * Counts work that is about to be done for these payers, one after the other: it is due when all
   * that they asked for before has been made up for. Whoever waits for each piece of its work, and
   * asks for the next when that is done, has its turn among others of the same payer, and waits for
   * one piece of each of them at most. None of it is refused.
   *
   * @return in how many nanoseconds it is due
   */
  public synchronized long pay(List<?> payers, int work) {
    long now = System.nanoTime();
    return due(payers.stream().mapToLong(payer -> share(payer).asked.borrow(work, now)));
  }

  /**
   * Counts what was done for a result that differs from the one before. It is paid for by whom it
   * was made for; where they have not enough left, by somebody else who uses it and has: what one
   * has used up takes nothing from the others.
   *
   * @param asking for how long it was asked for, until now
   * @return for how many nanoseconds no other is to be made of it
   */
  synchronized long payFor(LiveResult result, int work, long asking) {
    return payForResults(payersOf(result, work), work, asking);
  }

  /**
   * Counts the first result of a computation, which is shown whatever is owed. So it is counted
   * where new ones are bounded: a long one as several. No more is owed for that than is saved in
   * the time of a burst, so that who comes later from the same address is not refused for longer.
   *
   * @return for how many nanoseconds no other is to be made of it
   */
  synchronized long payForFirst(LiveResult result, Present first) {
    long now = System.nanoTime();
    int more = workOf(first) - 1;
    double most = (double) BURST_SECONDS * limits.maxNewPerSecond();
    shares(result).forEach(share -> share.newResults.owe(more, most, now));
    return payForResults(payersOf(result, 0), 0, 0);
  }

  private long payForResults(List<Share> payers, int work, long asking) {
    long now = System.nanoTime();
    return due(
        payers.stream()
            .mapToLong(
                share ->
                    Math.max(share.results.borrow(work, now), share.payForAsking(asking, now))));
  }

  /** Who pays for a result: those who have enough left before those who have something. */
  private List<Share> payersOf(LiveResult result, int work) {
    long now = System.nanoTime();
    return payersOf(result, share -> share.results.has(work, now) && !isInDebt(share, now))
        .or(() -> payersOf(result, share -> !isInDebt(share, now)))
        .orElseGet(() -> shares(result));
  }

  private boolean isInDebt(Share share, long now) {
    return share.results.isUsedUp(now) || share.asking.isUsedUp(now);
  }

  private Optional<List<Share>> payersOf(LiveResult result, Predicate<Share> can) {
    var users = result.users.keySet();
    // Who has left pays for nothing that others use.
    var first = users.isEmpty() || users.contains(result.payers) ? result.payers : null;
    return Stream.concat(Stream.ofNullable(first), users.stream())
        .map(each -> each.stream().map(this::share).toList())
        .filter(each -> each.stream().allMatch(can))
        .findFirst();
  }

  /** How much work it is to make this. */
  static int workOf(Present made) {
    return 1 + made.length() / BYTES_OF_WORK;
  }

  private long due(LongStream each) {
    long pause = each.max().orElse(0);
    if (pause > 0) {
      waits.increment();
    }
    return pause;
  }

  /**
   * Counts a result instead of the last one of the same computation. What nobody uses makes room
   * first; then somebody else who uses it pays: that one user's share is full takes nothing from
   * the others.
   *
   * @return the same, in bytes that are shared by all that are equal
   * @throws RefusedException if there is no room; nothing is counted for the computation then
   */
  synchronized Present hold(LiveResult result, Present present) {
    if (!isLive(result)) {
      return present;
    }
    letGo(result);
    int bytes = present.length();
    int ofKey = bytesOfKey(result);
    if (!makeRoom(result, bytes + ofKey)) {
      return present;
    }
    var shared = held.add(present);
    result.held = shared;
    shares(result).forEach(share -> share.bytes += bytes);
    countBeside(result, ofKey);
    return shared;
  }

  /** What a long key takes, and the parameters that it stands for: clients choose them. */
  private static int bytesOfKey(LiveResult result) {
    return Math.max(0, 2 * result.key().length() - SHORT_KEY_BYTES);
  }

  /** Whether there is room now; not if the result was itself what nobody used the longest. */
  private boolean makeRoom(LiveResult result, int bytes) {
    if (!mayHold(bytes)) {
      if (!idle.contains(result)) {
        throw new RefusedException(Reason.TOO_LONG);
      }
      remove(result); // It is the one to go: all others would go in vain.
      result.stop();
      return false;
    }
    boolean paid = makeRoom(result, shares(result), bytes) || passOn(result, bytes);
    if (!isLive(result)) {
      return false;
    }
    if (!paid) {
      throw new RefusedException(Reason.TOO_LONG_OF_PAYER);
    }
    while (held.bytes() + bytes > limits.maxBytes()) {
      if (!evictFirst(idle)) {
        throw new RefusedException(Reason.TOO_LONG);
      }
      if (!isLive(result)) {
        return false;
      }
    }
    return true;
  }

  /** Whether there is room for so many bytes in all, if need be by what nobody uses. */
  private boolean mayHold(long bytes) {
    long missing = held.bytes() + bytes - limits.maxBytes();
    return missing <= 0 || held.frees(idle, missing);
  }

  /** Makes room in all of these, or in none. */
  private boolean makeRoom(LiveResult result, List<Share> payers, long bytes) {
    if (!payers.stream().allMatch(share -> mayHold(share, bytes))) {
      return false;
    }
    for (var share : payers) {
      while (isLive(result)
          && share.bytes + bytes > limits.maxBytesOfPayer()
          && evictFirst(share.idle)) {
        // Until it fits.
      }
    }
    return true;
  }

  /** Whether there is room for so many bytes, if need be by what nobody uses. */
  private boolean mayHold(Share share, long bytes) {
    long missing = share.bytes + bytes - limits.maxBytesOfPayer();
    for (var unused : share.idle) {
      if (missing <= 0) {
        break;
      }
      missing -= charged(unused);
    }
    return missing <= 0;
  }

  /** Has somebody else who uses it pay for a result of so many bytes; false if nobody can. */
  private boolean passOn(LiveResult result, long bytes) {
    return result.users.keySet().stream().anyMatch(payers -> passOn(result, payers, bytes));
  }

  /** Has these pay for a result that is in use, if it fits into their shares. */
  private boolean passOn(LiveResult result, List<?> payers, long bytes) {
    count(result, -1);
    var shares = payers.stream().map(this::share).toList();
    boolean fits = shares.stream().allMatch(this::mayHaveMore) && makeRoom(result, shares, bytes);
    if (fits) {
      shares.forEach(this::makeRoomForOne);
      result.payers = payers;
    }
    count(result, 1);
    return fits;
  }

  /** Has its payers pay for it once more, or once less. */
  private void count(LiveResult result, int times) {
    for (var share : shares(result)) {
      share.made += times;
      share.bytes += times * charged(result);
    }
  }

  /** What is counted for it at its payers, in bytes. */
  private static long charged(LiveResult result) {
    return result.held == null ? 0 : result.held.length() + result.bytesBeside;
  }

  private void letGo(LiveResult result) {
    var last = result.held;
    if (last != null) {
      result.held = null;
      held.remove(last);
      countBeside(result, -result.bytesBeside);
      shares(result).forEach(share -> share.bytes -= last.length());
    }
  }

  /**
   * Counts what an edge holds beside a result, until the next one, if there is room that nothing
   * else must make.
   */
  public synchronized boolean holdBeside(LiveResult result, int bytes) {
    if (result.held == null
        || held.bytes() + bytes > limits.maxBytes()
        || shares(result).stream()
            .anyMatch(share -> share.bytes + bytes > limits.maxBytesOfPayer())) {
      return false;
    }
    countBeside(result, bytes);
    return true;
  }

  private void countBeside(LiveResult result, int bytes) {
    result.bytesBeside += bytes;
    held.count(bytes);
    shares(result).forEach(share -> share.bytes += bytes);
  }

  /**
   * The bytes of all results that are held, equal ones once, of their keys where these are long,
   * and of what is held beside them.
   */
  public synchronized long heldBytes() {
    return held.bytes();
  }

  /** The shorter form of a result; null if there is none, or no room for it. */
  public byte @Nullable [] shorter(Present present) {
    Held.Shorter shorter;
    synchronized (this) {
      shorter = held.shorter(present, limits.maxBytes());
    }
    return shorter == null ? null : shorter.bytes();
  }

  private boolean evictFirst(Set<LiveResult> unused) {
    if (unused.isEmpty()) {
      return false;
    }
    var oldest = unused.iterator().next();
    remove(oldest);
    oldest.stop();
    return true;
  }

  private void setIdle(LiveResult result, boolean value) {
    setIn(idle, result, value);
    shares(result).forEach(share -> setIn(share.idle, result, value));
  }

  private static void setIn(Set<LiveResult> unused, LiveResult result, boolean value) {
    if (value) {
      unused.add(result);
    } else {
      unused.remove(result);
    }
  }

  private Share share(Object payer) {
    return shares.computeIfAbsent(payer, unknown -> new Share());
  }

  private List<Share> shares(LiveResult result) {
    return result.payers.stream().map(this::share).toList();
  }

  private void remove(LiveResult gone) {
    setIdle(gone, false);
    letGo(gone);
    shares(gone).forEach(share -> share.made--);
    live.remove(gone.key());
  }

  private boolean isLive(LiveResult result) {
    return live.get(result.key()) == result;
  }

  /**
   * One user less.
   *
   * @param payers as they were given to {@link #acquire} for this user
   */
  public synchronized void release(LiveResult result, List<?> payers) {
    result.users.computeIfPresent(payers, (same, uses) -> uses == 1 ? null : uses - 1);
    if (!isLive(result)) {
      return;
    }
    if (result.users.isEmpty()) {
      result.closeAtNanos = System.nanoTime() + limits.keepFor().toNanos();
      setIdle(result, true);
    } else if (!result.users.containsKey(result.payers)) {
      passOn(result, charged(result));
    }
  }

  /** Ends a result, whoever uses it. Idempotent. */
  public void end(LiveResult result) {
    synchronized (this) {
      if (isLive(result)) {
        remove(result);
      }
    }
    result.stop();
  }

  /**
   * Closes what has been without users for long enough, or is over; tells of others whose freshness
   * has changed. To be called now and then.
   */
  public void sweep() {
    var gone = new ArrayList<LiveResult>();
    List<R> others;
    synchronized (this) {
      long now = System.nanoTime();
      for (var result : idle) {
        if (result.isOver() || result.closeAtNanos - now <= 0) {
          gone.add(result);
        }
      }
      gone.forEach(this::remove);
      shares.values().removeIf(share -> share.isLikeNew(now));
      others = List.copyOf(live.values());
    }
    gone.forEach(LiveResult::stop);
    others.forEach(LiveResult::lookAtFreshness);
  }

  /** Shows all there are at the moment. */
  public void forEach(Consumer<? super R> each) {
    live.values().forEach(each);
  }

  /** How many there are. */
  public int size() {
    return live.size();
  }

  /** How many values have been written as JSON. */
  public long written() {
    return written.sum();
  }

  /** How often somebody had to wait, or a result, since too much work was done for who pays. */
  public long waits() {
    return waits.sum();
  }

  /** Ends all; no more are made. */
  @Override
  public void close() {
    List<R> all;
    synchronized (this) {
      closed = true;
      all = List.copyOf(live.values());
      all.forEach(this::remove);
    }
    all.forEach(LiveResult::stop);
  }
}
