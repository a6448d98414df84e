package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocol.bytes;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.memcached.live.LiveItemException;
import dev.evergreen.store.Key;
import dev.evergreen.store.Mode;
import dev.evergreen.store.Outcome;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * memcached's binary protocol, which older clients speak. A request is a header of 24 bytes, extras
 * by its kind, a key and a value. Quiet requests are answered only if something is wrong, and gets
 * only if there is something.
 */
final class BinaryProtocol extends Protocol {
  /** What each request begins with, and no request of the text protocol. */
  static final byte REQUEST = (byte) 0x80;

  static final int RESPONSE = 0x81;
  private static final int HEADER = 24;

  private static final int GET = 0x00;
  private static final int SET = 0x01;
  private static final int ADD = 0x02;
  private static final int REPLACE = 0x03;
  private static final int DELETE = 0x04;
  private static final int INCREMENT = 0x05;
  private static final int DECREMENT = 0x06;
  private static final int QUIT = 0x07;
  private static final int FLUSH = 0x08;
  private static final int GETQ = 0x09;
  private static final int NOOP = 0x0a;
  private static final int VERSION = 0x0b;
  private static final int GETK = 0x0c;
  private static final int GETKQ = 0x0d;
  private static final int APPEND = 0x0e;
  private static final int PREPEND = 0x0f;
  private static final int STAT = 0x10;
  private static final int FIRST_QUIET = 0x11;
  private static final int LAST_QUIET = 0x1a;
  private static final int TOUCH = 0x1c;
  private static final int GAT = 0x1d;
  private static final int GATQ = 0x1e;
  private static final int GATK = 0x23;
  private static final int GATKQ = 0x24;

  /** The loud twins of the requests from {@link #FIRST_QUIET} to {@link #LAST_QUIET}. */
  private static final int[] LOUD = {
    SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT, QUIT, FLUSH, APPEND, PREPEND
  };

  /** The status of a failure of the server's own. */
  private static final int INTERNAL = 0x84;

  /** An expiry of arithmetic that says that no item is to be made. */
  private static final int NO_ITEM = -1;

  /** Why a request is refused; the text is for people. */
  private enum Refusal {
    NOT_FOUND(0x01, "Not found"),
    EXISTS(0x02, "Data exists for key."),
    TOO_LARGE(0x03, "Too large."),
    INVALID(0x04, "Invalid arguments"),
    NOT_STORED(0x05, "Not stored."),
    NOT_NUMERIC(0x06, "Non-numeric server-side value for incr or decr"),
    NOT_ALLOWED(0x20, "Auth failure."),
    LIVE(0x84, "key is live"),
    UNKNOWN(0x81, "Unknown command"),
    OUT_OF_MEMORY(0x82, "Out of memory"),
    BUSY(0x85, "Temporary failure");

    final int status;
    final String text;

    Refusal(int status, String text) {
      this.status = status;
      this.text = text;
    }
  }

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final byte[] NOTHING = {};

  // The request's header.
  private int opcode;
  private int kind;
  private boolean quiet;
  private int keyLength;
  private int extrasLength;
  private long valueLength;
  private int opaque;
  private long cas;

  /** Where the request's extras are, and behind them its key and its value. */
  private int extras;

  BinaryProtocol(MemcachedServer server) {
    super(server);
  }

  @Override
  int headLength() {
    return 0;
  }

  @Override
  void keepHead(MemorySegment memory, long at) {
    // Only the key is still needed.
  }

  @Override
  void forgetHead() {
    // Its fields are set anew by each request.
  }

  @Override
  int neededFrom() {
    return in.at;
  }

  @Override
  void neededIsAt(int from) {
    // It is what comes behind the request.
  }

  @Override
  String commandName() {
    return switch (kind) {
      case APPEND -> "append";
      case PREPEND -> "prepend";
      default -> cas != 0 ? "cas" : kind == ADD ? "add" : kind == REPLACE ? "replace" : "set";
    };
  }

