package dev.evergreen.memcached;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.SlowPeers.Direction;
import dev.evergreen.memcached.store.Change;
import dev.evergreen.memcached.store.Fetch;
import dev.evergreen.memcached.store.Item;
import dev.evergreen.memcached.store.Key;
import dev.evergreen.memcached.store.Reservation;
import dev.evergreen.memcached.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * How requests are read and answered, and what that takes. It works for one connection at a time,
 * from {@link #begin} to {@link #end}, and for another one afterwards unless it {@linkplain
 * #isPending is amid a request}.
 */
abstract sealed class Protocol permits TextProtocol, BinaryProtocol {
  private static final MemorySegment NO_KEY = MemorySegment.ofArray(new byte[1]);

  final MemcachedServer server;
  final Store store;
  final Statistics statistics;
  final Input in = new Input();
  final Output out;
  final Lookup lookup;
  final Key key = new Key();
  final Item item = new Item();
  final Change change = new Change();
  final Fetch fetch = new Fetch();
  final Observer observer;
  private @Nullable Session session;
  private boolean turnOver;

  /** How many requests were answered whose replies may not have left. */
  int answeredBefore;

  Protocol(MemcachedServer server) {
    this.server = server;
    store = server.store;
    statistics = server.statistics;
    out = new Output(statistics, server.valueHolders);
    lookup = new Lookup(this);
    observer = new Observer(this);
  }

  /** What became of a request. */
  enum Step {
    /** It was answered. */
    DONE,
    /** It is not complete. */
    MORE,
    /** The connection is to be closed. */
    CLOSE
  }

  /** Begins to work for a connection, of whose input this is left. */
  final void begin(Session session, byte[] rest) {
    this.session = session;
    turnOver = false;
    in.open(session.connection, rest);
    out.attach(session.connection);
  }

  /**
   * Forgets the connection and all that points into buffers on loan; answers what input is left.
   */
  final byte[] end() {
    session = null;
    forgetInput();
    key.set(NO_KEY, 0, 1);
    out.detach();
    return in.close();
  }

  /** The connection that is being worked for. */
  final Session session() {
    if (session == null) {
      throw new IllegalStateException("no connection is being worked for");
    }
    return session;
  }

  /**
   * Answers the requests that are there, up to the number of a turn.
   *
   * @param waiting whether nothing more is there, so that what is incomplete must be kept small
   * @return false if the connection is to be closed
   */
  final boolean answer(boolean waiting) throws IOException {
    turnOver = false;
    answeredBefore = 0;
    var step = Step.DONE;
    for (int i = 0; step == Step.DONE && hasInput(); i++) {
      if (i == server.settings.requestsPerTurn) {
        turnOver = true;
        return true;
      }
      step = answerNext(waiting);
      answeredBefore++;
    }
    return step != Step.CLOSE;
  }

  /** Whether there is no room for the rest of a request: no good one is so long. */
  final boolean isStuck() {
    return !turnOver && in.available() == Buffers.SIZE;
  }

  /**
   * Reserves memory for a value of the key. If others hold too much, it waits for a few seconds
   * until they let go of some, or the slowest of them is hung up on.
   *
   * @return null if there is none
   */
  final @Nullable Reception receive(int length) throws IOException {
    Reservation reservation = null;
    boolean heldUp = true;
    for (int i = 0; heldUp && (i == 0 || session().awaitRoom(i)); i++) {
      long refusals = store.refusals();
      reservation = store.reserve(key, length);
      // Others may have let go since; somebody else's refusal costs a moment.
      heldUp = reservation == null && (store.isHeldUp() || store.refusals() != refusals);
    }
    return reservation == null
        ? null
        : new Reception(
            reservation, server.valueHolders.hold(session().connection, Direction.RECEIVING));
  }

  /** Whether complete requests may be left, as it is others' turn. */
  final boolean isTurnOver() {
    return turnOver;
  }

  /** Whether there is enough of a next request to look at, after what is to be dropped. */
  abstract boolean hasInput();

  /** Answers the next request, if all of it is there. */
  abstract Step answerNext(boolean waiting) throws IOException;

  /** The name of the command that is being answered, as watchers are told. */
  abstract String commandName();

  /** Forgets what points into the input. */
  abstract void forgetInput();

  /** Whether it is amid a request, and so must go on with the same connection. */
  abstract boolean isPending();

  /** Lets go of what the store holds for a connection that has ended. */
  abstract void close();
}
