package dev.evergreen.shims.redis;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.provenance.Skew;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.shims.Address;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.Upstream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A connection by which the shim itself learns what the store is, and when it is another one: its
 * end is the sign that the store may have been restarted, and what it says of itself then begins an
 * epoch. Another one begins when it has become a master or a replica, or follows another history;
 * it is asked for that every second. While it is a replica, what it follows is written past the
 * shim. So it is asked what time it has: another epoch begins when its clock, or that of the shim,
 * was set, as nobody knows then which deadlines have passed.
 */
final class ServerWatch {
  private static final System.Logger LOG = System.getLogger(ServerWatch.class.getName());
  private static final Duration PAUSE = Duration.ofMillis(100);
  private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);
  private static final byte[] ALL = {};

  /** So many milliseconds clocks may drift apart before that counts as set. */
  private static final long DRIFT = 250;

  private static final int MOST_COMPARISONS = 5;

  private static final Pattern TIME =
      Pattern.compile("\\*2\r\n\\$[0-9]+\r\n([0-9]{1,12})\r\n\\$[0-9]+\r\n([0-9]{1,6})\r\n");
  private static final String RUN_ID = "run_id";
  private static final Duration LONGEST_THRESHOLD = Duration.ofHours(1);

  /** How long it may be silent before it is asked by another connection. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  /** How long it may take until it has said what it is. */
  private static final Duration LONGEST_BEGINNING = Duration.ofSeconds(30);

  private final RedisShim shim;
  private final Upstream upstream;
  private final Tape tape;
  private final String user;
  private final String password;
  private @Nullable Connection connection;
  private long nextLookNanos;

  /** Which process it is; empty if it does not tell. */
  private String process = "";

  private final Leftovers leftovers;

  /**
   * Whether no client was let in yet, so that nothing can have come between what the store says of
   * itself and the epoch that begins with it.
   */
  private boolean first = true;

  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Condition changed = lock.newCondition();
  private boolean known;
  private boolean failed;

  /** How often somebody wanted to know whether it is there, and how many of them do know. */
  private long asked;

  private long answered;

  /** Ends that nothing is asked. Written by who watches, under the lock if it is not null. */
  private volatile @Nullable CancelScope resting;

  private List<String> facts = List.of();

  /** What is on record of how far the store's clock is ahead of the shim's. Read without it. */
  private volatile Skew clock = Skew.UNKNOWN;

  /** How far it has followed another server; empty if it does not. */
  private String followed = "";

  private volatile Duration threshold = Duration.ofSeconds(5);

  /** How often it has become known which store it is. */
  private volatile int lives;

  ServerWatch(RedisShim shim, String user, String password) {
    this.shim = shim;
    this.upstream = shim.upstream;
    this.tape = shim.tape;
    this.leftovers = new Leftovers(shim);
    this.user = user;
    this.password = password;
  }

  /** The store's busy-reply-threshold, or its default. */
  Duration threshold() {
    return threshold;
  }

  /** How far the store's clock is ahead of the shim's; unknown if it does not tell. */
  Skew clock() {
    return clock;
  }

  /** Begins to watch. */
  void begin() throws IOException {
    begin(LONGEST_BEGINNING);
  }

  /**
   * The same.
   *
   * @param limit how long it may take
   * @throws IOException if the store cannot be reached, or cannot be served; the message says why
   */
  void begin(Duration limit) throws IOException {
    CancelScope.within(limit).run(this::meet);
  }

  private void meet() throws IOException {
    var made = connect();
    try {
      introduce(made);
      goOnBy(made);
    } catch (SocketTimeoutException e) {
      made.close();
      throw new SilentException(upstream.address(), e);
    } catch (IOException | RuntimeException | Error e) {
      made.close();
      throw e;
    }
  }

  /** A store that can be reached, but does not say what it is. */
  private static final class SilentException extends IOException {
    private static final long serialVersionUID = 1;

    SilentException(Address address, IOException cause) {
      super("Redis does not answer at " + address, cause);
    }
  }

  private Connection connect() throws IOException {
    try {
      return upstream.connect();
    } catch (IOException e) {
      throw new IOException(
          "Redis cannot be reached at %s: %s".formatted(upstream.address(), e.getMessage()), e);
    }
  }

  private void introduce(Connection made) throws IOException {
    var requests = new ArrayList<byte[]>();
    if (!password.isEmpty()) {
      requests.add(Identity.request("AUTH", user, password));
    }
    requests.addAll(
        List.of(
            Identity.request("INFO", "server"),
            Identity.request("INFO", "replication"),
            Identity.request("CONFIG", "GET", "busy-reply-threshold")));
    var replies = replies(made, requests);
    if (!password.isEmpty() && replies.removeFirst().isError()) {
      throw new IOException("Redis does not take the user and password that the shim was given");
    }
    var server = replies.get(0);
    if (server.isError()) {
      LOG.log(
          Level.WARNING,
          "Redis does not say what it is, so it is not noticed when it is another one: {0}",
          server.text().strip());
    }
    if ("cluster".equals(field(server.text(), "redis_mode"))) {
      throw new IOException(
          "Redis at %s is in cluster mode: it would send clients past the shim, to other nodes"
              .formatted(upstream.address()));
    }
    readThreshold(replies.get(2).text());
    var clock = compareClocks(made);
    var replication = replies.get(1).text();
    var found = facts(server.text(), replication);
    var met = field(server.text(), RUN_ID);
    leftovers.meet(made, met, first);
    shim.names.meet(made);
    if (first && "master".equals(field(replication, "role"))) {
      found.addAll(ofNothing(made));
    }
    first = false;
    if (!process.isEmpty() && !met.isEmpty() && !process.equals(met)) {
      shim.leaveFormerStore();
    }
    process = met;
    lock.lock();
    try {
      facts = found;
      note(clock);
      followed = followed(replication);
      beginEpoch();
      int before = lives;
      lives = before + 1;
      known = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** How far the store's clock is ahead of the shim's; not known if it refuses to tell. */
  private Skew compareClocks(Connection made) throws IOException {
    var best = compareOnce(made);
    // A reply that came late tells little.
    for (int i = 1; i < MOST_COMPARISONS && isWide(best); i++) {
      var next = compareOnce(made);
      best = next.width() < best.width() ? next : best;
    }
    return best;
  }

  private static boolean isWide(Skew skew) {
    return !skew.equals(Skew.UNKNOWN) && skew.width() > DRIFT;
  }

  private Skew compareOnce(Connection made) throws IOException {
    var before = tape.now();
    var reply = reply(made, "TIME");
    var after = tape.now();
    var said = TIME.matcher(reply.text());
    if (!said.matches()) {
      return Skew.UNKNOWN;
    }
    long time = Long.parseLong(said.group(1)) * 1_000 + Long.parseLong(said.group(2)) / 1_000;
    return new Skew(time - after.toEpochMilli() - 1, time - before.toEpochMilli() + 1);
  }

  private void note(Skew now) {
    clock = now.equals(Skew.UNKNOWN) ? now : now.within(DRIFT);
    facts = facts.stream().filter(fact -> !fact.startsWith(StoreKind.CLOCK)).toList();
    if (!clock.equals(Skew.UNKNOWN)) {
      facts = Stream.concat(facts.stream(), Stream.of(clock.fact())).toList();
    }
  }

  private void beginEpoch() {
    tape.epoch("redis", upstream.address().toString(), String.join("\n", facts));
    if (!followed.isEmpty()) {
      tape.outside(ALL);
    }
  }

  /** Begins an epoch, as the store was just told to take what another one has. */
  void renew() {
    lock.lock();
    try {
      facts = facts.stream().filter(fact -> !OF_NOTHING.contains(fact)).toList();
      beginEpoch();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns when it is on record which store it is.
   *
   * @throws IOException if the store does not say so any more
   */
  void awaitKnown() throws IOException {
    lock.lock();
    try {
      failed = false;
      while (!known) {
        if (failed || shim.isClosed()) {
          throw new IOException("the store has not said what it is");
        }
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * How often it has become known which store it is: a connection that was made before may be older
   * than the one by which that was learnt last.
   */
  int lives() {
    return lives;
  }

  private void isUnknown(boolean asked) {
    lock.lock();
    try {
      known = false;
      failed |= asked;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static String followed(String replication) {
    return "slave".equals(field(replication, "role"))
        ? field(replication, "master_repl_offset") + field(replication, "slave_repl_offset")
        : "";
  }

  /** Whether it did not say which process it is, as when it was busy, and does now. */
  private boolean saysItsNameAtLast(Connection present) throws IOException {
    if (isNamed()) {
      return false;
    }
    var server = reply(present, "INFO", "server");
    return !field(server.text(), RUN_ID).isEmpty();
  }

  private boolean isNamed() {
    lock.lock();
    try {
      return !facts.contains(fact(RUN_ID, ""));
    } finally {
      lock.unlock();
    }
  }

  private void look(Connection present) throws IOException {
    var reply = reply(present, "INFO", "replication");
    var now = facts("", reply.text());
    var time = compareClocks(present);
    lock.lock();
    try {
      // What was measured anew may also be known much better.
      boolean set =
          !time.equals(Skew.UNKNOWN)
              && (!clock.meets(time) || clock.width() > 4 * DRIFT + time.width());
      boolean same = reply.isError() || facts.containsAll(now.subList(SERVER_FACTS, now.size()));
      boolean written = !followed(reply.text()).equals(followed);
      followed = followed(reply.text());
      if (!same || set) {
        var kept = reply.isError() ? facts.subList(0, now.size()) : now;
        facts =
            Stream.concat(facts.stream().limit(SERVER_FACTS), kept.stream().skip(SERVER_FACTS))
                .toList();
        note(time);
        beginEpoch();
      } else if (written) {
        tape.outside(ALL);
      }
    } finally {
      lock.unlock();
    }
    leftovers.meetAgain();
  }

  private void readThreshold(String reply) {
    var lines = reply.lines().toList();
    var last = lines.getLast();
    if (lines.size() > 1 && last.matches("[0-9]{1,12}")) {
      setThreshold(Long.parseLong(last));
    }
  }

  /** The store has another busy-reply-threshold, or one that was not known; 0 for none. */
  void setThreshold(long millis) {
    var read = Duration.ofMillis(millis);
    threshold = read.isZero() || read.compareTo(LONGEST_THRESHOLD) > 0 ? LONGEST_THRESHOLD : read;
  }

  private static final List<String> OF_NOTHING =
      List.of(StoreKind.EMPTY, RedisKind.NO_SCRIPTS, RedisKind.NO_FUNCTIONS);

  /** Of what it has nothing. To be asked last: what others have left may just have been done. */
  private static List<String> ofNothing(Connection made) throws IOException {
    var replies =
        Exchange.ask(
            made,
            List.of(
                // Before what it has: when that is said, all that it keeps is there.
                Identity.request("INFO", "persistence"),
                Identity.request("INFO", "keyspace"),
                Identity.request("INFO", "memory")));
    return hasLoaded(replies.get(0).text())
        ? nothing(replies.get(1), replies.get(2).text())
        : List.of();
  }

  /** Whether it says that there is nothing more to come of what it has kept in files. */
  private static boolean hasLoaded(String persistence) {
    return field(persistence, "loading").equals("0")
        && !field(persistence, "async_loading").equals("1");
  }

  /** Of what it says that it has nothing, if it takes nothing from another. */
  private static List<String> nothing(Exchange.Reply keyspace, String memory) {
    var facts = new ArrayList<String>();
    if (!keyspace.isError() && !Pattern.compile("(?m)^db[0-9]").matcher(keyspace.text()).find()) {
      facts.add(StoreKind.EMPTY);
    }
    if (field(memory, "number_of_cached_scripts").equals("0")) {
      facts.add(RedisKind.NO_SCRIPTS);
    }
    if (field(memory, "number_of_functions").equals("0")) {
      facts.add(RedisKind.NO_FUNCTIONS);
    }
    return facts;
  }

  private static final int SERVER_FACTS = 3;

  private static List<String> facts(String server, String replication) {
    var facts = new ArrayList<String>();
    for (var name : List.of("redis_version", RUN_ID, "redis_mode")) {
      facts.add(fact(name, field(server, name)));
    }
    for (var name : List.of("role", "master_replid")) {
      facts.add(fact(name, field(replication, name)));
    }
    return facts;
  }

  private static String fact(String name, String value) {
    return name + ": " + value;
  }

  /** What INFO says of something; empty if nothing. */
  static String field(String info, String name) {
    var matcher = Pattern.compile("(?m)^" + name + ":(\\S*)").matcher(info);
    return matcher.find() ? matcher.group(1) : "";
  }

  /** Watches until the shim ends. */
  void run() {
    while (!shim.isClosed() && !Thread.currentThread().isInterrupted()) {
      try {
        awaitEnd();
        begin();
      } catch (SilentException e) {
        // Who waits for it waits on, as it would without the shim.
        LOG.log(Level.DEBUG, "the store is silent", e);
      } catch (IOException | UncheckedIOException e) {
        LOG.log(Level.DEBUG, "the store is not there", e);
        isUnknown(true);
        shim.sleep(PAUSE);
      } catch (RuntimeException | Error e) {
        // Who does not watch would let others be taken for the store that is on record.
        LOG.log(Watch.level(shim), "the shim could not look at the store", e);
        isUnknown(true);
        shim.sleep(Watch.AFTER_FAULT);
      }
    }
  }

  private void awaitEnd() {
    try {
      for (var present = connection; present != null && isThere(present); present = connection) {
        // It is the store that is on record.
      }
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.DEBUG, "the store has gone", e);
    } finally {
      isUnknown(false);
      goOnBy(null);
    }
  }

  private void goOnBy(@Nullable Connection next) {
    var before = connection;
    connection = next;
    nextLookNanos = System.nanoTime();
    if (before != null) {
      before.close();
    }
  }

  /** False when it has gone, or another one is there. */
  private boolean isThere(Connection present) throws IOException {
    var rest = CancelScope.within(Duration.ofNanos(nextLookNanos - System.nanoTime()));
    if (awaitsQuestion(rest)) {
      try {
        rest.run(present::awaitInput);
        // Whatever Redis says unasked, it is there.
        return present.tryRead(ByteBuffer.allocate(64)) >= 0;
      } catch (WaitCancelledException | DeadlineException e) {
        LOG.log(Level.TRACE, "it is to be asked something", e);
      } finally {
        resting = null;
      }
    }
    long question = asked();
    present.readTimeout(PATIENCE);
    try {
      ask(present);
    } catch (ReplacedException e) {
      LOG.log(Level.DEBUG, "the store is asked by another connection", e);
    }
    isAnswered(question);
    return true;
  }

  private void ask(Connection present) throws IOException {
    if (System.nanoTime() - nextLookNanos < 0) {
      var _ = reply(present, "PING");
    } else if (saysItsNameAtLast(present)) {
      introduce(present);
    } else {
      look(present);
      nextLookNanos = System.nanoTime() + BETWEEN_LOOKS.toNanos();
    }
  }

  private Exchange.Reply reply(Connection which, String... request) throws IOException {
    return replies(which, List.of(Identity.request(request))).getFirst();
  }

  private List<Exchange.Reply> replies(Connection which, List<byte[]> requests) throws IOException {
    return Exchange.ask(which, requests, which == connection ? this::isSilent : null);
  }

  /** By another connection the store has said that it is the same. */
  private static final class ReplacedException extends IOException {
    private static final long serialVersionUID = 1;
  }

  /**
   * It does not answer: it may be slow, or its machine have vanished without a word, and another
   * one have come in its place. That is asked by other connections, until one is answered.
   */
  private void isSilent() throws IOException {
    switch (whoIsThere()) {
      case SAME -> throw new ReplacedException();
      case ANOTHER -> throw new EOFException("another store is there");
      case NOBODY -> LOG.log(Level.DEBUG, "the store is silent");
    }
  }

  private enum Found {
    SAME,
    ANOTHER,
    /** Or one that is too busy to say which it is; if it is the same it says that here, too. */
    NOBODY
  }

  /** Asks it by a new connection, which is used from then on if it is the same. */
  private Found whoIsThere() {
    try {
      return CancelScope.within(PATIENCE)
          .call(
              () -> {
                var made = upstream.connect();
                var found = Found.NOBODY;
                try {
                  found = whoIs(made);
                } finally {
                  if (found != Found.SAME) {
                    made.close();
                  }
                }
                if (found == Found.SAME) {
                  goOnBy(made);
                }
                return found;
              });
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.DEBUG, "nobody answers in the store's place", e);
      return Found.NOBODY;
    }
  }

  private Found whoIs(Connection made) throws IOException {
    var requests = new ArrayList<>(shim.introduction());
    requests.add(Identity.request("INFO", "server"));
    var server = Exchange.ask(made, requests).getLast();
    if (server.text().startsWith("-BUSY")) {
      return Found.NOBODY;
    }
    return !process.isEmpty() && process.equals(field(server.text(), RUN_ID))
        ? Found.SAME
        : Found.ANOTHER;
  }

  /** Whether nobody wants to know whether it is there; who does cancels the scope. */
  private boolean awaitsQuestion(CancelScope rest) {
    lock.lock();
    try {
      resting = asked == answered ? rest : null;
      return resting != null;
    } finally {
      lock.unlock();
    }
  }

  private long asked() {
    lock.lock();
    try {
      return asked;
    } finally {
      lock.unlock();
    }
  }

  private void isAnswered(long question) {
    lock.lock();
    try {
      answered = question;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether the store that is on record is still there, and the same as after so many {@link
   * #lives}. Blocks until it has answered, or another one has.
   */
  boolean isStill(int life) {
    lock.lock();
    try {
      long mine = ++asked;
      var rest = resting;
      if (rest != null) {
        rest.cancel();
      }
      while (answered < mine && isKnownSince(life)) {
        changed.awaitUninterruptibly();
      }
      return isKnownSince(life);
    } finally {
      lock.unlock();
    }
  }

  private boolean isKnownSince(int life) {
    return known && lives == life && !shim.isClosed();
  }
}