  @Override
  Step answerNext() throws IOException {
    if (in.available() < HEADER) {
      return Step.PART;
    }
    if (in.byteAt(in.at) != REQUEST) {
      return Step.CLOSE;
    }
    readHeader();
    if (valueLength < 0) {
      refuse(Refusal.UNKNOWN);
      return Step.CLOSE;
    }
    if (keyLength > Key.MAX_LENGTH || !fits()) {
      refuse(Refusal.INVALID);
      return Step.CLOSE;
    }
    if (in.available() < head()) {
      return Step.PART;
    }
    takeHead();
    if (isToBeTold()) {
      var shown = Output.shown(in.memory, extras + extrasLength, keyLength);
      server.tell("<%d binary request 0x%02x %s".formatted(session().number, opcode, shown));
    }
    return switch (kind) {
      case GET, GETK, GAT, GATK -> get();
      case SET, ADD, REPLACE, APPEND, PREPEND -> store();
      case TOUCH -> touch();
      case DELETE -> delete();
      case INCREMENT, DECREMENT -> arithmetic();
      case FLUSH -> flush();
      case VERSION -> respond(0, bytes(MemcachedServer.PROTOCOL_VERSION));
      case NOOP -> respond(0, NOTHING);
      case STAT -> stat();
      case QUIT -> quit();
      default -> refuseValue(Refusal.UNKNOWN);
    };
  }

  private void readHeader() {
    opcode = in.byteAt(in.at + 1) & 0xff;
    keyLength = in.memory.get(SHORT, in.at + 2) & 0xffff;
    extrasLength = in.byteAt(in.at + 4) & 0xff;
    long bodyLength = in.memory.get(INT, in.at + 8) & 0xffffffffL;
    valueLength = bodyLength - keyLength - extrasLength;
    opaque = in.memory.get(INT, in.at + 12);
    cas = in.memory.get(LONG, in.at + 16);
    quiet = true;
    switch (opcode) {
      case GETQ -> kind = GET;
      case GETKQ -> kind = GETK;
      case GATQ -> kind = GAT;
      case GATKQ -> kind = GATK;
      default -> {
        quiet = opcode >= FIRST_QUIET && opcode <= LAST_QUIET;
        kind = quiet ? LOUD[opcode - FIRST_QUIET] : opcode;
      }
    }
  }

  /** Whether extras, key and value are as this kind of request has them. */
  private boolean fits() {
    boolean keyed = keyLength > 0;
    return switch (kind) {
      case GET, GETK, DELETE -> keyed && extrasLength == 0 && valueLength == 0;
      case TOUCH, GAT, GATK -> keyed && extrasLength == 4 && valueLength == 0;
      case INCREMENT, DECREMENT -> keyed && extrasLength == 20 && valueLength == 0;
      case SET, ADD, REPLACE -> keyed && extrasLength == 8;
      case APPEND, PREPEND -> keyed && extrasLength == 0;
      case FLUSH -> !keyed && (extrasLength == 0 || extrasLength == 4) && valueLength == 0;
      case QUIT, NOOP, VERSION -> !keyed && extrasLength == 0 && valueLength == 0;
      case STAT -> extrasLength == 0 && valueLength == 0;
      default -> true;
    };
  }

  /** The bytes of the request that come before its value. */
  private int head() {
    return HEADER + extrasLength + keyLength;
  }

  private void takeHead() {
    extras = in.at + HEADER;
    in.at += head();
    if (keyLength > 0) {
      key.set(in.memory, extras + extrasLength, keyLength);
    }
  }

  private int extraInt(int at) {
    return in.memory.get(INT, extras + at);
  }

  /** Unlike the text protocol's, an exptime has no sign. */
  private int expiry(int at) {
    return server.clock.expiry(extraInt(at) & 0xffffffffL);
  }

  // Reading

  private Step get() throws IOException {
    boolean touches = kind == GAT || kind == GATK;
    boolean withKey = kind == GETK || kind == GATK;
    fetch.clear();
    if (touches) {
      fetch.touch(expiry(0)).winless();
    }
    Outcome outcome;
    do {
      try {
        outcome = touches ? lookup.fetch(key, fetch, item) : lookup.get(key, item);
      } catch (LiveItemException e) {
        return respond(INTERNAL, 0, bytes(String.valueOf(e.getMessage())));
      }
      if (outcome != Outcome.FOUND) {
        break;
      }
      int shown = withKey ? keyLength : 0;
      out.begin(HEADER + Integer.BYTES + shown + (item.isHeld() ? 0 : item.valueLength()));
      header(0, Integer.BYTES, shown, item.valueLength(), item.cas());
      out.putInt(item.flags());
      if (withKey) {
        out.put(key.bytes(), 0, shown);
      }
    } while (!out.valueOf(item, NOTHING));
    statistics.countGet(outcome == Outcome.FOUND, touches);
    if (server.isObserved()) {
      observer.fetched(outcome == Outcome.FOUND);
    }
    return outcome == Outcome.FOUND ? Step.DONE : missed(outcome, withKey);
  }

