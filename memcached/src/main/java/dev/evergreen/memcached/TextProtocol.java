package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.memcached.live.LiveItemException;
import dev.evergreen.store.Key;
import dev.evergreen.store.Mode;
import dev.evergreen.store.Outcome;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * memcached's text protocol: the classic commands here, the meta commands in {@link MetaCommands},
 * the rest in {@link AdminCommands}. Its replies are those of memcached 1.6.18, to the byte, and
 * those of newer ones for what is newer.
 */
final class TextProtocol extends Protocol {
  /** A line that is longer and has no end is no command, unless it is a get of many keys. */
  static final int LONGEST_LINE = 2048;

  /** Before a long line's first word, as memcached allows. */
  private static final int MOST_BLANKS = 100;

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
  static final byte[] BAD_END = bytes("CLIENT_ERROR bad data chunk");
  static final byte[] TOO_LARGE = bytes("SERVER_ERROR object too large for cache");
  static final byte[] NO_ROOM = bytes("SERVER_ERROR out of memory storing object");
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
  private final MetaCommands meta;
  private final AdminCommands admin;

  /** Of the line and its end. */
  private int lineLength;

  private boolean noreply;

  TextProtocol(MemcachedServer server) {
    super(server);
    meta = new MetaCommands(this);
    admin = new AdminCommands(this);
  }

  static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  @Override
  int headLength() {
    return line.end() - line.begin(0);
  }

  @Override
  void keepHead(MemorySegment memory, long at) {
    line.moveTo(memory, at);
  }

  @Override
  void forgetHead() {
    line.clear();
  }

  /** The line, in which nothing looks like a line of a log. */
  private String shown() {
    int begin = line.begin(0);
    return Output.shown(in.memory, begin, line.end(line.count() - 1) - begin);
  }

  @Override
  int neededFrom() {
    return line.begin(0);
  }

  @Override
  void neededIsAt(int from) {
    line.wasMovedTo(in.memory, from);
  }

  @Override
  String commandName() {
    return line.packed(0) == MS ? meta.nameOfSet() : line.text(0);
  }

  /**
   * Whether replies of the same turn are before this command's, but for those that memcached sends
   * by themselves: then it refuses to list keys and to watch.
   */
  boolean isBehindOthers() {
    return answeredBefore > 0;
  }

  @Override
  Step answerNext() throws IOException {
    int newline = findNewline();
    if (newline < 0) {
      return in.available() <= LONGEST_LINE ? Step.PART : longLine();
    }
    takeLine(newline);
    noreply = false;
    if (line.count() > 0 && isToBeTold()) {
      server.tell("<" + session().number + " " + shown());
    }
    if (!session().authenticated) {
      return authenticate();
    }
    if (line.count() == 0) {
      return reply(ERROR);
    }
    long word = line.packed(0);
    if (word == GET) {
      return get(false, false);
    } else if (lineLength > LONGEST_LINE) {
      return rareCommand();
    } else if (word == SET) {
      return store(Mode.SET, false);
    } else if (word == MG) {
      return meta.get();
    } else if (word == MS) {
      return meta.set();
    }
    return rareCommand();
  }

  /** Where the next line ends, or -1 if that is not there. */
  private int findNewline() throws IOException {
    int newline = Input.find(in.memory, (byte) '\n', in.at, in.end);
    while (newline == in.end) {
      int seen = in.available();
      if (seen <= LONGEST_LINE || !beginsKeys() || !in.fill()) {
        return -1;
      }
      newline = Input.find(in.memory, (byte) '\n', in.at + seen, in.end);
    }
    return newline;
  }

  private void takeLine(int newline) {
    boolean trims = newline - in.at > 1 && in.byteAt(newline - 1) == '\r';
    line.split(in.memory, in.at, trims ? newline - 1 : newline);
    lineLength = newline + 1 - in.at;
    in.at = newline + 1;
  }

