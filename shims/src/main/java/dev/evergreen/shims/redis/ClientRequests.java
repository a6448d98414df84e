package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.provenance.Batch;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads what a client says, finds where its requests end, and hands them to its {@link Session}:
 * those that anybody's connection could carry out many at once, each other one alone. Of the
 * client's fiber.
 */
final class ClientRequests {
  private static final byte[] NOTHING = {};

  /** What the record is told of a request that may hold credentials, nobody knows where. */
  private static final Told SECRET = new Told(RedisKind.HIDDEN, true, true, Told.UNCHANGED);

  private final RedisShim shim;
  private final Session session;
  private final Connection connection;
  private final RequestScanner requests = new RequestScanner();
  private byte[] rest = NOTHING;

  /** Whether all is passed on without a look. */
  private boolean passing;

  /** Whether a request has begun that is too long to be looked at whole. */
  private boolean amidLong;

  ClientRequests(RedisShim shim, Session session, Connection connection) {
    this.shim = shim;
    this.session = session;
    this.connection = connection;
  }

  /** Deals with all that the client says, until it or the shim ends. */
  void talk() throws IOException {
    while (true) {
      try {
        shim.draining().run(connection::awaitInput);
      } catch (WaitCancelledException | DeadlineException e) {
        session.awaitAll();
        return;
      }
      if (!takeWhatCame()) {
        return;
      }
    }
  }

  private boolean takeWhatCame() throws IOException {
    try (var loan = Buffers.borrow()) {
      var bytes = loan.buffer();
      bytes.put(rest);
      int n = connection.tryRead(bytes);
      if (n < 0) {
        session.endInput();
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

  /** Deals with all that there is; false if the client is to go. */
  private boolean handle(ByteBuffer bytes, int came) throws IOException {
    int end = came;
    if (passing) {
      session.own().pass(bytes, 0, end);
      return true;
    }
    int from = 0;
    if (amidLong) {
      requests.at = 0;
      if (!goOn(bytes, end)) {
        session.awaitAll();
        return false;
      }
      from = requests.at;
    }
    var batch = shim.batches.take();
    try {
      while (true) {
        batch.begin(bytes, from);
        try {
          return (amidLong || passing || split(bytes, end, batch)) && keepRest(bytes, end);
        } catch (Session.StuckException e) {
          from = batch.from();
          end = awaitLane(bytes, from, end);
          requests.restart(from);
        }
      }
    } finally {
      shim.batches.giveBack(batch);
    }
  }

  /**
   * Waits until the lane owes nothing. It may be a pause that keeps it from answering, and the
   * client's request to end that may be among those that wait for it. So what the client says is
   * read on. Such a request is carried out at once, and once more when it has its turn, which does
   * nothing if the pause is over.
   *
   * @return where what the client has said ends now
   */
  private int awaitLane(ByteBuffer bytes, int from, int end) throws IOException {
    int to = end;
    var pauseEnd = new PauseEnd(from);
    boolean ends = pauseEnd.isIn(bytes, to);
    while (!ends && !pauseEnd.isInVain() && to < bytes.capacity() && session.awaitMore()) {
      int n = connection.tryRead(bytes.position(to));
      bytes.clear();
      if (n < 0) {
        break;
      }
      to += n;
      ends = pauseEnd.isIn(bytes, to);
    }
    if (ends) {
      session.unpause();
    }
    session.awaitLane();
    return to;
  }

  /** Deals with more of a long request; false if the client is to go. */
  private boolean goOn(ByteBuffer bytes, int end) throws IOException {
    var found = requests.scan(bytes, end);
    amidLong = found == RequestScanner.Found.PART;
    boolean strange = found == RequestScanner.Found.STRANGE;
    if (strange && session.drops()) {
      // Redis cannot judge it: it has not heard the beginning, and would take what a value holds
      // for requests.
      return false;
    }
    session.more(bytes, 0, requests.at, !amidLong);
    return !strange || passOn(bytes, requests.at, end, true, false);
  }

  /** Keeps what is not whole; false if the client is to go. */
  private boolean keepRest(ByteBuffer bytes, int end) throws IOException {
    if (passing || amidLong) {
      rest = NOTHING;
      return true;
    }
    int from = requests.atStart() ? requests.at : requests.began();
    if (end - from == Buffers.SIZE || isLong()) {
      return beginLong(bytes, from, end);
    }
    if (from == end) {
      rest = NOTHING;
    } else {
      rest = new byte[end - from];
      bytes.get(from, rest);
    }
    requests.moved(-from);
    return true;
  }

  /**
   * Whether the request says that it is longer than what is looked at whole, or than what Redis
   * takes of somebody of whom it does not know who it is: it may refuse what it was told already.
   */
  private boolean isLong() {
    boolean ofNobody = session.isOfNobody();
    return !requests.atStart()
        && (requests.declared() > (ofNobody ? Session.LONGEST_OF_NOBODY : Buffers.SIZE)
            || (ofNobody && requests.count > Session.MOST_WORDS_OF_NOBODY));
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
          session.passNothing(bytes, requests.began(), requests.at);
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
          return passOn(bytes, requests.began(), end, false, requests.refused());
        }
      }
    }
  }

