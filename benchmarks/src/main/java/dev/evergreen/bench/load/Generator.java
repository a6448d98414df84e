package dev.evergreen.bench.load;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Makes load by one thread, in a loop around the events of all connections.
 *
 * <p>In open loop a request is due at a time that does not depend on the server, and goes to the
 * connection that has been free for the longest time. Is none free, it waits, and what it waits
 * counts: the next request's due time simply stays in the past. So a server that stalls is charged
 * for every request that would have come meanwhile, not only for the few that it held up.
 *
 * <p>For one thread; allocates nothing per request.
 */
final class Generator implements AutoCloseable {

  /** A connection's requests leave together up to this size, each reply is at most so long. */
  private static final int BUFFER = 1 << 20;

  /** How long unanswered requests are waited for after the end. */
  private static final long PATIENCE_NANOS = Duration.ofSeconds(1).toNanos();

  private static final long LONGEST_FILL_NANOS = Duration.ofMinutes(5).toNanos();
  private static final int FILL_CONNECTIONS = 4;
  private static final int FILL_DEPTH = 64;

  private static final MemorySegment STORED =
      MemorySegment.ofArray("STORED\r\n".getBytes(StandardCharsets.US_ASCII));
  private static final MemorySegment MISS =
      MemorySegment.ofArray("END\r\n".getBytes(StandardCharsets.US_ASCII));

  private static final List<String> ERRORS = List.of("ERROR", "SERVER_ERROR", "CLIENT_ERROR");
  private static final int LONGEST_ERROR = 2048;

  private final LoadPlan plan;
  private final Keyspace keys;
  private final Sockets sockets = new Sockets();
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment input = arena.allocate(BUFFER);
  private final MemorySegment output = arena.allocate(BUFFER);
  private final Link[] links;
  private final SplittableRandom random;
  private final Histogram latencies = LoadResult.histogram();
  private final Histogram lags = LoadResult.histogram();
  private final Histogram served = LoadResult.histogram();

  /** A ring of the connections that take another request, once for each that they take. */
  private final int[] free;

  private int firstFree;
  private int frees;

  /** Since when there has been a free connection, if there is one. */
  private long freeSince;

  /** How long the output is that has not been sent. */
  private long written;

  private long measuredFrom;
  private long end;
  private long hits;
  private long misses;
  private long updates;
  private long errors;

  /** The next key of a filling; -1 when keys are drawn. */
  private int nextFilled = -1;

  /** Connects. Blocks until that is done. */
  Generator(LoadPlan plan, Keyspace keys) throws IOException {
    this.plan = plan;
    this.keys = keys;
    if (keys.longestValue() + Keyspace.LONGEST_FRAME > BUFFER / 2) {
      throw new IllegalArgumentException("values are too long: " + keys.longestValue());
    }
    random = new SplittableRandom(plan.seed());
    links = new Link[plan.connections()];
    free = new int[plan.connections() * plan.depth()];
    try {
      for (int i = 0; i < links.length; i++) {
        links[i] = new Link(sockets, plan, i);
      }
    } catch (IOException e) {
      close();
      throw e;
    }
    for (int d = 0; d < plan.depth(); d++) {
      for (int i = 0; i < links.length; i++) {
        addFree(i, 0);
      }
    }
  }

  /** Sets every key once. Blocks until that is done. */
  static void fill(LoadPlan plan, Keyspace keys) throws IOException {
    var filling =
        plan.withConnections(FILL_CONNECTIONS).withDepth(FILL_DEPTH).withUpdates(1).withRate(0);
    try (var generator = new Generator(filling, keys)) {
      generator.nextFilled = 0;
      long start = System.nanoTime();
      var result = generator.run(start, start, start + LONGEST_FILL_NANOS);
      if (result.updates() != keys.size()) {
        throw new IOException(
            "only %d of %d keys could be set".formatted(result.updates(), keys.size()));
      }
    }
  }

  /**
   * Makes the load of the plan.
   *
   * @param start when it begins, by {@link System#nanoTime}
   */
  LoadResult run(long start) throws IOException {
    long from = start + plan.warmUp().toNanos();
    return run(start, from, from + plan.time().toNanos());
  }

