package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocol.BAD_FORMAT;
import static dev.evergreen.memcached.TextProtocol.BUSY;
import static dev.evergreen.memcached.TextProtocol.ERROR;
import static dev.evergreen.memcached.TextProtocol.NOT_NUMERIC;
import static dev.evergreen.memcached.TextProtocol.REPLY;
import static dev.evergreen.memcached.TextProtocol.bytes;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.evergreen.memcached.Protocol.Step;
import dev.evergreen.memcached.live.LiveItemException;
import dev.evergreen.store.Change;
import dev.evergreen.store.Fetch;
import dev.evergreen.store.Item;
import dev.evergreen.store.Mode;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import java.io.IOException;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The meta commands. What they are asked to return, they return in the order of the flags. */
final class MetaCommands {
  static final byte[] MN = bytes("MN");
  private static final byte[] EN = bytes("EN");
  private static final byte[] HD = bytes("HD");
  private static final byte[] EX = bytes("EX");
  private static final byte[] NF = bytes("NF");
  private static final byte[] NS = bytes("NS");
  private static final byte[] VA = bytes("VA ");
  private static final byte[] NEVER = bytes("-1");
  private static final byte[] TOO_MANY_FLAGS_OF_GET =
      bytes("CLIENT_ERROR options flags are too long");
  private static final byte[] TOO_MANY_FLAGS = bytes("CLIENT_ERROR options flags too long");
  private static final byte[] BAD_FLAG = bytes("CLIENT_ERROR invalid or duplicate flag");
  private static final byte[] OUT_OF_MEMORY = bytes("SERVER_ERROR out of memory");
  private static final int MOST_WORDS = 19;

  private final TextProtocol protocol;
  private final Line line;
  private final Output out;
  private final Store store;
  private final Statistics statistics;
  private final Item item;
  private final Fetch fetch;
  private final Change change;
  private final MetaFlags flags;

  MetaCommands(TextProtocol protocol) {
    this.protocol = protocol;
    line = protocol.line;
    out = protocol.out;
    store = protocol.store;
    statistics = protocol.statistics;
    item = protocol.item;
    fetch = protocol.fetch;
    change = protocol.change;
    flags = new MetaFlags(protocol);
  }

  Step get() throws IOException {
    if (line.count() < 2) {
      return protocol.reply(ERROR);
    }
    if (!line.isKey(1)) {
      return protocol.reply(BAD_FORMAT);
    }
    if (line.count() > MOST_WORDS) {
      return protocol.reply(TOO_MANY_FLAGS_OF_GET);
    }
    var error = flags.read(2);
    if (error != null) {
      return protocol.reply(error);
    }
    describeFetch();
    boolean wantsValue = flags.has('v');
    boolean sendsValue;
    do {
      Outcome outcome;
      try {
        outcome = protocol.lookup.fetch(protocol.key, fetch, item);
      } catch (LiveItemException e) {
        return protocol.reply(bytes(TextProtocol.SERVER_ERROR + e.getMessage()));
      }
      if (outcome != Outcome.FOUND) {
        return switch (outcome) {
          case BUSY -> protocol.reply(BUSY);
          case OUT_OF_MEMORY -> protocol.reply(OUT_OF_MEMORY);
          default -> miss();
        };
      }
      sendsValue = wantsValue && !(flags.has('C') && flags.cas == item.cas());
      out.begin(REPLY + (sendsValue && !item.isHeld() ? item.valueLength() : 0));
      if (sendsValue) {
        out.put(VA);
        out.number(item.valueLength());
      } else {
        out.put(HD);
      }
      writeFlagsOfItem();
      out.crlf();
    } while (sendsValue && !out.valueOf(item, Output.CRLF));
    if (!sendsValue) {
      out.end();
      item.release();
    }
    statistics.countGet(true, flags.has('T'));
    if (protocol.server.isObserved()) {
      protocol.observer.fetched(!item.isNew());
    }
    return Step.DONE;
  }