  /** From here on Redis is to judge what the client says; false if the client is to go. */
  private boolean passOn(ByteBuffer bytes, int from, int end, boolean amid, boolean refused)
      throws IOException {
    boolean goesOn = session.passOn(bytes, from, end, amid, refused);
    passing = true;
    return goesOn;
  }

  private boolean handleLine(ByteBuffer bytes, int end, Batch batch) throws IOException {
    int from = requests.began();
    int next = requests.at;
    submit(batch);
    var words = Inline.split(bytes, from, next);
    if (words.isEmpty() || Inline.holdsZero(bytes, from, next)) {
      return passOn(bytes, from, end, false, true);
    }
    boolean goesOn = true;
    if (words.get().isEmpty()) {
      session.passNothing(bytes, from, next);
    } else {
      goesOn = handleWords(words.get(), bytes, from, next);
    }
    requests.restart(next);
    batch.begin(bytes, next);
    return goesOn;
  }

  private boolean handleWords(List<byte[]> words, ByteBuffer bytes, int from, int to)
      throws IOException {
    var array = ByteBuffer.wrap(Inline.asArray(words));
    var scanner = new RequestScanner();
    scanner.scan(array, array.capacity());
    var verb = Verb.of(scanner, array);
    var own = words;
    if (verb == Verb.STRANGE) {
      own = session.ownNamed(words);
      verb = Verb.of(own, scanner, array);
    }
    var line = new Batch();
    line.begin(bytes, from);
    line.add(to);
    // To those who share nothing goes that one server might read in another way than the next.
    var plain = new Batch();
    plain.begin(array, 0);
    plain.add(array.capacity());
    return session.single(
        verb, Words.of(verb, scanner, array), words.size(), plain, line, told(verb, own));
  }

  /**
   * What the record is told of a request with the command's own name.
   *
   * @param own null if nobody knows that
   */
  private Told told(Verb verb, @Nullable List<byte[]> own) {
    if (own == null) {
      return SECRET;
    }
    var told = redacts(verb) ? shim.redaction.of(own) : Told.ALL;
    return told.orElse(ByteBuffer.wrap(Inline.asArray(own)));
  }

  /** Deals with a request that is whole; false if the client is to go. */
  private boolean handle(ByteBuffer bytes, int end, Batch batch) throws IOException {
    var verb = Verb.of(requests, bytes);
    if (verb == Verb.SHARED && session.mayShare(requests.count, requests.at - requests.began())) {
      batch.add(requests.at);
      if (batch.count() >= Session.MOST_AT_ONCE) {
        submit(batch);
      }
      return true;
    }
    int from = requests.began();
    int next = requests.at;
    if (verb == Verb.MULTI && session.mayShareBlock() && addBlock(bytes, end, batch)) {
      return true;
    }
    submit(batch);
    if (verb == Verb.STRANGE) {
      boolean stays = handleWords(Inline.wordsOf(bytes, from, next), bytes, from, next);
      batch.begin(bytes, next);
      return stays;
    }
    batch.begin(bytes, from);
    batch.add(next);
    boolean goesOn =
        session.single(
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

  private static boolean redacts(Verb verb) {
    return verb == Verb.AUTH || verb == Verb.HELLO || verb == Verb.SECRET;
  }

  /**
   * Adds a transaction that has come whole, and that anybody's connection could carry out: from
   * MULTI, which was just found, to EXEC. Else nothing has changed.
   */
  private boolean addBlock(ByteBuffer bytes, int end, Batch batch) {
    int begins = requests.began();
    int next = requests.at;
    int before = batch.count();
    boolean whole = true;
    batch.add(next);
    while (whole) {
      whole = requests.scan(bytes, end) == RequestScanner.Found.WHOLE;
      if (whole) {
        var verb = Verb.of(requests, bytes);
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
      session.share(batch);
    }
    batch.begin(batch.bytes(), batch.to());
  }

  /** Begins a request that is not looked at whole; false if the client is to go. */
  private boolean beginLong(ByteBuffer bytes, int from, int end) throws IOException {
    if (requests.atStart()) {
      // A line that does not end.
      return passOn(bytes, from, end, false, false);
    }
    var verb = Verb.of(requests, bytes);
    boolean known = true;
    if (verb == Verb.STRANGE) {
      var name = Verb.argument(requests, bytes, 0, Integer.MAX_VALUE);
      var own = session.ownNamed(List.of(name.getBytes(StandardCharsets.ISO_8859_1)));
      known = own != null;
      verb = Verb.of(own, requests, bytes);
    }
    var words = Words.of(verb, requests, bytes);
    session.begin(verb, words, bytes, from, end, redacts(verb) || !known ? SECRET : Told.ALL);
    amidLong = true;
    rest = NOTHING;
    return true;
  }
}
