package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.memcached.live.LiveItemException;
import dev.evergreen.memcached.store.Key;
import dev.evergreen.memcached.store.Mode;
import dev.evergreen.memcached.store.Outcome;
import java.io.IOException;
import java.util.List;

/**
 * memcached's text protocol: the classic commands here, the meta commands in {@link MetaCommands},
 * the rest in {@link AdminCommands}. Its replies are those of memcached 1.6.18, to the byte, and
 * those of newer ones for what is newer.
 */
final class TextProtocol extends Protocol {
  /** A line that is longer and has no end is no command, unless it is a get of many keys. */
  static final int LONGEST_LINE = 2048;

  private static final int LONGEST_NUMBER = 20;

  /** The most that a reply with a key and some numbers takes, without a value. */
  static final int REPLY = 64 + 2 * Key.MAX_LENGTH + 6 * (LONGEST_NUMBER + 2);

  static final String SERVER_ERROR = "SERVER_ERROR ";
  static final byte[] BAD_FORMAT = bytes("CLIENT_ERROR bad command line format");
  static final byte[] OK = bytes("OK");
  static final byte[] ERROR = bytes("ERROR");
  static final byte[] NOT_NUMERIC =
      bytes("CLIENT_ERROR cannot increment or decrement non-numeric value");
  static final byte[] BUSY = bytes("SERVER_ERROR out of memory writing get response");
  private static final byte[] BAD_DELETE =
      bytes("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
  private static final byte[] BAD_EXPTIME = bytes("CLIENT_ERROR invalid exptime argument");
  private static final byte[] BAD_DELTA = bytes("CLIENT_ERROR invalid numeric delta argument");
  private static final byte[] OUT_OF_MEMORY = bytes("SERVER_ERROR out of memory");
  private static final byte[] STORED = bytes("STORED");
  private static final byte[] NOT_STORED = bytes("NOT_STORED");
  private static final byte[] EXISTS = bytes("EXISTS");
  private static final byte[] NOT_FOUND = bytes("NOT_FOUND");
  private static final byte[] DELETED = bytes("DELETED");
  private static final byte[] TOUCHED = bytes("TOUCHED");
  private static final byte[] END = bytes("END");
  private static final byte[] VALUE = bytes("VALUE ");

  private static final long GET = Line.packed("get");
  private static final long SET = Line.packed("set");
  private static final long MG = Line.packed("mg");
  private static final long MS = Line.packed("ms");
  private static final long NOREPLY = Line.packed("noreply");
  private static final long ZERO = Line.packed("0");

  final Line line = new Line();
  final ValueReceiver value;
  private final MetaCommands meta;
  private final AdminCommands admin;

  /** Whether a line of keys is being answered whose end has not come. */
  private boolean inKeys;

  private boolean keysWithCas;
  private boolean keysTouched;
  private boolean noreply;

  TextProtocol(MemcachedServer server) {
    super(server);
    value = new ValueReceiver(this);
    meta = new MetaCommands(this);
    admin = new AdminCommands(this);
  }

  static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  @Override
  void forgetInput() {
    line.clear();
  }

  @Override
  String commandName() {
    return line.text(0);
  }

  @Override
  boolean isPending() {
    return inKeys || value.isPending();
  }

  @Override
  void close() {
    inKeys = false;
    item.release();
    value.close();
  }

  @Override
  boolean hasInput() {
    return value.swallow() && in.available() > 0;
  }

  @Override
  Step answerNext(boolean waiting) throws IOException {
    int newline = Input.find(in.memory, (byte) '\n', in.at, in.end);
    return newline < in.end ? command(newline, waiting) : unfinished(waiting);
  }

  /**
   * Whether replies of the same turn are before this command's, but for those that memcached sends
   * by themselves: then it refuses to list keys and to watch.
   */
  boolean isBehindOthers() {
    return answeredBefore > 0;
  }

  private Step command(int newline, boolean waiting) throws IOException {
    int next = newline + 1;
    boolean trims = newline - in.at > 1 && in.byteAt(newline - 1) == '\r';
    line.split(in.memory, in.at, trims ? newline - 1 : newline);
    noreply = false;
    if (server.settings.verbosity > 1 && line.count() > 0) {
      server.tell("<" + session().number + " " + line);
    }
    if (!session().authenticated) {
      return authenticate(next);
    }
    if (inKeys) {
      inKeys = false;
      in.at = next;
      return keys(0, keysWithCas, keysTouched) ? endKeys() : Step.DONE;
    }
    if (line.count() == 0) {
      in.at = next;
      return reply(ERROR);
    }
    long word = line.packed(0);
    if (word == GET) {
      return get(next, false, false);
    } else if (next - in.at > LONGEST_LINE) {
      return rareCommand(next, waiting);
    } else if (word == SET) {
      return store(next, Mode.SET, false, waiting);
    } else if (word == MG) {
      in.at = next;
      return meta.get();
    } else if (word == MS) {
      return meta.set(next, waiting);
    }
    return rareCommand(next, waiting);
  }

  /** Takes the value of a {@code set} of whatever key for a user and a password. */
  private Step authenticate(int next) throws IOException {
    if (line.count() < 5 || line.packed(0) != SET || !line.readLong(4)) {
      in.at = next;
      return reply(bytes("CLIENT_ERROR unauthenticated"));
    }
    long length = line.number();
    if (length < 0 || length > LONGEST_LINE) {
      return Step.CLOSE;
    }
    int end = next + (int) length;
    if (end + 2 > in.end) {
      return Step.MORE;
    }
    in.at = end + 2;
    if (in.byteAt(end) != '\r' || in.byteAt(end + 1) != '\n') {
      return reply(bytes("CLIENT_ERROR bad command line termination"));
    }
    line.split(in.memory, next, end);
    if (line.count() < 2) {
      return reply(bytes("CLIENT_ERROR bad authentication token format"));
    }
    statistics.authentications.increment();
    session().authenticated = server.authentication.admits(line.text(0), line.text(1));
    if (!session().authenticated) {
      statistics.authenticationErrors.increment();
      return reply(bytes("CLIENT_ERROR authentication failure"));
    }
    return reply(STORED);
  }

  private Step rareCommand(int next, boolean waiting) throws IOException {
    var name = line.length(0) > 20 ? "" : line.text(0);
    return switch (name) {
      case "gets" -> get(next, true, false);
      case "gat" -> get(next, false, true);
      case "gats" -> get(next, true, true);
      case "bget" -> get(next, false, false);
      default -> boundedCommand(name, next, waiting);
    };
  }

  /** One whose line has a longest length; it depends on nothing else whether that holds. */
  private Step boundedCommand(String name, int next, boolean waiting) throws IOException {
    if (next - in.at > LONGEST_LINE) {
      return Step.CLOSE;
    }
    return switch (name) {
      case "add" -> store(next, Mode.ADD, false, waiting);
      case "replace" -> store(next, Mode.REPLACE, false, waiting);
      case "append" -> store(next, Mode.APPEND, false, waiting);
      case "prepend" -> store(next, Mode.PREPEND, false, waiting);
      case "cas" -> store(next, Mode.SET, true, waiting);
      default -> {
        in.at = next;
        yield commandOfOneLine(name);
      }
    };
  }

  private Step commandOfOneLine(String name) throws IOException {
    return switch (name) {
      case "md" -> meta.delete();
      case "ma" -> meta.arithmetic();
      case "mn" -> {
        beginAnew();
        yield reply(MetaCommands.MN);
      }
      case "me" -> meta.debug();
      case "delete" -> delete();
      case "incr" -> arithmetic(true);
      case "decr" -> arithmetic(false);
      case "touch" -> touch();
      case "flush_all" -> flushAll();
      case "quit" -> Step.CLOSE;
      default -> admin.answer(name);
    };
  }

  /** A line without an end: it may go on, or be a get of very many keys, or be no command. */
  private Step unfinished(boolean waiting) throws IOException {
    if (!inKeys && in.available() <= LONGEST_LINE) {
      return Step.MORE;
    }
    if (!inKeys && !(session().authenticated && beginsKeys())) {
      return Step.CLOSE;
    }
    return waiting ? someKeys() : Step.MORE;
  }

  private boolean beginsKeys() {
    line.split(in.memory, in.at, in.end);
    return line.count() > 3
        && line.length(0) <= 4
        && line.length(1) <= Key.MAX_LENGTH
        && List.of("get", "gets", "gat", "gats", "bget").contains(line.text(0));
  }

  /** Answers the keys that are complete, so that the line need not be kept. */
  private Step someKeys() throws IOException {
    int last = in.end;
    while (last > in.at && in.byteAt(last - 1) != ' ') {
      last--;
    }
    if (in.end - last > Key.MAX_LENGTH) {
      return Step.CLOSE;
    }
    line.split(in.memory, in.at, last);
    in.at = last;
    int first = inKeys ? 0 : beginKeys();
    if (first < 0) {
      return Step.CLOSE;
    }
    inKeys = true;
    return keys(first, keysWithCas, keysTouched) ? Step.MORE : Step.CLOSE;
  }

  /** Reads what comes before the keys; answers the word of the first one, or -1. */
  private int beginKeys() {
    var name = line.text(0);
    keysWithCas = name.endsWith("s");
    keysTouched = name.startsWith("ga");
    fetch.clear();
    if (!keysTouched) {
      return 1;
    }
    if (!line.readInt(1)) {
      return -1;
    }
    fetch.touch(expiry()).winless();
    return 2;
  }

  private Step get(int next, boolean cas, boolean touches) throws IOException {
    boolean mayBeLong = next - in.at > Key.MAX_LENGTH;
    in.at = next;
    if (line.count() < 2) {
      return reply(ERROR);
    }
    if (touches && !line.readInt(1)) {
      return reply(BAD_EXPTIME);
    }
    if (mayBeLong && line.hasWordBeyond(Key.MAX_LENGTH)) {
      return reply(BAD_FORMAT);
    }
    fetch.clear();
    if (touches) {
      fetch.touch(expiry()).winless();
    }
    return keys(touches ? 2 : 1, cas, touches) ? endKeys() : Step.DONE;
  }

  private Step endKeys() throws IOException {
    out.line(END);
    beginAnew();
    return Step.DONE;
  }

  /** What comes next is the first of its turn, as memcached sends at once what was answered. */
  private void beginAnew() {
    answeredBefore = -1;
  }

  /** Answers the keys of the line from a word on; false if an error ended that. */
  private boolean keys(int firstWord, boolean cas, boolean touches) throws IOException {
    int word = firstWord;
    do {
      for (; word < line.count(); word++) {
        if (!line.isKey(word)) {
          out.line(BAD_FORMAT);
          return false;
        }
        Outcome outcome;
        try {
          outcome = value(word, cas, touches);
        } catch (LiveItemException e) {
          out.line(bytes(SERVER_ERROR + e.getMessage()));
          return false;
        }
        if (outcome == Outcome.BUSY) {
          out.line(BUSY);
          return false;
        }
        boolean hit = outcome == Outcome.FOUND;
        if (server.isObserved()) {
          observer.fetched(hit);
        }
        if (touches) {
          (hit ? statistics.touchHits : statistics.touchMisses).increment();
        }
        (hit ? statistics.getHits : statistics.getMisses).increment();
      }
      word = 0;
    } while (line.next());
    return true;
  }

  private Outcome value(int word, boolean cas, boolean touches)
      throws IOException, LiveItemException {
    line.key(word, key);
    do {
      var outcome = touches ? lookup.fetch(key, fetch, item) : lookup.get(key, item);
      if (outcome != Outcome.FOUND) {
        return outcome;
      }
      out.begin(REPLY + (item.isHeld() ? 0 : item.valueLength()));
      out.put(VALUE);
      out.put(line.memory(), line.begin(word), line.length(word));
      out.put(' ');
      out.number(item.flags() & 0xffffffffL);
      out.put(' ');
      out.number(item.valueLength());
      if (cas) {
        out.put(' ');
        out.number(item.cas());
      }
      out.crlf();
    } while (!out.valueOf(item, Output.CRLF));
    return Outcome.FOUND;
  }

  private Step store(int next, Mode mode, boolean cas, boolean waiting) throws IOException {
    int words = cas ? 6 : 5;
    if (line.count() != words && line.count() != words + 1) {
      in.at = next;
      return reply(ERROR);
    }
    noteNoreply();
    change.clear().mode(mode);
    if (!readChange(cas)) {
      in.at = next;
      return reply(BAD_FORMAT);
    }
    int length = line.integer();
    if (cas) {
      line.readLong(5);
      change.ifCas(line.number());
    }
    if (lookup.isLive(line.key(1, key))) {
      value.drop(next, length);
      return reply(Lookup.KEY_IS_LIVE);
    }
    return switch (value.receive(next, length, mode == Mode.SET && !cas, waiting)) {
      case MORE -> Step.MORE;
      case STORED -> {
        countCas(cas, value.outcome());
        yield reply(text(value.outcome()));
      }
      case REFUSED -> reply(value.refusal());
      case TOO_LONG -> Step.CLOSE;
    };
  }

  /** Reads client flags, expiry and length; the length is the number that was read last. */
  private boolean readChange(boolean cas) {
    if (!line.isKey(1) || !line.readLong(2)) {
      return false;
    }
    int flags = line.integer();
    if (!line.readInt(3)) {
      return false;
    }
    value.flags = flags;
    change.flags(flags).expiry(expiry());
    return (!cas || line.readLong(5))
        && line.readInt(4)
        && line.integer() >= 0
        && line.integer() <= Integer.MAX_VALUE - 2;
  }

  private void countCas(boolean cas, Outcome outcome) {
    statistics.sets.increment();
    if (cas) {
      statistics.countCas(outcome);
    }
  }

  private static byte[] text(Outcome outcome) {
    return switch (outcome) {
      case STORED -> STORED;
      case EXISTS -> EXISTS;
      case NOT_FOUND -> NOT_FOUND;
      case NOT_STORED -> NOT_STORED;
      case TOO_LARGE -> ValueReceiver.TOO_LARGE;
      default -> ValueReceiver.OUT_OF_MEMORY;
    };
  }

  private Step delete() throws IOException {
    int words = line.count();
    if (words < 2 || words > 4) {
      return reply(ERROR);
    }
    if (words > 2) {
      noteNoreply();
      boolean zero = line.packed(2) == ZERO;
      if (!(words == 3 ? zero || noreply : zero && noreply)) {
        return reply(BAD_DELETE);
      }
    }
    if (!line.isKey(1)) {
      return reply(BAD_FORMAT);
    }
    if (lookup.isLive(line.key(1, key))) {
      return reply(Lookup.KEY_IS_LIVE);
    }
    boolean deleted = store.delete(key, change.clear(), item) == Outcome.STORED;
    observer.deleted("delete", deleted);
    (deleted ? statistics.deleteHits : statistics.deleteMisses).increment();
    return reply(deleted ? DELETED : NOT_FOUND);
  }

  private Step arithmetic(boolean increments) throws IOException {
    if (line.count() != 3 && line.count() != 4) {
      return reply(ERROR);
    }
    noteNoreply();
    if (!line.isKey(1)) {
      return reply(BAD_FORMAT);
    }
    if (!line.readLong(2)) {
      return reply(BAD_DELTA);
    }
    change.clear();
    if (increments) {
      change.increment(line.number());
    } else {
      change.decrement(line.number());
    }
    if (lookup.isLive(line.key(1, key))) {
      return reply(Lookup.KEY_IS_LIVE);
    }
    var outcome = store.arithmetic(key, change, item);
    statistics.countArithmetic(increments, outcome);
    return switch (outcome) {
      case STORED -> number(item.number());
      case NOT_FOUND -> reply(NOT_FOUND);
      case NOT_NUMERIC -> reply(NOT_NUMERIC);
      default -> reply(OUT_OF_MEMORY);
    };
  }

  private Step number(long number) throws IOException {
    if (!noreply) {
      out.begin(REPLY);
      out.number(number);
      out.crlf();
      out.end();
    }
    return Step.DONE;
  }

  private Step touch() throws IOException {
    if (line.count() != 3 && line.count() != 4) {
      return reply(ERROR);
    }
    noteNoreply();
    if (!line.isKey(1)) {
      return reply(BAD_FORMAT);
    }
    if (!line.readInt(2)) {
      return reply(BAD_EXPTIME);
    }
    fetch.clear().touch(expiry()).winless().withoutValue();
    boolean touched =
        lookup.isLive(line.key(1, key)) || store.fetch(key, fetch, item) == Outcome.FOUND;
    (touched ? statistics.touchHits : statistics.touchMisses).increment();
    return reply(touched ? TOUCHED : NOT_FOUND);
  }

  private Step flushAll() throws IOException {
    int words = line.count();
    if (words > 3) {
      return reply(ERROR);
    }
    noteNoreply();
    statistics.flushes.increment();
    if (!server.settings.flushes) {
      return reply(bytes("CLIENT_ERROR flush_all not allowed"));
    }
    int delay = 0;
    if (words != (noreply ? 2 : 1)) {
      if (!line.readInt(1)) {
        return reply(BAD_EXPTIME);
      }
      delay = line.integer();
    }
    store.flush(delay > 0 ? server.clock.expiry(delay) : server.clock.second());
    return reply(OK);
  }

  /** The second for the exptime that was read last. */
  int expiry() {
    return server.clock.expiry(line.integer());
  }

  void noteNoreply() {
    noreply = line.packed(line.count() - 1) == NOREPLY;
  }

  /** Answers, unless the client said that it wants no answer. */
  Step reply(byte[] text) throws IOException {
    if (server.settings.verbosity > 1) {
      var way = noreply ? " NOREPLY " : " ";
      server.tell(">" + session().number + way + new String(text, US_ASCII));
    }
    if (!noreply) {
      out.line(text);
    }
    return Step.DONE;
  }
}
