package dev.evergreen.provenance;

import dev.evergreen.provenance.TraceDatabase.RowWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Brings frames into the database by one connection. All that it knows beside the database is made
 * again from it: after any failure, a new session goes on from what was committed.
 */
final class LoadSession implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(LoadSession.class.getName());

  /** A request of more bytes whose end has not come is read again when it does. */
  private static final int LONG = 512;

  /**
   * When what a transaction has collected weighs so much, in bytes of memory, it is to end: however
   * much waits in the spool, and however many cells one request names.
   */
  private static final long HEAVY =
      Math.clamp(Runtime.getRuntime().maxMemory() / 8, 4L << 20, 64L << 20);

  /** About so many bytes a request or reply takes, beside its content. */
  private static final int WEIGHT = 250;

  private static final String FINISH =
      "update op set outcome = ?, replied_seq = ?, replied = ?, reply = ?, reply_length = ?,"
          + " reply_hash = ? where seq = ?";

  private final TraceDatabase database;
  private final Connection connection;
  private final Redactor redactor;
  private final OpRows rows;
  private final Retainer retainer;
  private final RowWriter newOperations;
  private final Statements statements;
  private final CellNotes notes;
  private final Map<Long, Open> open = new LinkedHashMap<>();
  private final Map<Long, Begun> begun = new HashMap<>();

  /** Of these, the requests that are known to be cut off: the store had them as none. */
  private final Set<Long> unsent = new HashSet<>();

  private final Map<Long, Long> lanes = new HashMap<>();
  private final Parts parts = new Parts();

  /** Of lanes, the operations of which no reply is heard and that may not be over. */
  private final Map<Long, Silent> silent = new HashMap<>();

  /** What was replied to behind some of these. */
  private final List<Heard> heard = new ArrayList<>();

  private long lastEpoch;

  /** How often rules had no room on the stack when that was noted last. */
  private long overflows;

  /** Whether it was told that a kind cannot hide what the rules say. */
  private boolean complained;

  /** What became of requests that had no room on record. */
  private Dropped dropped = Dropped.OVER;

  /** The row of the last gap where some had none. */
  private long droppedAt;

  /** How many bytes the bodies have that came since the transaction began. */
  private long weight;

  private long seq;
  private long at;
  private SpoolReader.Position position;

  /**
   * A request whose end is not known.
   *
   * @param request null if only the database has it
   * @param stored whether the database has it
   */
  private record Open(
      long seq,
      long lane,
      long connection,
      String space,
      long sent,
      @Nullable Payload request,
      boolean stored) {

    Payload known() {
      return Objects.requireNonNull(request);
    }

    Open with(@Nullable Payload other, boolean stored) {
      return new Open(seq, lane, connection, space, sent, other, stored);
    }
  }

  /** Of some operations, none is older and none is newer than these. */
  private record Silent(long first, long last) {
    Silent and(Silent other) {
      return new Silent(Math.min(first, other.first), Math.max(last, other.last));
    }
  }

  /** That an operation of a lane was replied to, and when. */
  private record Heard(long lane, long seq, long repliedSeq, long replied) {}

  /** A body of which the end has not come. */
  private record Begun(FrameKind kind, long about, long connection, long lane, long sent) {}

  /**
   * Begins a session.
   *
   * @param spool which one is loaded
   * @throws TraceException if the database holds the trace of another spool
   */
  static LoadSession open(TraceDatabase database, Redactor redactor, String spool)
      throws SQLException, IOException {
    var connection = database.writer();
    try {
      return new LoadSession(database, connection, redactor, spool);
    } catch (SQLException | RuntimeException | Error e) {
      connection.close();
      throw e;
    }
  }

  private LoadSession(
      TraceDatabase database, Connection connection, Redactor redactor, String spool)
      throws SQLException {
    this.database = database;
    this.connection = connection;
    this.redactor = redactor;
    this.overflows = redactor.overflows();
    this.statements = new Statements(connection);
    this.rows = new OpRows(statements);
    newOperations = database.rows(statements, "op", 16);
    take(spool);
    // Nobody else writes from now on.
    this.notes = new CellNotes(database, statements, rows);
    this.retainer = new Retainer(statements, notes, rows, () -> database.size(connection));
    try (var found = statements.of("select segment, place, seq, at from trace").executeQuery()) {
      found.next();
      position = new SpoolReader.Position(found.getLong(1), found.getLong(2));
      seq = found.getLong(3);
      at = found.getLong(4);
    }
    lastEpoch = statements.number("select max(id) from epoch").orElse(0L);
    statements.each(
        "select seq, why from gap where %s order by seq desc limit 1".formatted(Dropped.THESE),
        row -> {
          droppedAt = row.getLong(1);
          dropped = Dropped.of(row.getString(2));
        });
    statements.each(
        "select id, epoch from lane where until is null",
        row -> lanes.put(row.getLong(1), row.getLong(2)));
    statements.each(
        "select lane, min(seq), max(seq) from op where "
            + TraceDatabase.SILENT
            + " and lane in (select id from lane where until is null) group by lane",
        row -> silent.put(row.getLong(1), new Silent(row.getLong(2), row.getLong(3))));
    statements.each(
        "select first_seq, kind, about, connection, lane, sent from begun",
        row ->
            begun.put(
                row.getLong(1),
                new Begun(
                    FrameKind.of(row.getByte(2)),
                    row.getLong(3),
                    row.getLong(4),
                    row.getLong(5),
                    row.getLong(6))));
    statements.each(
        "select seq, lane, connection, space, sent from op where outcome = 0 order by seq",
        row ->
            open.put(
                row.getLong(1),
                new Open(
                    row.getLong(1),
                    row.getLong(2),
                    row.getLong(3),
                    row.getString(4),
                    row.getLong(5),
                    null,
                    true)));
    noteHiding();
    // So is what was committed before: a session that failed had perhaps not come to that, and who
    // sees its position lets files go.
    database.commitDurably(connection);
  }

  /** Takes the database for a spool, unless it is another's. */
  private void take(String spool) throws SQLException {
    if (statements.update("update trace set spool = ? where spool in ('', ?)", spool, spool) == 0) {
      throw new TraceException(
          "The trace in %s is that of another spool; name another database or directory"
              .formatted(database));
    }
  }

  /** What is hidden by another key or other rules cannot be compared with what was before. */
  private void noteHiding() throws SQLException {
    var before =
        statements.first(
            "select rules from hiding order by seq desc limit 1", row -> row.getString(1));
    if (before.equals(Optional.of(redactor.id()))) {
      return;
    }
    statements.update(
        "insert into hiding values (?, ?) on conflict (seq) do update set rules = excluded.rules",
        seq + 1,
        redactor.id());
    if (before.isPresent()) {
      // The reply to one that is open will be hidden by the new rules.
      long first = open.keySet().stream().findFirst().orElse(seq + 1);
      gap(first, 0L, "what is hidden, or by which key, has changed");
    }
  }

  /** Where the spool is to be read on. */
  SpoolReader.Position position() {
    return position;
  }

  /**
   * Refuses to go on from where another recorder has come. Its directory is a copy of this one's,
   * so that it is not told by which spool it is.
   */
  void check(SpoolReader reader) throws IOException {
    if (reader.isOfAnother(at)) {
      throw ofAnother();
    }
  }

  private TraceException ofAnother() {
    return new TraceException(
        "Another recorder loads into %s, too; name another database, and a directory that is no copy"
            .formatted(database));
  }

  /** Takes the frame that was read. */
  void load(SpoolReader frame) throws SQLException {
    seq = frame.number();
    at = frame.time();
    switch (frame.kind()) {
      case START -> {
        endAll();
        // Of what is lost, too: all of it was sent before.
        if (dropped != Dropped.OVER && dropped != Dropped.STRAYED) {
          noteDropped(seq, 0, Dropped.STRAYED);
        }
      }
      case END -> endAll();
      case EPOCH -> epoch(texts(frame), droppedBy(frame), frame.secondSubject());
      case CONNECT -> connect(frame.firstSubject(), cleanTexts(frame));
      case CHANGE -> change(frame.firstSubject(), cleanTexts(frame));
      case DISCONNECT -> {
        statements.update("update connection set until = ? where id = ?", at, frame.firstSubject());
        parts.forget(frame.firstSubject());
      }
      case LANE -> lane(frame.firstSubject(), cleanTexts(frame));
      case LANE_END -> endLane(frame.firstSubject());
      case REQUEST -> request(frame);
      case REPLY -> reply(frame);
      case PUSH -> push(frame);
      case UNANSWERED -> unanswered(frame.about(), Unanswered.of(frame.body()[0]));
      case PIECE ->
          statements.update("insert into piece values (?, ?, ?)", frame.about(), seq, frame.body());
      case BODY_END -> bodyEnd(frame);
      case OUTSIDE -> outside(frame.firstSubject(), Payload.of(frame.body()));
      case GAP -> {
        if (frame.about() > 0 || frame.firstSubject() != 0) {
          var now = droppedBy(frame);
          if (frame.about() > 0 || now != dropped) {
            noteDropped(seq, frame.about(), now);
          }
        } else {
          gap(seq, 0, texts(frame)[0]);
        }
      }
    }
    noteOverflows();
  }

  /** Equal values may have unequal marks there, so that no answer may compare them. */
  private void noteOverflows() throws SQLException {
    if (redactor.overflows() != overflows) {
      overflows = redactor.overflows();
      gap(seq, 0, "a rule that hides values took too much of the stack");
    }
  }

  /**
   * Notes that frames before the next one cannot be read.
   *
   * @param recorded whether they were on record: then requests among them were sent, and the store
   *     may carry them out after what is on record behind them
   */
  void lost(long frames, boolean recorded) throws SQLException {
    if (recorded) {
      noteDropped(seq + 1, frames, Dropped.LOST);
    } else {
      gap(seq + 1, frames, "the spool was damaged");
    }
  }

  private void gap(long where, long frames, String why) throws SQLException {
    statements.update(
        "insert into gap values (?, ?, ?, ?) on conflict do nothing", where, at, frames, why);
  }

  /** Notes it also where something else is missing: the last of these is what is so. */
  private void noteDropped(long where, long frames, Dropped now) throws SQLException {
    statements.update(
        "insert into gap values (?, ?, ?, ?) on conflict (seq)"
            + " do update set lost = gap.lost + excluded.lost, why = excluded.why",
        where,
        at,
        frames,
        now.why());
    dropped = now;
    droppedAt = where;
  }

  private static String[] texts(SpoolReader frame) {
    return new String(frame.body(), StandardCharsets.UTF_8).split("\0", -1);
  }

  /** The same of what clients say of themselves, without what the rules hide. */
  private String[] cleanTexts(SpoolReader frame) {
    var texts = texts(frame);
    for (int i = 0; i < texts.length; i++) {
      texts[i] = redactor.clean(Bytes.of(texts[i])).text();
    }
    return texts;
  }

  private void outside(long epoch, Payload evidence) throws SQLException {
    long known = epoch > 0 ? epoch : lastEpoch;
    var kind = rows.kind(known);
    var clean = clean(evidence, content -> kind.redactEvidence(content, redactor));
    statements.update(
        "insert into outside values (?, ?, ?, ?)", seq, known, at, clean.content().toArray());
  }

  /**
   * What the recorder says of all that it has dropped itself; and of what others have only that it
   * is over for the present process.
   */
  private Dropped droppedBy(SpoolReader frame) {
    long state = frame.firstSubject();
    var own =
        state == Spool.UNDER_WAY
            ? Dropped.UNDER_WAY
            : state == Spool.ELSEWHERE ? Dropped.ELSEWHERE : Dropped.OVER;
    if (dropped == Dropped.LOST || !dropped.lasts()) {
      return dropped.lasts() ? dropped : own;
    }
    boolean over = frame.secondSubject() > 0 && !own.mayTakeEffect();
    return over ? Dropped.AWAY : Dropped.STRAYED;
  }

  /**
   * Begins an epoch.
   *
   * @param overBefore the row below which all is over for it; 0 if that is not known. Where
   *     something is lost, what this recorder has sent may count as of an epoch before it.
   */
  private void epoch(String[] texts, Dropped now, long overBefore) throws SQLException {
    if (dropped != now) {
      noteDropped(seq, 0, now);
    }
    boolean isOver = overBefore > 0 && dropped != Dropped.LOST;
    var facts = isOver ? texts[2] + "\n" + StoreKind.OVER_BEFORE + overBefore : texts[2];
    statements.update(
        "insert into epoch values (?, ?, ?, ?, ?)", seq, texts[0], texts[1], facts, at);
    lastEpoch = seq;
  }

  private void connect(long epoch, String[] client) throws SQLException {
    statements.update(
        "insert into connection values (?, ?, ?, ?, ?, ?, ?, null)",
        seq,
        epoch,
        client[0],
        client[1],
        client[2],
        client[3],
        at);
  }

  private void change(long id, String[] client) throws SQLException {
    statements.update(
        "update connection set name = ?, user_name = ?, protocol = ? where id = ?",
        client[1],
        client[2],
        client[3],
        id);
    statements.update(
        "insert into connection_change values (?, ?, ?, ?, ?, ?)",
        seq,
        id,
        at,
        client[1],
        client[2],
        client[3]);
  }

  private void lane(long epoch, String[] texts) throws SQLException {
    long known = epoch > 0 ? epoch : lastEpoch;
    lanes.put(seq, known);
    statements.update("insert into lane values (?, ?, ?, ?, null)", seq, known, texts[0], at);
  }

  /** There is one, though its record was dropped or lost: what is done on it overlaps others. */
  private void know(long lane) throws SQLException {
    if (!lanes.containsKey(lane) && ended(lane).isEmpty()) {
      lanes.put(lane, lastEpoch);
      statements.update(
          "insert into lane values (?, ?, ?, ?, null) on conflict do nothing",
          lane,
          lastEpoch,
          "its record was lost",
          at);
    }
  }

  /** The epoch of a lane that has ended; empty of others. */
  private Optional<Long> ended(long lane) throws SQLException {
    return statements.number("select epoch from lane where id = ? and until is not null", lane);
  }

  private void endLane(long id) throws SQLException {
    statements.update("update lane set until = ? where id = ?", at, id);
    for (var left : List.copyOf(open.values())) {
      if (left.lane() == id) {
        end(left.seq(), Outcome.UNKNOWN, null);
        relieve();
      }
    }
    lanes.remove(id);
    hear();
    silent.remove(id);
  }

  /** No life of the recorder ends the requests of another. */
  private void endAll() throws SQLException {
    for (var left : List.copyOf(open.values())) {
      end(left.seq(), Outcome.UNKNOWN, null);
      relieve();
    }
    for (long first : List.copyOf(begun.keySet())) {
      if (mayBeWhole(first)) {
        openCut(first);
        end(first, Outcome.UNKNOWN, null);
      } else {
        forget(first);
      }
    }
    statements.update("update lane set until = ? where until is null", at);
    statements.update("update connection set until = ? where until is null", at);
    lanes.clear();
    parts.clear();
    hear();
    silent.clear();
  }

  private void request(SpoolReader frame) throws SQLException {
    if ((frame.flags() & SpoolSegment.MORE) != 0) {
      begin(frame);
      return;
    }
    open(
        seq,
        frame.secondSubject(),
        frame.firstSubject(),
        frame.about(),
        at,
        Payload.of(frame.body()));
    endIfLate(seq, frame.secondSubject());
  }

  /** Ends a request that was still coming when its lane ended. */
  private void endIfLate(long number, long lane) throws SQLException {
    if (!lanes.containsKey(lane)) {
      end(number, Outcome.UNKNOWN, null);
    }
  }

  private void unanswered(long number, Unanswered reason) throws SQLException {
    if (reason == Unanswered.NOT_SENT && begun.containsKey(number)) {
      unsent.add(number);
    } else {
      end(number, Outcome.of(reason), null);
    }
  }

  private void open(long number, long lane, long client, long scope, long sent, Payload request)
      throws SQLException {
    know(lane);
    var kind = kind(lane);
    var clean = clean(request, content -> kind.redactRequest(content, redactor));
    var space = scope < 0 ? "" : Long.toString(scope);
    open.put(number, new Open(number, lane, client, space, sent, clean, false));
  }

  /** Whether the transaction is to end, as there is much in it. */
  boolean isFull() {
    return weight + notes.weight() > HEAVY;
  }

  /** About how many bytes of what waits for something are known by heart. */
  long held() {
    long requests =
        open.values().stream()
            .mapToLong(one -> one.request() == null ? 0 : one.request().content().length())
            .sum();
    return requests + parts.weight();
  }

  /** Where one frame has many ends: what was collected is written if it is much. */
  private void relieve() throws SQLException {
    if (notes.weight() > HEAVY) {
      flush();
    }
  }

  /** What of a body may be stored. */
  private Payload clean(Payload body, UnaryOperator<Bytes> cleaning) {
    weight += WEIGHT + body.content().length();
    var clean = redactor.idle() ? body : body.with(clean(body.content(), cleaning));
    return clean.kept(body.content().length());
  }

  /** A kind that fails stops nothing, and what it fails at is hidden whole. */
  private Bytes clean(Bytes content, UnaryOperator<Bytes> cleaning) {
    try {
      return cleaning.apply(content);
    } catch (RuntimeException | StackOverflowError e) {
      if (!complained) {
        complained = true;
        LOG.log(System.Logger.Level.ERROR, "What cannot be cleaned by rules is hidden whole", e);
      }
      return redactor.mark(content);
    }
  }

  private void reply(SpoolReader frame) throws SQLException {
    if ((frame.flags() & SpoolSegment.MORE) != 0) {
      begin(frame);
      return;
    }
    end(frame.about(), Outcome.REPLIED, Payload.of(frame.body()));
  }

  private void push(SpoolReader frame) throws SQLException {
    if ((frame.flags() & SpoolSegment.MORE) != 0) {
      begin(frame);
      return;
    }
    push(seq, frame.firstSubject(), frame.secondSubject(), Payload.of(frame.body()));
  }

  private void push(long number, long client, long lane, Payload message) throws SQLException {
    know(lane);
    var kind = kind(lane);
    var clean = clean(message, content -> kind.redactReply(content, redactor));
    keepApart(clean);
    statements.update(
        "insert into push values (?, ?, ?, ?, ?, ?, ?)",
        number,
        lane,
        client,
        at,
        clean.inRow(),
        clean.length(),
        clean.hash());
  }

  private void begin(SpoolReader frame) throws SQLException {
    var head =
        new Begun(frame.kind(), frame.about(), frame.firstSubject(), frame.secondSubject(), at);
    if (head.kind() == FrameKind.REQUEST) {
      // Before its end is: then it is told from one that nobody has heard of.
      know(head.lane());
    }
    begun.put(seq, head);
    statements.update(
        "insert into begun values (?, ?, ?, ?, ?, ?)",
        seq,
        (long) head.kind().code(),
        head.about(),
        head.connection(),
        head.lane(),
        head.sent());
  }

  private void bodyEnd(SpoolReader frame) throws SQLException {
    long first = frame.about();
    var head = begun.get(first);
    if (head == null) {
      return;
    }
    var end = ByteBuffer.wrap(frame.body()).order(ByteOrder.LITTLE_ENDIAN);
    long length = end.getLong();
    var hash = new byte[end.remaining()];
    end.get(hash);
    boolean cut = (frame.flags() & SpoolSegment.MORE) != 0;
    boolean none = unsent.contains(first);
    var payload = Payload.of(pieces(first, length), length, hash);
    forget(first);
    switch (head.kind()) {
      case REQUEST -> {
        open(first, head.lane(), head.connection(), head.about(), head.sent(), payload);
        if (cut || none) {
          end(first, none ? Outcome.NOT_SENT : Outcome.UNKNOWN, null);
        } else {
          endIfLate(first, head.lane());
        }
      }
      case REPLY -> end(head.about(), cut ? Outcome.UNKNOWN : Outcome.REPLIED, payload);
      default -> push(first, head.connection(), head.lane(), payload);
    }
  }

  /**
   * Whether it is a request of which the end has not come on record, but may have come to the
   * store: since it has begun something had no room.
   */
  private boolean mayBeWhole(long first) {
    var head = begun.get(first);
    return head != null && head.kind() == FrameKind.REQUEST && droppedAt > first;
  }

  /** Takes what there is of a request for its beginning. */
  private void openCut(long first) throws SQLException {
    var head = Objects.requireNonNull(begun.get(first));
    var pieces = Bytes.of(pieces(first, Long.MAX_VALUE));
    forget(first);
    open(
        first,
        head.lane(),
        head.connection(),
        head.about(),
        head.sent(),
        new Payload(pieces, pieces.length() + 1L, null));
  }

  /** The pieces that are there; of a body that is too large what the rules are to see of it. */
  private byte[] pieces(long first, long length) throws SQLException {
    flush();
    var content = new ByteArrayOutputStream();
    var sql = "select content from piece where first_seq = ? order by seq";
    try (var found = statements.of(sql, first).executeQuery()) {
      boolean isKept = length <= Spool.LARGEST_BODY;
      while (found.next() && (isKept || content.size() < Payload.LARGEST_IN_ROW)) {
        content.writeBytes(found.getBytes(1));
      }
    }
    return content.toByteArray();
  }

  private void forget(long first) throws SQLException {
    begun.remove(first);
    unsent.remove(first);
    statements.update("delete from piece where first_seq = ?", first);
    statements.update("delete from begun where first_seq = ?", first);
  }

  /** The end of a request is known. */
  private void end(long number, Outcome outcome, @Nullable Payload reply) throws SQLException {
    if (mayBeWhole(number)) {
      openCut(number);
    }
    var left = open.remove(number);
    if (left == null) {
      // Its frame was lost, or had no room.
      return;
    }
    var request = whole(left);
    var kind = kind(request.lane());
    var clean = reply == null ? null : clean(reply, content -> kind.redactReply(content, redactor));
    var operation = withParts(operation(request, outcome, clean));
    var touches = outcome == Outcome.NOT_SENT ? Map.<Cell, Touch>of() : notes.strongest(operation);
    if (request.stored()) {
      finish(request, outcome, clean);
      notes.replace(withParts(operation(request, Outcome.OPEN, null)), operation, touches);
    } else {
      insert(request, operation, outcome, clean);
      notes.add(operation, touches);
    }
    remember(operation);
    if (outcome == Outcome.NONE_EXPECTED || outcome == Outcome.UNKNOWN) {
      silent.merge(request.lane(), new Silent(number, number), Silent::and);
    } else if (outcome == Outcome.REPLIED) {
      noteHeard(request.lane(), number);
    }
  }

  private void noteHeard(long lane, long number) {
    var waiting = silent.get(lane);
    if (waiting == null || waiting.first() > number) {
      return;
    }
    heard.add(new Heard(lane, number, seq, at));
    if (waiting.last() < number) {
      silent.remove(lane);
    } else {
      silent.put(lane, new Silent(number, waiting.last()));
    }
  }

  /**
   * A lane is served in its order: so what was not heard of was over, carried out or not, when what
   * came behind it was replied to.
   */
  private void hear() throws SQLException {
    if (heard.isEmpty()) {
      return;
    }
    flush();
    // The first one first: what it has told of the others do not.
    for (var reply : heard) {
      statements.update(
          "update op set replied_seq = ?, replied = ? where lane = ? and seq < ? and "
              + TraceDatabase.SILENT,
          reply.repliedSeq(),
          reply.replied(),
          reply.lane(),
          reply.seq());
    }
    heard.clear();
  }

  private void insert(Open request, Operation operation, Outcome outcome, @Nullable Payload reply)
      throws SQLException {
    var asked = request.known();
    keepApart(asked);
    keepApart(reply);
    boolean replied = outcome == Outcome.REPLIED;
    newOperations.add(
        request.seq(),
        operation.epoch(),
        request.lane(),
        request.connection(),
        request.space(),
        rows.kind(operation.epoch()).verb(operation.request()),
        request.sent(),
        (long) outcome.code(),
        replied ? seq : null,
        replied ? at : null,
        asked.inRow(),
        asked.length(),
        asked.hash(),
        reply == null ? null : reply.inRow(),
        reply == null ? null : reply.length(),
        reply == null ? null : reply.hash());
  }

  private void finish(Open request, Outcome outcome, @Nullable Payload reply) throws SQLException {
    keepApart(reply);
    boolean replied = outcome == Outcome.REPLIED;
    statements.batch(
        FINISH,
        (long) outcome.code(),
        replied ? seq : null,
        replied ? at : null,
        reply == null ? null : reply.inRow(),
        reply == null ? null : reply.length(),
        reply == null ? null : reply.hash(),
        request.seq());
  }

  private void keepApart(@Nullable Payload payload) throws SQLException {
    if (payload != null && payload.apart()) {
      statements.update(
          "insert into body values (?, ?) on conflict do nothing",
          payload.hash(),
          payload.content().toArray());
    }
  }

  private StoreKind kind(long lane) throws SQLException {
    return rows.kind(epoch(lane));
  }

  /**
   * The epoch of a lane. Of one whose record was dropped or lost it is the last: there is a gap
   * before all that is known of such a lane, and a trace is that of one store.
   */
  private long epoch(long lane) throws SQLException {
    var known = lanes.get(lane);
    return known != null ? known : ended(lane).orElse(lastEpoch);
  }

  /** With what it asks. */
  private Open whole(Open entry) throws SQLException {
    if (entry.request() != null) {
      return entry;
    }
    var known =
        statements.first(
            "select request, request_length, request_hash from op where seq = ?",
            row -> new Payload(rows.content(row, 1), row.getLong(2), row.getBytes(3)),
            entry.seq());
    return entry.with(known.orElse(Payload.NONE), true);
  }

  private Operation operation(Open request, Outcome outcome, @Nullable Payload reply)
      throws SQLException {
    long epoch = epoch(request.lane());
    var asked = request.known();
    return new Operation(
        request.seq(),
        epoch,
        request.lane(),
        request.connection(),
        request.space(),
        OpRows.instant(request.sent()),
        outcome == Outcome.REPLIED ? OpRows.instant(at) : null,
        OpRows.words(rows.kind(epoch), asked.content()),
        switch (outcome) {
          case REPLIED -> reply == null ? Bytes.EMPTY : reply.content();
          case OPEN, NONE_EXPECTED, UNKNOWN, NOT_SENT -> null;
        },
        List.of(),
        asked.cut(),
        request.seq(),
        rows.skew(epoch));
  }

  /** The operation with its parts, as far as their own ends are known. */
  private Operation withParts(Operation operation) throws SQLException {
    var kind = rows.kind(operation.epoch());
    return OpRows.withParts(kind, operation, earlier(operation, parts.of(operation.connection())));
  }

  /** What the connection does later may have the operation as a part, or begins anew. */
  private void remember(Operation operation) throws SQLException {
    if (rows.kind(operation.epoch()).mayBePart(operation)) {
      parts.add(operation);
    } else {
      parts.forget(operation.connection());
    }
  }

  /** Those known by heart, and then those of the database. */
  private Iterator<Operation> earlier(Operation operation, List<Operation> known) {
    var first = known.iterator();
    return new Iterator<>() {
      private @Nullable Iterator<Operation> older;

      @Override
      public boolean hasNext() {
        return first.hasNext() || older().hasNext();
      }

      @Override
      public Operation next() {
        return first.hasNext() ? first.next() : older().next();
      }

      private Iterator<Operation> older() {
        if (older == null) {
          try {
            flush();
          } catch (SQLException e) {
            throw new TraceException("The trace cannot be loaded", e);
          }
          older = rows.earlier(known.isEmpty() ? operation : known.getLast());
        }
        return older;
      }
    };
  }

  /** Ends the transaction: all up to here is in the database, or after a failure nothing of it. */
  void commit(SpoolReader.Position reached) throws SQLException {
    for (var entry : new ArrayList<>(open.values())) {
      if (!entry.stored()) {
        var operation = withParts(operation(entry, Outcome.OPEN, null));
        insert(entry, operation, Outcome.OPEN, null);
        notes.add(operation, notes.strongest(operation));
        boolean isLong = entry.known().content().length() > LONG;
        open.put(entry.seq(), entry.with(isLong ? null : entry.request(), true));
      } else if (parts.hasGrown(entry.connection())) {
        // It may have got parts since it was stored.
        var operation = withParts(operation(whole(entry), Outcome.OPEN, null));
        notes.replace(operation, operation, notes.strongest(operation));
      }
      relieve();
    }
    parts.settle();
    int changed =
        statements.update(
            "update trace set segment = ?, place = ?, seq = ?, at = ?"
                + " where segment = ? and place = ?",
            reached.segment(),
            reached.place(),
            seq,
            at,
            position.segment(),
            position.place());
    if (changed == 0) {
      throw ofAnother();
    }
    flush();
    hear();
    if (reached.segment() == position.segment()) {
      connection.commit();
    } else {
      // The files before this one may go.
      database.commitDurably(connection);
    }
    position = reached;
    weight = 0;
  }

  /**
   * Folds or removes what is older than is to be kept, a part at a time.
   *
   * @return whether there was any
   */
  boolean fold(Retention retention) throws SQLException {
    boolean any = retainer.step(retention, at);
    connection.commit();
    return any;
  }

  /** Writes what was collected: the operations that are new, then those that have ended. */
  private void flush() throws SQLException {
    newOperations.flush();
    statements.of(FINISH).executeBatch();
    notes.flush();
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
