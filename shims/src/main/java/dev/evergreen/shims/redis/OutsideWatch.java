package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Bytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
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
 * some seconds; SWAPDB; a key that is deleted while others expire.
 */
final class OutsideWatch extends Watch {
  /** So long a request explains what it names. */
  private static final long EXPLAINS_NANOS = Duration.ofSeconds(5).toNanos();

  private static final int SLOTS = 1 << 17;
  private static final int LONGEST_PUSH = 4 << 20;
  private static final byte[] ALL = {};

  /** A spool takes no longer one. */
  private static final int LONGEST_EVIDENCE = 64 << 10;

  /** What writes although Redis does not call it so, or what may. */
  private static final List<String> MORE =
      List.of("eval", "evalsha", "fcall", "pfcount", "function", "debug", "module");

  private final Set<String> writes = new HashSet<>(MORE);
  private int doublings;

  /** In pairs: the hash of a word, and when it passed. A lost one makes for a false alarm. */
  private final AtomicLongArray passed = new AtomicLongArray(2 * SLOTS);

  private volatile long allPassedAt = System.nanoTime() - EXPLAINS_NANOS;
  private long expired;
  private long evicted;

  OutsideWatch(RedisShim shim) {
    super(shim);
  }

  @Override
  void ask(Connection made) throws IOException {
    doublings = doublings(made);
    var introduction = new ArrayList<byte[]>();
    introduction.add(Identity.request("HELLO", "3"));
    introduction.add(Identity.request("INFO", "stats"));
    introduction.add(Identity.request("ACL", "CAT", "write"));
    introduction.add(Identity.request("CLIENT", "TRACKING", "ON", "BCAST"));
    var replies = Exchange.ask(made, introduction);
    if (replies.stream().anyMatch(Exchange.Reply::isError)) {
      throw new IOException("Redis does not let the shim notice writes: " + replies);
    }
    count(replies.get(replies.size() - 3).text());
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
      for (var word : words.subList(1, words.size())) {
        note(Bytes.of(word));
      }
    }
  }

  /** The same words have just passed again. */
  void note(Bytes word) {
    long hash = hash(word);
    int slot = slot(hash);
    passed.set(slot + 1, System.nanoTime());
    passed.set(slot, hash);
  }

  private static long hash(Bytes word) {
    long hash = 0xcbf29ce484222325L;
    for (int i = 0; i < word.length(); i++) {
      hash = (hash ^ word.at(i)) * 0x100000001b3L;
    }
    return hash ^ hash >>> 29;
  }

  private static int slot(long hash) {
    return 2 * (int) (hash & SLOTS - 1);
  }

  private boolean isExplained(Bytes key) {
    long hash = hash(key);
    int slot = slot(hash);
    return passed.get(slot) == hash && isLate(passed.get(slot + 1));
  }

  private static boolean isLate(long nanos) {
    return System.nanoTime() - nanos < EXPLAINS_NANOS;
  }

  @Override
  void listen(Connection connection) throws IOException {
    var buffer = ByteBuffer.allocate(1 << 16);
    var scanner = new ReplyScanner();
    var message = new java.io.ByteArrayOutputStream();
    while (connection.read(buffer.clear()) >= 0) {
      int end = buffer.position();
      var pushes = new ArrayList<Bytes>();
      scanner.at = 0;
      for (int from = 0; from < end; from = scanner.at) {
        boolean whole = scanner.scan(buffer, end);
        message.write(buffer.array(), from, scanner.at - from);
        if (scanner.strange() || message.size() > LONGEST_PUSH) {
          throw new IOException("Redis tells of too many keys at once");
        }
        if (whole) {
          pushes.add(Bytes.of(message.toByteArray()));
          message.reset();
        }
      }
      look(pushes);
    }
  }

  private void look(List<Bytes> pushes) throws IOException {
    var strange = new HashSet<Bytes>();
    for (var push : pushes) {
      if (Resp.read(push) instanceof List<?> words
          && words.size() == 2
          && Bytes.of("invalidate").equals(words.getFirst())) {
        if (words.get(1) instanceof List<?> keys) {
          keys.forEach(key -> strange.add((Bytes) key));
        } else if (!isLate(allPassedAt)) {
          shim.tape.outside(ALL);
        }
      }
    }
    strange.removeIf(this::isExplained);
    if (!strange.isEmpty()) {
      // Those who are told of requests are told of what scripts do, too, a little later.
      shim.awaitEffects();
      strange.removeIf(this::isExplained);
    }
    if (!strange.isEmpty()) {
      tell(List.copyOf(strange));
    }
  }

  /** Tells of keys that somebody has written, but for those that have expired. */
  private void tell(List<Bytes> keys) throws IOException {
    try (var connection = shim.connect()) {
      var requests = new ArrayList<>(shim.introduction());
      int before = requests.size();
      requests.add(Identity.request("INFO", "stats"));
      requests.add(Identity.request("INFO", "keyspace"));
      var replies = Exchange.ask(connection, requests);
      long expiredBefore = expired;
      long evictedBefore = evicted;
      count(replies.get(before).text());
      var gone = new ArrayList<Bytes>();
      var databases =
          Pattern.compile("(?m)^db([0-9]+):")
              .matcher(replies.get(before + 1).text())
              .results()
              .map(found -> found.group(1))
              .toList();
      for (var key : keys) {
        if (exists(connection, databases, key)) {
          outside(key);
        } else {
          gone.add(key);
        }
      }
      if (evicted > evictedBefore || gone.size() > expired - expiredBefore) {
        gone.forEach(this::outside);
      }
    }
  }

  private static boolean exists(Connection connection, List<String> databases, Bytes key)
      throws IOException {
    var requests = new ArrayList<byte[]>();
    for (var database : databases) {
      requests.add(Identity.request("SELECT", database));
      requests.add(Resp.write(List.of(Bytes.of("EXISTS"), key)));
    }
    return !requests.isEmpty()
        && Exchange.ask(connection, requests).stream()
            .anyMatch(reply -> reply.text().equals(":1\r\n"));
  }

  private void outside(Bytes key) {
    boolean told = doublings <= RedisKind.DOUBLINGS && key.length() < LONGEST_EVIDENCE;
    shim.tape.outside(told ? RedisKind.evidence(doublings, key) : ALL);
  }

  private void count(String stats) {
    expired = number(stats, "expired_keys");
    evicted = number(stats, "evicted_keys");
  }

  private static long number(String stats, String name) {
    var found = Pattern.compile("(?m)^" + name + ":([0-9]+)").matcher(stats);
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }
}
