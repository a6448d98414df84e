package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Where a recorder writes down at once what passes it, before anything is made of it: files of a
 * fixed length that are mapped into memory, in a directory of their own. A loader brings their
 * frames into the trace store, and then the files go.
 *
 * <p>What is recorded has a number, one more than what was recorded before it; the numbers are the
 * order in which things were recorded. A request is recorded before it is forwarded, and a reply
 * when it has arrived. So when the number of A's reply is below that of B's request, A was over
 * before B began; and requests on the same lane have the order of their numbers at the store.
 *
 * <p>All methods may be called by any number of threads and fibers at once. They wait for nothing
 * but room ({@link Overflow#SLOW}), and hold no lock while they do. Buffers are recorded from
 * position to limit, which stay as they are, and may be used again when the method returns. Nothing
 * is allocated for a frame that has one piece.
 *
 * <p>A process that is killed loses no frame whose method had returned. Files are readable by the
 * user of the process only.
 */
public final class Spool implements AutoCloseable {

  /**
   * Stands for the number of what is not on record. A request that was dropped has another negative
   * number: what is about that is dropped, too.
   */
  public static final long DROPPED = -1;

  /** Something that was dropped may still take effect: what a gap or an epoch tells. */
  static final long UNDER_WAY = 1;

  /** Nothing may that this recorder has dropped. */
  static final long OVER = 2;

  /** It may if the store is again a process that it was before. */
  static final long ELSEWHERE = 3;

  /** A request that was dropped has this number less that of its lane. */
  private static final long DROPPED_ON = -(1L << 60);

  /** A body of more bytes is recorded as its length and hash only. */
  public static final long LARGEST_BODY = 16 << 20;

  /** As many requests, or replies, can be recorded together. */
  public static final int MOST_TOGETHER = SpoolSegment.MOST_BODIES;

  /** The longest body of one frame; longer ones are cut. */
  static final int PIECE = 64 << 10;

  /** Characters of a part of a text: four parts, of three bytes for each, are below a piece. */
  private static final int LONGEST_PART = 5_000;

  private static final Duration LOCK_PATIENCE = Duration.ofSeconds(5);
  private static final Duration LOCK_POLL = Duration.ofMillis(20);

  /** For so long room is waited for when the spool ends: a loader that works makes it sooner. */
  private static final Duration END_PATIENCE = Duration.ofSeconds(3);

  private static final System.Logger LOG = System.getLogger(Spool.class.getName());
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).asReadOnlyBuffer();
  private static final byte[] REASONS = {0, 1, 2, 3};
  private static final ByteBuffer WAS_FULL =
      ByteBuffer.wrap("the spool was full".getBytes(StandardCharsets.UTF_8));

  private final SpoolSettings settings;
  private final SpoolFiles files;
  private final FileChannel lockFile;
  private final SecureRandom random = new SecureRandom();
  private final long run;

  /** Nanoseconds from the origin of {@link System#nanoTime()} to 1970: one clock for a process. */
  private final long clockOffset;

  private final ReentrantLock rolling = new ReentrantLock();
  private final Condition changed = rolling.newCondition();
  private volatile SpoolSegment current;
  private long waits;

  /** How many frames were dropped, and how many of these a gap tells. */
  private long dropped;

  private long told;

  /** What was told last of what was dropped. */
  private long lastTold = OVER;

  /** What was told last of {@link #overBefore}. */
  private long lastOver;

  /** The number with which this recorder began; 0 if that is not to be told. */
  private volatile long start;

  /** The processes that will do nothing more of what earlier recorders have sent. */
  private final Set<Optional<String>> free = new HashSet<>();

  /** Of lanes, the requests that were dropped and may still take effect. */
  private final Map<Long, UnderWay> droppedOn = new HashMap<>();

  /**
   * The processes to which a lane may have led that has ended without a word of the store, and on
   * it were requests that were dropped: these may have them still, and carry them out whenever they
   * come to that.
   */
  private final Set<Optional<String>> strayed = new HashSet<>();

  /** What the processes are called that the store has been; a process may come back. */
  private final Set<Optional<String>> been = new HashSet<>();

  /** Which process the store is, if that is known. */
  private Optional<String> process = Optional.empty();

  /**
   * Of requests that were dropped.
   *
   * @param waiting how many are still to be replied to
   * @param silent how many are not, and may not be over
   */
  private record UnderWay(long waiting, long silent) {
    UnderWay and(UnderWay more) {
      return new UnderWay(waiting + more.waiting, silent + more.silent);
    }

    /** A lane is served in its order: a reply tells that what was silent before it is over. */
    @Nullable UnderWay replied(long count) {
      return waiting > count ? new UnderWay(waiting - count, 0) : null;
    }

    /** One will not be replied to; if it was sent, it may be carried out at any time. */
    @Nullable UnderWay unanswered(boolean sent) {
      long left = Math.max(0, waiting - 1);
      long rest = silent + (sent ? 1 : 0);
      return left + rest > 0 ? new UnderWay(left, rest) : null;
    }
  }

  /** The number of the last gap where something was dropped, if there is one. */
  private volatile long gapped = DROPPED;

  private boolean finished;
  private long finishedAt;
  private boolean closed;
  private final @Nullable SpoolSync sync;

  private Spool(SpoolFiles files, FileChannel lockFile, SpoolSettings settings) throws IOException {
    this.settings = settings;
    this.files = files;
    this.lockFile = lockFile;
    var now = Instant.now();
    clockOffset = now.getEpochSecond() * 1_000_000_000L + now.getNano() - System.nanoTime();
    tellClock();
    run = random.nextLong();
    current = files.takeFirst();
    current.begin(files.firstNumber(), random.nextLong(), run);
    files.start(() -> current.firstNumber(), this::roomMade);
    sync = settings.durability() == Durability.NONE ? null : new SpoolSync(current, settings);
    if (sync != null) {
      sync.start();
    }
    start = Math.max(0, append(FrameKind.START, (byte) 0, 0, 0, 0, NOTHING, 0, 0));
  }

  /** Where there is no room for that, the clock before is not taken for this one. */
  private void tellClock() throws IOException {
    try {
      new SpoolClock(clockOffset, Reservation.thisBoot()).write(files.directory());
    } catch (IOException e) {
      SpoolClock.forget(files.directory());
      LOG.log(System.Logger.Level.WARNING, "The recorder's clock cannot be written", e);
    }
  }

  /**
   * Opens the spool in a directory, which is made if it is not there, and goes on behind what it
   * holds.
   *
   * @throws IOException if the directory cannot be used, or another process records there
   */
  public static Spool open(Path directory, SpoolSettings settings) throws IOException {
    SpoolFiles.makeDirectory(directory);
    var lockFile = lock(directory);
    try {
      return new Spool(SpoolFiles.open(directory, settings), lockFile, settings);
    } catch (IOException | RuntimeException e) {
      lockFile.close();
      throw e;
    }
  }

  /** Waits a little: who only loads what a recorder has left holds the lock for short. */
  private static FileChannel lock(Path directory) throws IOException {
    long deadline = System.nanoTime() + LOCK_PATIENCE.toNanos();
    while (true) {
      var lock = tryLock(directory);
      if (lock.isPresent()) {
        return lock.get();
      }
      if (System.nanoTime() - deadline >= 0) {
        throw new IOException(
            "Another process records in %s; name another directory".formatted(directory));
      }
      LockSupport.parkNanos(LOCK_POLL.toNanos());
    }
  }

  /** The lock, until it is closed, of who records in a directory or loads from it; or empty. */
  static Optional<FileChannel> tryLock(Path directory) throws IOException {
    var path = directory.resolve("lock");
    SpoolFiles.makeFile(path);
    var file = FileChannel.open(path, StandardOpenOption.WRITE);
    @Nullable FileLock lock = null;
    try {
      lock = file.tryLock();
    } catch (OverlappingFileLockException e) {
      LOG.log(System.Logger.Level.DEBUG, "this process has it", e);
    }
    if (lock == null) {
      file.close();
      return Optional.empty();
    }
    return Optional.of(file);
  }

  /**
   * Records which store is served from now on, until the next epoch of the same recorder. A restart
   * of the store is a new epoch: nothing before it explains what comes after.
   *
   * @param store the kind, which names the specification, such as {@code redis}
   * @param server which one, such as its address
   * @param facts what else is known, such as its version; one line each, {@code name: value}
   * @return the epoch's number
   */
  public long epoch(String store, String server, String facts) {
    var text = bytes(store, server, facts);
    rolling.lock();
    try {
      // Lanes that have not ended may lead to this one: what was dropped there is still to come.
      process = StoreKind.process(facts);
      been.add(process);
      return appendEpoch(text);
    } finally {
      rolling.unlock();
    }
  }

  /** With the lock held, so that what the frame tells is so at its place among the gaps. */
  private long appendEpoch(ByteBuffer text) {
    while (true) {
      var segment = current;
      int length = text.remaining();
      long at = claim(segment, SpoolSegment.FRAME_HEADER + length, 1);
      if (at != SpoolSegment.FULL) {
        long last = droppedState();
        long over = overBefore();
        fill(segment, at, FrameKind.EPOCH, (byte) 0, last, over, 0, text, 0, length);
        lastTold = last;
        lastOver = over;
        return segment.number(at);
      }
      if (!roll(segment)) {
        // What is sent now may be taken for what was sent in an epoch of an earlier recorder.
        start = 0;
        return drop(FrameKind.EPOCH, 0, 1);
      }
    }
  }

  /** Whether others have recorded here before, of whom something may be left at the store. */
  public boolean hasFormer() {
    return start > 1;
  }

  /**
   * Records that a process of the store will do nothing more of what earlier recorders here have
   * sent, to it or any other: now, and whenever the store is that process. To be called before its
   * epoch begins, if that is known by then: else what is under way at that place counts as if it
   * might come later.
   *
   * @param process what it is called in the facts of its epochs, behind {@link StoreKind#PROCESS}
   */
  public void formerIsOver(String process) {
    rolling.lock();
    try {
      free.add(Optional.of(process));
      tellDropped(current);
    } finally {
      rolling.unlock();
    }
  }

  /**
   * Records that a client has connected.
   *
   * @return the connection's number; of one whose record is dropped a negative one
   */
  public long connect(long epoch, Client client) {
    return identified(client(FrameKind.CONNECT, epoch, 0, client));
  }

  /** Records what is known of a connection's client from now on. */
  public void change(long connection, Client client) {
    client(FrameKind.CHANGE, connection, 0, client);
  }

  /** Records that a client's connection has ended. */
  public void disconnect(long connection) {
    append(FrameKind.DISCONNECT, (byte) 0, connection, 0, 0, NOTHING, 0, 0);
  }

  /**
   * Records a connection to the store. What is sent on it arrives in the order of the requests'
   * numbers; whoever sends sees to it that requests of a lane are recorded in that order.
   *
   * @param description such as the address and what it is for
   * @return the lane's number; of one whose record is dropped a negative one
   */
  public long lane(long epoch, String description) {
    return identified(text(FrameKind.LANE, epoch, 0, description));
  }

  /**
   * A number for something that lives on though its record was dropped. It is that of nothing else,
   * so that what it does later is not mixed with what others do, and is one that JSON can hold.
   */
  private long identified(long number) {
    return number == DROPPED ? DROPPED - 1 - (random.nextLong() >>> 12) : number;
  }

  /**
   * Records that a lane has ended: requests on it without a reply have no known outcome. If some of
   * these were dropped, something is missing here; and from here on, whenever the store is one of
   * the processes that it has been, unless the store itself has ended the lane.
   *
   * @param byStore whether the store has said that it will send no more: then it does nothing more
   *     of what it was asked there. If the lane was given up, or the network has failed, it may
   *     still have requests that it has not read.
   */
  public void endLane(long lane, boolean byStore) {
    append(FrameKind.LANE_END, (byte) 0, lane, 0, 0, NOTHING, 0, 0);
    rolling.lock();
    try {
      var left = droppedOn.remove(lane);
      if (left != null) {
        dropped += left.waiting + left.silent;
        if (!byStore) {
          // Before the first epoch nobody knows which it is.
          strayed.add(process);
          strayed.addAll(been);
        }
        tellDropped(current);
      }
    } finally {
      rolling.unlock();
    }
  }

  /**
   * Records a request; to be called before it is forwarded.
   *
   * @param scope what the request does not say itself, as its specification understands it: for
   *     Redis the number of the database
   * @return its number, which is negative if it was dropped
   */
  public long request(long connection, long lane, int scope, ByteBuffer bytes) {
    if (bytes.remaining() <= PIECE) {
      return append(FrameKind.REQUEST, (byte) 0, connection, lane, scope, bytes);
    }
    var body = beginRequest(connection, lane, scope);
    body.add(bytes);
    body.end();
    return body.number();
  }

  /**
   * Records requests of one connection that follow each other on one lane, as one frame.
   *
   * @param batch at most {@link #MOST_TOGETHER}, of 64 KiB together at most
   * @return the number of the first, which those of the others follow; or if they were dropped a
   *     negative one, which all of them have
   */
  public long requests(long connection, long lane, int scope, Batch batch) {
    return append(FrameKind.REQUEST, connection, lane, scope, batch);
  }

  /** Begins to record a request that comes in pieces; its number is known at once. */
  public SpooledBody beginRequest(long connection, long lane, int scope) {
    return begin(
        append(FrameKind.REQUEST, SpoolSegment.MORE, connection, lane, scope, NOTHING, 0, 0));
  }

  /**
   * Records the reply to a request; to be called when it has arrived.
   *
   * @return its own number, for {@link #settle}; or {@link #DROPPED}
   */
  public long reply(long request, ByteBuffer bytes) {
    if (bytes.remaining() <= PIECE) {
      return request < 0
          ? dropReplies(request, 1)
          : append(FrameKind.REPLY, (byte) 0, 0, 0, request, bytes);
    }
    var body = beginReply(request);
    body.add(bytes);
    return body.end();
  }

  /**
   * Records the replies to requests of consecutive numbers, which have arrived together, as one
   * frame.
   *
   * @param request the number of the first
   * @param batch at most {@link #MOST_TOGETHER}, of 64 KiB together at most
   * @return the number of the last reply; or {@link #DROPPED}
   */
  public long replies(long request, Batch batch) {
    if (request < 0) {
      return dropReplies(request, batch.count());
    }
    long first = append(FrameKind.REPLY, 0, 0, request, batch);
    return first == DROPPED ? DROPPED : first + batch.count() - 1;
  }

  /** Begins to record a reply that comes in pieces; its arrival is when it ends. */
  public SpooledBody beginReply(long request) {
    return begin(
        request < 0
            ? dropReplies(request, 1)
            : append(FrameKind.REPLY, SpoolSegment.MORE, 0, 0, request, NOTHING, 0, 0));
  }

  /** Records that a request gets no reply. */
  public void unanswered(long request, Unanswered reason) {
    if (request < 0) {
      dropEnd(request, reason != Unanswered.NOT_SENT);
    } else {
      var body = ByteBuffer.wrap(REASONS);
      append(FrameKind.UNANSWERED, (byte) 0, 0, 0, request, body, reason.code(), 1);
    }
  }

  /**
   * Records a message of the store that answers no request.
   *
   * @return its number, or {@link #DROPPED}
   */
  public long push(long connection, long lane, ByteBuffer bytes) {
    if (bytes.remaining() <= PIECE) {
      return append(FrameKind.PUSH, (byte) 0, connection, lane, 0, bytes);
    }
    var body = beginPush(connection, lane);
    body.add(bytes);
    return body.end();
  }

  /** Begins to record a message of the store that answers no request and comes in pieces. */
  public SpooledBody beginPush(long connection, long lane) {
    return begin(append(FrameKind.PUSH, SpoolSegment.MORE, connection, lane, 0, NOTHING, 0, 0));
  }

  /**
   * Records a sign of something that did not pass the recorder, such as a write by another way.
   *
   * @param evidence at most 64 KiB, as the specification understands it
   */
  public void outside(long epoch, ByteBuffer evidence) {
    append(FrameKind.OUTSIDE, (byte) 0, epoch, 0, 0, evidence);
  }

  /** Records that something may be missing here: no answer across it is certain. */
  public void gap(String why) {
    text(FrameKind.GAP, 0, 0, why);
  }

  /**
   * To be called before the last byte of a reply is sent on: with {@link Durability#REPLY} waits
   * until the frame of that number and all before it are on the disk, and what tells of anything
   * that was dropped; else returns at once.
   */
  public void settle(long number) {
    if (settings.durability() == Durability.REPLY && sync != null) {
      long last = Math.max(number, gapped);
      if (last != DROPPED) {
        sync.await(last);
      }
    }
  }

  /** How it is doing. */
  public SpoolReport report() {
    rolling.lock();
    try {
      var segment = current;
      long next = segment.number(segment.end(segment.tail()));
      long durable = sync == null ? 0 : sync.durable();
      return new SpoolReport(next, durable, files.count(), dropped, waits);
    } finally {
      rolling.unlock();
    }
  }

  /** The directory. */
  Path directory() {
    return files.directory();
  }

  /** Which of the processes, or their lives, that have written it this is. */
  long run() {
    return run;
  }

  /** Whether most of its room is free. */
  boolean isRoomy() {
    // Two are always there, the one in use and the next: of a small spool those may be all.
    return !files.full() && files.count() <= Math.max(2, settings.segments() / 4);
  }

  /** What the clock says by which is recorded: it goes on evenly, however others are set. */
  public Instant now() {
    return OpRows.instant(System.nanoTime() + clockOffset);
  }

  /** The time of a frame that this process has recorded, as {@link System#nanoTime()} told it. */
  long nanoTime(long time) {
    return time - clockOffset;
  }

  /** The files before that one are not needed any more. */
  void release(long index) {
    files.release(sync == null ? index : Math.min(index, sync.index()));
  }

  /**
   * Gives up what is still waited for, forces what is written, and lets others record here. In a
   * spool that is full it waits some seconds for room to say that the recording ends; where nothing
   * makes room, the end is recorded as that of a killed process is: not at all.
   */
  @Override
  public void close() throws IOException {
    finish();
    rolling.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      changed.signalAll();
    } finally {
      rolling.unlock();
    }
    // Whatever fails, another may record here.
    try (lockFile) {
      try {
        if (sync != null) {
          sync.close();
        }
      } finally {
        files.close(report().nextNumber());
      }
    }
  }

  /**
   * Records that the recorder ends; what comes later is recorded in vain. Who waits for room, this
   * method among them, does so for a few seconds more, and then drops what it would record.
   */
  void finish() {
    rolling.lock();
    try {
      if (finished || closed) {
        return;
      }
      finished = true;
      finishedAt = System.nanoTime();
      changed.signalAll();
    } finally {
      rolling.unlock();
    }
    append(FrameKind.END, (byte) 0, 0, 0, 0, NOTHING, 0, 0);
  }

  void piece(long first, ByteBuffer bytes, int from, int length) {
    if (first >= 0) {
      append(FrameKind.PIECE, (byte) 0, 0, 0, first, bytes, from, length);
    }
  }

  long bodyEnd(long first, long length, byte[] hash, byte flags) {
    if (first < 0) {
      return DROPPED;
    }
    var body = ByteBuffer.allocate(Long.BYTES + hash.length).order(ByteOrder.LITTLE_ENDIAN);
    body.putLong(length).put(hash).flip();
    return append(FrameKind.BODY_END, flags, 0, 0, first, body);
  }

  private SpooledBody begin(long number) {
    return new SpooledBody(this, number);
  }

  /** Drops a frame; if it is of requests, they are of this lane. */
  private long drop(FrameKind kind, long lane, int count) {
    rolling.lock();
    try {
      dropped += count;
      if (kind == FrameKind.REQUEST) {
        // Before it is told, so that is told, too, that it may still take effect.
        droppedOn.merge(lane, new UnderWay(count, 0), UnderWay::and);
      }
      tellDropped(current);
      if (kind != FrameKind.REQUEST) {
        return DROPPED;
      }
      return DROPPED_ON - lane;
    } finally {
      rolling.unlock();
    }
  }

  /**
   * Drops the replies to requests that were dropped. By then others may be recorded again, and the
   * requests had their effects perhaps after these. What was never to be recorded is no loss.
   */
  private long dropReplies(long request, int count) {
    return dropEnd(request, count, left -> left.replied(count));
  }

  private void dropEnd(long request, boolean sent) {
    long _ = dropEnd(request, 1, left -> left.unanswered(sent));
  }

  private long dropEnd(long request, int count, Function<UnderWay, @Nullable UnderWay> ended) {
    if (request == DROPPED) {
      return DROPPED;
    }
    rolling.lock();
    try {
      droppedOn.computeIfPresent(DROPPED_ON - request, (_, left) -> ended.apply(left));
      dropped += count;
      tellDropped(current);
      return DROPPED;
    } finally {
      rolling.unlock();
    }
  }

  private long droppedState() {
    boolean mayStray = strayed.stream().anyMatch(one -> !StoreKind.isAnother(one, process));
    return mayStray || !droppedOn.isEmpty() ? UNDER_WAY : strayed.isEmpty() ? OVER : ELSEWHERE;
  }

  /** Below which number all is over for the process that the store is; 0 if that is not known. */
  private long overBefore() {
    return free.contains(process) ? start : 0;
  }

  /**
   * Writes at once that something is missing here, as the process may be killed, or nothing else be
   * recorded; and whether something that was dropped may still take effect. In a file that is full
   * there is room for that once, before the next one begins: what is dropped after that cannot be
   * told until then, and may take effect.
   */
  private void tellDropped(SpoolSegment segment) {
    long state = droppedState();
    long over = overBefore();
    if (closed || (dropped == told && state == lastTold && over == lastOver)) {
      return;
    }
    long missing = dropped - told;
    int length = WAS_FULL.remaining();
    long at = claim(segment, SpoolSegment.FRAME_HEADER + length, 1);
    if (at == SpoolSegment.FULL) {
      long now = System.nanoTime() + clockOffset;
      state = UNDER_WAY;
      over = 0;
      at = segment.putLast(FrameKind.GAP, now, state, missing, WAS_FULL);
    } else {
      fill(segment, at, FrameKind.GAP, (byte) 0, state, over, missing, WAS_FULL, 0, length);
    }
    if (at != SpoolSegment.FULL) {
      told = dropped;
      lastTold = state;
      lastOver = over;
      gapped = segment.number(at);
    }
  }

  private long client(FrameKind kind, long subject, long other, Client client) {
    return text(
        kind, subject, other, client.address(), client.name(), client.user(), client.protocol());
  }

  private long text(FrameKind kind, long one, long two, String... parts) {
    return append(kind, (byte) 0, one, two, 0, bytes(parts));
  }

  private static ByteBuffer bytes(String... parts) {
    var text = Arrays.stream(parts).map(Spool::part).collect(Collectors.joining("\0"));
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  /** A part of a text, which zeros separate: others choose what it is, and how long. */
  private static String part(String given) {
    return given.substring(0, Math.min(given.length(), LONGEST_PART)).replace('\0', '\uFFFD');
  }

  private long append(
      FrameKind kind, byte flags, long one, long two, long about, ByteBuffer bytes) {
    return append(kind, flags, one, two, about, bytes, bytes.position(), bytes.remaining());
  }

  private long append(
      FrameKind kind,
      byte flags,
      long one,
      long two,
      long about,
      ByteBuffer bytes,
      int from,
      int length) {
    while (true) {
      var segment = current;
      long at = claim(segment, SpoolSegment.FRAME_HEADER + length, 1);
      if (at != SpoolSegment.FULL) {
        fill(segment, at, kind, flags, one, two, about, bytes, from, length);
        return segment.number(at);
      }
      if (!roll(segment)) {
        return drop(kind, two, 1);
      }
    }
  }

  private long append(FrameKind kind, long one, long two, long about, Batch batch) {
    int count = batch.count();
    if (count == 1) {
      return append(kind, (byte) 0, one, two, about, batch.bytes(), batch.from(), batch.length());
    }
    while (true) {
      var segment = current;
      long at = claim(segment, SpoolSegment.lengthOf(batch), count);
      if (at != SpoolSegment.FULL) {
        fill(segment, at, kind, one, two, about, batch);
        return segment.number(at);
      }
      if (!roll(segment)) {
        return drop(kind, two, count);
      }
    }
  }

  private static long claim(SpoolSegment segment, int length, int bodies) {
    try {
      return segment.claim(length, bodies);
    } catch (IllegalStateException e) {
      // It was full, loaded and closed since this thread looked which is the current one.
      return SpoolSegment.FULL;
    }
  }

  private void fill(
      SpoolSegment segment,
      long at,
      FrameKind kind,
      byte flags,
      long one,
      long two,
      long about,
      ByteBuffer bytes,
      int from,
      int length) {
    try {
      segment.head(at, kind, flags, System.nanoTime() + clockOffset, one, two, about);
      segment.body(at, bytes, from, length);
      segment.finish(at);
    } catch (RuntimeException | Error e) {
      segment.giveUp(at);
      throw e;
    }
  }

  private void fill(
      SpoolSegment segment, long at, FrameKind kind, long one, long two, long about, Batch batch) {
    try {
      segment.head(at, kind, (byte) 0, System.nanoTime() + clockOffset, one, two, about);
      segment.bodies(at, batch);
      segment.finish(at);
    } catch (RuntimeException | Error e) {
      segment.giveUp(at);
      throw e;
    }
  }

  /**
   * Goes on to the next segment if a full one is still the current one.
   *
   * @return false if there is no room and nothing is to wait for it
   */
  private boolean roll(SpoolSegment full) {
    rolling.lock();
    try {
      while (current == full) {
        if (closed) {
          throw new IllegalStateException("The spool was closed");
        }
        var next = files.take();
        if (next != null) {
          enter(full, next);
        } else if (settings.overflow() == Overflow.DROP && files.full()) {
          return false;
        } else if (!finished) {
          waits++;
          changed.awaitUninterruptibly();
        } else if (patienceLeft() <= 0) {
          return false;
        } else {
          long _ = changed.awaitNanos(patienceLeft());
        }
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      rolling.unlock();
    }
  }

  /** How many more nanoseconds who records may wait for room once the spool ends. */
  private long patienceLeft() {
    return finishedAt + END_PATIENCE.toNanos() - System.nanoTime();
  }

  private void enter(SpoolSegment full, SpoolSegment next) {
    next.begin(full.number(full.end(full.tail())), random.nextLong(), run);
    if (sync != null) {
      sync.entered(next);
    }
    tellDropped(next);
    current = next;
  }

  private void roomMade() {
    rolling.lock();
    try {
      changed.signalAll();
    } finally {
      rolling.unlock();
    }
  }
}
