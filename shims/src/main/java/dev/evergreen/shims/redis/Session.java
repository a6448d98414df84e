package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.provenance.Batch;
import dev.evergreen.shims.ClientOutput;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A client: hands each of its {@linkplain ClientRequests requests} to the {@link Lane} that it
 * shares with others, or to an {@link OwnUpstream}.
 *
 * <p>Invariant: only one of the two owes it replies, so that they come in the order of its
 * requests. From the lane it goes to its own upstream when all is replied to; back it goes only if
 * that is so anyway and nothing is left there that Redis knows of the connection.
 */
final class Session {
  private static final ByteBuffer GOODBYE = direct("+OK\r\n");

  /**
   * So many requests are handed over before their replies are looked at: as many replies, at most
   * twice, may have to be got rid of before others get theirs, if the client does not take them.
   */
  static final int MOST_AT_ONCE = 512;

  /** What Redis takes from somebody of whom it does not know yet who it is. */
  static final int MOST_WORDS_OF_NOBODY = 10;

  static final int LONGEST_OF_NOBODY = 16 << 10;

  final long number;
  final ClientOutput output;
  private final RedisShim shim;
  private final Connection connection;
  final Profile profile;

  // Of the client's fiber.
  private volatile @Nullable Lane lane;
  private @Nullable Identity laneFor;
  private volatile @Nullable OwnUpstream own;
  private @Nullable Thread ownReader;
  private boolean keepsToOwn;

  /**
   * What the client is to hear at the end of the long request that has begun, if not Redis does.
   */
  private byte @Nullable [] refusal;

  private boolean changing;

  /** Replies that the lane owes. */
  private final AtomicInteger outstanding = new AtomicInteger();

  private volatile @Nullable Thread waiter;

  /** Ends that the client is listened to while a lane owes it replies. */
  private volatile @Nullable CancelScope listening;

  /** Of the upstream of its own, if it waits for the lane. */
  private volatile @Nullable Thread ownWaiter;

  private volatile boolean closed;

  /** What is done for the client beside its own fiber ends with it. */
  private final CancelScope lifetime = CancelScope.open();

  /**
   * A request cannot be dealt with yet, and nothing of it was: the lane owes replies to what was
   * asked before, and does not answer.
   */
  static final class StuckException extends IOException {
    private static final long serialVersionUID = 1;

    @Override
    public Throwable fillInStackTrace() {
      // It is no failure.
      return this;
    }
  }

