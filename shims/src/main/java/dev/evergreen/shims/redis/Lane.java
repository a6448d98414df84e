package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpooledBody;
import dev.evergreen.shims.Line;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An upstream that many clients share, for commands that have nothing to do with their connection.
 * Its wire order is the order of the trace: requests are numbered, recorded and appended to what is
 * to be sent under one lock. Replies come in that order, so that the clients whose {@link Turn}s
 * come next are whom they are for.
 *
 * <p>Whoever appends sends, unless somebody else is just doing that, who will then send this, too:
 * so the requests of many leave together. It sends what Redis takes at once: for the rest a fiber
 * of the lane's own waits for Redis, and no client's, which is to notice that the lane is left.
 *
 * <p>What has to be in another database than that before waits until Redis has said that it is:
 * else a refusal would have it done in the wrong one.
 */
final class Lane {

  /** What becomes of requests that are handed over. */
  enum Result {
    /** They are on their way. */
    TAKEN,
    /** Redis does not let this user into the database. */
    REFUSED,
    /** The lane has ended, or was left. */
    ENDED
  }

  /** Learns how a request was replied to, before the reply reaches the client. */
  interface OnReply {
    void replied(ReplyScanner reply);
  }

  /** Of one client, or of the lane itself: the next replies are for it. Of the reader. */
  private static final class Turn {
    final @Nullable Session session;
    final @Nullable OnReply onReply;

    /** Of the first request, in the record; those of the others follow it, if it is there. */
    final long first;

    /** How many requests there are. */
    final int count;

    int replied;

    /** Whether the record is not told what is replied. */
    final boolean hidden;

    Turn(
        @Nullable Session session,
        long first,
        int count,
        @Nullable OnReply onReply,
        boolean hidden) {
      this.session = session;
      this.first = first;
      this.count = count;
      this.onReply = onReply;
      this.hidden = hidden;
    }

    /** Of the request that is replied to next, in the record. */
    long number() {
      return first < 0 ? first : first + replied;
    }
  }

  private static final class Selection {
    boolean done;
    boolean refused;
  }

  private static final int UNKNOWN = -1;
  private static final int LONGEST_SELECTION = 64 + Names.LONGEST_NAME;

  /** So many buffers a client's fiber sends, before a fiber of the lane's own goes on. */
  private static final int MOST_SENT = 4;

  private final Line line;
  private final Connection connection;
  private final boolean ofNobody;
  private final Tape tape;
  private final LongSupplier patienceNanos;
  private final Fibers fibers;
  private final Names names;

  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Condition changed = lock.newCondition();
  private final ArrayDeque<Turn> appended = new ArrayDeque<>();
  private ByteBuffer filling = ByteBuffer.allocateDirect(Buffers.SIZE);
  private boolean flushing;
  private @Nullable Selection selection;
  private int database;

  private volatile boolean ended;

  private volatile boolean left;

  /** Written under the lock. */
  private volatile long lastRequest;

  /** Of who is flushing. */
  private ByteBuffer sending = ByteBuffer.allocateDirect(Buffers.SIZE);

  // Of the reader.
  private final ArrayDeque<Turn> turns = new ArrayDeque<>();
  private final ReplyScanner scanner = new ReplyScanner();
  private final ArrayList<Part> parts = new ArrayList<>();
  private int partCount;
  private boolean pushing;
  private @Nullable SpooledBody body;

  /** Replies that came together and are not recorded yet, and the number of the first request. */
  private final Batch replies = new Batch();

  /** Whether Redis has said that it will send no more. */
  private boolean endedByStore;

  private long repliesTo;
  private long lastRecorded = Spool.DROPPED;
  private volatile long lastReply;

  /** When something was replied, or waited for, last. Tests have it be long ago. */
  volatile long progressNanos = System.nanoTime();

  /** What came for one client, one after the other. Of the reader. */
  private static final class Part {
    @Nullable Session session;
    int from;
    int to;
    int replies;
  }

