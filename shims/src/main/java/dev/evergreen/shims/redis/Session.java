package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.Client;
import dev.evergreen.shims.ClientOutput;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A client: reads its requests and hands each to the {@link Lane} that it shares with others, or to
 * an {@link OwnUpstream}.
 *
 * <p>Invariant: only one of the two owes it replies, so that they come in the order of its
 * requests; but what may end that a lane does not answer is asked although the lane owes replies,
 * and is replied to behind these. It is asked although other requests come before it, which wait
 * for those replies ({@link Ahead}). All that is so only where another client's request keeps the
 * lane from answering: behind one of its own Redis alone would not read it either. From the lane it
 * goes to its own upstream when all is replied to; back it goes only if that is so anyway and
 * nothing is left there that Redis knows of the connection.
 */
final class Session {
  private static final byte[] NOTHING = {};

  /** What the record is told of a long request that may hold credentials. */
  private static final Told LONG_SECRET =
      new Told(
          ByteBuffer.wrap(Identity.request("<hidden>")).asReadOnlyBuffer(),
          true,
          true,
          Told.UNCHANGED);

  private static final ByteBuffer GOODBYE = direct("+OK\r\n");

  /**
   * So many requests are handed over before their replies are looked at: as many replies, at most
   * twice, may have to be got rid of before others get theirs, if the client does not take them.
   */
  private static final int MOST_AT_ONCE = 512;

  /** What Redis takes from somebody of whom it does not know yet who it is. */
  private static final int MOST_WORDS_OF_NOBODY = 10;

  private static final int LONGEST_OF_NOBODY = 16 << 10;

  private static final int NOWHERE = -1;

  final long number;
  final ClientOutput output;
  private final RedisShim shim;
  private final Connection connection;
  private final String address;

  // Of the client as Redis sees it; written by whoever passes the reply on that tells it.
  volatile Identity identity = Identity.NEW;
  volatile int database;
  private volatile String name = "";

  // Of the client's fiber.
  private final RequestScanner requests = new RequestScanner();
  private byte[] rest = NOTHING;
  private volatile @Nullable Lane lane;
  private @Nullable Identity laneFor;
  private volatile @Nullable OwnUpstream own;
  private @Nullable Thread ownReader;
  private boolean keepsToOwn;
  private boolean changing;

  /** Whether it is to be known first in which version Redis is to speak to the client. */
  private boolean greets;

  private boolean passing;
  private boolean amidLong;

  /** What is dealt with at present, up to where it goes, and from where on it may be looked at. */
  private @Nullable ByteBuffer came;

  private int cameTo;
  private int later = NOWHERE;

  /** What was looked at before its turn. */
  private @Nullable Ahead ahead;

  /** The lane that was given something last. */
  private @Nullable Lane owing;

  /** Replies that the lane owes. */
  private final AtomicInteger outstanding = new AtomicInteger();

  /** Ends that the client is listened to while a lane owes it replies. */
  private volatile @Nullable CancelScope listening;

  private volatile @Nullable Thread waiter;

  /** Of the upstream of its own, if it waits for the lane. */
  private volatile @Nullable Thread ownWaiter;

  private volatile boolean closed;

  Session(RedisShim shim, Connection connection) throws IOException {
    this.shim = shim;
    this.connection = connection;
    address = show(connection.peerAddress());
    output = new ClientOutput(connection, shim.spilling);
    number = shim.tape.connect(client());
  }

