package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Skew;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.regex.Pattern;

/**
 * Notices writes that do not pass the shim. Redis tells the names of all keys that are written, by
 * a connection that tracks them; one that no request that passed lately has named was written by
 * somebody else. What is gone may have expired: that is so as long as Redis counts as many keys
 * that have.
 *
 * <p>What is taken for a write from outside may be one of a script to a key that it does not
 * declare. What is not noticed: a write from outside beside one that passed, of the same key within
 * some seconds; SWAPDB; a key that is deleted within a second or two in which others expire that
 * requests of the last seconds explain, but for those that these have told to expire so soon.
 */
final class OutsideWatch extends Watch {
  /** So long a request explains what it names. */
  private static final long EXPLAINS_NANOS = Duration.ofSeconds(5).toNanos();

  private static final int SLOTS = 1 << 17;
  private static final int LONGEST_PUSH = 4 << 20;
  private static final byte[] ALL = {};
  private static final byte[] STATS = Identity.request("INFO", "stats");
  private static final byte[] PING = Identity.request("PING");
  private static final Bytes PONG = Bytes.of("PONG");
  private static final Bytes INVALIDATE = Bytes.of("invalidate");

  /** Of what has expired in a longer time it would not be known what else has gone in it. */
  private static final Duration BETWEEN_COUNTS = Duration.ofSeconds(1);

  /** So many keys are looked for together. */
  private static final int MOST_ASKED = 100;

  /** Of so many keys at once it is known that they expire soon. */
  private static final int MOST_BRIEF = 1_000;

  /** What may give a key a deadline. */
  private static final Set<String> DEADLINES =
      Set.of(
          "set",
          "getex",
          "setex",
          "psetex",
          "expire",
          "pexpire",
          "expireat",
          "pexpireat",
          "restore");

  /** A spool takes no longer one. */
  private static final int LONGEST_EVIDENCE = 64 << 10;

  /** What writes although Redis does not call it so, or what may. */
  private static final List<String> MORE =
      List.of("eval", "evalsha", "fcall", "pfcount", "function", "debug", "module");

  /** How many keys Redis has taken away by itself. */
  private record Stats(long expired, long evicted) {
    static final Stats NONE = new Stats(0, 0);

    static Stats of(String text) {
      return new Stats(number(text, "expired_keys"), number(text, "evicted_keys"));
    }

    private static long number(String stats, String name) {
      var found = Pattern.compile("(?m)^" + name + ":([0-9]+)").matcher(stats);
      return found.find() ? Long.parseLong(found.group(1)) : 0;
    }
  }

  /** What was told from one count on to the next. */
  private static final class Going {
    final Stats since;

    /** That no request explains, and that were not there any more. */
    final Set<Bytes> gone = new HashSet<>();

    /** That may have expired so soon after a request that it explains them. */
    final Set<Bytes> brief = new HashSet<>();

    Going(Stats since) {
      this.since = since;
    }

    void addBrief(Bytes key) {
      if (brief.size() < MOST_BRIEF) {
        brief.add(key);
      }
    }
  }

  private final Set<String> writes = new HashSet<>(MORE);
  private int doublings;

  /** In pairs: the hash of a word, and when it passed. A lost one makes for a false alarm. */
  private final AtomicLongArray passed = new AtomicLongArray(2 * SLOTS);

  private volatile long allPassedAt = System.nanoTime() - EXPLAINS_NANOS;

  // Of the listener.
  private Going earlier = new Going(Stats.NONE);
  private Going latest = new Going(Stats.NONE);
  private Stats counted = Stats.NONE;

  /** Whether it was asked what went by itself, and not all of that was told yet. */
  private boolean counting;

  OutsideWatch(RedisShim shim) {
    super(shim);
  }

  @Override
  void ask(Connection made) throws IOException {
    doublings = doublings(made);
    var introduction = new ArrayList<byte[]>();
    introduction.add(Identity.request("HELLO", "3"));
    introduction.add(PING);
    introduction.add(STATS);
    introduction.add(Identity.request("ACL", "CAT", "write"));
    introduction.add(Identity.request("CLIENT", "TRACKING", "ON", "BCAST"));
    var replies = Exchange.ask(made, introduction);
    if (replies.stream().anyMatch(Exchange.Reply::isError)) {
      throw new IOException("Redis does not let the shim notice writes: " + replies);
    }
    earlier = new Going(Stats.of(replies.get(replies.size() - 3).text()));
    latest = new Going(earlier.since);
    addWrites(replies.get(replies.size() - 2).bytes());
  }