  private Step missed(Outcome outcome, boolean withKey) throws IOException {
    if (outcome == Outcome.BUSY) {
      return refuse(Refusal.BUSY);
    }
    if (quiet) {
      return Step.DONE;
    }
    if (!withKey) {
      return refuse(Refusal.NOT_FOUND);
    }
    out.begin(HEADER + keyLength);
    header(Refusal.NOT_FOUND.status, 0, keyLength, 0, 0);
    out.put(key.bytes(), 0, keyLength);
    out.end();
    return Step.DONE;
  }

  private Step touch() throws IOException {
    fetch.clear().touch(expiry(0)).winless().withoutValue();
    if (lookup.isLive(key)) {
      return touched(0, 0);
    }
    observer.tellLook();
    boolean hit = store.fetch(key, fetch, item) == Outcome.FOUND;
    (hit ? statistics.touchHits : statistics.touchMisses).increment();
    return hit ? touched(item.cas(), item.flags()) : refuse(Refusal.NOT_FOUND);
  }

  private Step touched(long cas, int flags) throws IOException {
    out.begin(HEADER + Integer.BYTES);
    header(0, Integer.BYTES, 0, 0, cas);
    out.putInt(flags);
    out.end();
    return Step.DONE;
  }

  // Storing

  private Step store() throws IOException {
    if (isPart(head(), valueLength)) {
      return Step.PART;
    }
    describeChange();
    if (lookup.isLive(key)) {
      return refuseValue(Refusal.LIVE);
    }
    var _ = value.receive(valueLength, NOTHING, kind == SET);
    var outcome = value.outcome();
    if (cas != 0 && kind != APPEND && kind != PREPEND) {
      statistics.countCas(outcome);
    }
    return switch (outcome) {
      case STORED -> quiet ? Step.DONE : respond(item.cas(), NOTHING);
      case EXISTS -> refuse(Refusal.EXISTS);
      case NOT_FOUND -> refuse(Refusal.NOT_FOUND);
      case TOO_LARGE -> refuse(Refusal.TOO_LARGE);
      case NOT_STORED ->
          refuse(
              kind == ADD
                  ? Refusal.EXISTS
                  : kind == REPLACE ? Refusal.NOT_FOUND : Refusal.NOT_STORED);
      default -> refuse(Refusal.OUT_OF_MEMORY);
    };
  }

  /** Drops the value that follows, so that it is not taken for the next request. */
  private Step refuseValue(Refusal refusal) throws IOException {
    in.drop(valueLength);
    return refuse(refusal);
  }

  private void describeChange() {
    change.clear();
    if (extrasLength > 0) {
      change.flags(extraInt(0)).expiry(expiry(Integer.BYTES));
    }
    change.mode(
        switch (kind) {
          case ADD -> cas == 0 ? Mode.ADD : Mode.SET;
          case REPLACE -> cas == 0 ? Mode.REPLACE : Mode.SET;
          case APPEND -> Mode.APPEND;
          case PREPEND -> Mode.PREPEND;
          default -> Mode.SET;
        });
    if (cas != 0) {
      change.ifCas(cas);
    }
  }

  private Step delete() throws IOException {
    if (lookup.isLive(key)) {
      return refuse(Refusal.LIVE);
    }
    change.clear();
    if (cas != 0) {
      change.ifCas(cas);
    }
    observer.tellLook();
    var outcome = store.delete(key, change, item);
    if (outcome == Outcome.STORED) {
      statistics.deleteHits.increment();
    } else if (outcome == Outcome.NOT_FOUND) {
      statistics.deleteMisses.increment();
    }
    observer.deleted("delete", outcome == Outcome.STORED);
    return switch (outcome) {
      case STORED -> quiet ? Step.DONE : respond(0, NOTHING);
      case EXISTS -> refuse(Refusal.EXISTS);
      default -> refuse(Refusal.NOT_FOUND);
    };
  }