  private void describeFetch() {
    fetch.clear();
    if (flags.has('T')) {
      fetch.touch(flags.expiry);
    }
    if (flags.has('N')) {
      boolean overridden = flags.has('T') && wordOf('T') > wordOf('N');
      fetch.vivify(overridden ? flags.expiry : flags.vivifiedExpiry);
      if (flags.has('E')) {
        fetch.vivifiedCas(flags.newCas);
      }
      if (flags.has('b')) {
        fetch.binaryKey();
      }
    }
    if (flags.has('R')) {
      fetch.recacheBefore(flags.recacheBefore);
      if (flags.has('T') && wordOf('R') < wordOf('T')) {
        fetch.recacheUntouched();
      }
    }
    if (flags.has('u')) {
      fetch.unnoticed();
    }
    if (!flags.has('v')) {
      fetch.withoutValue();
    }
  }

  private int wordOf(char letter) {
    int word = 2;
    while (line.first(word) != letter) {
      word++;
    }
    return word;
  }

  private void writeFlagsOfItem() {
    int expiry = item.previousExpiry();
    for (int word = 2; word < line.count(); word++) {
      switch (line.first(word)) {
        case 'T', 'N' -> expiry = expiryAfter(line.first(word), expiry);
        case 't' -> time(expiry);
        case 's' -> flag('s', item.valueLength());
        case 'c' -> flag('c', item.cas());
        case 'f' -> flag('f', item.flags() & 0xffffffffL);
        case 'l' -> flag('l', protocol.server.clock.second() - item.lastAccess());
        case 'h' -> flag('h', item.isFetched() ? 1 : 0);
        case 'd' -> {
          if (protocol.lookup.isInDoubt()) {
            flag('d');
          }
        }
        case 'k' -> key(item.isKeyBinary());
        default -> writeRequestFlag(word);
      }
    }
    if (item.isWonBefore()) {
      flag('Z');
    }
    if (item.isStale()) {
      flag('X');
    }
    if (item.isWon()) {
      flag('W');
    }
  }

  /** The expiry when T or N has had its effect; the item has what the last one left. */
  private int expiryAfter(int letter, int before) {
    if (!item.isNew()) {
      return letter == 'T' ? item.expiry() : before;
    }
    return letter == 'T' ? flags.expiry : flags.vivifiedExpiry;
  }

  private void flag(char letter) {
    out.put(' ');
    out.put(letter);
  }

  private void flag(char letter, long number) {
    flag(letter);
    out.number(number);
  }

  private void time(int expiry) {
    flag('t');
    if (expiry == 0) {
      out.put(NEVER);
    } else {
      out.number(Math.max(0, expiry - protocol.server.clock.second()));
    }
  }

  /** Writes what a reply repeats of its request: the opaque token and the key. */
  private void writeRequestFlag(int word) {
    switch (line.first(word)) {
      case 'O' -> {
        out.put(' ');
        out.put(line.memory(), line.begin(word), line.length(word));
      }
      case 'k' -> key(flags.has('b'));
      default -> {}
    }
  }

  private void key(boolean encoded) {
    flag('k');
    if (!encoded && !flags.has('b')) {
      out.put(line.memory(), line.begin(1), line.length(1));
    } else {
      out.put(flags.shownKey(encoded));
    }
    if (encoded) {
      flag('b');
    }
  }

  private Step miss() throws IOException {
    statistics.countGet(false, false);
    if (protocol.server.isObserved()) {
      protocol.observer.fetched(false);
    }
    return status(EN, 2, flags.has('q'));
  }

  /** Answers a status and what is repeated of the request from a word on. */
  private Step status(byte[] status, int firstWord, boolean hidden) throws IOException {
    if (!hidden) {
      out.begin(REPLY);
      out.put(status);
      for (int word = firstWord; word < line.count(); word++) {
        writeRequestFlag(word);
      }
      out.crlf();
      out.end();
    }
    return Step.DONE;
  }

  Step set() throws IOException {
    if (line.count() < 3 || !line.isKey(1) || line.count() > MOST_WORDS || !readLength()) {
      boolean tooMany = line.count() > MOST_WORDS && line.isKey(1);
      return protocol.reply(line.count() < 2 ? ERROR : tooMany ? TOO_MANY_FLAGS : BAD_FORMAT);
    }
    int length = line.integer();
    if (protocol.isPart(length)) {
      return Step.PART;
    }
    var error = flags.read(3);
    if ((error == null || error == MetaFlags.LONG_OPAQUE) && !describeSet()) {
      error = MetaFlags.INVALID_MODE_OF_SET;
    }
    if (error == null && protocol.lookup.isLive(protocol.key)) {
      error = Lookup.KEY_IS_LIVE;
    }
    if (error != null) {
      return protocol.refuseValue(length, error);
    }
    return protocol.value.receive(length, Output.CRLF, true)
        ? answerSet(protocol.value.outcome(), length)
        : protocol.reply(TextProtocol.BAD_END);
  }

