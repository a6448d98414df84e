package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Objects on disk: a log of segment files, of which the oldest one makes room for new records. One
 * thread writes, in the order of its jobs; what comes together is written together. It is not woken
 * for each that may as well be left, as that would cost more than to write it: it looks for these
 * fifty times a second, when there are many, and before each job that somebody waits for.
 *
 * <p><b>Eviction.</b> The oldest segment that is not pinned is emptied: objects that were read
 * since they were written are written again, unless they are more than half of it or large; the
 * rest is gone. The segment is used again when nobody reads from it at the moment.
 *
 * <p><b>Failure.</b> A write that fails loses its batch: nothing of it is in the directory, and the
 * next one goes to the same place. Then nothing is written for a while.
 */
final class SegmentLog implements AutoCloseable {
  static final int SEGMENT_HEADER = 64;

  private static final long SEGMENT_MAGIC = 0x3147_4553_5247_5645L;
  private static final int HEADER_SUM_AT = 60;
  private static final int BATCH = 2 << 20;
  private static final long LINGER_MILLIS = 20;
  private static final int READY_SEGMENTS = 2;
  private static final int LARGEST_KEPT = 1 << 20;
  private static final int MOST_WAITING = 10_000;

  /** Beyond this nothing is handed over that could as well be left. */
  private static final int FEW_WAITING = 1_000;

  private static final int DISPLACING_A_SECOND = 2_000;

  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final System.Logger LOG = System.getLogger(SegmentLog.class.getName());

  /** Something to be written by the log's thread. */
  abstract static class Job {
    /** Appends records. */
    abstract void write(SegmentLog log) throws IOException;

    /**
     * What was appended is on disk, and is to be entered in the directory now: later its place may
     * be used for something else.
     */
    abstract void written();

    /** Nothing that was appended will be there. */
    void failed() {}

    /** Whether somebody waits for it. */
    boolean isUrgent() {
      return false;
    }
  }

  /** There is no room at present, or never for a record of such a size: no fault of the disk. */
  static final class NoRoomException extends IOException {
    private static final long serialVersionUID = 1;

    NoRoomException(String message) {
      super(message);
    }
  }

  private final Volume volume;
  private final Directory directory;
  private final Marks marks;
  private final Counts counts;
  private final int segmentSize;
  private final Segment[] segments;
  private final Pins pins;
  private final LinkedBlockingQueue<Job> queue = new LinkedBlockingQueue<>();

  /** What may as well be left, and how much that is at most. */
  private final ConcurrentLinkedQueue<Job> offered = new ConcurrentLinkedQueue<>();

  private final AtomicInteger offers = new AtomicInteger();
  private final Thread thread;
  private volatile boolean closing;
  private volatile boolean wrapped;

  // Guarded by this.
  private long secondBegan = System.nanoTime();
  private int displacing;

  /** How many segments were never written to. */
  private volatile int neverUsed;

  private volatile long pausedUntil = System.nanoTime();

  // Of the log's thread.
  private final ByteBuffer batch = ByteBuffer.allocateDirect(BATCH).order(LITTLE_ENDIAN);
  private final List<Job> pending = new ArrayList<>();
  private long pendingSince;
  private final ArrayDeque<Segment> free = new ArrayDeque<>();
  private final List<Segment> draining = new ArrayList<>();
  private @Nullable Segment current;
  private Footer footer = new Footer();
  private int writtenEntries;
  private int batchAt;
  private long lastSequence;
  private boolean evicting;
  private boolean failing;

  /** Opens the log and puts what there is into the directory. */
  SegmentLog(
      Volume volume, Directory directory, Marks marks, Counts counts, int segmentSize, int count)
      throws IOException {
    this.volume = volume;
    this.directory = directory;
    this.marks = marks;
    this.counts = counts;
    this.segmentSize = segmentSize;
    segments = new Segment[count];
    pins = new Pins(count);
    for (int i = 0; i < count; i++) {
      segments[i] = new Segment(i, volume.open(fileName(i)));
    }
    recover();
    thread = Thread.ofPlatform().daemon().name("storage-log").start(this::work);
  }