  private LoadResult run(long start, long from, long until) throws IOException {
    measuredFrom = from;
    end = until;
    freeSince = start;
    while (System.nanoTime() - start < 0) {
      sockets.await(start - System.nanoTime());
    }
    var schedule = plan.open() ? new Schedule(plan, start, random) : null;
    if (schedule == null) {
      for (var link : links) {
        refill(link, plan.depth(), System.nanoTime());
      }
    }
    long now = System.nanoTime();
    while (now - end < 0 && !filled()) {
      long wait = end - now;
      if (schedule != null) {
        sendDue(schedule, now);
        wait = frees > 0 ? Math.min(wait, schedule.next() - System.nanoTime()) : wait;
      }
      now = handle(sockets.await(wait), schedule);
    }
    drain();
    return result(schedule);
  }

  private boolean filled() {
    return nextFilled == keys.size() && frees == free.length;
  }

  /** Handles events; between any two what has become due is sent. Returns what time it is. */
  private long handle(int events, @Nullable Schedule schedule) throws IOException {
    long now = System.nanoTime();
    for (int i = 0; i < events; i++) {
      int answered = handle(i);
      now = System.nanoTime();
      if (schedule != null) {
        sendDue(schedule, now);
      } else if (now - end < 0) {
        refill(links[sockets.index(i)], answered, now);
      }
    }
    return now;
  }

  /** Handles an event; returns how many replies it brought. */
  private int handle(int event) throws IOException {
    int index = sockets.index(event);
    if (sockets.writable(event)) {
      links[index].sendRest(output);
    }
    int answered = takeReplies(links[index], index);
    if (sockets.ended(event)) {
      throw new IOException("the server closed a connection");
    }
    return answered;
  }

  private void sendDue(Schedule schedule, long now) throws IOException {
    while (frees > 0 && schedule.next() - now <= 0 && schedule.next() - end < 0) {
      int index = takeFree();
      long due = schedule.take();
      long lag = Math.max(0, System.nanoTime() - Math.max(due, freeSince));
      request(links[index], due, lag);
      flush(links[index]);
      now = System.nanoTime();
      if (due - measuredFrom >= 0) {
        LoadResult.record(lags, lag);
      }
    }
  }

  /** The closed loop's next requests, in one piece. */
  private void refill(Link link, int count, long now) throws IOException {
    for (int i = 0; i < count && nextFilled != keys.size(); i++) {
      takeFree();
      request(link, now, 0);
    }
    flush(link);
  }

  private void request(Link link, long due, long lag) throws IOException {
    int key = key();
    boolean update = plan.updates() > 0 && random.nextDouble() < plan.updates();
    if (written + keys.longestValue() + Keyspace.LONGEST_FRAME > BUFFER) {
      flush(link);
    }
    written = update ? keys.writeSet(key, output, written) : keys.writeGet(key, output, written);
    link.expect(due, lag, key, update);
  }

  private int key() {
    if (nextFilled >= 0) {
      return nextFilled++;
    }
    return plan.hot() ? 0 : random.nextInt(keys.size());
  }

  private void flush(Link link) throws IOException {
    if (written > 0) {
      link.send(output, written);
      written = 0;
    }
  }

  /** Takes all whole replies that are there; returns how many. */
  private int takeReplies(Link link, int index) throws IOException {
    int taken = 0;
    long inputEnd;
    do {
      inputEnd = link.receive(input);
      long now = System.nanoTime();
      long came = plan.open() && inputEnd > 0 ? sockets.arrival() : now;
      long at = 0;
      while (at < inputEnd) {
        if (link.waiting() == 0) {
          throw wrong("a reply that nobody asked for", at, inputEnd);
        }
        long next = takeReply(link, at, inputEnd, now, came);
        if (next < 0) {
          link.keep(input, at, inputEnd);
          break;
        }
        at = next;
        link.removeFirst();
        addFree(index, came);
        taken++;
      }
      // An edge comes only when all has been read: that is, when less came than there was room for.
    } while (inputEnd == input.byteSize());
    return taken;
  }