  private boolean readLength() {
    return line.readInt(2) && line.integer() >= 0 && line.integer() <= Integer.MAX_VALUE - 2;
  }

  private boolean describeSet() {
    change.clear().flags(flags.clientFlags).expiry(flags.expiry);
    switch (flags.mode) {
      case 0, 'S' -> change.mode(Mode.SET);
      case 'E' -> change.mode(Mode.ADD);
      case 'A' -> change.mode(Mode.APPEND);
      case 'P' -> change.mode(Mode.PREPEND);
      case 'R' -> change.mode(Mode.REPLACE);
      default -> {
        return false;
      }
    }
    boolean joins = flags.mode == 'A' || flags.mode == 'P';
    if (flags.has('C') && !(joins && flags.cas == 0)) {
      change.ifCas(flags.cas);
    }
    if (flags.has('I')) {
      change.invalidate();
    }
    if (flags.has('E')) {
      change.setCas(flags.newCas);
    }
    if (flags.has('b')) {
      change.binaryKey();
    }
    if (flags.has('N') && joins) {
      change.vivify(flags.vivifiedExpiry);
    }
    return true;
  }

  /** The classic command that does what this one does. */
  String nameOfSet() {
    return switch (flags.mode) {
      case 'E' -> "add";
      case 'A' -> "append";
      case 'P' -> "prepend";
      default -> flags.has('C') ? "cas" : flags.mode == 'R' ? "replace" : "set";
    };
  }

  private Step answerSet(Outcome outcome, int length) throws IOException {
    boolean stored = outcome == Outcome.STORED;
    statistics.countRefusal(outcome);
    if (flags.has('C') && (flags.mode == 0 || flags.mode == 'S' || flags.mode == 'R')) {
      statistics.countCas(outcome);
    }
    if (outcome == Outcome.TOO_LARGE) {
      return protocol.reply(TextProtocol.TOO_LARGE);
    }
    if (outcome == Outcome.OUT_OF_MEMORY) {
      return protocol.reply(TextProtocol.NO_ROOM);
    }
    if (stored && flags.has('q')) {
      return Step.DONE;
    }
    out.begin(REPLY);
    out.put(
        switch (outcome) {
          case STORED -> HD;
          case EXISTS -> EX;
          case NOT_FOUND -> NF;
          default -> NS;
        });
    for (int word = 3; word < line.count(); word++) {
      switch (line.first(word)) {
        case 'c' -> flag('c', stored ? item.cas() : 0);
        case 's' -> flag('s', stored ? item.valueLength() : length);
        default -> writeRequestFlag(word);
      }
    }
    out.crlf();
    out.end();
    return Step.DONE;
  }

  Step delete() throws IOException {
    if (!readKeyAndFlags(null)) {
      return Step.DONE;
    }
    change.clear();
    if (flags.has('C')) {
      change.ifCas(flags.cas);
    }
    if (flags.has('E')) {
      change.setCas(flags.newCas);
    }
    if (flags.has('I')) {
      change.invalidate();
    }
    if (flags.has('x')) {
      change.empty();
    }
    if (flags.has('T')) {
      change.expiry(flags.expiry);
    }
    protocol.observer.tellLook();
    return switch (store.delete(protocol.key, change, item)) {
      case STORED -> {
        // What is only marked as stale is still there.
        if (!flags.has('I')) {
          statistics.deleteHits.increment();
          protocol.observer.deleted("md", true);
        }
        yield status(HD, 2, flags.has('q'));
      }
      case EXISTS -> {
        statistics.deleteMisses.increment();
        yield status(EX, 2, false);
      }
      case NOT_FOUND -> {
        statistics.deleteMisses.increment();
        yield status(NF, 2, false);
      }
      default -> protocol.reply(OUT_OF_MEMORY);
    };
  }

