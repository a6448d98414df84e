package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Specification;
import dev.evergreen.provenance.StoreKind;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What a trace must know of Redis. */
public final class RedisKind implements StoreKind {
  private static final Bytes QUEUED = Bytes.of("+QUEUED\r\n");

  /** On record in the place of a request of which nothing is to be on record, or is known. */
  static final ByteBuffer HIDDEN = ByteBuffer.wrap(Identity.request("<hidden>")).asReadOnlyBuffer();

  private static final List<Bytes> HIDDEN_WORDS = List.of(Bytes.of("<hidden>"));

  static boolean isHidden(Operation operation) {
    return operation.request().equals(HIDDEN_WORDS);
  }

  /** Lines of an epoch's facts, beside that there were no keys. */
  static final String NO_SCRIPTS = "scripts: none";

  static final String NO_FUNCTIONS = "functions: none";

  /** As many as nearly all have, or fewer. Of others evidence says how often that is doubled. */
  static final int DATABASES = 64;

  /** So often at most. */
  static final int DOUBLINGS = 4;

  /** How evidence begins that names a key; with the letters behind this one for each doubling. */
  private static final int OF_A_KEY = 'k';

  /** Evidence that a key was written, in a database whose number is below that of so many. */
  static byte[] evidence(int doublings, Bytes key) {
    return Inline.join(new byte[] {(byte) (OF_A_KEY + doublings)}, key.toArray());
  }

  private final RedisSpecification specification = new RedisSpecification();

  /** Made by the service loader. */
  public RedisKind() {}

  @Override
  public Specification specification() {
    return specification;
  }

  @Override
  public List<Bytes> words(Bytes recorded) {
    if (recorded.length() == 0) {
      return List.of();
    }
    if (recorded.at(0) == '*') {
      return array(recorded);
    }
    var line = ByteBuffer.wrap(recorded.toArray());
    return Inline.split(line, 0, recorded.length())
        .map(words -> words.stream().map(Bytes::of).toList())
        .orElseGet(() -> List.of(recorded));
  }

  @Override
  public List<Bytes> typed(String line) {
    var bytes = Bytes.of(line + "\n");
    return Inline.split(ByteBuffer.wrap(bytes.toArray()), 0, bytes.length())
        .map(words -> words.stream().map(Bytes::of).toList())
        .orElse(List.of());
  }

  /** Those that are there, if it is only the beginning of a command. */
  static List<Bytes> array(Bytes recorded) {
    var words = new ArrayList<Bytes>();
    var text = recorded.latin1();
    int at = lineEnd(recorded, 0);
    while (at < recorded.length() && recorded.at(at) == '$') {
      int from = lineEnd(recorded, at);
      if (from > recorded.length()) {
        break;
      }
      long length = Long.parseLong(text, at + 1, from - 2, 10);
      int to = (int) Math.min(from + length, recorded.length());
      words.add(recorded.slice(from, to));
      at = to + 2;
    }
    return words;
  }

  /** Behind the line that begins there; behind the last byte and more, if the line has no end. */
  private static int lineEnd(Bytes bytes, int from) {
    int at = from;
    while (at < bytes.length() && bytes.at(at) != '\n') {
      at++;
    }
    return at + 1;
  }

  @Override
  public Bytes recorded(List<Bytes> words) {
    return Bytes.of(Resp.write(words));
  }

  @Override
  public @Nullable Object value(Bytes reply) {
    return reply.length() == 0 ? null : shown(Effects.reply(reply));
  }

  private @Nullable Object shown(Bytes reply) {
    if (reply.at(0) == '-') {
      return reply.slice(1, Math.max(1, reply.length() - 2)).text();
    }
    try {
      return plain(Resp.read(reply));
    } catch (IllegalArgumentException e) {
      // Only the beginning is kept of a very long one.
      return reply.text();
    }
  }

  @Override
  public @Nullable Object plain(Object value) {
    return switch (value) {
      case Bytes text -> text.text();
      case Collection<?> list -> {
        var all = new ArrayList<@Nullable Object>();
        list.forEach(element -> all.add(plain(element)));
        yield all;
      }
      // As RESP2 has it; Redis's own order is not known.
      case Map<?, ?> map -> {
        var all = new ArrayList<@Nullable Object>();
        new TreeMap<>(map)
            .forEach(
                (name, content) -> {
                  all.add(plain(name));
                  all.add(plain(content));
                });
        yield all;
      }
      case Resp.Failure failure -> failure.kind();
      case Expiry.Between between -> between.toString();
      default -> value == Resp.NIL ? null : value;
    };
  }

  @Override
  public Cell keys(String space) {
    return Call.database(space);
  }

  @Override
  public boolean mayBePart(Operation operation) {
    return isQueued(operation) || is(operation, "MULTI");
  }

  @Override
  public boolean isSought(Operation operation) {
    return Transactions.isSought(operation);
  }

  @Override
  public boolean endsSearch(Operation operation) {
    return Transactions.endsSearch(operation);
  }

  /**
   * Of an EXEC, what was queued since MULTI, each with its element of the reply; without one if the
   * outcome is unknown, or the reply is hidden or was too long to be kept whole, and then at least
   * the MULTI. None if that is not on record. Of one that was not carried out, because somebody had
   * written what its client watched, the look at what is watched.
   */
  @Override
  public List<Operation> parts(Operation operation, Iterator<Operation> earlier) {
    if (!is(operation, "EXEC")) {
      return List.of();
    }
    var reply = operation.reply();
    if (reply != null && Transactions.isNil(reply)) {
      return Transactions.watched(operation, earlier);
    }
    var replies = reply == null ? Optional.<List<Bytes>>empty() : elements(reply);
    return replies.isPresent()
        ? queued(operation, replies.get(), earlier)
        : queued(operation, earlier);
  }

