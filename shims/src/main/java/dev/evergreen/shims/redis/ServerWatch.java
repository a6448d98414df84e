package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Skew;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.Upstream;
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
  private static final Duration LONGEST_PATIENCE = Duration.ofHours(1);

  private final RedisShim shim;
  private final Upstream upstream;
  private final Tape tape;
  private final String user;
  private final String password;
  private @Nullable Connection connection;
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

  /**
   * Begins to watch.
   *
   * @throws IOException if the store cannot be reached, or cannot be served; the message says why
   */
  void begin() throws IOException {
    var made = connect();
    try {
      introduce(made);
      connection = made;
    } catch (IOException | RuntimeException | Error e) {
      made.close();
      throw e;
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
    var replies = Exchange.ask(made, requests);
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
    leftovers.meet(made, field(server.text(), RUN_ID), first);
    if (first && "master".equals(field(replication, "role"))) {
      found.addAll(ofNothing(made));
    }
    first = false;
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
    var reply = Exchange.ask(made, List.of(Identity.request("TIME"))).getFirst();
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
    var server = Exchange.ask(present, List.of(Identity.request("INFO", "server"))).getFirst();
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
    var reply = Exchange.ask(present, List.of(Identity.request("INFO", "replication"))).getFirst();
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
    threshold = read.isZero() || read.compareTo(LONGEST_PATIENCE) > 0 ? LONGEST_PATIENCE : read;
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
    var present = connection;
    connection = null;
    if (present != null) {
      try (present) {
        present.readTimeout(BETWEEN_LOOKS);
        while (isThere(present)) {
          // Whatever Redis says unasked, it is there.
        }
      } catch (IOException | UncheckedIOException e) {
        LOG.log(Level.DEBUG, "the store has gone", e);
      } finally {
        isUnknown(false);
      }
    }
  }

  private boolean isThere(Connection present) throws IOException {
    try {
      return present.read(ByteBuffer.allocate(64)) >= 0;
    } catch (SocketTimeoutException e) {
      present.readTimeout(LONGEST_PATIENCE);
      if (saysItsNameAtLast(present)) {
        introduce(present);
      } else {
        look(present);
      }
      present.readTimeout(BETWEEN_LOOKS);
      return true;
    }
  }
}