  /**
   * Of a connection that has been introduced, and is in database 0.
   *
   * @param ofNobody whether Redis wants to know who it is first
   * @param patienceNanos how long it may be silent
   * @param fibers where it waits for Redis to take what is sent
   */
  Lane(
      Connection connection,
      boolean ofNobody,
      String description,
      Tape tape,
      LongSupplier patienceNanos,
      Fibers fibers,
      Names names) {
    this.connection = connection;
    this.ofNobody = ofNobody;
    this.tape = tape;
    this.patienceNanos = patienceNanos;
    this.fibers = fibers;
    this.names = names;
    line = new Line(tape, description);
  }

  boolean ended() {
    return ended;
  }

  /**
   * Whether Redis does not know who sends here, and wants to: then it takes short requests only.
   */
  boolean isOfNobody() {
    return ofNobody;
  }

  /** Whether there is any use in handing something over. */
  boolean isFit() {
    return !left && !isStuck();
  }

  /** Whether nothing was replied for too long although something is waited for. */
  boolean isStuck() {
    return outstanding() > 0 && System.nanoTime() - progressNanos > patienceNanos.getAsLong();
  }

  /** For so long at least it is of no use to ask again whether it answers. */
  long patienceLeftNanos() {
    long patience = patienceNanos.getAsLong();
    long left = patience - (System.nanoTime() - progressNanos);
    return left >= 0 ? left + 1 : patience;
  }

  /**
   * Nobody can hand anything over any more; it ends when all is replied to. Returns at once, though
   * who is just handing something over may be waiting for room on the record: those who wait for
   * the lane learn of it by {@link #tellLeft}.
   */
  void leave() {
    left = true;
  }

  /** Nobody has it any more: it ends when all is replied to. */
  void retire() {
    leave();
    tellLeft();
    if (outstanding() == 0) {
      close();
    }
  }

  /** Lets those know who wait to hand something over that they do so in vain. */
  void tellLeft() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Whether whoever waits to hand something over does so in vain. */
  private boolean isOver() {
    return ended || left;
  }

  /** Whether it ends, or has ended, because it was not used any more. */
  boolean wasLeft() {
    return left;
  }

  /** How many replies are waited for. */
  long outstanding() {
    return lastRequest - lastReply;
  }

  /**
   * Hands over requests that are replied to once each. They follow each other on the wire, too.
   * Blocks while Redis does not take what came before, but no longer than it may be silent.
   *
   * @param batch at most 64 KiB
   * @param told what the record is told, of each of them
   * @param onReply if there is only one
   * @param selects whether it leads to another database, or may
   */
  Result submit(
      Session session,
      int inDatabase,
      Batch batch,
      Told told,
      @Nullable OnReply onReply,
      boolean selects)
      throws IOException {
    boolean mine;
    lock.lock();
    try {
      var result = admit(inDatabase, batch.length());
      if (result != Result.TAKEN) {
        return result;
      }
      long first = record(session, inDatabase, batch, told);
      batch.bytes().clear();
      filling.put(filling.position(), batch.bytes(), batch.from(), batch.length());
      filling.position(filling.position() + batch.length());
      expect(new Turn(session, first, batch.count(), onReply, told.hidesReply()));
      if (selects) {
        database = UNKNOWN;
      }
      mine = !flushing;
      flushing = true;
    } finally {
      lock.unlock();
    }
    if (mine) {
      flush();
    }
    return Result.TAKEN;
  }

  /** Answers the number of the first; what is told otherwise than it came is one request. */
  private long record(Session session, int inDatabase, Batch batch, Told told) {
    long number = line.number();
    var recorded = told.bytes();
    return recorded == null
        ? tape.requests(session.number, number, inDatabase, batch)
        : tape.request(
            session.number, number, inDatabase, recorded.duplicate(), 0, recorded.capacity());
  }

  private void expect(Turn turn) {
    if (outstanding() == 0) {
      progressNanos = System.nanoTime();
    }
    appended.add(turn);
    long last = lastRequest;
    lastRequest = last + turn.count;
  }

