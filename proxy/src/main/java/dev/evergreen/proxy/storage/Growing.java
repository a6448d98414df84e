package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.evergreen.fibers.Buffers;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A response that is being received: a row of pieces, each in a lent buffer, and, once it is known
 * where it goes, on disk.
 *
 * <p>It begins <em>collected</em>, if it may fit into memory. When it is too large for that, or too
 * many others are being collected, it is <em>streamed</em>: full pieces are handed to the log, and
 * their buffers are given back when they are on disk and no reader has them at hand; the origin
 * waits when many are not written yet. Where that is not possible it is <em>passed</em>: a piece's
 * buffer is given back when all readers have gone past it, the origin waits for the slowest of
 * them, and who takes nothing for too long is cut off. When none is left it is given up.
 *
 * <p>Once it is in memory, readers that are behind go on with what is there, so that the buffers
 * that they have not at hand are given back. If it cannot be stored after all, as it was purged
 * meanwhile or there is no room, it is passed from then on to those who follow it already; as is
 * what came of one that was abandoned.
 *
 * <p>One thread appends; the lock guards all else. Nothing waits for the disk while it holds the
 * lock.
 */
final class Growing implements Appender {
  private static final int MOST_UNWRITTEN = 16;
  private static final int MOST_PASSED = 2;

  private enum Way {
    COLLECTED,
    STREAMED,
    PASSED
  }

  private enum End {
    OPEN,
    COMPLETE,
    ABANDONED
  }

  private static final class Piece {
    Buffers.@Nullable Loan loan;
    int length;

    /** Readers that have the buffer at hand, and the log until it has written the piece. */
    int users;

    /** Where it is on disk, if it is there. */
    long place;

    boolean isWritten;

    /** The buffer is needed only by those that have it at hand. */
    boolean isDone;

    /** It takes part in what may be collected, until it is done. */
    boolean isCounted;

    Piece(Buffers.Loan loan, boolean isCounted) {
      this.loan = loan;
      this.isCounted = isCounted;
    }
  }

  private final TieredStorage storage;
  private final @Nullable DiskTier disk;
  private final Entry entry;
  private final byte[] prefix;
  private final long hash;
  private final long uri;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private final List<Piece> pieces = new ArrayList<>();
  private final List<Follower> followers = new ArrayList<>();
  private final Pins.@Nullable Pin pin;
  private Way way;
  private End end = End.OPEN;
  private long received;
  private int unwritten;
  private int given;
  private boolean appending = true;
  private boolean diskFailed;

  /** It was given up as all readers were too slow, by no fault of the origin's. */
  private boolean isUnread;

  /** It is in memory, or was. */
  private boolean isInMemory;

  /** All of it had come when it turned out that it cannot be stored. */
  private boolean isInVain;

  /** What is there, once a reader goes on with it or may have to. */
  private MemoryTier.@Nullable Found inMemory;

  /** For whom it is asked for: what is kept for those who follow is on its account. */
  private final Recipient recipient;

  Growing(TieredStorage storage, Entry entry, byte[] prefix, long hash, Recipient recipient) {
    this.storage = storage;
    this.recipient = recipient;
    this.disk = storage.disk();
    pin = disk == null ? null : disk.log.pin(recipient);
    this.entry = entry;
    this.prefix = prefix;
    this.hash = hash;
    uri = storage.hashOf(entry.key());
    storage.underWay().begin(uri);
    long least = prefix.length + Math.max(0, entry.length());
    way = storage.memory().takes(least) ? Way.COLLECTED : tooLargeForMemory(entry.length());
  }

  private Way tooLargeForMemory(long length) {
    return disk != null && !disk.log.isPaused() && disk.takes(prefix.length, length)
        ? Way.STREAMED
        : Way.PASSED;
  }

  // The origin's side