  private Step arithmetic() throws IOException {
    if (lookup.isLive(key)) {
      return refuse(Refusal.LIVE);
    }

    long delta = in.memory.get(LONG, extras);
    change.clear().initial(in.memory.get(LONG, extras + Long.BYTES));
    if (kind == INCREMENT) {
      change.increment(delta);
    } else {
      change.decrement(delta);
    }
    if (extraInt(2 * Long.BYTES) != NO_ITEM) {
      change.vivify(expiry(2 * Long.BYTES));
    }
    if (cas != 0) {
      change.ifCas(cas);
    }
    observer.tellLook();
    var outcome = store.arithmetic(key, change, item);
    statistics.countArithmetic(kind == INCREMENT, outcome, item.isNew());
    return switch (outcome) {
      case STORED -> number();
      case NOT_FOUND -> refuse(Refusal.NOT_FOUND);
      case EXISTS -> refuse(Refusal.EXISTS);
      case NOT_NUMERIC -> refuse(Refusal.NOT_NUMERIC);
      default -> refuse(Refusal.OUT_OF_MEMORY);
    };
  }

  private Step number() throws IOException {
    if (!quiet) {
      out.begin(HEADER + Long.BYTES);
      header(0, 0, 0, Long.BYTES, item.cas());
      out.putLong(item.number());
      out.end();
    }
    return Step.DONE;
  }

  // The rest

  private Step flush() throws IOException {
    statistics.flushes.increment();
    if (!server.settings.flushes) {
      return refuse(Refusal.NOT_ALLOWED);
    }
    boolean later = extrasLength > 0 && extraInt(0) != 0;
    flushItems(later ? expiry(0) : server.clock.second());
    return quiet ? Step.DONE : respond(0, NOTHING);
  }

  private Step quit() throws IOException {
    if (!quiet) {
      respond(0, NOTHING);
    }
    return Step.LEAVE;
  }

  /** Answers a response for each line of the text protocol's report, and an empty one. */
  private Step stat() throws IOException {
    endTurn();
    var name = keyLength == 0 ? "" : new String(key.bytes().toArray(JAVA_BYTE), ISO_8859_1);
    if (name.equals("reset")) {
      server.resetStatistics();
      return respond(0, NOTHING);
    }
    if (name.startsWith("detail ")) {
      return details(name.substring("detail ".length()));
    }
    try (var _ = beginReport()) {
      boolean known =
          StatsReport.tell(
              server,
              name.split(" ", 2)[0],
              (stat, value) -> {
                stat(stat, value);
                toldLine();
              });
      return known ? respond(0, NOTHING) : refuse(Refusal.NOT_FOUND);
    }
  }

  private Step details(String what) throws IOException {
    if (what.startsWith("on")) {
      server.details.enable(true);
    } else if (what.startsWith("off")) {
      server.details.enable(false);
    } else if (what.startsWith("dump")) {
      return dumpDetails();
    } else {
      return refuse(Refusal.NOT_FOUND);
    }
    return respond(0, NOTHING);
  }

  private Step dumpDetails() throws IOException {
    var details = server.details;
    // All of it lies in memory until the client has taken it, since its length comes first.
    if (!details.wholeDumps.tryAcquire()) {
      return refuse(Refusal.OUT_OF_MEMORY);
    }
    try {
      stat("detailed", details.wholeDump());
    } finally {
      details.wholeDumps.release();
    }
    return respond(0, NOTHING);
  }

  /** The value may be longer than a buffer. */
  private void stat(String name, String value) throws IOException {
    out.begin(HEADER + name.length());
    header(0, 0, name.length(), value.length(), 0);
    out.put(name);
    out.end();
    out.text(value);
  }

  // Responses

  private Step refuse(Refusal refusal) throws IOException {
    return respond(refusal.status, 0, bytes(refusal.text));
  }

  private Step respond(long cas, byte[] value) throws IOException {
    return respond(0, cas, value);
  }

  private Step respond(int status, long cas, byte[] value) throws IOException {
    out.begin(HEADER + value.length);
    header(status, 0, 0, value.length, cas);
    out.put(value);
    out.end();
    return Step.DONE;
  }

  private void header(int status, int extras, int key, int value, long cas) {
    out.put(RESPONSE);
    out.put(opcode);
    out.putShort(key);
    out.put(extras);
    out.put(0);
    out.putShort(status);
    out.putInt(extras + key + value);
    out.putInt(opaque);
    out.putLong(cas);
  }
}