  static String fileName(int segment) {
    return "segment-%05d".formatted(segment);
  }

  /** The largest record that is taken, in bytes. */
  int largestRecord() {
    return Math.min(segmentSize / 4, BATCH);
  }

  int segmentSize() {
    return segmentSize;
  }

  Segment segment(int index) {
    return segments[index];
  }

  /** The segment that a piece is in, if it is still there; null if the disk was larger once. */
  @Nullable Segment segmentOf(long piece) {
    int index = PiecePlace.segment(piece);
    return index < segments.length ? segments[index] : null;
  }

  boolean has(long piece) {
    var segment = segmentOf(piece);
    return segment != null && segment.has(piece);
  }

  /** For a reader that will have pinned some segments. */
  Pins.Pin pin(Recipient recipient) {
    return pins.new Pin(recipient);
  }

  int segments() {
    return segments.length;
  }

  int usedSegments() {
    int used = 0;
    for (var segment : segments) {
      used += segment.isFree() ? 0 : 1;
    }
    return used;
  }

  /** Whether each segment was used, so that what is oldest on disk is really old. */
  boolean hasWrapped() {
    return wrapped;
  }

  /**
   * Whether what may as well be left is to be written now: it holds nothing up, and has room, or is
   * one of few that take the place of what is oldest. To write all would double the cost of a miss.
   */
  boolean takesMore() {
    return waiting() < FEW_WAITING && (neverUsed > READY_SEGMENTS || mayDisplace());
  }

  private synchronized boolean mayDisplace() {
    long now = System.nanoTime();
    if (now - secondBegan >= TimeUnit.SECONDS.toNanos(1)) {
      secondBegan = now;
      displacing = 0;
    }
    return displacing++ < DISPLACING_A_SECOND;
  }

  /** No object on disk is older; 0 if there is none. */
  long oldest() {
    long oldest = Long.MAX_VALUE;
    for (var segment : segments) {
      oldest = segment.isFree() ? oldest : Math.min(oldest, segment.oldest);
    }
    return oldest == Long.MAX_VALUE ? 0 : oldest;
  }

  /** Whether the disk failed lately. */
  boolean isPaused() {
    return pausedUntil - System.nanoTime() > 0;
  }

  private int waiting() {
    return queue.size() + offers.get();
  }

  /** Hands over a job that may as well be left. */
  void offer(Job job) {
    if (waiting() < MOST_WAITING && !isPaused()) {
      int now = offers.incrementAndGet(); // Never less than there are.
      offered.add(job);
      if (now == FEW_WAITING / 2) {
        queue.add(new Wake()); // Else more might be left than need be.
      }
    }
  }

  /** Has those written that are waiting. */
  private static final class Wake extends Job {
    @Override
    void write(SegmentLog log) {}

    @Override
    void written() {}
  }

  /** Hands over a job whose end somebody waits for; false if nothing is written at present. */
  boolean submit(Job job) {
    return !isPaused() && queue.add(job);
  }

  // Writing

  private void work() {
    while (!closing || !queue.isEmpty() || !offered.isEmpty()) {
      Job job = null;
      try {
        job = queue.poll(LINGER_MILLIS, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        // Nobody but close interrupts it.
        closing = true;
      }
      int behind = queue.size(); // They wait for what has been offered by now, and no more.
      performOffered();
      for (Job next = job; next != null; next = behind-- > 0 ? queue.poll() : null) {
        job = next;
        perform(job);
        if (hasLingered()) {
          flushQuietly();
        }
      }
      if (job == null || (job.isUrgent() && queue.isEmpty()) || hasLingered()) {
        flushQuietly();
      }
    }
    flushQuietly();
  }

  /** Those that are there now; others would have who waits for a job wait for them, too. */
  private void performOffered() {
    Job job;
    for (int left = offers.get(); left > 0 && (job = offered.poll()) != null; left--) {
      offers.decrementAndGet();
      perform(job);
    }
  }

  /** Whether a job waits for long to be written, as others follow it without a pause. */
  private boolean hasLingered() {
    return !pending.isEmpty()
        && System.nanoTime() - pendingSince >= TimeUnit.MILLISECONDS.toNanos(LINGER_MILLIS);
  }

  private void perform(Job job) {
    if (isPaused()) {
      job.failed();
      return;
    }
    try {
      job.write(this);
      pendingSince = pending.isEmpty() ? System.nanoTime() : pendingSince;
      pending.add(job);
    } catch (NoRoomException e) {
      job.failed();
    } catch (IOException e) {
      pause(e);
      job.failed();
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "cannot write an object to disk", e);
      job.failed();
    }
  }