  /** The parts that have these replies; none if they are not all on record. */
  private static List<Operation> queued(
      Operation exec, List<Bytes> replies, Iterator<Operation> earlier) {
    var parts = new ArrayList<Operation>();
    while (parts.size() < replies.size() && earlier.hasNext()) {
      var part = earlier.next();
      if (isQueued(part)) {
        var own = replies.get(replies.size() - 1 - parts.size());
        parts.addFirst(Transactions.replied(part, exec, own));
      } else if (begins(part)) {
        break;
      }
    }
    return parts.size() == replies.size()
        ? withEffects(Transactions.inDatabases(parts), exec)
        : List.of();
  }

  /** Each script with what it has carried out, if that is known of all. */
  private static List<Operation> withEffects(List<Operation> parts, Operation exec) {
    var calls = Effects.calls(exec.reply()).orElse(List.of()).iterator();
    return parts.stream()
        .map(
            part ->
                Scripts.isCall(part.request()) && part.reply() != null && calls.hasNext()
                    ? Transactions.replied(part, exec, Effects.with(calls.next(), part.reply()))
                    : part)
        .toList();
  }

  /**
   * The parts, whose replies are not known; none if their beginning is not on record, or if nobody
   * knows in which database they were carried out.
   */
  private static List<Operation> queued(Operation exec, Iterator<Operation> earlier) {
    var parts = new ArrayList<Operation>();
    while (earlier.hasNext()) {
      var part = earlier.next();
      if (isQueued(part)) {
        parts.addFirst(Transactions.replied(part, exec, null));
      } else if (begins(part)) {
        return parts.isEmpty() ? List.of(part) : Transactions.unlessMoved(parts);
      }
    }
    return List.of();
  }

  /** Whether a transaction begins there; one within another is refused. */
  private static boolean begins(Operation operation) {
    var reply = operation.reply();
    return is(operation, "MULTI") && (reply == null || reply.length() == 0 || reply.at(0) != '-');
  }

  /** The replies of what was queued, none of an error; empty if the reply does not tell. */
  private static Optional<List<Bytes>> elements(Bytes recorded) {
    var reply = Effects.reply(recorded);
    boolean tells = reply.length() > 0 && (reply.at(0) == '*' || reply.at(0) == '-');
    try {
      return tells ? Optional.of(Resp.elements(reply)) : Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** Whether it waits for its EXEC: its reply says no more. */
  static boolean isQueued(Operation operation) {
    return operation.reply() != null && operation.reply().equals(QUEUED);
  }

  static boolean is(Operation operation, String name) {
    var words = operation.request();
    return !words.isEmpty() && words.getFirst().text().equalsIgnoreCase(name);
  }

  /** Without keys there may be scripts and functions. Users and parameters there always are. */
  @Override
  public boolean wasEmpty(String facts, Cell cell) {
    var lines = facts.lines().toList();
    if (Scripts.SCRIPTS.contains(cell)) {
      return lines.contains(NO_SCRIPTS);
    }
    if (Scripts.FUNCTIONS.contains(cell)) {
      return lines.contains(NO_FUNCTIONS);
    }
    return lines.contains(EMPTY) && !Sketches.isNeverEmpty(cell);
  }

  /** All, or a key of some database: nobody says which. */
  @Override
  public List<Cell> outside(Bytes evidence) {
    if (evidence.length() == 0) {
      return List.of(Call.DATABASES);
    }
    int doublings = evidence.at(0) - OF_A_KEY;
    if (doublings < 0 || doublings > DOUBLINGS) {
      return List.of(Call.DATABASES);
    }
    var key = evidence.slice(1, evidence.length());
    return IntStream.range(0, DATABASES << doublings)
        .mapToObj(number -> Call.database("" + number).child(key))
        .toList();
  }

  /** Strings are cleaned one by one, and keep telling their lengths. */
  @Override
  public Bytes redactReply(Bytes reply, Redactor redactor) {
    var out = new ByteArrayOutputStream();
    int at = 0;
    while (at < reply.length()) {
      int next = Math.min(lineEnd(reply, at), reply.length());
      int kind = reply.at(at);
      boolean bulk = kind == '$' || kind == '=' || kind == '!';
      int length = bulk ? length(reply.slice(at + 1, next)) : -1;
      if (length >= 0 && next + length + 2L <= reply.length()) {
        var clean = redactor.clean(reply.slice(next, next + length));
        out.write(kind);
        out.writeBytes((clean.length() + "\r\n").getBytes(StandardCharsets.US_ASCII));
        out.writeBytes(clean.toArray());
        out.writeBytes(new byte[] {'\r', '\n'});
        next += length + 2;
      } else {
        out.writeBytes(redactor.clean(reply.slice(at, next)).toArray());
      }
      at = next;
    }
    var clean = Bytes.of(out.toByteArray());
    return clean.equals(reply) ? reply : clean;
  }

  /** The key is cleaned as in a request; its sign, and that there is none, stay. */
  @Override
  public Bytes redactEvidence(Bytes evidence, Redactor redactor) {
    if (evidence.length() == 0) {
      return evidence;
    }
    var clean = new ByteArrayOutputStream();
    clean.write(evidence.at(0));
    clean.writeBytes(redactor.clean(evidence.slice(1, evidence.length())).toArray());
    return Bytes.of(clean.toByteArray());
  }

  /** The number of a line; -1 if there is none. */
  private static int length(Bytes line) {
    var digits = line.text().strip();
    return digits.matches("\\d{1,9}") ? Integer.parseInt(digits) : -1;
  }
}
