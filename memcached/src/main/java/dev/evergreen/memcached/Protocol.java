package dev.evergreen.memcached;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.SlowPeers.Direction;
import dev.evergreen.memcached.live.LiveItem;
import dev.evergreen.memcached.live.LiveItemException;
import dev.evergreen.store.Change;
import dev.evergreen.store.Fetch;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Store;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * How requests are read and answered, and what that takes. It works for one connection at a time,
 * until it has answered what is there.
 */
abstract sealed class Protocol permits TextProtocol, BinaryProtocol {
  private static final MemorySegment NO_KEY = MemorySegment.ofArray(new byte[1]);
  private static final int LINES_PER_STEP = 128;

  final MemcachedServer server;
  final Store store;
  final Statistics statistics;
  final Output out;
  final Lookup lookup;
  final Key key = new Key();
  final Item item = new Item();
  final Change change = new Change();
  final Fetch fetch = new Fetch();
  final Observer observer;
  final ValueReceiver value;

  /** Memory for {@link #keepHead}, of the same kind as the input's, and of just its length. */
  private @Nullable Arena head;

  private @Nullable Session session;

  /** What the connection sends. */
  @SuppressWarnings("NullAway.Init") // set as long as it works for one
  Input in;

  /** How many requests are left of this turn. */
  private int left;

  /** How many lines of a report were told. */
  private int toldLines;

  /** How many requests were answered whose replies may not have left. */
  int answeredBefore;

  Protocol(MemcachedServer server) {
    this.server = server;
    store = server.store;
    statistics = server.statistics;
    out = new Output(statistics, server.valueHolders, server.longReplies, new RepliesLog());
    lookup = new Lookup(this);
    observer = new Observer(this);
    value = new ValueReceiver(this);
  }

  /** What {@code -vv} asks for. */
  private final class RepliesLog implements Output.Log {
    @Override
    public boolean isOn() {
      return server.verbosity > 1;
    }

    @Override
    public void reply(String head) {
      server.tell(">" + session().number + " " + head);
    }
  }

  /** What became of a request. */
  enum Step {
    /** It was answered. */
    DONE,
    /** Only a part of it has come, and nothing became of that: it is to be read anew with more. */
    PART,
    /** The client wants nothing more to be answered. */
    LEAVE,
    /** The connection is to be closed, as what was said is none. */
    CLOSE
  }

  /**
   * Answers the requests that are there, up to the number of a turn.
   *
   * @return what became of the last one; {@link Step#DONE} also if it was not looked at
   */
  final Step answer(Session session) throws IOException {
    begin(session);
    try {
      beginTurn();
      Step step;
      do {
        answeredBefore = 0;
        step = Step.DONE;
        while (in.available() > 0 && step == Step.DONE) {
          if (isTurnOver()) {
            return Step.DONE;
          }
          step = answerNext();
          if (step == Step.DONE) {
            answeredBefore++;
            in.answered();
            session.told = false;
          }
        }
      } while ((step == Step.DONE || step == Step.PART) && !in.isDropping() && in.fill());
      return step;
    } finally {
      end();
    }
  }

  final void beginTurn() {
    left = server.settings.requestsPerTurn;
    out.beginTurn();
  }

  /**
   * Counts a request, or what is as much work; true if it is one too many for this turn. A turn has
   * also been long enough when its replies have filled a buffer: that has been sent in any case, so
   * that nothing is lost if others run now.
   */
  final boolean isTurnOver() {
    return left-- <= 0 || out.writtenInTurn() >= Buffers.SIZE;
  }

  /** Says that what is being done is as much work as many requests. */
  final void endTurn() {
    left = 0;
  }

  /**
   * Begins a reply of any number of lines, each of which is {@link #toldLine told} when it is
   * written. To be closed behind the last one.
   */
  final SlowPeers.Hold beginReport() {
    toldLines = 0;
    return server.longReplies.hold(session().connection, Direction.SENDING);
  }