  private void flushQuietly() {
    try {
      flush();
    } catch (IOException e) {
      pause(e);
    }
  }

  /** Says it once, until something was written again. */
  private void pause(IOException e) {
    counts.diskErrors.increment();
    pausedUntil = System.nanoTime() + PAUSE_NANOS;
    if (!failing) {
      failing = true;
      LOG.log(
          System.Logger.Level.WARNING,
          "cannot write to %s (%s): responses are passed on unstored while that is so"
              .formatted(volume.directory(), e),
          e);
    }
  }

  /** Writes what was appended, and says so to the jobs. */
  void flush() throws IOException {
    try {
      if (current != null && batch.position() > 0) {
        int length = batch.position();
        current.file.write(batch.flip(), batchAt);
        counts.diskWrites.add(length);
        batchAt += length;
        writtenEntries = footer.count();
        batch.clear();
        if (failing) {
          failing = false;
          LOG.log(System.Logger.Level.INFO, "writing to {0} again", volume.directory());
        }
      }
    } catch (IOException e) {
      batch.clear();
      footer.shorten(writtenEntries);
      pending.forEach(Job::failed);
      pending.clear();
      throw e;
    }
    pending.forEach(Job::written);
    pending.clear();
  }

  /**
   * Appends an object or a piece of one. It is not to be found before {@link Job#written}.
   *
   * @param parts all of its bytes, first those of the prefix; their positions are left as they are
   * @return its place
   */
  long append(
      boolean isPiece,
      long hash,
      long stamp,
      long bodyLength,
      int prefixLength,
      int pieces,
      ByteBuffer... parts)
      throws IOException {
    int length = 0;
    for (var part : parts) {
      length += part.remaining();
    }
    int size = DiskRecord.size(prefixLength, length - prefixLength);
    if (size > largestRecord()) {
      throw new NoRoomException("a record of " + size + " bytes is too large");
    }
    var segment = makeRoom(size);
    int at = batch.position();
    batch.position(at + DiskRecord.HEADER);
    for (var part : parts) {
      batch.put(part.duplicate());
    }
    while (batch.position() < at + size) {
      batch.put((byte) 0);
    }
    int prefixAt = at + DiskRecord.HEADER;
    var header =
        new DiskRecord(
            isPiece,
            size,
            segment.sequence,
            hash,
            stamp,
            bodyLength,
            prefixLength,
            length - prefixLength,
            pieces,
            DiskRecord.sum(batch, prefixAt, prefixLength),
            DiskRecord.sum(batch, prefixAt + prefixLength, length - prefixLength));
    batch.position(at);
    header.write(batch);
    batch.position(at + size);
    long place = Place.of(segment.index, batchAt + at, size);
    if (!isPiece) {
      footer.add(hash, place, stamp);
      segment.note(stamp);
    }
    return place;
  }

  /** The segment that is written to, with room for a record in it and in the batch. */
  private Segment makeRoom(int size) throws IOException {
    var segment = current;
    while (segment == null || batchAt + batch.position() + size + footer.bytes(1) > segmentSize) {
      segment = roll();
    }
    if (batchAt + batch.position() == 0) {
      putHeader(segment);
    }
    if (batch.remaining() < size) {
      flush();
    }
    return segment;
  }

