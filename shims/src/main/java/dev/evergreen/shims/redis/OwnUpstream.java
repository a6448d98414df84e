package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpooledBody;
import dev.evergreen.provenance.Unanswered;
import dev.evergreen.shims.Line;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The upstream of one client, for what has to do with its connection: sends its requests, and
 * passes all that comes from Redis on to it. What becomes of the connection thereby is told by its
 * {@link Standing}, what goes on record by {@link RepliesOnRecord}.
 *
 * <p>Where Redis does not tell what is a reply to what, replies are {@linkplain #lose lost}: they
 * are passed on, but the outcome of requests is unknown from there on.
 *
 * <p>The client's fiber sends, one of its own receives. What both know is guarded by a lock.
 */
final class OwnUpstream {
  /** What its client does elsewhere is told to Redis when it was idle for so long. */
  private static final long LONGEST_IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** So much of the heap may wait for replies, in bytes, before no more is asked. */
  private static final long MOST_EXPECTED = 2 << 20;

  private final Line line;
  private final Session session;
  private final Connection connection;
  private final Tape tape;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Standing standing;
  private final Condition replied = lock.newCondition();
  private final ArrayDeque<Expected> expected = new ArrayDeque<>(2);
  private long outstanding;

  /** About how many bytes what is expected has. */
  private long expectedBytes;

  /** Whether a script may be under way that is not replied to: none was to what came after it. */
  private boolean unheardScript;

  /** Whether scripts may be debugged: then a reply may never be known for what it is. */
  private boolean debugs;

  private boolean ended;

  /** Of the lane on record; written by the sender. */
  private volatile long number;

  private volatile boolean quiet = true;

  /**
   * The last of what is expected that may lead to another database; written under the lock. Kept,
   * as it would take long to look for: very much may be expected.
   */
  private volatile @Nullable Expected mover;

  /** Whether nobody knows what comes from Redis, and what becomes of requests. */
  private boolean lost;

  // Of the reader.
  private final ReplyScanner scanner = new ReplyScanner();
  private final RepliesOnRecord record;

  /** Whether Redis has said that it will send no more. */
  private boolean endedByStore;

  private long taken;

  // Of the sender.
  private @Nullable SpooledBody sentBody;
  private long lastNanos = System.nanoTime();

  /** If somebody is to know of them; guarded by the lock. */
  private final LateRequests late = new LateRequests();

  /** If it is watched what scripts do. */
  private final ScriptWatch.@Nullable Calls scripts;

  OwnUpstream(
      Session session,
      Connection connection,
      int database,
      String name,
      Tape tape,
      ScriptWatch.@Nullable Calls scripts) {
    this.scripts = scripts;
    this.session = session;
    this.connection = connection;
    this.tape = tape;
    standing = new Standing(session, scanner, database, name);
    record = new RepliesOnRecord(session, tape, scanner, standing, lock, expected, scripts);
    line = new Line(tape, "own of " + session.number);
    number = line.number();
  }

  /** Whether the client's next command may as well be carried out by another upstream. */
  boolean isQuiet() {
    return quiet;
  }

  int database() {
    return standing.database();
  }

  /**
   * From now on the client's bytes are passed on without a look: on record all of them are one
   * request, of which nobody knows what it does, or where.
   *
   * @param refused whether Redis certainly does nothing of it, but says what is wrong with it. If
   *     it says anything else, or nothing that is heard, it may have done something nevertheless.
   */
  void judge(boolean refused) {
    number = line.number();
    var bytes = RedisKind.HIDDEN.duplicate();
    long request =
        tape.request(session.number, number, Standing.SOME_DATABASE, bytes, 0, bytes.capacity());
    expect(new Expected(Verb.UNREAD, request, 1, Words.NONE, Told.ALL));
    if (!refused) {
      lose();
    }
  }

  /**
   * Sends requests of one kind.
   *
   * @param told what the record is told; if that is not all, there is one request
   */
  void submit(Verb verb, Words words, Batch batch, Told told) throws IOException {
    int database = databaseOf(verb);
    number = line.number();
    var recorded = told.bytes();
    long first =
        recorded == null
            ? tape.requests(session.number, number, database, batch)
            : tape.request(
                session.number, number, database, recorded.duplicate(), 0, recorded.capacity());
    noteLate(batch);
    var next = new Expected(verb, first, batch.count(), words, told);
    next.call = callOf(verb, batch);
    next.weigh(batch.length());
    expect(next);
    pass(batch.bytes(), batch.from(), batch.to());
  }

  /**
   * The database of the next request. Waits for what may lead to another one, if that matters to
   * the request; while scripts are debugged it may never be known what became of that, nor while
   * Redis is silent, which may have refused to speak again.
   */
  private int databaseOf(Verb verb) throws IOException {
    if (verb.needsDatabase() && mover != null) {
      flush();
      session.await(this, () -> await(() -> mover == null || debugs || standing.isSilent()));
      return mover != null && !isEnded() ? Standing.SOME_DATABASE : standing.database();
    }
    return standing.database();
  }

  /** Whether it may lead to another database. */
  private boolean mayMove(Expected next) {
    return next.verb.mayMove()
        || (next.verb == Verb.EXEC
            && (mover != null || standing.queued.holds(verb -> verb == Verb.SELECT)));
  }

  private @Nullable List<Bytes> callOf(Verb verb, Batch batch) {
    return scripts != null && verb == Verb.SCRIPT
        ? Inline.requestOf(batch.bytes(), batch.from(), batch.to()).stream().map(Bytes::of).toList()
        : null;
  }

  /** Sends a request of nothing. */
  void submitNothing(ByteBuffer bytes, int from, int to) throws IOException {
    expect(new Expected(Verb.NOTHING, Spool.DROPPED, 1, Words.NONE, Told.ALL));
    pass(bytes, from, to);
  }

  /**
   * Sends the first piece of a request that is too long to be looked at whole.
   *
   * @param told what the record is told of it
   */
  void begin(Verb verb, Words words, ByteBuffer bytes, int from, int to, Told told)
      throws IOException {
    int database = databaseOf(verb);
    number = line.number();
    tellBeginning(bytes, from, to);
    long request;
    var recorded = told.bytes();
    if (recorded == null) {
      sentBody = tape.beginRequest(session.number, number, database);
      request = sentBody == null ? Spool.DROPPED : sentBody.number();
    } else {
      request =
          tape.request(
              session.number, number, database, recorded.duplicate(), 0, recorded.capacity());
    }
    var next = new Expected(verb, request, 1, words, told);
    next.weigh(to - from);
    expect(next);
    more(bytes, from, to, false);
  }

  /** Sends another piece of it. */
  void more(ByteBuffer bytes, int from, int to, boolean last) throws IOException {
    if (sentBody != null) {
      sentBody.add(bytes.limit(to).position(from));
      if (last) {
        sentBody.end();
        sentBody = null;
      }
    }
    pass(bytes, from, to);
  }

  /** Of a long request, whose later words are left out. */
  private void tellBeginning(ByteBuffer bytes, int from, int to) {
    var passing = tape.passing();
    if (passing != null) {
      var beginning = new byte[to - from];
      bytes.get(from, beginning);
      var words = Resp.write(RedisKind.array(Bytes.of(beginning)));
      passing.passes(ByteBuffer.wrap(words), 0, words.length);
    }
  }

  /** What is queued or blocks takes effect when something comes from Redis. */
  private void noteLate(Batch batch) {
    if (tape.passing() != null) {
      lock.lock();
      try {
        late.add(batch);
      } finally {
        lock.unlock();
      }
    }
  }

  /** Says of requests again that they pass: what comes now may be because of them. */
  private void tellLate() {
    var passing = tape.passing();
    if (passing != null) {
      lock.lock();
      try {
        late.tell(passing);
      } finally {
        lock.unlock();
      }
    }
  }

  /**
   * Sends bytes as they are, but nothing once the upstream has ended: what came of it would not be
   * on record, which says of some of it that it was not sent.
   */
  void pass(ByteBuffer bytes, int from, int to) throws IOException {
    if (!isEnded()) {
      try {
        connection.write(bytes.limit(to).position(from));
      } catch (IOException e) {
        throw afterLastWords(e);
      }
    }
    bytes.clear();
  }

  /** Redis has ended it: what it has said of that is passed on before the client is let go. */
  private IOException afterLastWords(IOException end) {
    if (end instanceof BuffersExhaustedException) {
      fail(); // It has not, and says nothing that would be the last.
    }
    await(() -> false);
    return end;
  }

  private boolean isEnded() {
    lock.lock();
    try {
      return ended;
    } finally {
      lock.unlock();
    }
  }

  void flush() throws IOException {
    try {
      connection.flush();
    } catch (IOException e) {
      throw afterLastWords(e);
    }
  }

  /** Tells Redis that the client will say no more. */
  void endInput() throws IOException {
    connection.shutdownOutput();
  }

  private void expect(Expected next) {
    lastNanos = System.nanoTime();
    lock.lock();
    try {
      debugs |= next.verb == Verb.DEBUGS;
      if (debugs || next.verb == Verb.PINS || next.verb == Verb.STREAM) {
        standing.pin();
      }
      if (mayMove(next)) {
        mover = next;
      }
      if (!next.words.whole()) {
        standing.stay();
      }
      quiet = false;
      expected.add(next);
      expectedBytes += next.bytes;
      outstanding += next.count;
      if (ended) {
        tellUnsent(next);
      }
      if (lost) {
        forget();
      } else {
        long silent = takeSilent();
        outstanding -= silent; // Only now, as it may have lost all, and counted from 0 again.
        boolean mayBeReply = next.verb == Verb.STRANGE && next.words.first().equals("reply");
        if (mayBeReply || (standing.isSilent() && expectedBytes > MOST_EXPECTED)) {
          // It may be CLIENT REPLY, to which nothing is said. Or Redis may have refused to speak
          // again:
          // then there never would be room.
          lose();
        }
      }
      forgetLate();
    } finally {
      lock.unlock();
    }
  }

  /**
   * What had no room on record is not sent to an upstream that has ended; the record has forgotten
   * the lane, and would wait for its end for ever.
   */
  private void tellUnsent(Expected next) {
    for (int i = 0; next.first < 0 && i < next.count; i++) {
      tape.unanswered(next.first, Unanswered.NOT_SENT);
    }
  }

  /**
   * Has the upstream go to a database, while nothing else is under way. Blocks until Redis has
   * replied.
   *
   * @return null if it is there, else what Redis says against it
   */
  byte @Nullable [] select(int wanted) throws IOException {
    if (wanted == standing.database()) {
      // It has just got there.
      return null;
    }
    if (isLost()) {
      throw notTold();
    }
    var request = session.request("SELECT", String.valueOf(wanted));
    var said = ask(Verb.SELECT, Words.ofSelection(wanted), request);
    if (wanted == standing.database()) {
      return null;
    }
    if (said == null) {
      throw notTold();
    }
    return said;
  }

  private static EOFException notTold() {
    return new EOFException("nobody could tell whether it is in the client's database");
  }

  /** Asks something of the shim's own. Blocks until Redis has replied. */
  private byte @Nullable [] ask(Verb verb, Words words, byte[] request) throws IOException {
    var kept = send(verb, words, request);
    flush();
    awaitReplied();
    return bytes(kept);
  }

  private Expected.Kept send(Verb verb, Words words, byte[] request) throws IOException {
    var next = new Expected(verb, Spool.DROPPED, 1, words, Told.ALL);
    var kept = new Expected.Kept();
    next.kept = kept;
    expect(next);
    pass(ByteBuffer.wrap(request), 0, request.length);
    return kept;
  }

  /**
   * Whether Redis carries out nothing of what comes next: it queues that, or takes nothing of the
   * kind from who has subscribed. Blocks until it has replied to all.
   */
  boolean isHoldingBack() throws IOException {
    flush();
    awaitReplied();
    lock.lock();
    try {
      // Once replies are lost, nobody hears what ends that.
      return !lost && standing.isHoldingBack();
    } finally {
      lock.unlock();
    }
  }

  /** What the client wanted to be watched is not: the next transaction is not to be done. */
  void watchesInVain() {
    lock.lock();
    try {
      standing.watchesInVain();
      quiet = false;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether a transaction that begins now must not be carried out: it would be done in another
   * database than the client's, or without a look at what was to be watched.
   */
  boolean isToSpoil(int wanted) {
    lock.lock();
    try {
      return standing.isInVain() || standing.database() != wanted;
    } finally {
      lock.unlock();
    }
  }

  /** Has Redis refuse the EXEC of the transaction that has begun, as one command in it is wrong. */
  void spoil() throws IOException {
    var _ = send(Verb.SHARED, Words.OF_SHIM, Identity.request("SELECT"));
  }

  private boolean isLost() {
    lock.lock();
    try {
      return lost;
    } finally {
      lock.unlock();
    }
  }

  /** What was kept; null if nothing has come. */
  private byte @Nullable [] bytes(Expected.Kept kept) {
    lock.lock();
    try {
      return kept.bytes();
    } finally {
      lock.unlock();
    }
  }

  /** Whether Redis knows it by that name, for all that has been replied. */
  boolean isNamed(String wanted) {
    return wanted.equals(standing.name());
  }

  /**
   * Has the upstream called as the client is, unless it is in a state in which Redis would not
   * simply do that. Blocks until Redis has replied to all.
   */
  void name(String wanted) throws IOException {
    flush();
    awaitKnown();
    if (!isNamed(wanted) && doesAsItIsTold()) {
      var request = session.request("CLIENT", "SETNAME", wanted);
      var said = ask(Verb.SET_NAME, Words.ofNaming(wanted), request);
      if (said == null || !isBusy(said)) {
        // Else it may not, which does not change.
        standing.isNamed(wanted);
      }
    }
  }

  /**
   * Has Redis pass something of this connection on to its replicas, after all that the client has
   * been replied to elsewhere. For WAIT counts what was written until the last command of its
   * connection that was passed on: else it would wait for nothing that went by a lane. A message
   * for a channel of a shard is passed on, and nobody hears it. Who may not publish says HELLO,
   * which everybody may, also while a script is busy, and which counts for Redis before 7.2. What
   * is under way here came after that, and does the same. Blocks until Redis has replied.
   */
  void catchUp() throws IOException {
    if (isIdle() && doesAsItIsTold()) {
      var said =
          ask(Verb.SHARED, Words.OF_SHIM, Identity.request("SPUBLISH", "evergreen-shim", ""));
      if (said != null && said.length > 0 && said[0] == '-') {
        var _ = ask(Verb.SHARED, Words.OF_SHIM, Identity.request("HELLO"));
      }
    }
  }

  /**
   * The client has asked something elsewhere. So it is not idle, though Redis may take it for that,
   * and end what is idle for long ({@code timeout}). HELLO is what everybody may say.
   */
  void keepAlive() throws IOException {
    if (System.nanoTime() - lastNanos > LONGEST_IDLE_NANOS) {
      var _ = send(Verb.SHARED, Words.OF_SHIM, Identity.request("HELLO"));
      flush();
    }
  }

  private boolean isIdle() {
    lock.lock();
    try {
      return outstanding == 0;
    } finally {
      lock.unlock();
    }
  }

  private boolean doesAsItIsTold() {
    lock.lock();
    try {
      return !ended && standing.doesAsItIsTold();
    } finally {
      lock.unlock();
    }
  }

  static boolean isBusy(byte[] reply) {
    return new String(reply, StandardCharsets.ISO_8859_1).startsWith("-BUSY");
  }

  /**
   * Waits until all that was asked has been replied to, or never will be, or nothing depends on it:
   * the client keeps to this upstream anyway. (Some of what pins it has Redis send an array with
   * less than it announces; then it cannot be told any more what is a reply to what.)
   */
  void awaitKnown() {
    await(() -> outstanding == 0 || standing.isPinned() || standing.isSilent());
  }

  /** Waits until all that was asked has been replied to, or never will be. */
  void awaitReplied() {
    await(() -> outstanding == 0);
  }

  /** Whether so much has not been replied to that no more is to be asked at present. */
  boolean isCrowded() {
    lock.lock();
    try {
      return expectedBytes > MOST_EXPECTED && !ended;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until it is not crowded any more. */
  void awaitRoom() throws IOException {
    flush();
    await(() -> expectedBytes <= MOST_EXPECTED / 2);
  }

  /**
   * Waits until the reader has seen to something, or has ended. Of the sender.
   *
   * <p>Invariant: while the sender waits for the reader, the reader waits for nobody's reading.
   * Nothing is read from the client meanwhile, which may not read before it has said all: else each
   * would wait for the other.
   */
  private void await(BooleanSupplier over) {
    session.output.hurry(true);
    lock.lock();
    try {
      while (!over.getAsBoolean() && !ended) {
        replied.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
      session.output.hurry(false);
    }
  }

  /** Passes on what comes until there will be no more. */
  void read() throws IOException {
    try {
      while (receive()) {
        connection.awaitInput();
      }
    } finally {
      end();
    }
  }

  private void end() {
    record.cut();
    lock.lock();
    try {
      ended = true;
      quiet = false;
      replied.signalAll();
    } finally {
      lock.unlock();
    }
    if (scripts != null) {
      scripts.close();
    }
    line.end(endedByStore);
  }

  private boolean receive() throws IOException {
    try (var loan = Buffers.borrow()) {
      var buffer = loan.buffer();
      int n = connection.tryRead(buffer);
      if (n > 0) {
        awaitLane();
        awaitEffects();
        tellLate();
        pass(buffer, n);
      }
      endedByStore = n < 0;
      return n >= 0;
    }
  }

  /**
   * What comes although nothing was asked, such as the invalidations that another client has
   * redirected here, must not get amid what a lane says. From here on nothing is asked of a lane.
   */
  private void awaitLane() {
    lock.lock();
    try {
      if (quiet) {
        standing.stay();
        quiet = false;
      }
    } finally {
      lock.unlock();
    }
    session.letLaneFinish();
  }

  /** What has come may be the replies of scripts: then it must be known what those did. */
  private void awaitEffects() {
    if (scripts != null && (scripts.doubtful() || expectsScript())) {
      session.awaitEffects();
    }
  }

  /** Whether the reply of a script may begin in what has come. */
  private boolean expectsScript() {
    lock.lock();
    try {
      return expected.stream()
          .skip(scanner.atStart() || standing.mayPush() ? 0 : 1)
          .anyMatch(next -> next.verb == Verb.SCRIPT || next.verb == Verb.EXEC);
    } finally {
      lock.unlock();
    }
  }

  private void pass(ByteBuffer bytes, int end) throws IOException {
    int from = 0;
    scanner.at = 0;
    while (scanner.at < end && !loses(bytes, end)) {
      int begin = scanner.at;
      boolean fresh = scanner.atStart();
      boolean whole = scanner.scan(bytes, end);
      if (scanner.strange()) {
        tape.gap("what came from the store is not its protocol");
        lose();
        break;
      }
      if (keep(bytes, begin, scanner.at)) {
        send(bytes, from, begin);
        from = scanner.at;
      }
      if (!isOfShim()) {
        record.add(bytes, begin, fresh, whole, number);
      }
      if (whole) {
        take();
      }
    }
    tape.settle(record.last());
    // The client, when it hears of it, may call the next one at once.
    forgetScripts();
    send(bytes, from, end);
    settleReplies();
  }

  private void send(ByteBuffer bytes, int from, int to) throws IOException {
    if (to > from) {
      session.output.send(bytes, from, to);
    }
  }

  /** Whether it cannot be told from here on what is a reply to what. */
  private boolean loses(ByteBuffer bytes, int end) {
    lock.lock();
    try {
      var next = expected.peekFirst();
      if (!lost && scanner.atStart() && next != null) {
        // Of what a transaction does to replies, its own array says neither how many values it has
        // nor where they end.
        boolean uneven =
            next.verb == Verb.EXEC
                && bytes.get(scanner.at) == '*'
                && standing.queued.holds(Verb::isUneven);
        // It may have silenced Redis, which then speaks of something else.
        boolean silences =
            standing.queued.isUnsure()
                && (next.verb == Verb.REPLY_OFF || next.verb == Verb.REPLY_SKIP);
        // Whatever Redis has taken for requests.
        boolean done = next.verb == Verb.UNREAD && bytes.get(scanner.at) != '-';
        // Or it is the refusal of what was to silence it.
        boolean refused =
            standing.mayHaveRefusedSilence() && Refusals.mayBeOfSilence(bytes, scanner.at, end);
        if (uneven
            || silences
            || done
            || refused
            || isUnsureOfSpeech(bytes, end)
            || next.verb == Verb.STREAM
            || standing.queued.isTooLong()) {
          lose();
        }
      }
      return lost;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether a silent Redis speaks, and it is not sure that it does so because of what is expected
   * first: it may have refused that unheard.
   */
  private boolean isUnsureOfSpeech(ByteBuffer bytes, int end) {
    boolean speaks = standing.isSilent() && expected.getFirst().verb == Verb.REPLY_ON;
    return speaks
        && (expected.stream().filter(next -> next.verb == Verb.REPLY_ON).count() > 1
            || end - scanner.at < 2
            || bytes.get(scanner.at + 1) != 'O');
  }

  /** From here on nothing that comes is taken for a reply, and no outcome is known. */
  private void lose() {
    lock.lock();
    try {
      lost = true;
      standing.pin();
      if (standing.queued.holds(verb -> verb == Verb.SELECT)) {
        standing.goesAstray();
      }
      standing.queued.forget();
      forget();
      record.cut();
    } finally {
      lock.unlock();
    }
  }

  /** What is expected has no outcome that anybody could know. */
  private void forget() {
    for (var next = expected.pollFirst(); next != null; next = expected.pollFirst()) {
      for (; next.next < next.count; next.next++) {
        tape.unanswered(next.number(), Unanswered.OUTCOME_UNKNOWN);
      }
      if (next.verb.mayMove()) {
        standing.goesAstray();
      }
      expectedBytes -= next.bytes;
    }
    mover = null;
    outstanding = 0;
    taken = 0;
    replied.signalAll();
  }

  private boolean isOfShim() {
    lock.lock();
    try {
      var next = expected.peekFirst();
      return next != null && next.words.ofShim() && scanner.kind() != '>';
    } finally {
      lock.unlock();
    }
  }

  /** Keeps what has come of a reply, if it is not to go to the client now. */
  private boolean keep(ByteBuffer bytes, int from, int to) {
    lock.lock();
    try {
      var next = expected.peekFirst();
      if (next == null || next.kept == null || scanner.kind() == '>') {
        return false;
      }
      next.kept.add(bytes, from, to);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** A message has come whole: what it says about the connection holds from here on. */
  private void take() {
    lock.lock();
    try {
      var next = expected.peekFirst();
      switch (standing.meaning(next)) {
        case PUSH -> standing.pushed(next);
        case CONFIRMATION -> {
          if (next != null && standing.confirmed(next)) {
            done(next);
          }
        }
        case REPLY -> {
          if (next != null) {
            standing.replied(next);
            done(next);
          } else {
            // Whatever was to silence Redis has not.
            lose();
          }
        }
      }
      if (standing.isUnclear()) {
        lose();
      }
      // Not when the client has got it: it may not read while it is not read from.
      replied.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void done(Expected next) {
    unheardScript = false;
    taken++;
    tickOff(next);
    long silent = takeSilent();
    taken += silent; // Only now, as in expect().
  }

  /** One more of its requests is not waited for. */
  private void tickOff(Expected next) {
    if (++next.next == next.count) {
      expected.removeFirst();
      expectedBytes -= next.bytes;
      mover = next == mover ? null : mover;
    }
  }

  /** Takes what comes next and is not replied to; answers how many that were. */
  private long takeSilent() {
    long count = 0;
    while (true) {
      var next = expected.peekFirst();
      if (next == null || !standing.isSilent(next)) {
        return count;
      }
      standing.changeUnheard(next);
      if (standing.isUnclear() || standing.queued.isTooLong()) {
        lose();
        return 0;
      }
      tape.unanswered(next.number(), Unanswered.NONE_EXPECTED);
      if (scripts != null && (next.verb == Verb.SCRIPT || next.verb == Verb.EXEC)) {
        scripts.doubt();
        unheardScript = true;
      }
      count++;
      tickOff(next);
    }
  }

  /** All replies that were taken have been sent. */
  private void settleReplies() {
    lock.lock();
    try {
      outstanding -= taken;
      taken = 0;
      quiet =
          outstanding == 0
              && !ended
              && standing.isPlain()
              // Else a lane's reply could get amid the rest of a push.
              && scanner.atStart();
      forgetLate();
      replied.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** What nothing is waited for has happened, or will at once. */
  private void forgetLate() {
    if (outstanding == 0 && !standing.queued.isOpen()) {
      late.clear();
    }
  }

  /** No script is under way, and it was learnt what those did that were. */
  private void forgetScripts() {
    lock.lock();
    try {
      if (scripts != null && expected.isEmpty() && !unheardScript) {
        scripts.settled();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends it; the client has gone, and maybe amid a request, which then is none to Redis. */
  void close() {
    try {
      var begun = sentBody;
      if (begun != null) {
        sentBody = null;
        // Told before its end is: the upstream may have ended, and with it what it had not replied
        // to.
        tape.unanswered(begun.number(), Unanswered.NOT_SENT);
        var _ = begun.end();
      }
    } finally {
      connection.close();
    }
  }

  /** As if the network had failed. */
  void fail() {
    connection.reset();
  }

  /** Reads like {@link #read}, and says whether it came to the end in order. */
  boolean readToEnd() {
    try {
      read();
      return true;
    } catch (IOException | UncheckedIOException e) {
      connection.reset();
      return false;
    }
  }
}