  /** After some lines others get their turn; what the request said is needed no more. */
  final void toldLine() throws IOException {
    if (++toldLines % LINES_PER_STEP == 0) {
      in.letOthersRun();
    }
  }

  /** Ends the life of all items of now, or of those that there are at the second. */
  final void flushItems(int second) throws IOException {
    boolean waits = store.isPurgeDue();
    if (waits) {
      // It may take seconds, for all who ask for it meanwhile, too.
      in.giveBack();
      session().connection.flush();
    }
    store.flush(second);
    if (waits) {
      in.goOn();
    }
  }

  private void begin(Session session) {
    this.session = session;
    in = session.in;
    out.attach(session.connection);
  }

  /** Forgets the connection, and all that points into buffers on loan. */
  @SuppressWarnings("NullAway") // nobody asks for the input of no connection
  private void end() {
    try {
      item.release();
      forgetHead();
      key.set(NO_KEY, 0, 1);
      out.detach();
      in = null;
      session = null;
    } finally {
      // The next one's fiber could not.
      freeHead();
    }
  }

  /** The connection that is being worked for. */
  final Session session() {
    if (session == null) {
      throw new IllegalStateException("no connection is being worked for");
    }
    return session;
  }

  /**
   * Whether a value is to be waited for together with its request, of which it is the rest. If so
   * the request is the next one again.
   *
   * @param read the bytes of the request that were read
   * @param rest the bytes of its value, and of what ends that
   */
  final boolean isPart(int read, long rest) {
    boolean part = in.available() < rest && read + rest <= Input.LITTLE;
    if (part) {
      in.at -= read;
      in.beginValue();
    }
    return part;
  }

  /** Whether a request is to be logged: those are that were not when less of them had come. */
  final boolean isToBeTold() {
    boolean first = server.verbosity > 1 && !session().told;
    session().told |= first;
    return first;
  }

  /** Copies what is still needed of a request, up to its value, before more input is received. */
  final void keepHead() {
    keepHead(keepKey(headLength()), key.length());
  }

  /** Copies the key, to the beginning of memory for some more bytes. */
  private MemorySegment keepKey(int more) {
    var old = head;
    var arena = Arena.ofConfined();
    head = arena;
    try {
      var kept = arena.allocate(key.length() + more);
      MemorySegment.copy(key.bytes(), 0, kept, 0, key.length());
      key.set(kept, 0, key.length());
      return kept;
    } finally {
      // Not before, as the key may lie there.
      free(old);
    }
  }

  private void freeHead() {
    var arena = head;
    head = null;
    free(arena);
  }

  private static void free(@Nullable Arena arena) {
    if (arena != null) {
      arena.close();
    }
  }

  /**
   * Waits for a live item's first result, amid a request and without its buffer. What of the
   * request is in the input may be elsewhere afterwards.
   *
   * @throws LiveItemException if there is none to answer with
   */
  final void awaitFirst(LiveItem live) throws IOException, LiveItemException {
    keepKey(0);
    int from = in.giveBackFrom(neededFrom());
    LiveItemException failure = null;
    try {
      session().awaitFirst(live);
    } catch (LiveItemException e) {
      // The requests behind are answered, and maybe some of its own keys were.
      failure = e;
    }
    neededIsAt(in.goOnFrom(from));
    if (failure != null) {
      throw failure;
    }
  }

  /** Reads the next request, of which something is there, and answers it if it is whole. */
  abstract Step answerNext() throws IOException;

  /** The name of the command that is being answered, as watchers are told. */
  abstract String commandName();

  /** How many bytes are still needed of a request, up to its value and but for its key. */
  abstract int headLength();

  /** Copies them to memory that has room for them. */
  abstract void keepHead(MemorySegment memory, long at);

  /** Forgets what points into the input. */
  abstract void forgetHead();

  /** Where in the input begins what is still needed of a request that is whole, but for its key. */
  abstract int neededFrom();

  /** Says where in the input that is by now. */
  abstract void neededIsAt(int from);
}