  /** Seals the full segment; another one is written to then, which may have something already. */
  private Segment roll() throws IOException {
    flush();
    var full = current;
    if (full != null) {
      footer.write(full, batchAt, segmentSize);
      current = null;
    }
    freeSegments();
    var next = current; // If something was kept, it is at its beginning.
    if (next == null) {
      next = free.poll();
      if (next == null) {
        throw new NoRoomException("all segments are being read");
      }
      begin(next);
    }
    return next;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // by the log's thread only
  private void begin(Segment segment) throws IOException {
    if (segment.file.size() == 0) {
      neverUsed--;
    }
    segment.use(++lastSequence);
    wrapped = lastSequence > segments.length;
    footer = new Footer();
    writtenEntries = 0;
    batchAt = 0;
    batch.clear();
    current = segment;
  }

  /** What comes first in the segment; once more, if the write that it was in failed. */
  private void putHeader(Segment segment) {
    batch.putLong(SEGMENT_MAGIC).putLong(segment.sequence).putInt(segmentSize);
    while (batch.position() < HEADER_SUM_AT) {
      batch.put((byte) 0);
    }
    batch.putInt(DiskRecord.sum(batch, 0, HEADER_SUM_AT));
  }

  // Evicting

  private void freeSegments() throws IOException {
    draining.removeIf(this::reuse);
    while (!evicting && free.size() < READY_SEGMENTS) {
      var victim = nextToEvict();
      if (victim == null) {
        return;
      }
      evicting = true;
      try {
        evict(victim);
      } finally {
        evicting = false;
      }
      draining.removeIf(this::reuse);
    }
  }

  private boolean reuse(Segment segment) {
    boolean done = segment.free();
    if (done) {
      free.add(segment);
    }
    return done;
  }

  /** The oldest full segment that nobody has pinned. */
  private @Nullable Segment nextToEvict() {
    var full = new ArrayList<Segment>();
    for (var segment : segments) {
      if (!segment.isFree() && !segment.isLeaving() && segment != current) {
        full.add(segment);
      }
    }
    full.sort(Comparator.comparingLong(segment -> segment.sequence));
    for (var segment : full) {
      if (pins.letLeave(segment)) {
        return segment;
      }
    }
    return null;
  }

  /** Empties a segment: afterwards the directory has no place in it. */
  private void evict(Segment victim) throws IOException {
    boolean emptied = false;
    try {
      var objects = Footer.read(victim, segmentSize);
      // Nothing can be written again without a segment to write to.
      int budget = free.isEmpty() ? 0 : segmentSize / 2;
      for (int i = 0; objects != null && i < objects.count(); i++) {
        int kept = keep(victim, objects.hash(i), objects.place(i), budget);
        budget -= kept;
        if (kept == 0 && directory.remove(objects.hash(i), objects.place(i))) {
          counts.evictedDisk.increment();
        }
      }
      flush();
      emptied = objects != null;
      // So that what is gone does not come back with the next start.
      victim.file.write(ByteBuffer.allocateDirect(SEGMENT_HEADER), 0);
    } finally {
      if (!emptied) {
        counts.evictedDisk.add(directory.removeAll(victim.index));
      }
      // Not before, as keeping an object may need a free segment meanwhile.
      draining.add(victim);
    }
  }

  /** Writes an object again if it was hit; returns how many bytes that took. */
  private int keep(Segment victim, long hash, long place, int budget) throws IOException {
    long present = directory.get(hash);
    if (!Place.isSame(present, place)
        || !Place.isHit(present)
        || Place.mostSize(place) > Math.min(budget, LARGEST_KEPT)) {
      return 0;
    }
    var buffer = ByteBuffer.allocateDirect(Place.mostSize(place));
    victim.file.read(buffer, Place.offset(place));
    buffer.flip();
    var record = DiskRecord.read(buffer, 0);
    if (record == null
        || record.isPiece()
        || record.pieces() > 0
        || record.sequence() != victim.sequence
        || !record.isSound(buffer, 0)) {
      return 0;
    }
    // The stamp before the look at the marks: what is purged after it is purged of the new record.
    long stamp = marks.stampBetweenMarks();
    if (DiskObject.state(marks, record, buffer) != Marks.State.LIVE) {
      return 0;
    }
    var content = buffer.slice(DiskRecord.HEADER, record.prefixLength() + record.restLength());
    Image.renew(content, record.stamp(), stamp);
    long kept = append(false, hash, stamp, record.bodyLength(), record.prefixLength(), 0, content);
    pending.add(
        new Job() {
          @Override
          void write(SegmentLog log) {}

          @Override
          void written() {
            if (directory.replace(hash, place, kept)) {
              counts.keptDisk.increment();
            }
          }
        });
    return record.size();
  }

  // Recovering

  private void recover() throws IOException {
    var used = new ArrayList<Segment>();
    int empty = 0;
    for (var segment : segments) {
      long sequence = readHeader(segment);
      if (sequence > 0) {
        segment.use(sequence);
        used.add(segment);
      } else {
        free.add(segment);
        empty += segment.file.size() == 0 ? 1 : 0;
      }
    }
    neverUsed = empty;
    used.sort(Comparator.comparingLong(segment -> segment.sequence));
    for (var segment : used) {
      lastSequence = segment.sequence;
      var sealed = Footer.read(segment, segmentSize);
      if (sealed == null) {
        recoverOpen(segment, segment == used.getLast());
      } else {
        enter(segment, sealed);
      }
    }
  }

  private long readHeader(Segment segment) throws IOException {
    var header = ByteBuffer.allocateDirect(SEGMENT_HEADER).order(LITTLE_ENDIAN);
    segment.file.read(header, 0);
    boolean sound =
        !header.hasRemaining()
            && header.getLong(0) == SEGMENT_MAGIC
            && header.getInt(16) == segmentSize
            && header.getInt(HEADER_SUM_AT) == DiskRecord.sum(header, 0, HEADER_SUM_AT);
    return sound ? header.getLong(8) : 0;
  }

  /** Enters what a segment without a footer has up to its first bad record, and goes on with it. */
  private void recoverOpen(Segment segment, boolean isLast) throws IOException {
    var found = new Footer();
    int end = scan(segment, found);
    enter(segment, found);
    if (isLast) {
      current = segment;
      footer = found;
      writtenEntries = found.count();
      batchAt = end;
    } else {
      found.write(segment, end, segmentSize);
    }
  }

  private int scan(Segment segment, Footer found) throws IOException {
    var window = ByteBuffer.allocateDirect(2 * BATCH);
    int windowAt = SEGMENT_HEADER;
    window.limit(0);
    int at = SEGMENT_HEADER;
    boolean filled = false;
    while (true) {
      var record = DiskRecord.read(window, at - windowAt);
      if (record != null && at - windowAt + record.size() <= window.limit()) {
        if (record.sequence() != segment.sequence
            || at + record.size() + found.bytes(1) > segmentSize
            || !record.isSound(window, at - windowAt)) {
          return at;
        }
        if (!record.isPiece()) {
          long place = Place.of(segment.index, at, record.size());
          found.add(record.hash(), place, record.stamp());
        }
        at += record.size();
        filled = false;
      } else if (filled) {
        return at;
      } else {
        windowAt = at;
        segment.file.read(window.clear(), at);
        window.flip();
        filled = true;
      }
    }
  }

  private void enter(Segment segment, Footer objects) {
    for (int i = 0; i < objects.count(); i++) {
      marks.seen(objects.stamp(i));
      segment.note(objects.stamp(i));
      boolean unused = directory.put(objects.hash(i), objects.place(i));
    }
  }

  /** Writes what was handed over, and ends. */
  @Override
  public void close() {
    closing = true;
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    for (var segment : segments) {
      try {
        segment.file.close();
      } catch (IOException e) {
        LOG.log(System.Logger.Level.WARNING, "cannot close a segment file", e);
      }
    }
  }
}