  /**
   * Answers and is false if something is wrong with the line of a delete or of arithmetic.
   *
   * @param modes those that there are, or null if any is ignored
   */
  private boolean readKeyAndFlags(@Nullable String modes) throws IOException {
    byte[] error = null;
    if (line.count() < 2) {
      error = ERROR;
    } else if (!line.isKey(1)) {
      error = BAD_FORMAT;
    } else if (line.count() > MOST_WORDS) {
      error = TOO_MANY_FLAGS;
    } else {
      var wrong = flags.read(2);
      if (wrong != null && wrong != MetaFlags.LONG_OPAQUE) {
        error = BAD_FLAG;
      } else if (modes != null && !flags.isModeOf(modes)) {
        error = MetaFlags.INVALID_MODE_OF_ARITHMETIC;
      } else if (wrong != null) {
        error = wrong;
      } else if (protocol.lookup.isLive(protocol.key)) {
        error = Lookup.KEY_IS_LIVE;
      }
    }
    if (error != null) {
      protocol.reply(error);
    }
    return error == null;
  }

  Step arithmetic() throws IOException {
    if (!readKeyAndFlags("ID+-")) {
      return Step.DONE;
    }
    boolean decrements = flags.mode == 'D' || flags.mode == '-';
    describeArithmetic(decrements);
    protocol.observer.tellLook();
    var outcome = store.arithmetic(protocol.key, change, item);
    statistics.countArithmetic(!decrements, outcome, item.isNew());
    return switch (outcome) {
      case STORED -> flags.has('q') && !item.isNew() ? Step.DONE : answerNumber();
      case NOT_FOUND -> status(NF, 2, false);
      case EXISTS -> status(EX, 2, false);
      case NOT_NUMERIC -> protocol.reply(NOT_NUMERIC);
      default -> protocol.reply(OUT_OF_MEMORY);
    };
  }

  private void describeArithmetic(boolean decrements) {
    change.clear();
    if (decrements) {
      change.decrement(flags.delta);
    } else {
      change.increment(flags.delta);
    }
    if (flags.has('C') && flags.cas != 0) {
      change.ifCas(flags.cas);
    }
    if (flags.has('E')) {
      change.setCas(flags.newCas);
    }
    if (flags.has('T')) {
      change.expiry(flags.expiry);
    }
    if (flags.has('b')) {
      change.binaryKey();
    }
    if (flags.has('N')) {
      boolean overridden = flags.has('T') && wordOf('T') > wordOf('N');
      change.initial(flags.initial).vivify(overridden ? flags.expiry : flags.vivifiedExpiry);
    }
  }

  private Step answerNumber() throws IOException {
    out.begin(REPLY);
    if (flags.has('v')) {
      out.put(VA);
      out.number(Output.digits(item.number()));
    } else {
      out.put(HD);
    }
    int expiry = item.previousExpiry();
    for (int word = 2; word < line.count(); word++) {
      switch (line.first(word)) {
        case 'T', 'N' -> expiry = expiryAfter(line.first(word), expiry);
        case 't' -> time(expiry);
        case 'c' -> flag('c', item.cas());
        default -> writeRequestFlag(word);
      }
    }
    out.crlf();
    if (flags.has('v')) {
      out.number(item.number());
      out.crlf();
    }
    out.end();
    return Step.DONE;
  }

  /** Answers what is known of an item, for people. */
  Step debug() throws IOException {
    if (line.count() < 2 || !line.isKey(1)) {
      return protocol.reply(BAD_FORMAT);
    }
    line.key(1, protocol.key);
    if (line.count() > 2 && line.is(2, "b") && !flags.decodeKey()) {
      return protocol.reply(BAD_FORMAT);
    }
    statistics.metas.increment();
    protocol.observer.tellLook();
    // Unlike a peek this needs no memory for a large value.
    fetch.clear().unnoticed().winless().withoutValue();
    if (store.fetch(protocol.key, fetch, item) != Outcome.FOUND) {
      return protocol.reply(EN);
    }
    int now = protocol.server.clock.second();
    var key = protocol.key.bytes().toArray(JAVA_BYTE);
    out.begin(REPLY);
    out.put("ME ");
    out.put(item.isKeyBinary() ? Base64.getEncoder().encode(key) : key);
    out.put(
        " exp=%d la=%d cas=%s fetch=%s cls=1 size=%d"
            .formatted(
                item.expiry() == 0 ? -1 : item.expiry() - now,
                now - item.lastAccess(),
                Long.toUnsignedString(item.cas()),
                item.isFetched() ? "yes" : "no",
                item.size()));
    out.crlf();
    out.end();
    return Step.DONE;
  }
}