  /** Takes a reply; returns where it ends, or -1 if that is not there yet. */
  private long takeReply(Link link, long at, long inputEnd, long now, long came)
      throws IOException {
    boolean counted = now - measuredFrom >= 0 && now - end < 0;
    int key = link.firstKey();
    long next;
    if (link.firstUpdates()) {
      if (begins(STORED, at, inputEnd)) {
        next = at + STORED.byteSize();
        updates += next <= inputEnd && counted ? 1 : 0;
      } else {
        next = errorEnd(at, inputEnd);
        errors += next <= inputEnd && counted ? 1 : 0;
      }
    } else if (keys.isHit(key, input, at, inputEnd)) {
      next = at + keys.hitLength(key);
      hits += next <= inputEnd && counted ? 1 : 0;
    } else if (begins(MISS, at, inputEnd)) {
      next = at + MISS.byteSize();
      misses += next <= inputEnd && counted ? 1 : 0;
    } else {
      next = errorEnd(at, inputEnd);
      errors += next <= inputEnd && counted ? 1 : 0;
    }
    if (next > inputEnd) {
      return -1;
    }
    if (link.firstDue() - measuredFrom >= 0) {
      LoadResult.record(latencies, now - link.firstDue());
      LoadResult.record(served, came - link.firstDue() - link.firstLag());
    }
    return next;
  }

  private boolean begins(MemorySegment expected, long at, long inputEnd) {
    long length = Math.min(expected.byteSize(), inputEnd - at);
    return MemorySegment.mismatch(input, at, at + length, expected, 0, length) < 0;
  }

  /** Where the error's line ends, or beyond the input's end if that is not there yet. */
  private long errorEnd(long at, long inputEnd) throws IOException {
    long lineEnd = at;
    while (lineEnd < inputEnd && input.get(JAVA_BYTE, lineEnd) != '\n') {
      lineEnd++;
    }
    var line = text(at, lineEnd).strip();
    boolean whole = lineEnd < inputEnd;
    boolean error =
        ERRORS.stream().anyMatch(e -> line.startsWith(e) || (!whole && e.startsWith(line)));
    if (!error || lineEnd - at > LONGEST_ERROR) {
      throw wrong("neither the key's reply nor an error", at, inputEnd);
    }
    return lineEnd + 1;
  }

  private WrongReplyException wrong(String what, long at, long inputEnd) {
    return new WrongReplyException(what + ": '" + text(at, Math.min(inputEnd, at + 300)) + "'");
  }

  private String text(long at, long textEnd) {
    return new String(
        input.asSlice(at, textEnd - at).toArray(JAVA_BYTE), StandardCharsets.ISO_8859_1);
  }

  private void addFree(int index, long now) {
    if (frees == 0) {
      freeSince = now;
    }
    free[(firstFree + frees++) % free.length] = index;
  }

  private int takeFree() {
    int index = free[firstFree];
    firstFree = (firstFree + 1) % free.length;
    frees--;
    return index;
  }

  private void drain() throws IOException {
    long limit = System.nanoTime() + PATIENCE_NANOS;
    for (long now = System.nanoTime();
        frees < free.length && now - limit < 0;
        now = System.nanoTime()) {
      int events = sockets.await(limit - now);
      for (int i = 0; i < events; i++) {
        handle(i);
      }
    }
  }

  private LoadResult result(@Nullable Schedule schedule) {
    long now = System.nanoTime();
    long unanswered = 0;
    for (var link : links) {
      for (; link.waiting() > 0; link.removeFirst()) {
        if (link.firstDue() - measuredFrom >= 0) {
          LoadResult.record(latencies, now - link.firstDue());
          LoadResult.record(served, now - link.firstDue() - link.firstLag());
          unanswered++;
        }
      }
    }
    long unsent = 0;
    while (schedule != null && schedule.next() - end < 0) {
      long due = schedule.take();
      if (due - measuredFrom >= 0) {
        LoadResult.record(latencies, end - due);
        LoadResult.record(served, end - due);
        unsent++;
      }
    }
    return new LoadResult(
        Duration.ofNanos(end - measuredFrom),
        hits,
        misses,
        updates,
        errors,
        unanswered,
        unsent,
        latencies,
        lags,
        served);
  }

  @Override
  public void close() {
    for (var link : links) {
      if (link != null) {
        link.close();
      }
    }
    sockets.close();
    arena.close();
  }
}