  /**
   * How often the databases that a key's evidence speaks of must be doubled, so that there are no
   * more: what is written in others would not be noticed. More often than can be told if there are.
   */
  private int doublings(Connection made) throws IOException {
    var requests = new ArrayList<>(shim.introduction());
    int before = requests.size();
    for (int i = 0; i <= RedisKind.DOUBLINGS; i++) {
      requests.add(Identity.request("SELECT", "" + (RedisKind.DATABASES << i)));
    }
    var replies = Exchange.ask(made, requests);
    int doublings = 0;
    for (var reply : replies.subList(before, replies.size())) {
      // Who may not ask does not know.
      doublings += reply.text().startsWith("-ERR ") ? 0 : 1;
    }
    return doublings;
  }

  private void addWrites(byte[] reply) {
    if (Resp.read(Bytes.of(reply)) instanceof List<?> names) {
      names.forEach(name -> writes.add(name.toString().split("\\|", 2)[0]));
    }
  }

  @Override
  void beginsAgain() {
    shim.tape.outside(ALL);
  }

  /** A request is about to be sent. */
  void passes(ByteBuffer request, int from, int to) {
    var words = Inline.wordsOf(request, from, to);
    var name = new String(words.getFirst(), java.nio.charset.StandardCharsets.ISO_8859_1);
    var command = name.toLowerCase(Locale.ROOT);
    if (command.startsWith("flush") || command.equals("swapdb")) {
      allPassedAt = System.nanoTime();
    } else if (writes.contains(command)) {
      boolean soon = DEADLINES.contains(command) && givesShortDeadline(words, shim.watch.clock());
      for (var word : words.subList(1, words.size())) {
        note(Bytes.of(word), soon);
      }
    }
  }

  /**
   * Whether a request gives its key a deadline that may pass while the request explains it.
   *
   * @param clock how far that of Redis is ahead; if nobody knows, they count as the same
   */
  static boolean givesShortDeadline(List<byte[]> words, Skew clock) {
    var now = Instant.now();
    var texts = words.stream().map(Bytes::of).toList();
    var request =
        new Operation(0, 0, 0, 0, "", now, now, texts, null)
            .with(clock.equals(Skew.UNKNOWN) ? Skew.NONE : clock);
    try {
      var deadline = Expiry.deadline(new Call(request, null));
      return deadline != null && deadline.earliest() < now.plusNanos(EXPLAINS_NANOS).toEpochMilli();
    } catch (RuntimeException refused) {
      // What Redis says to it is its business: it is passed on.
      return false;
    }
  }

  /**
   * A word has just passed; the lowest bit of its time tells whether what it names soon expires.
   */
  private void note(Bytes word, boolean soon) {
    long hash = hash(word);
    int slot = slot(hash);
    passed.set(slot + 1, (System.nanoTime() & ~1L) | (soon ? 1 : 0));
    passed.set(slot, hash);
  }

  private static long hash(Bytes word) {
    long hash = 0xcbf29ce484222325L;
    for (int i = 0; i < word.length(); i++) {
      hash = (hash ^ word.at(i)) * 0x100000001b3L;
    }
    return hash ^ hash >>> 29;
  }

  /** Two words with the same one are not both known. */
  static int slot(Bytes word) {
    return slot(hash(word));
  }

  private static int slot(long hash) {
    return 2 * (int) (hash & SLOTS - 1);
  }

  private boolean isExplained(Bytes key) {
    long hash = hash(key);
    int slot = slot(hash);
    return passed.get(slot) == hash && isLate(passed.get(slot + 1));
  }

  private boolean expiresSoon(Bytes key) {
    return isExplained(key) && (passed.get(slot(key) + 1) & 1) != 0;
  }

  private static boolean isLate(long nanos) {
    return System.nanoTime() - nanos < EXPLAINS_NANOS;
  }

  @Override
  void listen(Connection connection) throws IOException {
    var buffer = ByteBuffer.allocate(1 << 16);
    var scanner = new ReplyScanner();
    var message = new java.io.ByteArrayOutputStream();
    connection.readTimeout(BETWEEN_COUNTS);
    long countedAt = System.nanoTime();
    counting = false;
    while (isRead(connection, buffer.clear())) {
      int end = buffer.position();
      var messages = new ArrayList<Bytes>();
      scanner.at = 0;
      for (int from = 0; from < end; from = scanner.at) {
        boolean whole = scanner.scan(buffer, end);
        message.write(buffer.array(), from, scanner.at - from);
        if (scanner.strange() || message.size() > LONGEST_PUSH) {
          throw new IOException("Redis tells of too many keys at once");
        }
        if (whole) {
          messages.add(Bytes.of(message.toByteArray()));
          message.reset();
        }
      }
      look(connection, messages);
      if (!counting && System.nanoTime() - countedAt >= BETWEEN_COUNTS.toNanos()) {
        counting = true;
        countedAt = System.nanoTime();
        send(connection, STATS);
      }
    }
  }

