package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpooledBody;
import dev.evergreen.provenance.Unanswered;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The upstream of one client, for what has to do with its connection. All that comes from Redis
 * goes to the client. What Redis says tells the state of the connection, never what the client has
 * asked for: so it holds whatever Redis refuses, queues or leaves unanswered.
 *
 * <p>The client's fiber sends, one of its own receives. What both know is guarded by a lock.
 */
final class OwnUpstream {

  /** A message that was cut in two is kept up to here, in bytes, to be recorded. */
  private static final int LONGEST_HELD = 64 << 10;

  /** What the client has asked for, and is to be replied to. */
  private static final class Expected {
    final Verb verb;
    final long[] numbers;
    final Words words;
    final Told told;
    int next;

    /** Of those that are replied to more than once. */
    long confirmed;

    long toConfirm;

    Expected(Verb verb, long[] numbers, Words words, Told told) {
      this.told = told;
      this.verb = verb;
      this.numbers = numbers;
      this.words = words;
      toConfirm = words.count() - 1L;
    }

    long number() {
      return numbers[next];
    }
  }

  /** What a message is. */
  private enum Meaning {
    REPLY,
    CONFIRMATION,
    PUSH
  }

  final long number;
  private final Session session;
  private final Connection connection;
  private final Tape tape;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Condition replied = lock.newCondition();
  private final ArrayDeque<Expected> expected = new ArrayDeque<>(2);
  private long outstanding;
  private boolean queueing;
  private boolean queuesSecret;
  private boolean queuesRules;
  private boolean watching;
  private boolean monitoring;
  private boolean tracking;
  private boolean silent;
  private boolean silentOnce;
  private boolean pinned;
  private boolean ended;
  private long channels;
  private long patterns;
  private long shardChannels;

  /** Of the requests that are sent; written by the reader while none is under way. */
  private volatile int database;

  private volatile boolean quiet = true;

  /** To the shim's own request. */
  private byte @Nullable [] answer;

  // Of the reader.
  private final ReplyScanner scanner = new ReplyScanner();
  private boolean streaming;
  private @Nullable SpooledBody body;
  private @Nullable ByteArrayOutputStream held;
  private long lastRecorded = Spool.DROPPED;
  private long taken;

  /** Of the sender. */
  private @Nullable SpooledBody sentBody;

  OwnUpstream(Session session, Connection connection, int database, Tape tape) {
    this.session = session;
    this.connection = connection;
    this.database = database;
    this.tape = tape;
    number = tape.lane("own of " + session.number);
  }

  /** Whether the client's next command may as well be carried out by another upstream. */
  boolean isQuiet() {
    return quiet;
  }

  int database() {
    return database;
  }

  /** From now on the client keeps to this upstream. */
  void pin() {
    lock.lock();
    try {
      pinned = true;
      quiet = false;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends requests of one kind.
   *
   * @param told what the record is told, of each of them
   */
  void submit(Verb verb, Words words, Batch batch, Told told) throws IOException {
    var numbers = new long[batch.count];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] =
          told.bytes() == null
              ? tape.request(
                  session.number, number, database, batch.bytes, batch.start(i), batch.end(i))
              : tape.request(
                  session.number,
                  number,
                  database,
                  told.bytes().duplicate(),
                  0,
                  told.bytes().capacity());
    }
    expect(new Expected(verb, numbers, words, told));
    pass(batch.bytes, batch.from, batch.to);
  }