  private static ByteBuffer direct(String text) {
    var bytes = Inline.ascii(text);
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  private static String show(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getAddress().getHostAddress() + ":" + inet.getPort()
        : "unix";
  }

  private Client client() {
    var user = identity.user();
    return new Client(address, name, user == null ? "" : user, "RESP" + identity.protocol());
  }

  /** Serves the client until it, or Redis, ends. */
  void serve() throws IOException {
    try {
      if (shim.shares()) {
        join(identity);
      } else {
        keepsToOwn = true;
        own();
      }
      talk();
    } finally {
      close();
    }
  }

  private void talk() throws IOException {
    while (true) {
      try {
        if (!holdsAhead()) {
          shim.draining().run(connection::awaitInput);
        }
      } catch (WaitCancelledException | DeadlineException e) {
        awaitAll();
        return;
      }
      if (!takeWhatCame()) {
        return;
      }
    }
  }

  private boolean holdsAhead() {
    return ahead != null && ahead.holds();
  }

  private boolean takeWhatCame() throws IOException {
    try (var loan = Buffers.borrow()) {
      var bytes = loan.buffer();
      bytes.put(rest);
      int n = takeInto(bytes);
      if (n < 0) {
        endInput();
        return false;
      }
      int end = bytes.position();
      bytes.clear();
      if (n > 0) {
        return handle(bytes, end);
      }
      return true;
    }
  }

  /** What was read before its turn comes first. */
  private int takeInto(ByteBuffer bytes) throws IOException {
    var read = ahead;
    if (read != null && read.holds()) {
      return read.moveTo(bytes);
    }
    if (read != null && !read.hasEarly()) {
      ahead = null;
    }
    return connection.tryRead(bytes);
  }

  /** The client says no more: Redis may know what to make of it. */
  private void endInput() throws IOException {
    awaitReplied();
    var present = own;
    if (present != null && !present.isQuiet()) {
      present.endInput();
      awaitEndOfOwn();
    }
    output.awaitSent();
  }

  private void awaitEndOfOwn() throws IOException {
    var reader = ownReader;
    if (reader != null) {
      try {
        reader.join();
      } catch (InterruptedException e) {
        throw ending();
      }
    }
  }

  private static IOException ending() {
    Thread.currentThread().interrupt();
    return new InterruptedIOException("the shim ends");
  }

  /** Deals with all that there is; false if the client is to go. */
  private boolean handle(ByteBuffer bytes, int end) throws IOException {
    if (passing) {
      own().pass(bytes, 0, end);
      return true;
    }
    int from = 0;
    if (amidLong) {
      requests.at = 0;
      from = goOn(bytes, end);
    }
    var batch = shim.batches.take();
    came = bytes;
    cameTo = end;
    try {
      batch.begin(bytes, from);
      boolean goesOn = amidLong || passing || split(bytes, end, batch);
      later = NOWHERE;
      keepRest(bytes, end);
      return goesOn;
    } finally {
      came = null;
      later = NOWHERE;
      shim.batches.giveBack(batch);
    }
  }

  /** Passes more of a long request on; answers where the next one begins. */
  private int goOn(ByteBuffer bytes, int end) throws IOException {
    var found = requests.scan(bytes, end);
    amidLong = found == RequestScanner.Found.PART;
    own().more(bytes, 0, requests.at, !amidLong);
    if (found == RequestScanner.Found.STRANGE) {
      passOn(bytes, requests.at, end);
    }
    return requests.at;
  }

  private void keepRest(ByteBuffer bytes, int end) throws IOException {
    if (passing || amidLong) {
      rest = NOTHING;
      return;
    }
    int from = requests.atStart() ? requests.at : requests.began();
    if (end - from == Buffers.SIZE || isLong()) {
      beginLong(bytes, from, end);
      return;
    }
    if (from == end) {
      rest = NOTHING;
    } else {
      rest = new byte[end - from];
      bytes.get(from, rest);
    }
    requests.moved(-from);
  }

  /**
   * Whether the request says that it is longer than what is looked at whole, or than what Redis
   * takes of somebody of whom it does not know who it is: it may refuse what it was told already.
   */
  private boolean isLong() {
    var shared = lane;
    boolean ofNobody = shared != null && shared.isOfNobody();
    return !requests.atStart()
        && (requests.declared() > (ofNobody ? LONGEST_OF_NOBODY : Buffers.SIZE)
            || (ofNobody && requests.count > MOST_WORDS_OF_NOBODY));
  }

  private boolean split(ByteBuffer bytes, int end, Batch batch) throws IOException {
    while (true) {
      switch (requests.scan(bytes, end)) {
        case PART -> {
          submit(batch);
          return true;
        }
        case EMPTY -> {
          submit(batch);
          handleNothing(bytes, requests.began(), requests.at);
          batch.begin(bytes, requests.at);
        }
        case WHOLE -> {
          if (!handle(bytes, end, batch)) {
            return false;
          }
        }
        case LINE -> {
          if (!handleLine(bytes, end, batch)) {
            return false;
          }
          if (passing) {
            return true;
          }
        }
        case STRANGE -> {
          submit(batch);
          passOn(bytes, requests.began(), end);
          return true;
        }
      }
    }
  }

  /** From here on Redis is to judge what the client says, and nobody else. */
  private void passOn(ByteBuffer bytes, int from, int end) throws IOException {
    passing = true;
    later = NOWHERE;
    awaitReplied();
    var upstream = own();
    upstream.judge();
    upstream.pass(bytes, from, end);
  }

  private boolean handleLine(ByteBuffer bytes, int end, Batch batch) throws IOException {
    int from = requests.began();
    int next = requests.at;
    submit(batch);
    var words = Inline.split(bytes, from, next);
    if (words.isEmpty() || holdsZero(bytes, from, next)) {
      passOn(bytes, from, end);
      return true;
    }
    boolean goesOn = true;
    if (words.get().isEmpty()) {
      handleNothing(bytes, from, next);
    } else {
      goesOn = handleWords(words.get(), bytes, from, next);
    }
    requests.restart(next);
    batch.begin(bytes, next);
    return goesOn;
  }

  /** It may matter to an upstream that is about to leave a reply out. */
  private void handleNothing(ByteBuffer bytes, int from, int to) throws IOException {
    var present = own;
    if (present != null && !present.isQuiet()) {
      awaitRoom(present);
      present.submitNothing(bytes, from, to);
    }
  }

  /** To Redis a line with a zero in it does not end. */
  static boolean holdsZero(ByteBuffer bytes, int from, int to) {
    for (int i = from; i < to; i++) {
      if (bytes.get(i) == 0) {
        return true;
      }
    }
    return false;
  }

  private boolean handleWords(List<byte[]> words, ByteBuffer bytes, int from, int to)
      throws IOException {
    var array = ByteBuffer.wrap(Inline.asArray(words));
    var scanner = new RequestScanner();
    scanner.scan(array, array.capacity());
    var verb = verbOf(scanner, array);
    var told = redacts(verb) ? shim.redaction.of(words) : Told.ALL;
    var line = new Batch();
    line.begin(bytes, from);
    line.add(to);
    // To those who share nothing goes that one server might read in another way than the next.
    var plain = new Batch();
    plain.begin(array, 0);
    plain.add(array.capacity());
    return single(
        verb, Words.of(verb, scanner, array), words.size(), plain, line, told.orElse(array));
  }

  /** Deals with a request that is whole; false if the client is to go. */
  private boolean handle(ByteBuffer bytes, int end, Batch batch) throws IOException {
    var verb = verbOf(requests, bytes);
    if (verb == Verb.SHARED && maySharePresently(requests.count, requests.at - requests.began())) {
      batch.add(requests.at);
      if (batch.count() >= MOST_AT_ONCE) {
        submit(batch);
      }
      return true;
    }
    int from = requests.began();
    int next = requests.at;
    if (verb == Verb.MULTI && mayShareBlock() && addBlock(bytes, end, batch)) {
      return true;
    }
    submit(batch);
    batch.begin(bytes, from);
    batch.add(next);
    boolean goesOn =
        single(
            verb,
            Words.of(verb, requests, bytes),
            requests.count,
            batch,
            batch,
            told(verb, bytes, from, next));
    batch.begin(bytes, next);
    return goesOn;
  }

  private Told told(Verb verb, ByteBuffer bytes, int from, int to) {
    return redacts(verb) ? shim.redaction.of(Inline.wordsOf(bytes, from, to)) : Told.ALL;
  }

  /** What scripts do has to be watched, or it is nothing that matters. */
  private Verb verbOf(RequestScanner request, ByteBuffer bytes) {
    var verb = Verb.of(request, bytes);
    return verb == Verb.SCRIPT && !shim.watchesScripts() ? Verb.SHARED : verb;
  }

  private static boolean redacts(Verb verb) {
    return verb == Verb.AUTH || verb == Verb.HELLO || verb == Verb.SECRET;
  }

  private boolean maySharePresently(int words, int length) {
    if (keepsToOwn || changing || isAddressed() || shim.pause.isOn()) {
      return false;
    }
    if (output.isBehind()) {
      // What it does not take is for Redis to keep, and not for others to wait for.
      return false;
    }
    var shared = lane;
    return length <= Buffers.SIZE
        && (shared == null
            || !shared.isOfNobody()
            || (words <= MOST_WORDS_OF_NOBODY && length <= LONGEST_OF_NOBODY));
  }

  private boolean mayShareBlock() {
    var shared = lane;
    return maySharePresently(1, 0) && (shared == null || !shared.isOfNobody());
  }

  /**
   * Adds a transaction that has come whole, and that anybody's connection could carry out: from
   * MULTI, which was just found, to EXEC. Else nothing has changed.
   */
  private boolean addBlock(ByteBuffer bytes, int end, Batch batch) {
    int begins = requests.began();
    int next = requests.at;
    int before = batch.count();
    boolean whole = requests.count == 1;
    batch.add(next);
    while (whole) {
      whole = requests.scan(bytes, end) == RequestScanner.Found.WHOLE;
      if (whole) {
        var verb = verbOf(requests, bytes);
        if (verb == Verb.EXEC && requests.count == 1) {
          batch.add(requests.at);
          return true;
        }
        whole = verb == Verb.SHARED;
        batch.add(requests.at);
      }
    }
    batch.cut(before);
    requests.restart(begins);
    requests.scan(bytes, next);
    return false;
  }

  /** Hands all that may be shared over. */
  private void submit(Batch batch) throws IOException {
    if (batch.count() > 0) {
      later = batch.to();
      share(batch, Told.ALL, null);
    }
    batch.begin(batch.bytes(), batch.to());
  }

  private void share(Batch batch, Told told, Lane.@Nullable OnReply onReply) throws IOException {
    share(batch, told, onReply, false);
  }

  private void share(Batch batch, Told told, Lane.@Nullable OnReply onReply, boolean selects)
      throws IOException {
    if (outstanding.get() > MOST_AT_ONCE) {
      awaitReplied();
    }
    while (true) {
      var shared = sharedLane();
      if (shared == null) {
        send(Verb.SHARED, Words.NONE, batch, told);
        return;
      }
      outstanding.addAndGet(batch.count());
      if (isAddressed()) {
        replied(batch.count());
        send(Verb.SHARED, Words.NONE, batch, told);
        return;
      }
      switch (shared.submit(this, database, batch, told, onReply, selects)) {
        case TAKEN -> {
          owing = shared;
          return;
        }
        case ENDED -> {
          replied(batch.count());
          if (!shared.wasLeft() && own == null) {
            throw new EOFException("Redis has ended the connection");
          }
          lane = null;
        }
        case REFUSED -> {
          replied(batch.count());
          send(Verb.SHARED, Words.NONE, batch, told);
          return;
        }
      }
    }
  }

  /** Whether Redis says something by the upstream of its own, maybe since one was chosen. */
  private boolean isAddressed() {
    var present = own;
    return present != null && !present.isQuiet();
  }

  /** The lane for the next commands, or null if there is none for this client. */
  private @Nullable Lane sharedLane() throws IOException {
    var present = lane;
    var wanted = identity;
    if (present != null && wanted.equals(laneFor) && present.isFit()) {
      return present;
    }
    if (keepsToOwn) {
      return null;
    }
    awaitReplied();
    return join(wanted);
  }

  private @Nullable Lane join(Identity wanted) throws IOException {
    lane = shim.lanes.join(wanted, this::awaitUpstream);
    laneFor = wanted;
    keepsToOwn = lane == null;
    return lane;
  }

  /**
   * Deals with a request that does not simply follow others; false if the client is to go.
   *
   * @param asItCame what goes to an upstream that is not shared
   */
  private boolean single(Verb verb, Words words, int count, Batch batch, Batch asItCame, Told told)
      throws IOException {
    if (changing) {
      // An upstream of its own that is opened before would speak in the old version for ever.
      later = greets ? NOWHERE : asItCame.from();
      awaitKnown();
      changing = false;
      greets = false;
    }
    later = verb.leavesLaterOnes() ? asItCame.to() : NOWHERE;
    if (verb == Verb.RELEASES && ahead != null && ahead.hasEarly()) {
      answerEarly(ahead.takeEarly());
      return true;
    }
    boolean mayShare = maySharePresently(count, batch.length());
    if (mayShare && verb == Verb.QUIT) {
      awaitReplied();
      output.offer(GOODBYE.duplicate(), 0, GOODBYE.limit());
      output.awaitSent();
      return false;
    }
    if (!mayShare || !shareSingle(verb, words, batch, told)) {
      send(verb, words, asItCame, told);
      changing |= verb.changes();
    }
    return true;
  }

  private boolean shareSingle(Verb verb, Words words, Batch batch, Told told) throws IOException {
    if (verb.isShared()) {
      boolean ofSettings = told.changesRules() || told.busyMillis() != Told.UNCHANGED;
      share(
          batch, told, ofSettings ? reply -> settingsMayHaveChanged(told, reply.isError()) : null);
      return true;
    }
    if (own != null || keepsToOwn) {
      return false;
    }
    switch (verb) {
      case SELECT -> {
        share(
            batch,
            told,
            reply -> {
              if (!reply.isError()) {
                database = words.number();
              }
            },
            true);
        changing = true;
        return true;
      }
      case SET_NAME -> {
        share(
            batch,
            told,
            reply -> {
              if (!reply.isError()) {
                isNamed(words.name());
              }
            });
        return true;
      }
      case HELLO -> {
        return greet(words, batch, told);
      }
      default -> {
        return false;
      }
    }
  }

  /** A version of the protocol and maybe a name: the lane of that version can answer it. */
  private boolean greet(Words words, Batch batch, Told told) throws IOException {
    int version = words.number();
    boolean plain = words.count() == 2 || (words.count() == 4 && isName(words.name()));
    if (!plain || (version != 2 && version != 3) || !words.user().isEmpty()) {
      return false;
    }
    awaitReplied();
    var wanted = identity.withProtocol(version);
    var other = shim.lanes.join(wanted, this::awaitUpstream);
    if (other == null) {
      return false;
    }
    var original = ByteBuffer.allocate(batch.length());
    original.put(0, batch.bytes(), batch.from(), batch.length());
    var request = Identity.request("HELLO", String.valueOf(version));
    var greeting = new Batch();
    greeting.begin(ByteBuffer.wrap(request), 0);
    greeting.add(request.length);
    Lane.OnReply onReply =
        reply -> {
          if (!reply.isError()) {
            greeted(words);
          }
        };
    outstanding.incrementAndGet();
    if (other.submit(this, database, greeting, told.orElse(original), onReply, false)
        != Lane.Result.TAKEN) {
      outstanding.decrementAndGet();
      return false;
    }
    lane = other;
    owing = other;
    laneFor = wanted;
    changing = true;
    greets = true;
    return true;
  }

  private static boolean isName(String name) {
    return !name.isEmpty() && name.chars().allMatch(c -> c >= '!' && c <= '~');
  }

  /** Sends requests to the client's own upstream. */
  private void send(Verb verb, Words words, Batch batch, Told told) throws IOException {
    if (verb.endsWaits()) {
      awaitRepliedOrHeldUp();
    } else {
      awaitReplied();
    }
    var upstream = own();
    if (!verb.endsWaits() && !upstream.isNamed(name)) {
      // It was opened while Redis was busy, or before the lane had the name confirmed.
      upstream.name(name);
    }
    if (verb.needsDatabase() && upstream.database() != database) {
      var refusal = upstream.select(database);
      if (refusal != null) {
        // As that command would have been, too: by a busy script, or while data is loaded.
        for (int i = 0; i < batch.count(); i++) {
          answer(refusal);
        }
        return;
      }
    }
    awaitRoom(upstream);
    if (verb == Verb.PINS) {
      upstream.catchUp();
    }
    upstream.submit(verb, words, batch, told);
    if (outstanding.get() > 0) {
      // What comes next waits for what this may end.
      upstream.flush();
    }
  }

  private void answer(byte[] reply) {
    var bytes = ByteBuffer.allocateDirect(reply.length).put(reply);
    output.offer(bytes, 0, reply.length);
  }

  /** The turn has come of what was carried out before it. */
  private void answerEarly(OwnUpstream.Kept kept) throws IOException {
    awaitReplied();
    var upstream = own();
    upstream.flush();
    upstream.awaitReplied();
    var reply = upstream.bytes(kept);
    if (reply != null) {
      answer(reply);
    }
  }

  private void beginLong(ByteBuffer bytes, int from, int end) throws IOException {
    if (requests.atStart()) {
      // A line that does not end.
      passOn(bytes, from, end);
      return;
    }
    if (changing) {
      awaitKnown();
      changing = false;
      greets = false;
    }
    awaitReplied();
    var verb = verbOf(requests, bytes);
    var upstream = own();
    if (verb.needsDatabase() && upstream.database() != database) {
      // What is refused here is refused there.
      upstream.select(database);
    }
    awaitRoom(upstream);
    upstream.begin(
        verb,
        Words.of(verb, requests, bytes),
        bytes,
        from,
        end,
        redacts(verb) ? LONG_SECRET : Told.ALL);
    amidLong = true;
    rest = NOTHING;
  }

  /**
   * Waits while too much of what the client has asked is not replied to. Nothing is read from it
   * meanwhile: if it goes away, it has to be noticed otherwise.
   */
  private void awaitRoom(OwnUpstream upstream) throws IOException {
    if (!upstream.isCrowded()) {
      return;
    }
    Runnable giveUp =
        () -> {
          cutOff();
          upstream.fail();
        };
    try (var _ = new Departure(connection, shim.fibers, shim.patience(), giveUp)) {
      upstream.awaitRoom();
    }
    checkOpen();
  }

  private OwnUpstream own() throws IOException {
    var present = own;
    if (present != null) {
      return present;
    }
    var scope = CancelScope.open();
    Runnable giveUp =
        () -> {
          cutOff();
          scope.cancel();
        };
    OwnUpstream made;
    try (var _ = new Departure(connection, shim.fibers, shim.patience(), giveUp)) {
      made = scope.call(() -> shim.open(this, identity, name, database));
    } catch (WaitCancelledException e) {
      // Whoever waits for something else meanwhile must not take it for that.
      checkOpen();
      throw e;
    }
    own = made;
    ownReader = shim.fibers.spawn(() -> ownEnded(made.readToEnd()));
    return made;
  }

  private void ownEnded(boolean inOrder) {
    if (closed) {
      // The client has gone, or is just being let go in order.
      return;
    }
    if (inOrder) {
      connection.close();
    } else {
      connection.reset();
    }
    wake();
  }

  /** Waits until all is known of what scripts have done so far. */
  void awaitEffects() {
    shim.awaitEffects();
  }

  /** Waits until it is known what the client is to Redis. */
  private void awaitKnown() throws IOException {
    awaitReplied();
    var present = own;
    if (present != null) {
      present.flush();
      present.awaitKnown();
    }
  }

  private void awaitAll() throws IOException {
    awaitReplied();
    var present = own;
    if (present != null) {
      present.awaitReplied();
    }
    output.awaitSent();
  }

  /** Waits until the lane owes nothing. */
  private void awaitReplied() throws IOException {
    while (outstanding.get() > 0) {
      if (isHeldUp() && mayListen()) {
        listen();
      } else {
        awaitProgress();
      }
    }
  }

  /**
   * Waits until the lane owes nothing or others keep it from replying: what comes next may be what
   * ends that. The lane's replies come first nevertheless.
   */
  private void awaitRepliedOrHeldUp() throws IOException {
    while (outstanding.get() > 0 && !isHeldUp()) {
      awaitProgress();
    }
  }

  private boolean isHeldUp() {
    var present = owing;
    return present != null && present.isHeldUpByOthers(this);
  }

  /** Waits for a lane that is being made; not if the client goes away meanwhile. */
  private void awaitUpstream(BooleanSupplier over) throws IOException {
    waiter = Thread.currentThread();
    try (var _ = new Departure(connection, shim.fibers, shim.patience(), this::cutOff)) {
      while (!over.getAsBoolean()) {
        checkOpen();
        LockSupport.park(this);
        if (Thread.currentThread().isInterrupted()) {
          throw ending();
        }
      }
    } finally {
      waiter = null;
    }
  }

  /** Waits until the lane owes nothing, or it is worth looking whether it answers. */
  private void awaitProgress() throws IOException {
    waiter = Thread.currentThread();
    try {
      if (outstanding.get() > 0) {
        checkOpen();
        var present = owing;
        LockSupport.parkNanos(
            this, present == null ? shim.patienceNanos() : present.patienceLeftNanos());
      }
    } finally {
      waiter = null;
    }
    if (Thread.currentThread().isInterrupted()) {
      throw ending();
    }
  }

  private void checkOpen() throws IOException {
    if (closed) {
      throw new EOFException("Redis has ended the connection, or the client");
    }
  }

  private boolean mayListen() {
    return later != NOWHERE && (ahead == null || ahead.mayRead());
  }

  /** Looks for what may end that the lane does not answer, in what came and in what comes now. */
  private void listen() throws IOException {
    var present = Objects.requireNonNull(came);
    var scope = CancelScope.open();
    listening = scope;
    try {
      var read = ahead;
      if (read == null) {
        read = new Ahead();
        ahead = read;
      }
      for (var early : read.find(present, later, cameTo)) {
        read.add(own().submitEarly(Verb.RELEASES, early.batch(), early.told()));
      }
      if (outstanding.get() > 0) {
        checkOpen();
        scope.run(connection::awaitInput);
        read.read(connection);
      }
    } catch (WaitCancelledException e) {
      // All is replied to, or never will be.
      return;
    } finally {
      listening = null;
    }
  }

  /** Of the upstream of its own: waits until the lane owes nothing, or never will reply. */
  void awaitLane() {
    if (outstanding.get() == 0) {
      return;
    }
    ownWaiter = Thread.currentThread();
    try {
      while (outstanding.get() > 0 && !closed && !Thread.currentThread().isInterrupted()) {
        LockSupport.park(this);
      }
    } finally {
      ownWaiter = null;
    }
  }

  /** So many replies have been passed on by the lane, or will not come from it. */
  void replied(int count) {
    if (outstanding.addAndGet(-count) == 0) {
      wake();
    }
  }

  private void wake() {
    // Nobody who is null is woken.
    LockSupport.unpark(waiter);
    LockSupport.unpark(ownWaiter);
    var scope = listening;
    if (scope != null) {
      scope.cancel();
    }
  }

  /** A lane has ended, and with it the connection of each client that has nothing else. */
  void ended(Lane which) {
    if (lane == which && own == null) {
      cutOff();
    }
  }

  /** Replies that the client waits for do not come any more, or it has gone. */
  void cutOff() {
    closed = true;
    connection.close();
    wake();
  }

  void becomes(String user, String password) {
    identity = identity.as(user, password);
    tellChange();
  }

  /** Only Redis knows as whom it speaks from now on. */
  void becomesUnknown() {
    identity = Identity.NEW.withProtocol(identity.protocol());
    tellChange();
  }

  void greeted(Words words) {
    var next = words.number() < 0 ? identity : identity.withProtocol(words.number());
    identity = words.user().isEmpty() ? next : next.as(words.user(), words.password());
    if (!words.name().isEmpty()) {
      name = words.name();
    }
    tellChange();
  }

  void isNamed(String name) {
    this.name = name;
    tellChange();
  }

  void wasReset() {
    identity = Identity.NEW;
    name = "";
    database = 0;
    tellChange();
  }

  /** A request that may be about the server's settings was replied to. */
  void settingsMayHaveChanged(Told told, boolean refused) {
    if (told.changesRules()) {
      shim.lanes.renewThoseOfNobody();
    }
    if (!refused && told.busyMillis() != Told.UNCHANGED) {
      shim.watch.setThreshold(told.busyMillis());
    }
  }

  /** The store may be another one from here on. */
  void storeIsReplaced() {
    shim.watch.renew();
  }

  void othersArePaused(long millis) {
    shim.pause.begin(millis);
  }

  /** From whatever kept Redis from answering them. */
  void othersAreReleased() {
    shim.pause.end();
  }

  private void tellChange() {
    shim.tape.change(number, client());
  }

  private void close() {
    closed = true;
    wake();
    output.close();
    var present = own;
    if (present != null) {
      present.close();
    }
    shim.tape.disconnect(number);
  }
}