  Session(RedisShim shim, Connection connection) throws IOException {
    this.shim = shim;
    this.connection = connection;
    output = new ClientOutput(connection, shim.spilling);
    profile = new Profile(shim.tape, show(connection.peerAddress()));
    number = profile.number;
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

  /** Serves the client until it, or Redis, ends. */
  void serve() throws IOException {
    try {
      if (shim.shares()) {
        join(profile.identity());
      } else {
        keepsToOwn = true;
        own();
      }
      new ClientRequests(shim, this, connection).talk();
    } catch (Exchange.RefusedException e) {
      if (outstanding.get() == 0) {
        answer(e.said());
        output.awaitSent();
      }
      throw e;
    } finally {
      close();
    }
  }

  /** The client says no more: Redis may know what to make of it. */
  void endInput() throws IOException {
    awaitLane();
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

  /**
   * From here on Redis is to judge what the client says, and nobody else. It may be good to Redis:
   * then it is to be done in the client's database, or not at all.
   *
   * @param amid whether the beginning of a request has been passed on: nothing may come between
   * @param refused whether Redis certainly does nothing of it
   * @return false if the client is to go
   */
  boolean passOn(ByteBuffer bytes, int from, int end, boolean amid, boolean refused)
      throws IOException {
    if (changing) {
      awaitChange();
    }
    awaitReplied();
    var upstream = own();
    if (upstream.database() != profile.database()) {
      if (amid || upstream.isHoldingBack()) {
        return false;
      }
      var said = upstream.select(profile.database());
      if (said != null) {
        answer(said);
        output.awaitSent();
        return false;
      }
    }
    upstream.judge(refused);
    upstream.pass(bytes, from, end);
    return true;
  }

  /** A request of nothing: it may matter to an upstream that is about to leave a reply out. */
  void passNothing(ByteBuffer bytes, int from, int to) throws IOException {
    var present = own;
    if (present != null && !present.isQuiet()) {
      awaitRoom(present);
      present.submitNothing(bytes, from, to);
    }
  }

  /** Whether Redis does not know yet who the client is. */
  boolean isOfNobody() {
    var shared = lane;
    return shared != null && shared.isOfNobody();
  }

  /** Whether a request of so many words and bytes may go by a lane at present. */
  boolean mayShare(int words, int length) {
    if (keepsToOwn || changing || isAddressed() || shim.pause.isOn()) {
      return false;
    }
    if (output.isBehind()) {
      // What it does not take is for Redis to keep, and not for others to wait for.
      return false;
    }
    return length <= Buffers.SIZE
        && (!isOfNobody() || (words <= MOST_WORDS_OF_NOBODY && length <= LONGEST_OF_NOBODY));
  }

  /** Whether a transaction that has come whole may. */
  boolean mayShareBlock() {
    return mayShare(1, 0) && !isOfNobody();
  }

  /** Hands over what may be shared. */
  void share(Batch batch) throws IOException {
    share(batch, Told.ALL, null);
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
      switch (shared.submit(this, profile.database(), batch, told, onReply, selects)) {
        case TAKEN -> {
          var present = own;
          if (present != null) {
            present.keepAlive();
          }
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
    var wanted = profile.identity();
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
  boolean single(Verb verb, Words words, int count, Batch batch, Batch asItCame, Told told)
      throws IOException {
    if (changing) {
      awaitChange();
    }
    boolean mayShare = mayShare(count, batch.length());
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
                profile.isIn(words.number());
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
                profile.isNamed(words.name());
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
    var wanted = profile.identity().withProtocol(version);
    var other = shim.lanes.join(wanted, this::awaitUpstream);
    if (other == null) {
      return false;
    }
    var original = ByteBuffer.allocate(batch.length());
    original.put(0, batch.bytes(), batch.from(), batch.length());
    // By the name that it was said by, which may be none to Redis.
    var said = Inline.wordsOf(batch.bytes(), batch.from(), batch.to()).getFirst();
    var request = Inline.asArray(List.of(said, Inline.ascii(String.valueOf(version))));
    var greeting = new Batch();
    greeting.begin(ByteBuffer.wrap(request), 0);
    greeting.add(request.length);
    Lane.OnReply onReply =
        reply -> {
          if (!reply.isError()) {
            profile.greeted(words);
          }
        };
    outstanding.incrementAndGet();
    if (other.submit(this, profile.database(), greeting, told.orElse(original), onReply, false)
        != Lane.Result.TAKEN) {
      outstanding.decrementAndGet();
      return false;
    }
    lane = other;
    laneFor = wanted;
    changing = true;
    return true;
  }

  private static boolean isName(String name) {
    return !name.isEmpty() && name.chars().allMatch(c -> c >= '!' && c <= '~');
  }

  /** Sends requests to the client's own upstream. */
  private void send(Verb verb, Words words, Batch batch, Told told) throws IOException {
    awaitReplied();
    var upstream = own();
    if (!upstream.isNamed(profile.name())) {
      // It was opened while Redis was busy, or before the lane had the name confirmed.
      upstream.name(profile.name());
    }
    var refused = select(verb, upstream);
    if (refused != null) {
      for (int i = 0; i < batch.count(); i++) {
        answer(refused);
      }
      return;
    }
    awaitRoom(upstream);
    if (verb == Verb.PINS) {
      upstream.catchUp();
    }
    upstream.submit(verb, words, batch, told);
    if (verb == Verb.MULTI && upstream.isToSpoil(profile.database())) {
      upstream.spoil();
    }
  }

  /**
   * Has the upstream go to the client's database, if a request needs it. What Redis takes while it
   * is busy is not simply refused if what the client asks behind it depends on it: Redis has to
   * refuse the whole transaction.
   *
   * @return null if it may be sent, else what the client is to hear in the place of its reply: by a
   *     busy script it would have been refused, too
   */
  private byte @Nullable [] select(Verb verb, OwnUpstream upstream) throws IOException {
    if (!verb.needsDatabase()
        || upstream.database() == profile.database()
        || upstream.isHoldingBack()) {
      return null;
    }
    var refused = upstream.select(profile.database());
    if (refused != null && verb == Verb.WATCH) {
      upstream.watchesInVain();
    }
    return verb == Verb.MULTI ? null : refused;
  }

  private void answer(byte[] reply) {
    var bytes = ByteBuffer.allocateDirect(reply.length).put(reply);
    output.offer(bytes, 0, reply.length);
  }

  /**
   * Begins a request that is too long to be looked at whole. What is refused at its beginning is
   * refused as a whole: by its end Redis might do it, in another database.
   */
  void begin(Verb verb, Words words, ByteBuffer bytes, int from, int end, Told told)
      throws IOException {
    if (changing) {
      awaitChange();
    }
    awaitReplied();
    var upstream = own();
    refusal = select(verb, upstream);
    if (refusal != null) {
      return;
    }
    awaitRoom(upstream);
    upstream.begin(verb, words, bytes, from, end, told);
  }

  /** Whether the long request that has begun was refused: nothing of it gets to Redis. */
  boolean drops() {
    return refusal != null;
  }

  /** Goes on with a long request: passes another piece of it on, or drops that. */
  void more(ByteBuffer bytes, int from, int to, boolean last) throws IOException {
    var refused = refusal;
    if (refused == null) {
      own().more(bytes, from, to, last);
    } else if (last) {
      refusal = null;
      answer(refused);
    }
  }

  /** Waits while too much of what the client has asked is not replied to. */
  private void awaitRoom(OwnUpstream upstream) throws IOException {
    if (upstream.isCrowded()) {
      await(upstream, upstream::awaitRoom);
    }
  }

  OwnUpstream own() throws IOException {
    var present = own;
    if (present != null) {
      return present;
    }
    var made =
        unlessItLeaves(
            () -> shim.open(this, profile.identity(), profile.name(), profile.database()));
    own = made;
    ownReader = shim.fibers.spawn(() -> ownEnded(made.readToEnd()));
    return made;
  }

  /** Asks Redis by another connection, and gives that up if the client goes away meanwhile. */
  private <T extends @Nullable Object> T unlessItLeaves(
      ScopedValue.CallableOp<? extends T, IOException> asking) throws IOException {
    var scope = CancelScope.open();
    Runnable giveUp =
        () -> {
          cutOff();
          scope.cancel();
        };
    try (var _ = new Departure(connection, shim.fibers, shim.patience(), giveUp)) {
      return scope.call(asking);
    } catch (WaitCancelledException e) {
      // Whoever waits for something else meanwhile must not take it for that.
      checkOpen();
      throw e;
    }
  }

  /** The words of a request with a command's own name, as {@link Names#own} has them. */
  @Nullable List<byte[]> ownNamed(List<byte[]> words) throws IOException {
    return unlessItLeaves(() -> shim.names.own(words));
  }

  /** A request of the shim's own. */
  byte[] request(String... words) {
    return shim.names.request(words);
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

  /** Waits for the reply to what changes what the client is to Redis. */
  private void awaitChange() throws IOException {
    awaitKnown();
    changing = false;
  }

  /** Waits until it is known what the client is to Redis. */
  private void awaitKnown() throws IOException {
    awaitReplied();
    var present = own;
    if (present != null) {
      present.flush();
      await(present, present::awaitKnown);
    }
  }

  /** A wait that may be long. */
  interface Wait {
    void end() throws IOException;
  }

  /**
   * Waits for its own upstream. Nothing is read from the client meanwhile: if it goes away, it has
   * to be noticed otherwise.
   */
  void await(OwnUpstream upstream, Wait wait) throws IOException {
    Runnable giveUp =
        () -> {
          cutOff();
          upstream.fail();
        };
    try (var _ = new Departure(connection, shim.fibers, shim.patience(), giveUp)) {
      wait.end();
    }
    checkOpen();
  }

  void awaitAll() throws IOException {
    awaitLane();
    var present = own;
    if (present != null) {
      present.awaitReplied();
    }
    output.awaitSent();
  }

  /** Waits until the lane owes nothing, before anything is done of the next request. */
  private void awaitReplied() throws IOException {
    if (outstanding.get() > 0) {
      await(() -> outstanding.get() == 0 || isStuck());
      if (outstanding.get() > 0) {
        throw new StuckException();
      }
    }
  }

  private boolean isStuck() {
    var present = lane;
    // Of one that the client has no more it may still be owed something: it was left.
    return present == null || present.isStuck();
  }

  /** Waits until the lane owes nothing, however long that takes. */
  void awaitLane() throws IOException {
    await(() -> outstanding.get() == 0);
  }

  /** Waits until the client says more; answers false if the lane owes nothing any more. */
  boolean awaitMore() throws IOException {
    var scope = CancelScope.open();
    listening = scope;
    try {
      if (outstanding.get() > 0) {
        checkOpen();
        scope.run(connection::awaitInput);
        return true;
      }
    } catch (WaitCancelledException e) {
      checkOpen();
    } finally {
      listening = null;
    }
    return false;
  }

  /** Has a pause end, as whoever the client is, before its own request to do so has its turn. */
  void unpause() {
    var identity = profile.identity();
    shim.fibers.spawn(() -> lifetime.run(() -> shim.unpause(identity)));
  }

  /** The store is another one: what is asked of the one before has no reply. */
  void failOwn() {
    var present = own;
    if (present != null) {
      present.fail();
    }
  }

  /** Waits for a lane that is being made; not if the client goes away meanwhile. */
  private void awaitUpstream(BooleanSupplier over) throws IOException {
    try (var _ = new Departure(connection, shim.fibers, shim.patience(), this::cutOff)) {
      await(over);
    }
  }

  /** Waits until something is so; is woken then, but not when a lane is silent for too long. */
  private void await(BooleanSupplier over) throws IOException {
    waiter = Thread.currentThread();
    try {
      while (!over.getAsBoolean()) {
        checkOpen();
        var present = lane;
        LockSupport.parkNanos(
            this, present == null ? shim.patienceNanos() : present.patienceLeftNanos());
        if (Thread.currentThread().isInterrupted()) {
          throw ending();
        }
      }
    } finally {
      waiter = null;
    }
  }

  private void checkOpen() throws IOException {
    if (closed) {
      throw new EOFException("Redis has ended the connection, or the client");
    }
  }

  /** Of the upstream of its own: waits until the lane owes nothing, or never will reply. */
  void letLaneFinish() {
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

  boolean has(Lane which) {
    return lane == which;
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

  /** A request that may be about the server's settings was replied to. */
  void settingsMayHaveChanged(Told told, boolean refused) {
    if (told.changesRules() && !refused) {
      shim.lanes.renewThoseOfNobody();
      shim.endRetiredLanes();
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

  /** From a pause. */
  void othersAreReleased() {
    shim.pause.end();
  }

  private void close() {
    closed = true;
    lifetime.cancel();
    wake();
    output.close();
    var present = own;
    if (present != null) {
      present.close();
    }
    shim.tape.disconnect(number);
  }
}
