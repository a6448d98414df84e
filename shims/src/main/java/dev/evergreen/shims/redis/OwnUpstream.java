package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpooledBody;
import dev.evergreen.provenance.Unanswered;
import dev.evergreen.shims.Line;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The upstream of one client, for what has to do with its connection. All that comes from Redis
 * goes to the client. What Redis says tells the state of the connection, never what the client has
 * asked for: so it holds whatever Redis refuses, queues or leaves unanswered.
 *
 * <p>Where Redis does not tell what is a reply to what, replies are {@linkplain #lose lost}: they
 * are passed on, but the outcome of requests is unknown from there on.
 *
 * <p>The client's fiber sends, one of its own receives. What both know is guarded by a lock.
 */
final class OwnUpstream {

  /** A message that was cut in two is kept up to here, in bytes, until it is known what it is. */
  private static final int LONGEST_HELD = 64 << 10;

  /** So much of the heap may wait for replies, in bytes, before no more is asked. */
  private static final long MOST_EXPECTED = 2 << 20;

  /** So much of a transaction is kept, in bytes; of a longer one nobody knows what it does. */
  private static final long MOST_QUEUED = 16 << 20;

  /** About so many bytes are kept of a request whose words are of no interest. */
  private static final int PLAIN = 100;

  /** Redis has as many databases unless it was told otherwise. */
  private static final int SURE_DATABASES = 16;

  /** The words of a greeting with one user and nothing behind. */
  private static final int SHORT_GREETING = 5;

  private static final String UNRECORDED = "Redis took for requests what is none to the shim";

  private static final String NO_DATABASE = "it cannot be told in which database a client is";

  /** What the client has asked for, and is to be replied to. */
  private static final class Expected {
    final Verb verb;
    final long first;
    final int count;
    final Words words;
    final Told told;

    /** About how many bytes it keeps of the heap. */
    long bytes = PLAIN;

    /** The words of a script's call, if it is watched, and they are at hand. */
    @Nullable List<Bytes> call;

    /** If the reply is not to go to the client now. */
    @Nullable Kept kept;

    /** Whether it may be carried out in another database than that of which the record says so. */
    boolean astray;

    int next;

    /** Of those that are replied to more than once. */
    long confirmed;

    long toConfirm;

    /** Requests whose numbers follow the first's, or, if that is negative, are the same. */
    Expected(Verb verb, long first, int count, Words words, Told told) {
      this.told = told;
      this.verb = verb;
      this.first = first;
      this.count = count;
      this.words = words;
      toConfirm = words.count() - 1L;
    }

    long number() {
      return first < 0 ? first : first + next;
    }

    /** Takes into account what it keeps of its requests, which have so many bytes together. */
    void weigh(long length) {
      if (!words.equals(Words.NONE) || !told.equals(Told.ALL) || call != null) {
        // As words, and as what the record was told.
        bytes += 2 * length;
      }
    }
  }

  /** A reply that the client does not get, or not yet. Guarded by the upstream's lock. */
  static final class Kept {
    private byte @Nullable [] bytes;

    private void add(ByteBuffer from, int begin, int end) {
      int before = bytes == null ? 0 : bytes.length;
      var joined = new byte[before + end - begin];
      if (bytes != null) {
        System.arraycopy(bytes, 0, joined, 0, before);
      }
      from.get(begin, joined, before, end - begin);
      bytes = joined;
    }
  }

  /** What a message is. */
  private enum Meaning {
    REPLY,
    CONFIRMATION,
    PUSH
  }

  private final Line line;
  private final Session session;
  private final Connection connection;
  private final Tape tape;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Condition replied = lock.newCondition();
  private final ArrayDeque<Expected> expected = new ArrayDeque<>(2);
  private long outstanding;

  /** About how many bytes what is expected has. */
  private long expectedBytes;

  private boolean queueing;

  /**
   * Whether nobody knows if Redis queues: its reply to MULTI was not to come, which it may have
   * refused. Then it carries out at once what comes behind that.
   */
  private boolean unsure;

  /** What was queued that is about the connection, or about what may be recorded. */
  private final ArrayList<Expected> queued = new ArrayList<>(0);

  private long queuedBytes;

  private boolean watching;
  private boolean monitoring;
  private boolean tracking;
  private boolean silent;
  private boolean silentOnce;

  /** Whether a script may be under way that is not replied to: none was to what came after it. */
  private boolean unheardScript;

  /** The version in which Redis replies to what is expected next. */
  private int protocol;

  /**
   * Whether nothing can be asked of a lane any more, and replies need not tell what they reply to.
   */
  private boolean pinned;

  /** Whether scripts may be debugged: then a reply may never be known for what it is. */
  private boolean debugs;

  /** Whether nothing can be asked of a lane any more, though each reply tells to what it is one. */
  private boolean stays;

  private boolean judging;
  private boolean ended;
  private long channels;
  private long patterns;
  private long shardChannels;

  /** Of the lane on record; written by the sender. */
  private volatile long number;

  /** Of the requests that are sent; written by the reader while none is under way. */
  private volatile int database;

  /** What Redis calls it; written by the reader, and by the sender while nothing is under way. */
  private volatile String name;

  private volatile boolean quiet = true;

  /** Whether something is expected or queued that leads to another database; else it is none. */
  private volatile boolean mayMove;

  /** Whether nobody knows what comes from Redis, and what becomes of requests. */
  private boolean lost;

  /** Whether nobody will know any more in which database requests are carried out. */
  private volatile boolean astray;

  // Of the reader.
  private final ReplyScanner scanner = new ReplyScanner();
  private @Nullable SpooledBody body;
  private @Nullable ByteArrayOutputStream held;

  /** Whether Redis has said that it will send no more. */
  private boolean endedByStore;

  private long lastRecorded = Spool.DROPPED;
  private long taken;

  /** Of the sender. */
  private @Nullable SpooledBody sentBody;

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
    this.database = database;
    this.name = name;
    this.tape = tape;
    protocol = session.identity.protocol();
    line = new Line(tape, "own of " + session.number);
    number = line.number();
  }

  /** Whether the client's next command may as well be carried out by another upstream. */
  boolean isQuiet() {
    return quiet;
  }

  int database() {
    return database;
  }

  /**
   * From now on the client's bytes are passed on without a look: Redis is to say what is wrong with
   * them. If it says anything else, it has done something that is not on record.
   */
  void judge() {
    lock.lock();
    try {
      pinned = true;
      quiet = false;
      judging = true;
      if (silent || silentOnce) {
        tape.gap(UNRECORDED);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends requests of one kind.
   *
   * @param told what the record is told; if that is not all, there is one request
   */
  void submit(Verb verb, Words words, Batch batch, Told told) throws IOException {
    submit(verb, words, batch, told, null);
  }

  /**
   * Sends a request before those that its client has asked earlier, and at once.
   *
   * @return where its reply is when {@linkplain #awaitReplied all is replied to}, for its turn
   */
  Kept submitEarly(Verb verb, Batch batch, Told told) throws IOException {
    var kept = new Kept();
    submit(verb, Words.NONE, batch, told, kept);
    flush();
    return kept;
  }

  private void submit(Verb verb, Words words, Batch batch, Told told, @Nullable Kept kept)
      throws IOException {
    boolean astray = !awaitDatabase(verb);
    number = line.number();
    var recorded = told.bytes();
    long first =
        recorded == null
            ? tape.requests(session.number, number, database, batch)
            : tape.request(
                session.number, number, database, recorded.duplicate(), 0, recorded.capacity());
    noteLate(batch);
    var next = new Expected(verb, first, batch.count(), words, told);
    next.astray = astray;
    next.call = callOf(verb, batch);
    next.kept = kept;
    next.weigh(batch.length());
    expect(next);
    pass(batch.bytes(), batch.from(), batch.to());
  }

  /**
   * Waits until it is known in which database the next request will be carried out, if that matters
   * to it: else it would be on record in another one. It may never be known while scripts are
   * debugged.
   *
   * @return whether it is known
   */
  private boolean awaitDatabase(Verb verb) throws IOException {
    if (!verb.needsDatabase()) {
      return true;
    }
    if (!mayMove || !isMoving()) {
      return !astray;
    }
    flush();
    lock.lock();
    try {
      while (isMoving() && !ended && !debugs) {
        replied.awaitUninterruptibly();
      }
      return ended || !(astray || isMoving());
    } finally {
      lock.unlock();
    }
  }

  /** Whether what is not replied to yet may lead to another database. */
  private boolean isMoving() {
    lock.lock();
    try {
      boolean queued = queued(verb -> verb == Verb.SELECT);
      return expected.stream()
          .map(next -> next.verb)
          .anyMatch(
              verb -> verb == Verb.SELECT || verb == Verb.RESET || (queued && verb == Verb.EXEC));
    } finally {
      lock.unlock();
    }
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
    boolean astray = !awaitDatabase(verb);
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
    next.astray = astray;
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
      connection.write(bytes.limit(to).position(from));
    }
    bytes.clear();
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
    connection.flush();
  }

  /** Tells Redis that the client will say no more. */
  void endInput() throws IOException {
    connection.shutdownOutput();
  }

  private void expect(Expected next) {
    lock.lock();
    try {
      debugs |= next.verb == Verb.DEBUGS;
      pinned |= debugs || next.verb == Verb.PINS || next.verb == Verb.STREAM;
      if (next.verb == Verb.SELECT || next.verb == Verb.RESET) {
        mayMove = true;
      }
      stays |= !next.words.whole();
      quiet = false;
      if (next.astray) {
        tape.gap(NO_DATABASE);
      }
      expected.add(next);
      expectedBytes += next.bytes;
      outstanding += next.count;
      if (ended) {
        tellUnsent(next);
      }
      if (lost) {
        forget();
      } else {
        outstanding -= takeSilent();
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
    var request = Identity.request("SELECT", String.valueOf(wanted));
    var said = ask(Verb.SELECT, Words.ofSelection(wanted), request);
    return wanted == database ? null : said;
  }

  /** Asks something of the shim's own. Blocks until Redis has replied. */
  private byte @Nullable [] ask(Verb verb, Words words, byte[] request) throws IOException {
    var next = new Expected(verb, Spool.DROPPED, 1, words, Told.ALL);
    var kept = new Kept();
    next.kept = kept;
    expect(next);
    pass(ByteBuffer.wrap(request), 0, request.length);
    flush();
    awaitReplied();
    return bytes(kept);
  }

  /** What was kept; null if nothing has come. */
  byte @Nullable [] bytes(Kept kept) {
    lock.lock();
    try {
      return kept.bytes;
    } finally {
      lock.unlock();
    }
  }

  /** Whether Redis knows it by that name, for all that has been replied. */
  boolean isNamed(String wanted) {
    return wanted.equals(name);
  }

  /**
   * Has the upstream called as the client is, unless it is in a state in which Redis would not
   * simply do that. Blocks until Redis has replied to all.
   */
  void name(String wanted) throws IOException {
    flush();
    awaitKnown();
    if (!isNamed(wanted) && doesAsItIsTold()) {
      var request = Identity.request("CLIENT", "SETNAME", wanted);
      var said = ask(Verb.SET_NAME, Words.ofNaming(wanted), request);
      if (said == null || !isBusy(said)) {
        // Else it may not, which does not change.
        name = wanted;
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
      return !(queueing || silent || silentOnce || pinned || ended || hearsArrays());
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
    await(false);
  }

  /** Waits until all that was asked has been replied to, or never will be. */
  void awaitReplied() {
    await(true);
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

  /**
   * Waits until it is not crowded any more. The client may read nothing before it has said all: so
   * meanwhile nobody waits for it.
   */
  void awaitRoom() throws IOException {
    flush();
    session.output.hurry(true);
    lock.lock();
    try {
      while (expectedBytes > MOST_EXPECTED / 2 && !ended) {
        replied.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
      session.output.hurry(false);
    }
  }

  private void await(boolean evenIfPinned) {
    lock.lock();
    try {
      while (outstanding > 0 && !ended && (evenIfPinned || !pinned)) {
        replied.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
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
    if (body != null) {
      body.cut();
    }
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
        stays = true;
        quiet = false;
      }
    } finally {
      lock.unlock();
    }
    // Nor what was asked here because the lane does not answer.
    session.awaitLane();
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
          .skip(scanner.atStart() || mayPush() ? 0 : 1)
          .anyMatch(next -> next.verb == Verb.SCRIPT || next.verb == Verb.EXEC);
    } finally {
      lock.unlock();
    }
  }

  /** Whether the message that has begun may be none that answers anything. */
  private boolean mayPush() {
    return switch (scanner.kind()) {
      case '>' -> true;
      case '*' -> hearsArrays();
      case '+' -> monitoring;
      default -> false;
    };
  }

  /** Whether messages come as arrays, like replies: in the new version they are pushes. */
  private boolean hearsArrays() {
    return protocol == 2 && subscribed();
  }

  /** What goes before a reply on record: what the scripts that it is of have carried out. */
  private byte @Nullable [] effects(Expected next) {
    if (scripts == null) {
      return null;
    }
    if (unsure && (next.verb == Verb.SCRIPT || next.verb == Verb.EXEC)) {
      // Whether it was carried out before that will be known only when it is on record.
      scripts.doubt();
      return null;
    }
    if (next.verb == Verb.SCRIPT && !queueing) {
      var done = scripts.take(next.call, scanner.isError());
      return done == null ? null : Effects.attribute(List.of(done));
    }
    if (next.verb != Verb.EXEC || scanner.kind() != '*' || !queued(verb -> verb == Verb.SCRIPT)) {
      return null;
    }
    var all = new ArrayList<byte[]>();
    for (var one : queued) {
      var done = one.verb == Verb.SCRIPT ? scripts.take(one.call, scanner.holdsError()) : null;
      if (done != null) {
        all.add(done);
      } else if (one.verb == Verb.SCRIPT) {
        return null;
      }
    }
    return Effects.attribute(all);
  }

  private void pass(ByteBuffer bytes, int end) throws IOException {
    int from = 0;
    scanner.at = 0;
    while (scanner.at < end && !loses(bytes)) {
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
        record(bytes, begin, fresh, whole);
      }
      if (whole) {
        take();
      }
    }
    tape.settle(lastRecorded);
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
  private boolean loses(ByteBuffer bytes) {
    lock.lock();
    try {
      var next = expected.peekFirst();
      if (!lost && scanner.atStart() && next != null) {
        // Of what a transaction does to replies, its own array says neither how many values it has
        // nor where they end.
        boolean uneven =
            next.verb == Verb.EXEC && bytes.get(scanner.at) == '*' && queued(Verb::isUneven);
        // It may have silenced Redis, which then speaks of something else.
        boolean silences = unsure && (next.verb == Verb.REPLY_OFF || next.verb == Verb.REPLY_SKIP);
        if (uneven || silences || next.verb == Verb.STREAM || queuedBytes > MOST_QUEUED) {
          lose();
        }
      }
      return lost;
    } finally {
      lock.unlock();
    }
  }

  /** From here on nothing that comes is taken for a reply, and no outcome is known. */
  private void lose() {
    lock.lock();
    try {
      lost = true;
      pinned = true;
      if (queued(verb -> verb == Verb.SELECT)) {
        goesAstray();
      }
      forgetQueued();
      forget();
      if (body != null) {
        body.cut();
        body = null;
      }
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
      if (next.verb == Verb.SELECT || next.verb == Verb.RESET) {
        goesAstray();
      }
      over(next);
    }
    outstanding = 0;
    taken = 0;
    replied.signalAll();
  }

  /** From here on nobody knows in which database requests are carried out. */
  private void goesAstray() {
    astray = true;
    tape.gap(NO_DATABASE);
  }

  /** It will not be replied to any more: if it has gone astray, it has had its effect. */
  private void over(Expected next) {
    expectedBytes -= next.bytes;
    if (next.astray) {
      tape.gap(NO_DATABASE);
    }
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

  /** Keeps what has come of a message for the record, and records it when it is whole. */
  private void record(ByteBuffer bytes, int from, boolean fresh, boolean whole) {
    if (fresh && whole) {
      recordWhole(bytes, from, scanner.at);
      return;
    }
    if (fresh) {
      beginPieces();
    }
    if (held != null) {
      hold(held, bytes, from);
    } else if (body != null) {
      body.add(bytes.limit(scanner.at).position(from));
      bytes.clear();
    }
    if (whole && body != null) {
      recorded(body.end());
      body = null;
    } else if (whole && held != null) {
      var message = ByteBuffer.wrap(held.toByteArray());
      held = null;
      recordWhole(message, 0, message.capacity());
    }
  }

  /** Of what is too long to be kept, the beginning tells whether it is a push. */
  private void hold(ByteArrayOutputStream kept, ByteBuffer bytes, int from) {
    int n = Math.min(scanner.at - from, LONGEST_HELD - kept.size());
    var piece = new byte[n];
    bytes.get(from, piece);
    kept.writeBytes(piece);
    if (n < scanner.at - from && isPush()) {
      body = tape.beginPush(session.number, number);
      if (body != null) {
        body.add(ByteBuffer.wrap(kept.toByteArray()));
        body.add(bytes.limit(scanner.at).position(from + n));
        bytes.clear();
        held = null;
      }
    }
  }

  private boolean isPush() {
    lock.lock();
    try {
      return meaning(expected.peekFirst()) == Meaning.PUSH;
    } finally {
      lock.unlock();
    }
  }

  private void recordWhole(ByteBuffer bytes, int from, int to) {
    lock.lock();
    try {
      var next = expected.peekFirst();
      var meaning = meaning(next);
      if (meaning == Meaning.PUSH || next == null) {
        recorded(tape.push(session.number, number, bytes, from, to));
      } else if (meaning == Meaning.CONFIRMATION && next.toConfirm > 1) {
        // One of several, which are the reply together.
        recordConfirmation(next, bytes, from, to);
      } else if (hides(next)) {
        // The next scripts have effects of their own.
        var _ = effects(next);
        recorded(tape.hiddenReply(next.number(), scanner.isError()));
      } else {
        recordReply(next, bytes, from, to);
      }
    } finally {
      lock.unlock();
    }
    bytes.clear();
  }

  private void recordReply(Expected next, ByteBuffer bytes, int from, int to) {
    var effects = effects(next);
    if (effects == null) {
      recorded(tape.reply(next.number(), bytes, from, to));
    } else {
      var whole = ByteBuffer.allocate(effects.length + to - from);
      whole.put(effects).put(effects.length, bytes, from, to - from);
      recorded(tape.reply(next.number(), whole, 0, whole.capacity()));
    }
  }

  /** What was dropped hides nothing that was not and leaves together with it. */
  private void recorded(long number) {
    lastRecorded = Math.max(lastRecorded, number);
  }

  private @Nullable SpooledBody confirmations;

  private void recordConfirmation(Expected next, ByteBuffer bytes, int from, int to) {
    if (confirmations == null) {
      confirmations = tape.beginReply(next.number());
    }
    if (confirmations != null) {
      confirmations.add(bytes.limit(to).position(from));
      if (next.confirmed + 1 == next.toConfirm) {
        recorded(confirmations.end());
        confirmations = null;
      }
    }
  }

  private void beginPieces() {
    lock.lock();
    try {
      var next = expected.peekFirst();
      // What it is can be told by its end only, if messages may come between replies.
      boolean certain = next != null && !mayPush() && !isOfPubSub(next.verb) && !hides(next);
      if (certain) {
        body = tape.beginReply(next.number());
        var effects = effects(next);
        if (body != null && effects != null) {
          body.add(ByteBuffer.wrap(effects));
        }
      } else {
        held = new ByteArrayOutputStream();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether the reply may hold credentials: its own, or that of a command of its transaction. */
  private boolean hides(Expected next) {
    return next.told.hidesReply()
        || (next.verb == Verb.EXEC && queued.stream().anyMatch(one -> one.told.hidesReply()));
  }

  private boolean queued(Predicate<Verb> which) {
    return queued.stream().anyMatch(one -> which.test(one.verb));
  }

  private static boolean isOfPubSub(Verb verb) {
    return verb == Verb.SUBSCRIBE || verb == Verb.UNSUBSCRIBE;
  }

  private boolean subscribed() {
    return channels + patterns + shardChannels > 0;
  }

  /** What the message is that has come, while a request may be waiting for its reply. */
  private Meaning meaning(@Nullable Expected next) {
    boolean asked = next != null && isOfPubSub(next.verb);
    return switch (scanner.kind()) {
      case '>' -> asked && isConfirmation() ? Meaning.CONFIRMATION : Meaning.PUSH;
      case '*' -> {
        if (!(asked && protocol == 2) && !hearsArrays()) {
          yield Meaning.REPLY;
        }
        if (isConfirmation()) {
          yield asked ? Meaning.CONFIRMATION : Meaning.PUSH;
        }
        var word = scanner.word();
        yield word.equals("message") || word.equals("pmessage") || word.equals("smessage")
            ? Meaning.PUSH
            : Meaning.REPLY;
      }
      case '+' -> {
        var word = scanner.word();
        boolean line = monitoring && !word.isEmpty() && Character.isDigit(word.charAt(0));
        yield line ? Meaning.PUSH : Meaning.REPLY;
      }
      default -> Meaning.REPLY;
    };
  }

  private boolean isConfirmation() {
    return scanner.word().endsWith("subscribe");
  }

  /** A message has come whole: what it says about the connection holds from here on. */
  private void take() {
    lock.lock();
    try {
      var next = expected.peekFirst();
      switch (meaning(next)) {
        case PUSH -> {
          if (isConfirmation()) {
            count();
          }
        }
        case CONFIRMATION -> confirm(next);
        case REPLY -> {
          if (next != null) {
            complete(next);
          } else if (!judging) {
            // Whatever was to silence Redis has not.
            lose();
          } else if (!scanner.isError()) {
            tape.gap(UNRECORDED);
            lose();
          }
        }
      }
      // Not when the client has got it: it may not read while it is not read from.
      replied.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void confirm(@Nullable Expected next) {
    if (next == null) {
      return;
    }
    if (unsure) {
      knowOfMulti(false);
    }
    if (next.confirmed == 0 && next.words.count() == 1) {
      // Leaves all that there are, or says once that there are none.
      next.toConfirm = Math.max(1, countOf(scanner.word()));
    }
    count();
    if (++next.confirmed >= next.toConfirm) {
      done(next);
    }
  }

  private long countOf(String word) {
    return switch (word.charAt(0)) {
      case 'p' -> patterns;
      case 's' -> word.startsWith("ss") || word.startsWith("sun") ? shardChannels : channels;
      default -> channels;
    };
  }

  /** A confirmation says how many there are now, of channels and patterns together. */
  private void count() {
    long all = scanner.lastInteger();
    switch (scanner.word()) {
      case "subscribe", "unsubscribe" -> channels = Math.max(0, all - patterns);
      case "psubscribe", "punsubscribe" -> patterns = Math.max(0, all - channels);
      default -> shardChannels = all;
    }
  }

  private void complete(Expected next) {
    boolean refused = scanner.isError();
    if (unsure) {
      learnOfMulti(next.verb);
    }
    if (queueing && !endsQueue(next.verb)) {
      if (!refused) {
        queue(next);
      }
    } else if (!refused) {
      carriedOut(next);
    } else if (next.verb == Verb.EXEC && queueing) {
      unqueue();
    } else if (next.verb == Verb.HELLO && mayHaveNamed(next.words)) {
      stays = true;
      session.becomesUnknown();
    }
    session.settingsMayHaveChanged(next.told, refused);
    done(next);
  }

  /**
   * Whether Redis may have taken the client for a user whom the greeting names, though it has
   * refused the greeting for what comes behind that.
   */
  private boolean mayHaveNamed(Words words) {
    boolean names = !words.whole() || (!words.user().isEmpty() && words.count() > SHORT_GREETING);
    var word = scanner.word();
    return names && !word.startsWith("NOPROTO") && !word.startsWith("NOAUTH");
  }

  private void queue(Expected next) {
    // A MULTI within a transaction is refused.
    if (next.verb != Verb.SHARED && next.verb != Verb.OWN && next.verb != Verb.MULTI) {
      queued.add(next);
      queuedBytes += next.bytes;
    }
  }

  /**
   * What Redis says to what comes behind a MULTI that was not replied to tells what became of that.
   */
  private void learnOfMulti(Verb verb) {
    var word = scanner.word();
    if (!scanner.isError()) {
      // What ends a transaction is done by none.
      knowOfMulti(endsQueue(verb) || isQueued());
    } else if (word.startsWith("ERR MULTI calls")) {
      knowOfMulti(true);
    } else if (verb == Verb.EXEC) {
      knowOfMulti(word.startsWith("EXECABORT"));
    } else if (word.startsWith("ERR DISCARD with")) {
      knowOfMulti(false);
    }
  }

  private boolean isQueued() {
    return scanner.kind() == '+' && scanner.word().equals("QUEUED");
  }

  private void knowOfMulti(boolean taken) {
    unsure = false;
    if (!taken) {
      queueing = false;
      forgetQueued();
    }
  }

  private static boolean endsQueue(Verb verb) {
    return switch (verb) {
      case EXEC, DISCARD, RESET, QUIT -> true;
      default -> false;
    };
  }

  private void carriedOut(Expected next) {
    var words = next.words;
    switch (next.verb) {
      case SELECT -> {
        database = words.number();
        session.database = database;
      }
      case AUTH -> session.becomes(words.user(), words.password());
      case HELLO -> {
        speaks(words);
        session.greeted(words);
        name = words.name().isEmpty() ? name : words.name();
      }
      case SET_NAME -> {
        if (!words.ofShim()) {
          session.isNamed(words.name());
        }
        name = words.name();
      }
      case REPLY_ON -> {
        silent = false;
        silentOnce = false;
      }
      case TRACKING -> tracking = words.first().equalsIgnoreCase("on");
      case MULTI -> queueing = true;
      case EXEC -> {
        execute();
        unqueue();
      }
      case DISCARD -> unqueue();
      case WATCH -> watching = true;
      case UNWATCH -> watching = false;
      case MONITOR -> monitoring = true;
      case REPLACES -> session.storeIsReplaced();
      case PAUSES -> session.othersArePaused(words.number());
      case RELEASES -> session.othersAreReleased();
      case RESET -> {
        reset();
        session.wasReset();
      }
      default -> {}
    }
  }

  private void speaks(Words words) {
    int wanted = words.number();
    protocol = wanted == 2 || wanted == 3 ? wanted : protocol;
  }

  /** What was queued has been carried out, but for what was refused then. */
  private void execute() {
    if (scanner.isNil()) {
      return;
    }
    for (var one : List.copyOf(queued)) {
      session.settingsMayHaveChanged(one.told, scanner.holdsError());
      if (!scanner.holdsError()) {
        carriedOut(one);
      } else if (one.verb == Verb.SELECT) {
        // Which of the commands was refused is not looked at.
        pinned = true;
        tape.gap(NO_DATABASE);
      } else {
        pinned |= !one.verb.leavesConnection();
      }
    }
  }

  private void unqueue() {
    // If there was no transaction, what is watched still is.
    watching &= unsure;
    queueing = false;
    unsure = false;
    forgetQueued();
  }

  private void forgetQueued() {
    queued.clear();
    queuedBytes = 0;
  }

  private void reset() {
    unqueue();
    watching = false;
    monitoring = false;
    tracking = false;
    silent = false;
    silentOnce = false;
    channels = 0;
    patterns = 0;
    shardChannels = 0;
    database = 0;
    name = "";
    protocol = 2;
  }

  private void done(Expected next) {
    unheardScript = false;
    taken++;
    if (++next.next == next.count) {
      over(expected.removeFirst());
    }
    taken += takeSilent();
  }

  /** Takes what comes next and is not replied to; answers how many that were. */
  private long takeSilent() {
    long count = 0;
    while (true) {
      var next = expected.peekFirst();
      if (next == null || !isSilent(next)) {
        return count;
      }
      var unanswered = unanswered(next.verb);
      if (changesUnheard(next) || queuedBytes > MOST_QUEUED) {
        lose();
        return 0;
      }
      tape.unanswered(next.number(), unanswered);
      if (scripts != null && (next.verb == Verb.SCRIPT || next.verb == Verb.EXEC)) {
        scripts.doubt();
        unheardScript = true;
      }
      count++;
      if (++next.next == next.count) {
        over(expected.removeFirst());
      }
    }
  }

  /**
   * What comes behind a MULTI that was not replied to is done at once if that was refused, or else
   * at the EXEC; or never, if that was stopped by what was watched, or refused.
   */
  private Unanswered unanswered(Verb verb) {
    boolean mayBeQueued = queueing && verb != Verb.NOTHING && !endsQueue(verb);
    return mayBeQueued || (queueing && verb == Verb.EXEC)
        ? Unanswered.OUTCOME_UNKNOWN
        : Unanswered.NONE_EXPECTED;
  }

  /** Whether Redis says nothing to it. */
  private boolean isSilent(Expected next) {
    boolean queues = queueing && !endsQueue(next.verb);
    return switch (next.verb) {
      case STREAM -> false;
      case NOTHING -> true;
      case REPLY_ON -> queues && silent;
      case RESET -> silentOnce;
      // Redis takes nothing of the kind from who has subscribed.
      case REPLY_OFF, REPLY_SKIP -> silent || silentOnce || !(queues || hearsArrays());
      default -> silent || silentOnce;
    };
  }

  /**
   * Lets it do what it does without a word; says whether nobody knows then what is a reply to what.
   */
  private boolean changesUnheard(Expected next) {
    silentOnce = false;
    if (next.verb == Verb.NOTHING) {
      return false;
    }
    if (queueing && !endsQueue(next.verb)) {
      queue(next);
      return false;
    }
    switch (next.verb) {
      case REPLY_OFF -> silent = true;
      case REPLY_SKIP -> silentOnce = !silent;
      case MULTI -> {
        // With other words it is refused.
        queueing = next.words.count() == 1;
        unsure = queueing;
      }
      case EXEC -> {
        if (queued(Verb::isUneven)) {
          return true;
        }
        if (queued(verb -> verb == Verb.SELECT)) {
          // What was queued behind it is on record in the database before.
          tape.gap(NO_DATABASE);
        }
        queued.forEach(this::changeUnheard);
        unqueue();
      }
      case DISCARD -> {
        if (queued(verb -> !verb.leavesConnection())) {
          // It was done, or not.
          return true;
        }
        unqueue();
      }
      case RESET -> {
        reset();
        session.wasReset();
      }
      case SUBSCRIBE, UNSUBSCRIBE, MONITOR -> {
        // Messages come nevertheless.
        return true;
      }
      default -> changeUnheard(next);
    }
    return false;
  }

  /** Nobody can know whether it was refused. */
  private void changeUnheard(Expected next) {
    pinned |= !next.verb.leavesConnection();
    if (next.verb == Verb.HELLO) {
      speaks(next.words);
    } else if (next.verb == Verb.SELECT) {
      int wanted = next.words.number();
      if (wanted >= SURE_DATABASES) {
        tape.gap(NO_DATABASE);
      } else if (wanted >= 0) {
        database = wanted;
        session.database = wanted;
      }
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
              && !(queueing || watching || monitoring || tracking)
              && !(silent || silentOnce || pinned || stays || ended)
              // Else a lane's reply could get amid the rest of a push.
              && scanner.atStart()
              && !subscribed();
      forgetLate();
      if (expected.isEmpty() && !queueing) {
        mayMove = false;
      }
      replied.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** What nothing is waited for has happened, or will at once. */
  private void forgetLate() {
    if (outstanding == 0 && !queueing) {
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