  @Override
  public void append(ByteBuffer bytes) throws IOException {
    if (entry.length() >= 0 && received + bytes.remaining() > entry.length()) {
      giveUp();
      throw new IOException("the body is longer than the " + entry.length() + " bytes it was said");
    }
    while (bytes.hasRemaining()) {
      var piece = room();
      int n = Math.min(bytes.remaining(), PiecePlace.LENGTH - piece.length);
      if (piece.loan == null) {
        throw new IllegalStateException("a piece that is not full has no buffer");
      }
      piece.loan.buffer().put(piece.length, bytes, bytes.position(), n);
      bytes.position(bytes.position() + n);
      lock.lock();
      try {
        piece.length += n;
        received += n;
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  /** The piece to be appended to, not full. */
  private Piece room() throws IOException {
    boolean counted;
    lock.lock();
    try {
      if (end != End.OPEN || !appending) {
        throw new IllegalStateException("the response was committed or closed");
      }
      checkFollowed();
      if (!pieces.isEmpty() && pieces.getLast().length < PiecePlace.LENGTH) {
        return pieces.getLast();
      }
      if (way == Way.COLLECTED && !mayCollect()) {
        way = tooLargeForMemory(received + 1);
        for (int i = 0; way == Way.STREAMED && i < pieces.size(); i++) {
          hand(i);
        }
      } else if (way == Way.STREAMED && !pieces.isEmpty()) {
        hand(pieces.size() - 1);
      }
      if (way == Way.STREAMED) {
        awaitDisk();
      }
      if (way == Way.PASSED) {
        awaitReaders(MOST_PASSED - 1);
        checkFollowed();
      }
      counted = way == Way.COLLECTED && !pieces.isEmpty();
    } finally {
      lock.unlock();
    }
    // Not under the lock: it may wait for what the log's thread and the readers give back.
    return add(borrow(counted));
  }

  private Piece add(Piece piece) {
    lock.lock();
    try {
      if (end != End.OPEN || !appending) {
        done(piece);
        throw new IllegalStateException("the response was committed or closed");
      }
      pieces.add(piece);
      return piece;
    } finally {
      lock.unlock();
    }
  }

  /** Whether another piece may be collected; then it is counted, unless it is the first. */
  private boolean mayCollect() {
    return pieces.isEmpty()
        || (storage.memory().takes(prefix.length + received + 1)
            && storage.collecting().tryAcquire());
  }

  private Piece borrow(boolean counted) throws IOException {
    Piece piece = null;
    try {
      piece = new Piece(Buffers.borrow(), counted);
      return piece;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    } finally {
      if (piece == null && counted) {
        storage.collecting().release();
      }
    }
  }

  /** Hands a piece to the log. */
  private void hand(int number) {
    var piece = pieces.get(number);
    boolean fits = disk != null && disk.takes(prefix.length, received);
    if (disk == null || !fits || !disk.log.submit(new PieceJob(piece, number))) {
      diskFailed = true;
    } else {
      piece.users++;
      unwritten++;
    }
    if (diskFailed) {
      way = Way.PASSED;
    }
  }

  private void awaitDisk() {
    while (unwritten > MOST_UNWRITTEN && !diskFailed) {
      changed.awaitUninterruptibly();
    }
    if (diskFailed) {
      way = Way.PASSED;
    }
  }

  /**
   * Waits until few pieces are needed by readers; cuts off those that take nothing. There is
   * patience with each piece: who goes on may need all of them.
   */
  private void awaitReaders(int few) throws IOException {
    long patience = storage.patienceNanos();
    int passed = given;
    try {
      for (giveBackPassed(); isBehind(few); giveBackPassed()) {
        if (given > passed) {
          passed = given;
          patience = storage.patienceNanos();
        }
        patience = changed.awaitNanos(patience);
        var slowest = lacking();
        if (patience <= 0 && slowest != null) {
          slowest.cut = true;
          changed.signalAll();
          patience = storage.patienceNanos();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while readers are awaited");
    }
  }

  /** What is not stored is received for its readers only. */
  private void checkFollowed() throws IncompleteException {
    if (way == Way.PASSED && followers.stream().allMatch(follower -> follower.cut)) {
      isUnread = true;
      abandon();
      throw new IncompleteException("nobody reads a response that is not stored");
    }
  }

  private void giveUp() {
    lock.lock();
    try {
      if (end == End.OPEN) {
        abandon();
      }
    } finally {
      lock.unlock();
    }
  }

  private void abandon() {
    end = End.ABANDONED;
    storage.counts().abandoned.increment();
    changed.signalAll();
  }

  private boolean isBehind(int few) {
    return pieces.size() - given > few && lacking() != null;
  }

  /** A reader that has not gone past the first piece that is still there; the slowest one. */
  private @Nullable Follower lacking() {
    Follower slowest = null;
    for (var follower : followers) {
      if (!follower.cut
          && follower.position < (long) (given + 1) * PiecePlace.LENGTH
          && (slowest == null || follower.position < slowest.position)) {
        slowest = follower;
      }
    }
    return slowest;
  }

  /** Gives back the buffers that all readers have gone past. */
  private void giveBackPassed() {
    while (given < pieces.size() - 1 && lacking() == null) {
      done(pieces.get(given++));
    }
  }

  /** Who has it at hand keeps the buffer, but others may be collected in its place. */
  private void done(Piece piece) {
    piece.isDone = true;
    if (piece.isCounted) {
      piece.isCounted = false;
      storage.collecting().release();
    }
    giveBack(piece);
  }

  private void giveBack(Piece piece) {
    if (piece.loan != null && piece.users == 0) {
      piece.loan.close();
      piece.loan = null;
    }
  }

  /** For a user of the piece that needs it no more. */
  private void letGo(Piece piece) {
    piece.users--;
    if (piece.isDone) {
      giveBack(piece);
    }
  }

  @Override
  public boolean commit() throws IOException {
    boolean wasCollected;
    lock.lock();
    try {
      if (end != End.OPEN || !appending) {
        throw new IllegalStateException("the response was committed or closed");
      }
      if (entry.length() >= 0 && received < entry.length()) {
        abandon();
        throw new IOException(
            "the body has %d bytes, not the %d it was said".formatted(received, entry.length()));
      }
      wasCollected = way == Way.COLLECTED;
      if (wasCollected && !storage.memory().takes(prefix.length + received)) {
        way = tooLargeForMemory(received);
        for (int i = 0; way == Way.STREAMED && i < pieces.size() - 1; i++) {
          hand(i);
        }
      }
      if (way == Way.STREAMED && !pieces.isEmpty()) {
        hand(pieces.size() - 1);
      }
      end = End.COMPLETE;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    boolean stored = store();
    isInMemory = stored && way == Way.COLLECTED;
    (stored ? storage.counts().stored : storage.counts().unstored).increment();
    if (!stored && wasCollected && way != Way.STREAMED) {
      passOn();
    }
    return stored;
  }

  /**
   * What was collected in vain is passed: else its slowest reader would keep all of it. One that is
   * cut off now may find the same elsewhere.
   */
  private void passOn() throws IOException {
    lock.lock();
    try {
      isInVain = true;
      way = Way.PASSED;
      awaitReaders(MOST_PASSED);
    } finally {
      lock.unlock();
    }
  }

  /** What was collected of a response that never came to its end is passed for the same reason. */
  private void passRest() {
    way = Way.PASSED;
    try {
      awaitReaders(MOST_PASSED);
    } catch (IOException e) {
      // All is about to be closed.
    }
  }

  /** Nothing changes the way and the pieces any more, but that those on their way are written. */
  private boolean store() {
    return switch (way) {
      case COLLECTED -> storage.putInMemory(entry, prefix, uri, hash, collected());
      case STREAMED -> disk != null && storeStreamed(disk);
      case PASSED -> false;
    };
  }

  private List<MemorySegment> collected() {
    var body = new ArrayList<MemorySegment>(pieces.size());
    for (var piece : pieces) {
      if (piece.loan != null) {
        body.add(MemorySegment.ofBuffer(piece.loan.buffer().slice(0, piece.length)));
      }
    }
    return body;
  }

  private boolean storeStreamed(DiskTier disk) {
    var job = new ObjectJob();
    if (!disk.log.submit(job)) {
      return false;
    }
    boolean stored = job.done.join();
    if (stored) {
      storage.list(new Image(Bytes.of(MemorySegment.ofArray(prefix))), hash, entry.stamp());
    }
    return stored;
  }

  @Override
  public void close() {
    lock.lock();
    try {
      if (end == End.OPEN) {
        abandon();
      }
      if (end == End.ABANDONED && way == Way.COLLECTED) {
        passRest();
      }
      if (appending) {
        appending = false;
        storage.underWay().end(uri);
      }
      leaveToMemory();
      giveAllBack();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives back what no reader has at hand, and holds what is in memory for them. If another one has
   * taken its place there already, they keep the buffers.
   */
  private void leaveToMemory() {
    if (!isInMemory || followers.isEmpty()) {
      return;
    }
    try {
      findInMemory();
    } catch (UncheckedIOException e) {
      // There is no buffer for a copy, so that they keep those that there are.
      return;
    }
    if (inMemory == null) {
      return;
    }
    pieces.forEach(this::done);
  }

  private void findInMemory() {
    if (inMemory == null && isInMemory) {
      inMemory = storage.memory().find(hash, entry.stamp(), recipient);
    }
  }

  /** Gives back everything when nobody needs it any more. */
  private void giveAllBack() {
    if (!appending && followers.isEmpty() && unwritten == 0) {
      pieces.forEach(this::done);
      if (pin != null) {
        pin.close();
      }
      if (inMemory instanceof MemoryTier.Held held) {
        held.close();
      }
      inMemory = null;
      isInMemory = false;
    }
  }

  /** Writes a piece. */
  private final class PieceJob extends SegmentLog.Job {
    private final Piece piece;
    private final int number;
    private long place;
    private @Nullable Segment segment;

    PieceJob(Piece piece, int number) {
      this.piece = piece;
      this.number = number;
    }

    @Override
    void write(SegmentLog log) throws IOException {
      var loan = piece.loan;
      if (loan == null) {
        throw new IllegalStateException("a piece that is not written has no buffer");
      }
      var body = loan.buffer().slice(0, piece.length);
      place = log.append(true, hash, entry.stamp(), piece.length, 0, number, body);
      segment = log.segment(Place.segment(place));
    }

    @Override
    void written() {
      lock.lock();
      try {
        if (segment != null && pin != null) {
          piece.place = PiecePlace.of(place, segment.sequence);
          // It is still the one that is written to, which nobody empties.
          pin.add(List.of(segment));
        }
        piece.isWritten = true;
        done(piece);
        ended();
      } finally {
        lock.unlock();
      }
    }

    @Override
    void failed() {
      lock.lock();
      try {
        diskFailed = true;
        ended();
      } finally {
        lock.unlock();
      }
    }

    private void ended() {
      letGo(piece);
      unwritten--;
      changed.signalAll();
      giveAllBack();
    }
  }

  /** Writes the object itself behind its pieces. */
  private final class ObjectJob extends SegmentLog.Job {
    final CompletableFuture<Boolean> done = new CompletableFuture<>();
    private long place;

    @Override
    void write(SegmentLog log) throws IOException {
      if (storage.underWay().hasLater(uri, hash, entry.stamp())) {
        throw new SegmentLog.NoRoomException("what was asked for later is stored");
      }
      // The pieces were appended before; their places are known when they are written.
      log.flush();
      var table = ByteBuffer.allocateDirect(8 * pieces.size()).order(LITTLE_ENDIAN);
      lock.lock();
      try {
        for (var piece : pieces) {
          if (!piece.isWritten || !log.has(piece.place)) {
            throw new SegmentLog.NoRoomException("a piece could not be written, or is gone");
          }
          table.putLong(piece.place);
        }
      } finally {
        lock.unlock();
      }
      place =
          log.append(
              false,
              hash,
              entry.stamp(),
              received,
              prefix.length,
              pieces.size(),
              ByteBuffer.wrap(prefix),
              table.flip());
    }

    @Override
    void written() {
      done.complete(storage.enterOnDisk(entry, prefix, uri, hash, place));
    }

    @Override
    void failed() {
      done.complete(false);
    }

    @Override
    boolean isUrgent() {
      return true;
    }
  }

  // The readers' side

  @Override
  public Lease follow() {
    lock.lock();
    try {
      if (!appending) {
        throw new IllegalStateException("the appender was closed");
      }
      var follower = new Follower();
      // Else others could come for as long as it is passed on, and it would never end.
      follower.cut = end == End.ABANDONED || isInVain;
      followers.add(follower);
      return follower;
    } finally {
      lock.unlock();
    }
  }

  private final class Follower implements Lease {
    private @Nullable Piece atHand;

    /** A copy of what no buffer has any more. */
    private Buffers.@Nullable Loan copy;

    /** Of which piece, if that was read from disk. */
    private int copyNumber = -1;

    private boolean closed;

    /** It needs nothing before this. */
    private long position;

    private boolean cut;

    @Override
    public Source source() {
      return Source.ORIGIN;
    }

    @Override
    public ByteBuffer head() {
      return ByteBuffer.wrap(entry.head()).asReadOnlyBuffer();
    }

    @Override
    public byte[] variant() {
      return entry.variant().clone();
    }

    @Override
    public long stamp() {
      return entry.stamp();
    }

    @Override
    public boolean isStale() {
      return false;
    }

    @Override
    public long length() {
      lock.lock();
      try {
        return end == End.COMPLETE ? received : entry.length();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public ByteBuffer[] read(long offset, long most) throws IOException {
      int number = (int) (offset / PiecePlace.LENGTH);
      long place;
      lock.lock();
      try {
        letGo();
        position = Math.max(position, offset);
        changed.signalAll();
        if (!awaitBytes(offset) || most == 0) {
          return Bytes.NONE;
        }
        var piece = pieces.get(number);
        if (piece.loan != null) {
          return take(piece, piece.loan, offset, most);
        }
        findInMemory();
        if (inMemory != null) {
          return takeFromMemory(inMemory, offset, most);
        }
        if (!piece.isWritten) {
          throw isGone();
        }
        place = piece.place;
      } finally {
        lock.unlock();
      }
      return readFromDisk(place, number, offset, most);
    }

    /** Waits for a byte at the offset; false if the body ends there. */
    private boolean awaitBytes(long offset) throws IOException {
      while (true) {
        if (cut) {
          throw isGone();
        }
        if (received > offset) {
          return true;
        }
        if (end == End.ABANDONED) {
          throw hasEnded();
        }
        if (end == End.COMPLETE) {
          Leases.check(offset, received);
          return false;
        }
        changed.awaitUninterruptibly();
      }
    }

    /** What it wants is there no more. Where all of it had come, it may find it elsewhere. */
    private IOException isGone() {
      if (isInVain) {
        return DamagedException.evicted();
      }
      return end == End.ABANDONED && !isUnread ? hasEnded() : IncompleteException.tooSlow();
    }

    private IncompleteException hasEnded() {
      return new IncompleteException("the response ended after " + received + " bytes");
    }

    /** Takes what is in a buffer from the offset on. */
    private ByteBuffer[] take(Piece piece, Buffers.Loan loan, long offset, long most) {
      int from = (int) (offset % PiecePlace.LENGTH);
      int length = (int) Math.min(most, piece.length - from);
      piece.users++;
      atHand = piece;
      return new ByteBuffer[] {loan.buffer().slice(from, length).asReadOnlyBuffer()};
    }

    private ByteBuffer[] takeFromMemory(MemoryTier.Found found, long offset, long most)
        throws DamagedException {
      int length = (int) Math.min(Math.min(most, PiecePlace.LENGTH), received - offset);
      return switch (found) {
        case MemoryTier.Held held -> held.pieces(prefix.length + (int) offset, length);
        case MemoryTier.Unheld unheld -> copy(unheld, offset, length);
      };
    }

    private ByteBuffer[] copy(MemoryTier.Unheld unheld, long offset, int length)
        throws DamagedException {
      letGoOfCopy();
      copy = Buffers.borrow();
      if (!unheld.copyBody(offset, copy.buffer(), length)) {
        letGoOfCopy();
        throw DamagedException.evicted();
      }
      return new ByteBuffer[] {copy.buffer().slice(0, length).asReadOnlyBuffer()};
    }

    private ByteBuffer[] readFromDisk(long place, int number, long offset, long most)
        throws IOException {
      int length = pieceLength(number);
      if (disk == null) {
        throw new IllegalStateException("nothing is on disk");
      }
      if (copy == null || copyNumber != number) {
        letGoOfCopy();
        copy = readPiece(disk, place, number, length);
        copyNumber = number;
      }
      int from = (int) (offset % PiecePlace.LENGTH);
      int count = (int) Math.min(most, length - from);
      return new ByteBuffer[] {
        copy.buffer().slice(DiskRecord.HEADER + from, count).asReadOnlyBuffer()
      };
    }

    private Buffers.Loan readPiece(DiskTier from, long place, int number, int length)
        throws DamagedException {
      try {
        return from.readPiece(hash, place, number, length);
      } catch (IOException e) {
        throw new DamagedException(e);
      }
    }

    private int pieceLength(int number) {
      lock.lock();
      try {
        return pieces.get(number).length;
      } finally {
        lock.unlock();
      }
    }

    private void letGo() {
      if (atHand != null) {
        Growing.this.letGo(atHand);
        atHand = null;
      }
    }

    private void letGoOfCopy() {
      if (copy != null) {
        copy.close();
        copy = null;
        copyNumber = -1;
      }
    }

    @Override
    public void close() {
      lock.lock();
      try {
        if (!closed) {
          closed = true;
          letGo();
          letGoOfCopy();
          followers.remove(this);
          changed.signalAll();
          giveAllBack();
        }
      } finally {
        lock.unlock();
      }
    }
  }
}
