package dev.evergreen.memcached;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.fibers.Connection;
import dev.evergreen.store.Item;
import dev.evergreen.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Connections that watch what happens: a line for each event that they asked for. A watcher that
 * takes its lines too slowly misses some, and is told how many.
 */
final class Watchers {
  /** What can be watched. */
  enum Topic {
    FETCHERS,
    MUTATIONS,
    EVICTIONS,
    CONNEVENTS,
    DELETIONS;

    /** The one that clients call so; null if none is. */
    static @Nullable Topic of(String name) {
      return Arrays.stream(values())
          .filter(topic -> topic.name().toLowerCase(Locale.ROOT).equals(name))
          .findFirst()
          .orElse(null);
    }
  }

  private static final HexFormat HEX = HexFormat.of().withUpperCase();
  private static final int MOST_WATCHERS = 20;
  private static final int LINES_KEPT = 4096;

  private final Store store;
  private final Clock clock;
  private final List<Watcher> all = new CopyOnWriteArrayList<>();
  private final AtomicLong lastNumber = new AtomicLong();
  private final AtomicLong skipped = new AtomicLong();
  private final AtomicLong sent = new AtomicLong();
  private volatile long numbersBefore;
  private volatile Set<Topic> wanted = EnumSet.noneOf(Topic.class);

  Watchers(Store store, Clock clock) {
    this.store = store;
    this.clock = clock;
  }

  private record Watcher(Set<Topic> topics, BlockingQueue<String> lines, AtomicLong missed) {}

  int count() {
    return all.size();
  }

  /** How many events were told since the counts were reset. */
  long told() {
    return lastNumber.get() - numbersBefore;
  }

  /** How many lines were sent. */
  long sent() {
    return sent.get();
  }

  long skipped() {
    return skipped.get();
  }

  void resetCounts() {
    numbersBefore = lastNumber.get();
    sent.set(0);
    skipped.set(0);
  }

  boolean want(Topic topic) {
    return !all.isEmpty() && wanted.contains(topic);
  }

  /** Tells those who watch the topic; to be called only if somebody {@link #want wants} it. */
  void tell(Topic topic, String event) {
    long micros = System.currentTimeMillis() * 1000;
    var line =
        "ts=%d.%06d gid=%d type=%s\n"
            .formatted(micros / 1_000_000, micros % 1_000_000, lastNumber.incrementAndGet(), event);
    for (var watcher : all) {
      if (watcher.topics.contains(topic) && !watcher.lines.offer(line)) {
        watcher.missed.incrementAndGet();
        skipped.incrementAndGet();
      }
    }
  }

  private void tellEviction(MemorySegment key, Item item) {
    int now = clock.second();
    tell(
        Topic.EVICTIONS,
        "eviction key=%s fetch=%s ttl=%d la=%d clsid=1 size=%d"
            .formatted(
                encode(key),
                item.isFetched() ? "yes" : "no",
                item.expiry() == 0 ? -1 : item.expiry() - now,
                now - item.lastAccess(),
                item.valueLength()));
  }

  /**
   * Sends what happens to a connection until its client ends it.
   *
   * @return false if there are too many watchers already
   */
  boolean watch(MemcachedServer server, Connection connection, Set<Topic> topics)
      throws IOException {
    var watcher = new Watcher(topics, new ArrayBlockingQueue<>(LINES_KEPT), new AtomicLong());
    if (!add(watcher)) {
      return false;
    }
    try {
      connection.write(TextProtocol.bytes("OK\r\n"));
      connection.flush();
      connection.readTimeout(Session.FOR_EVER);
      connection.readDeadline(Session.FOR_EVER);
      // Whoever is called when this returns writes there, too: so this fiber is the one that sends.
      var sender = Thread.currentThread();
      try {
        server.spawn(() -> interruptAtEnd(connection, sender));
      } catch (IllegalStateException e) {
        // The server is being closed, and with it the connection.
        return true;
      }
      send(watcher, connection);
    } finally {
      remove(watcher);
    }
    return true;
  }

  /** Whatever a watcher says, it goes on watching until it leaves. */
  private static void interruptAtEnd(Connection connection, Thread sender) {
    var ignored = MemorySegment.ofArray(new byte[512]);
    try {
      while (connection.read(ignored) >= 0) {}
    } catch (IOException e) {
      // It has left.
    } finally {
      sender.interrupt();
    }
  }

  /** Returns when it is interrupted. */
  private void send(Watcher watcher, Connection connection) throws IOException {
    try {
      while (true) {
        for (var line = watcher.lines.take(); line != null; line = watcher.lines.poll()) {
          connection.write(line.getBytes(ISO_8859_1));
          sent.incrementAndGet();
        }
        long missed = watcher.missed.getAndSet(0);
        if (missed > 0) {
          connection.write(("skipped=" + missed + "\n").getBytes(ISO_8859_1));
        }
        connection.flush();
      }
    } catch (InterruptedException e) {
      connection.flush();
    }
  }

  private synchronized boolean add(Watcher watcher) {
    if (all.size() == MOST_WATCHERS) {
      return false;
    }
    all.add(watcher);
    refresh();
    return true;
  }

  private synchronized void remove(Watcher watcher) {
    all.remove(watcher);
    refresh();
  }

  private void refresh() {
    var topics = EnumSet.noneOf(Topic.class);
    all.forEach(watcher -> topics.addAll(watcher.topics));
    wanted = topics;
    store.listener(topics.contains(Topic.EVICTIONS) ? this::tellEviction : null);
  }

  /** A key in which all that is not a letter, a digit or one of {@code -._~} is encoded. */
  static String encode(MemorySegment key) {
    var text = new StringBuilder((int) key.byteSize());
    encode(key, text);
    return text.toString();
  }

  /** Appends such a key. */
  static void encode(MemorySegment key, StringBuilder to) {
    for (long i = 0; i < key.byteSize(); i++) {
      int c = key.get(JAVA_BYTE, i) & 0xff;
      if (c < 128 && (Character.isLetterOrDigit(c) || "-._~".indexOf(c) >= 0)) {
        to.append((char) c);
      } else {
        HEX.toHexDigits(to.append('%'), (byte) c);
      }
    }
  }
}