  /** Whether it has not ended; nothing is read if nothing comes in time. */
  private static boolean isRead(Connection connection, ByteBuffer buffer) throws IOException {
    try {
      return connection.read(buffer) >= 0;
    } catch (SocketTimeoutException e) {
      return true;
    }
  }

  private static void send(Connection connection, byte[] request) throws IOException {
    connection.write(request);
    connection.flush();
  }

  private void look(Connection connection, List<Bytes> messages) throws IOException {
    var pushed = new HashSet<Bytes>();
    for (var message : messages) {
      switch (Resp.read(message)) {
        case List<?> words when words.size() == 2 && INVALIDATE.equals(words.getFirst()) -> {
          if (words.get(1) instanceof List<?> keys) {
            keys.forEach(key -> pushed.add((Bytes) key));
          } else if (!isLate(allPassedAt)) {
            shim.tape.outside(ALL);
          }
        }
        case Bytes pong when pong.equals(PONG) -> {
          // All that Redis had counted has been told.
          take(pushed);
          pushed.clear();
          earlier = latest;
          latest = new Going(counted);
          counting = false;
        }
        case Bytes stats -> {
          counted = Stats.of(stats.text());
          send(connection, PING);
        }
        // For instance while a script is busy: later.
        case Resp.Failure _ -> counting = false;
        default -> {}
      }
    }
    take(pushed);
  }

  private void take(Set<Bytes> pushed) throws IOException {
    var strange = new HashSet<>(pushed);
    strange.removeIf(this::isExplained);
    if (!strange.isEmpty()) {
      // Those who are told of requests are told of what scripts do, too, a little later.
      shim.awaitEffects();
      strange.removeIf(this::isExplained);
    }
    pushed.stream().filter(this::expiresSoon).forEach(latest::addBrief);
    if (!strange.isEmpty()) {
      tell(List.copyOf(strange));
    }
  }

  /** Tells of keys that somebody has written, but for those that have expired. */
  private void tell(List<Bytes> keys) throws IOException {
    try (var connection = shim.connect(List.of()).connection()) {
      var databases = databases(connection);
      var there = there(connection, databases, keys);
      there.forEach(this::outside);
      var gone = keys.stream().filter(key -> !there.contains(key)).toList();
      latest.gone.addAll(gone);
      long went = wentByThemselves(connection, databases);
      // Behind what was looked for, as that may have expired only then.
      var stats = Stats.of(told(connection, List.of(STATS)));
      if (stats.evicted > earlier.since.evicted || went > stats.expired - earlier.since.expired) {
        gone.forEach(this::outside);
      }
    }
  }

  private List<String> databases(Connection connection) throws IOException {
    var requests = new ArrayList<>(shim.introduction());
    requests.add(Identity.request("INFO", "keyspace"));
    return Pattern.compile("(?m)^db([0-9]+):")
        .matcher(told(connection, requests))
        .results()
        .map(found -> found.group(1))
        .toList();
  }

  private static String told(Connection connection, List<byte[]> requests) throws IOException {
    var replies = Exchange.ask(connection, requests);
    if (replies.stream().anyMatch(Exchange.Reply::isError)) {
      throw new IOException("Redis does not tell what has gone by itself: " + replies);
    }
    return replies.getLast().text();
  }

  /** How many keys have expired since the count before the last, if nobody has removed any. */
  private long wentByThemselves(Connection connection, List<String> databases) throws IOException {
    long went = (long) earlier.gone.size() + latest.gone.size();
    var brief = new HashSet<>(earlier.brief);
    brief.addAll(latest.brief);
    brief.removeIf(key -> !expiresSoon(key));
    return went + brief.size() - there(connection, databases, List.copyOf(brief)).size();
  }

  /** Those of the keys that some database has. */
  private static Set<Bytes> there(Connection connection, List<String> databases, List<Bytes> keys)
      throws IOException {
    var there = new HashSet<Bytes>();
    for (int from = 0; from < keys.size(); from += MOST_ASKED) {
      var some = keys.subList(from, Math.min(from + MOST_ASKED, keys.size()));
      for (var database : databases) {
        var requests = new ArrayList<byte[]>();
        requests.add(Identity.request("SELECT", database));
        some.forEach(key -> requests.add(Resp.write(List.of(Bytes.of("EXISTS"), key))));
        var replies = Exchange.ask(connection, requests);
        for (int i = 0; i < some.size(); i++) {
          if (replies.get(1 + i).text().equals(":1\r\n")) {
            there.add(some.get(i));
          }
        }
      }
    }
    return there;
  }

  private void outside(Bytes key) {
    boolean told = doublings <= RedisKind.DOUBLINGS && key.length() < LONGEST_EVIDENCE;
    shim.tape.outside(told ? RedisKind.evidence(doublings, key) : ALL);
  }
}