  /** Takes the value of a {@code set} of whatever key for a user and a password. */
  private Step authenticate() throws IOException {
    if (line.count() < 5 || line.packed(0) != SET || !line.readLong(4)) {
      return reply(bytes("CLIENT_ERROR unauthenticated"));
    }
    long length = line.number();
    if (length < 0 || length > LONGEST_LINE) {
      return Step.CLOSE;
    }
    long rest = length + Output.CRLF.length;
    if (lineLength + rest > Input.LITTLE) {
      // It could not be waited for, and may not depend on how much of it has come.
      return Step.CLOSE;
    }
    if (isPart(lineLength, rest)) {
      return Step.PART;
    }
    int begin = in.at;
    int end = begin + (int) length;
    in.at = end + Output.CRLF.length;
    if (in.byteAt(end) != '\r' || in.byteAt(end + 1) != '\n') {
      return reply(bytes("CLIENT_ERROR bad command line termination"));
    }
    line.split(in.memory, begin, end);
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

  private Step rareCommand() throws IOException {
    var name = CommandNames.of(line, 0);
    return switch (name) {
      case "gets" -> get(true, false);
      case "gat" -> get(false, true);
      case "gats" -> get(true, true);
      case "bget" -> get(false, false);
      // It depends on nothing else whether its line is too long.
      default -> lineLength > LONGEST_LINE ? Step.CLOSE : boundedCommand(name);
    };
  }

  private Step boundedCommand(String name) throws IOException {
    return switch (name) {
      case "add" -> store(Mode.ADD, false);
      case "replace" -> store(Mode.REPLACE, false);
      case "append" -> store(Mode.APPEND, false);
      case "prepend" -> store(Mode.PREPEND, false);
      case "cas" -> store(Mode.SET, true);
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
      case "quit" -> Step.LEAVE;
      default -> admin.answer(name);
    };
  }

  /** Whether what has come begins a get, of a key that is whole and maybe more of them. */
  private boolean beginsKeys() {
    line.split(in.memory, in.at, in.end);
    int whole = in.byteAt(in.end - 1) == ' ' ? line.count() : line.count() - 1;
    if (whole < 2
        || line.begin(0) - in.at > MOST_BLANKS
        || line.length(0) > 4
        || line.length(1) > Key.MAX_LENGTH) {
      return false;
    }
    var command = line.text(0);
    return List.of("get", "gets", "bget").contains(command)
        || (whole > 2 && List.of("gat", "gats").contains(command));
  }

  /**
   * Answers what has come of a line without an end. It is no command, or a get of very many keys:
   * those are answered as they come, so that the line need not be kept. It goes on as a get of what
   * is not answered yet: the last key that is whole, so that there is one, and a part of another.
   */
  private Step longLine() throws IOException {
    if (!session().authenticated || !beginsKeys()) {
      return Step.CLOSE;
    }
    boolean cas = line.text(0).endsWith("s");
    boolean touches = line.text(0).startsWith("ga");
    if (touches && !line.readInt(1)) {
      return Step.CLOSE;
    }
    describeFetch(touches);
    int part = lastWord(in.end);
    // What ends the line may have come by half.
    int partEnd = in.byteAt(in.end - 1) == '\r' ? in.end - 1 : in.end;
    if (partEnd - part > Key.MAX_LENGTH) {
      return Step.CLOSE;
    }
    var command = line.text(0) + " " + (touches ? line.text(1) + " " : "");
    line.split(in.memory, lastWord(endOfWords(part)), part);
    var lastKey = line.text(0);
    int answered = line.isKey(0) ? line.begin(0) : part;
    line.split(in.memory, in.at, answered);
    in.at = answered;
    if (!keys(touches ? 2 : 1, cas, touches)) {
      return Step.CLOSE;
    }
    in.at += part - answered;
    in.putBefore((command + lastKey + " ").getBytes(ISO_8859_1));
    in.answered();
    return Step.PART;
  }

  /** Where the word begins that ends there. */
  private int lastWord(int end) {
    int begin = end;
    while (begin > in.at && in.byteAt(begin - 1) != ' ') {
      begin--;
    }
    return begin;
  }

  /** Where the blanks begin that end there. */
  private int endOfWords(int end) {
    int begin = end;
    while (begin > in.at && in.byteAt(begin - 1) == ' ') {
      begin--;
    }
    return begin;
  }

  private Step get(boolean cas, boolean touches) throws IOException {
    if (line.count() < 2) {
      return reply(ERROR);
    }
    if (touches && !line.readInt(1)) {
      return reply(BAD_EXPTIME);
    }
    if (lineLength > Key.MAX_LENGTH && line.hasWordBeyond(Key.MAX_LENGTH)) {
      return reply(BAD_FORMAT);
    }
    describeFetch(touches);
    return keys(touches ? 2 : 1, cas, touches) ? endKeys() : Step.DONE;
  }

  /** Says how keys are looked up; the exptime, if there is one, was read last. */
  private void describeFetch(boolean touches) {
    fetch.clear();
    if (touches) {
      fetch.touch(expiry()).winless();
    }
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
        statistics.countGet(hit, touches);
      }
      word = 0;
    } while (hasMoreKeys());
    return true;
  }

  /**
   * Goes on with the words behind those that were answered, which are as much work as a request.
   *
   * @return false if there are none
   */
  private boolean hasMoreKeys() throws IOException {
    int lineLeft = line.end() - line.behind();
    int left = in.at - line.behind();
    if (lineLeft == 0) {
      return false;
    }
    in.at = line.behind();
    if (isTurnOver()) {
      in.letOthersRun();
      beginTurn();
    }
    line.split(in.memory, in.at, in.at + lineLeft);
    in.at += left;
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

  private Step store(Mode mode, boolean cas) throws IOException {
    int words = cas ? 6 : 5;
    if (line.count() != words && line.count() != words + 1) {
      return reply(ERROR);
    }
    noteNoreply();
    change.clear().mode(mode);
    if (!readChange(cas)) {
      return reply(BAD_FORMAT);
    }
    int length = line.integer();
    if (cas) {
      line.readLong(5);
      change.ifCas(line.number());
    }
    if (isPart(length)) {
      return Step.PART;
    }
    if (lookup.isLive(line.key(1, key))) {
      return refuseValue(length, Lookup.KEY_IS_LIVE);
    }
    if (!value.receive(length, Output.CRLF, mode == Mode.SET && !cas)) {
      return reply(BAD_END);
    }
    statistics.countRefusal(value.outcome());
    if (cas) {
      statistics.countCas(value.outcome());
    }
    return reply(text(value.outcome()));
  }

  /** Whether the command and its value are to be waited for together, as not all has come. */
  boolean isPart(int valueLength) {
    return isPart(lineLength, (long) valueLength + Output.CRLF.length);
  }

  /** Drops the value that follows, so that it is not taken for commands. */
  Step refuseValue(int length, byte[] why) throws IOException {
    in.drop((long) length + Output.CRLF.length);
    return reply(why);
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
    change.flags(flags).expiry(expiry());
    return (!cas || line.readLong(5))
        && line.readInt(4)
        && line.integer() >= 0
        && line.integer() <= Integer.MAX_VALUE - 2;
  }

  private static byte[] text(Outcome outcome) {
    return switch (outcome) {
      case STORED -> STORED;
      case EXISTS -> EXISTS;
      case NOT_FOUND -> NOT_FOUND;
      case NOT_STORED -> NOT_STORED;
      case TOO_LARGE -> TOO_LARGE;
      default -> NO_ROOM;
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
    observer.tellLook();
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
    observer.tellLook();
    var outcome = store.arithmetic(key, change, item);
    statistics.countArithmetic(increments, outcome, item.isNew());
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
    line.key(1, key);
    observer.tellLook();
    boolean touched = lookup.isLive(key) || store.fetch(key, fetch, item) == Outcome.FOUND;
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
    flushItems(delay > 0 ? server.clock.expiry(delay) : server.clock.second());
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
    if (!noreply) {
      out.line(text);
    } else if (server.verbosity > 1) {
      server.tell(">" + session().number + " NOREPLY " + new String(text, US_ASCII));
    }
    return Step.DONE;
  }
}