  /**
   * Sends the first piece of a request that is too long to be looked at whole.
   *
   * @param recorded what the record is told instead, or null
   */
  void begin(
      Verb verb, Words words, ByteBuffer bytes, int from, int to, @Nullable ByteBuffer recorded)
      throws IOException {
    long request;
    if (recorded == null) {
      sentBody = tape.beginRequest(session.number, number, database);
      request = sentBody == null ? Spool.DROPPED : sentBody.number();
    } else {
      request =
          tape.request(
              session.number, number, database, recorded.duplicate(), 0, recorded.capacity());
    }
    expect(new Expected(verb, new long[] {request}, words, Told.ALL));
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

  /** Sends bytes as they are. */
  void pass(ByteBuffer bytes, int from, int to) throws IOException {
    connection.write(bytes.limit(to).position(from));
    bytes.clear();
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
      if (next.verb == Verb.PINS || next.verb == Verb.STREAM) {
        pinned = true;
      }
      quiet = false;
      expected.add(next);
      outstanding += next.numbers.length;
      outstanding -= takeSilent();
    } finally {
      lock.unlock();
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
    answer = null;
    expect(
        new Expected(Verb.SELECT, new long[] {Spool.DROPPED}, Words.ofSelection(wanted), Told.ALL));
    connection.write(request);
    connection.flush();
    lock.lock();
    try {
      while (outstanding > 0 && !ended) {
        replied.awaitUninterruptibly();
      }
      return wanted == database ? null : answer;
    } finally {
      lock.unlock();
    }
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
    tape.endLane(number);
  }

  private boolean receive() throws IOException {
    try (var loan = Buffers.borrow()) {
      var buffer = loan.buffer();
      int n = connection.tryRead(buffer);
      if (n > 0) {
        pass(buffer, n);
      }
      return n >= 0;
    }
  }

  private void pass(ByteBuffer bytes, int end) throws IOException {
    int from = 0;
    scanner.at = 0;
    while (scanner.at < end && !streams()) {
      int begin = scanner.at;
      boolean fresh = scanner.atStart();
      boolean whole = scanner.scan(bytes, end);
      if (scanner.strange()) {
        streaming = true;
        pin();
        tape.gap("what came from the store is not its protocol");
        break;
      }
      if (isOfShim()) {
        // Never more than one, and nothing else is expected then.
        send(bytes, from, begin);
        keepAnswer(bytes, begin, scanner.at);
        from = scanner.at;
      } else {
        record(bytes, begin, fresh, whole);
      }
      if (whole) {
        take();
      }
    }
    tape.settle(lastRecorded);
    send(bytes, from, end);
    settleReplies();
  }

  private void send(ByteBuffer bytes, int from, int to) throws IOException {
    if (to > from) {
      session.output.send(bytes, from, to);
    }
  }

  /** Whether there are no replies any more. */
  private boolean streams() {
    if (!streaming && scanner.atStart()) {
      lock.lock();
      try {
        var next = expected.peekFirst();
        streaming = next != null && next.verb == Verb.STREAM;
      } finally {
        lock.unlock();
      }
    }
    return streaming;
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

  private void keepAnswer(ByteBuffer bytes, int from, int to) {
    lock.lock();
    try {
      int before = answer == null ? 0 : answer.length;
      var joined = new byte[before + to - from];
      if (answer != null) {
        System.arraycopy(answer, 0, joined, 0, before);
      }
      bytes.get(from, joined, before, to - from);
      answer = joined;
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
    if (body != null) {
      body.add(bytes.limit(scanner.at).position(from));
      bytes.clear();
      if (whole) {
        lastRecorded = body.end();
        body = null;
      }
    } else if (held != null) {
      var piece = new byte[Math.min(scanner.at - from, LONGEST_HELD - held.size())];
      bytes.get(from, piece);
      held.writeBytes(piece);
      if (whole) {
        var message = ByteBuffer.wrap(held.toByteArray());
        held = null;
        recordWhole(message, 0, message.capacity());
      }
    }
  }

  private void recordWhole(ByteBuffer bytes, int from, int to) {
    lock.lock();
    try {
      var next = expected.peekFirst();
      if (meaning(next) == Meaning.PUSH || next == null) {
        lastRecorded = tape.push(session.number, number, bytes, from, to);
      } else if (next.toConfirm > 1 && isOfPubSub(next.verb) && !scanner.isError()) {
        // One of several, which are the reply together.
        recordConfirmation(next, bytes, from, to);
      } else if (hides(next)) {
        lastRecorded = tape.hiddenReply(next.number());
      } else {
        lastRecorded = tape.reply(next.number(), bytes, from, to);
      }
    } finally {
      lock.unlock();
    }
    bytes.clear();
  }

  private @Nullable SpooledBody confirmations;

  private void recordConfirmation(Expected next, ByteBuffer bytes, int from, int to) {
    if (confirmations == null) {
      confirmations = tape.beginReply(next.number());
    }
    if (confirmations != null) {
      confirmations.add(bytes.limit(to).position(from));
      if (next.confirmed + 1 == next.toConfirm) {
        lastRecorded = confirmations.end();
        confirmations = null;
      }
    }
  }

  private void beginPieces() {
    lock.lock();
    try {
      var next = expected.peekFirst();
      // What it is can be told by its end only, if messages may come between replies.
      boolean certain =
          next != null
              && scanner.kind() != '>'
              && !monitoring
              && !subscribed()
              && !isOfPubSub(next.verb)
              && !hides(next);
      if (certain) {
        body = tape.beginReply(next.number());
      } else {
        held = new ByteArrayOutputStream();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether the reply may hold credentials: its own, or that of a command of its transaction. */
  private boolean hides(Expected next) {
    return next.told.hidesReply() || (queuesSecret && next.verb == Verb.EXEC);
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
        if (!asked && !subscribed()) {
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
          }
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void confirm(@Nullable Expected next) {
    if (next == null) {
      return;
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
    if (queueing && !endsQueue(next.verb)) {
      // What it will do to the connection shows in no reply that can be told from others.
      pinned |= !next.verb.isShared() && next.verb != Verb.OWN && !refused;
      queuesSecret |= next.told.hidesReply();
      queuesRules |= next.told.changesRules();
    } else if (!refused) {
      carriedOut(next);
    } else if (next.verb == Verb.EXEC && queueing) {
      unqueue();
    }
    if (next.told.changesRules()) {
      session.rulesChanged();
    }
    done(next);
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
      case HELLO -> session.greeted(words);
      case SET_NAME -> session.isNamed(words.name());
      case REPLY_ON -> {
        silent = false;
        silentOnce = false;
      }
      case TRACKING -> tracking = words.first().equalsIgnoreCase("on");
      case MULTI -> queueing = true;
      case EXEC, DISCARD -> {
        if (queuesRules) {
          session.rulesChanged();
        }
        unqueue();
      }
      case WATCH -> watching = true;
      case UNWATCH -> watching = false;
      case MONITOR -> monitoring = true;
      case RESET -> {
        reset();
        session.wasReset();
      }
      default -> {}
    }
  }

  private void unqueue() {
    queueing = false;
    queuesSecret = false;
    queuesRules = false;
    watching = false;
  }

  private void reset() {
    unqueue();
    monitoring = false;
    tracking = false;
    silent = false;
    silentOnce = false;
    channels = 0;
    patterns = 0;
    shardChannels = 0;
    database = 0;
  }

  private void done(Expected next) {
    taken++;
    if (++next.next == next.numbers.length) {
      expected.removeFirst();
    }
    taken += takeSilent();
  }

  /** Takes what comes next and is not replied to; answers how many that were. */
  private long takeSilent() {
    long count = 0;
    while (true) {
      var next = expected.peekFirst();
      if (next == null || queueing || !isSilent(next)) {
        return count;
      }
      tape.unanswered(next.number(), Unanswered.NONE_EXPECTED);
      count++;
      if (++next.next == next.numbers.length) {
        expected.removeFirst();
      }
    }
  }

  private boolean isSilent(Expected next) {
    switch (next.verb) {
      case REPLY_OFF -> silent = true;
      case REPLY_SKIP -> silentOnce = !silent;
      case REPLY_ON, STREAM -> {
        return false;
      }
      default -> {
        if (!silent && !silentOnce) {
          return false;
        }
        silentOnce = false;
        // Nobody can know what became of it.
        pinned |= !next.verb.isShared() && next.verb != Verb.OWN;
        if (next.verb == Verb.SELECT && next.words.number() >= 0) {
          database = next.words.number();
          session.database = database;
        }
      }
    }
    return true;
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
              && !(silent || silentOnce || pinned || ended || streaming)
              && !subscribed();
      if (outstanding == 0 || pinned) {
        replied.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends it; the client has gone. */
  void close() {
    connection.close();
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