  /** Waits until there is room, and the upstream is in a database. */
  private Result admit(int wanted, int length) throws IOException {
    while (true) {
      if (isOver()) {
        return Result.ENDED;
      }
      int room = database == wanted ? length : Math.max(length, LONGEST_SELECTION);
      if (selection != null || filling.remaining() < room) {
        await(() -> isOver() || (selection == null && filling.remaining() >= room));
      } else if (database == wanted) {
        return Result.TAKEN;
      } else if (!select(wanted)) {
        return isOver() ? Result.ENDED : Result.REFUSED;
      }
    }
  }

  private boolean select(int wanted) throws IOException {
    var request = names.request("SELECT", String.valueOf(wanted));
    var present = new Selection();
    selection = present;
    filling.put(request);
    expect(new Turn(null, 0, 1, reply -> selected(present, wanted, reply), false));
    if (!flushing) {
      flushing = true;
      lock.unlock();
      try {
        flush();
      } finally {
        lock.lock();
      }
    }
    await(() -> present.done || isOver());
    return present.done && !present.refused;
  }

  /** Waits, and leaves the lane if it does not answer: maybe nobody comes who would. */
  private void await(BooleanSupplier enough) throws IOException {
    try {
      while (!enough.getAsBoolean()) {
        long _ = changed.awaitNanos(patienceLeftNanos());
        if (isStuck()) {
          left = true;
          changed.signalAll();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the shim ends");
    }
  }

  private void selected(Selection present, int wanted, ReplyScanner reply) {
    lock.lock();
    try {
      present.done = true;
      present.refused = reply.isError();
      if (!present.refused) {
        database = wanted;
      }
      selection = null;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Sends what Redis takes at once. While others are under way, those who are ready may join. */
  private void flush() {
    try {
      if (outstanding() > 1 && Fibers.othersWait()) {
        Fibers.letOthersRun();
      }
      for (int i = 0; i < MOST_SENT; i++) {
        if (!nextToSend()) {
          return;
        }
        connection.trySend(sending);
        if (sending.hasRemaining()) {
          break;
        }
      }
      fibers.spawn(this::flushToEnd);
    } catch (IOException | UncheckedIOException e) {
      // Its reader learns of it.
      close();
    }
  }

  /** Sends until nothing is left, and waits for Redis as long as that takes. */
  private void flushToEnd() {
    try {
      do {
        connection.writeAndFlush(sending);
      } while (nextToSend());
    } catch (IOException | UncheckedIOException e) {
      close();
    }
  }

  /** Takes what is to be sent next; else nobody is flushing any more. */
  private boolean nextToSend() {
    lock.lock();
    try {
      var next = filling;
      if (next.position() == 0) {
        flushing = false;
        return false;
      }
      filling = sending.clear();
      sending = next.flip();
      changed.signalAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Passes replies on until there will be no more. Then nothing can be handed over any more. */
  void read() {
    try {
      while (receive()) {
        // All that was received has been passed on.
        connection.awaitInput();
      }
    } catch (IOException | UncheckedIOException e) {
      // To the clients this is as if their own connections had ended.
      connection.reset();
    } finally {
      if (body != null) {
        body.cut();
      }
      close();
      line.end(endedByStore);
    }
  }

  private boolean receive() throws IOException {
    try (var loan = Buffers.borrow()) {
      var buffer = loan.buffer();
      int n = connection.tryRead(buffer);
      if (n <= 0) {
        endedByStore = n < 0;
        return n == 0;
      }
      progressNanos = System.nanoTime();
      boolean good = split(buffer, n);
      recordReplies();
      tape.settle(lastRecorded);
      passOn(buffer);
      return good && !(left && outstanding() == 0);
    }
  }

  /** Finds for whom what is, and records it; false if that cannot be told. */
  private boolean split(ByteBuffer bytes, int end) {
    scanner.at = 0;
    while (scanner.at < end) {
      int from = scanner.at;
      boolean fresh = scanner.atStart();
      if (fresh) {
        pushing = bytes.get(from) == '>';
      }
      var turn = turn();
      if (turn == null && !pushing) {
        return false;
      }
      boolean whole = scanner.scan(bytes, end);
      if (scanner.strange()) {
        return false;
      }
      if (turn != null && !pushing) {
        if (turn.session != null) {
          add(turn.session, from, scanner.at, whole);
          if (!turn.hidden) {
            record(turn.number(), bytes, from, fresh, whole);
          } else if (whole) {
            recorded(tape.hiddenReply(turn.number(), scanner.isError()));
          }
        }
        if (whole) {
          take(turn);
        }
      }
    }
    return true;
  }

  private void record(long request, ByteBuffer bytes, int from, boolean fresh, boolean whole) {
    if (fresh && whole) {
      gather(request, bytes, from);
      return;
    }
    recordReplies();
    if (fresh) {
      body = tape.beginReply(request);
    }
    if (body != null) {
      body.add(bytes.limit(scanner.at).position(from));
      if (whole) {
        recorded(body.end());
        body = null;
      }
    }
    bytes.clear();
  }

  /** Lets a reply be recorded with those before it, if it follows them in all respects. */
  private void gather(long request, ByteBuffer bytes, int from) {
    int count = replies.count();
    long next = repliesTo < 0 ? repliesTo : repliesTo + count;
    if (count == 0 || count == Spool.MOST_TOGETHER || request != next || from != replies.to()) {
      recordReplies();
      replies.begin(bytes, from);
      repliesTo = request;
    }
    replies.add(scanner.at);
  }

  private void recordReplies() {
    if (replies.count() > 0) {
      recorded(tape.replies(repliesTo, replies));
      replies.cut(0);
    }
  }

  /** What was dropped hides nothing that was not and leaves together with it. */
  private void recorded(long number) {
    lastRecorded = Math.max(lastRecorded, number);
  }

  /** The turn's next request has been replied to. */
  private void take(Turn turn) {
    long last = lastReply;
    lastReply = last + 1;
    if (turn.onReply != null) {
      // What it makes of the reply is on record behind it.
      recordReplies();
      turn.onReply.replied(scanner);
    }
    if (++turn.replied == turn.count) {
      turns.removeFirst();
    }
  }

  private @Nullable Turn turn() {
    var first = turns.peekFirst();
    if (first == null) {
      lock.lock();
      try {
        turns.addAll(appended);
        appended.clear();
        first = turns.peekFirst();
      } finally {
        lock.unlock();
      }
    }
    return first;
  }

  private void add(Session session, int from, int to, boolean whole) {
    var last = partCount == 0 ? null : parts.get(partCount - 1);
    // Between two replies there may have been a push, which is for nobody here.
    if (last == null || last.session != session || last.to != from) {
      if (partCount == parts.size()) {
        parts.add(new Part());
      }
      last = parts.get(partCount++);
      last.session = session;
      last.from = from;
      last.replies = 0;
    }
    last.to = to;
    last.replies += whole ? 1 : 0;
  }

  private void passOn(ByteBuffer bytes) {
    for (int i = 0; i < partCount; i++) {
      var part = parts.get(i);
      var session = part.session;
      if (session != null) {
        session.output.offer(bytes, part.from, part.to);
        session.replied(part.replies);
        part.session = null;
      }
    }
    partCount = 0;
  }

  /** When it has been read to its end: those who wait for replies that do not come. */
  Set<Session> owed() {
    lock.lock();
    try {
      return Stream.concat(turns.stream(), appended.stream())
          .map(turn -> turn.session)
          .filter(Objects::nonNull)
          .collect(Collectors.toSet());
    } finally {
      lock.unlock();
    }
  }

  /** Ends it: nothing can be handed over any more, and what is under way has no reply. */
  void close() {
    ended = true;
    connection.close();
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
