package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.store.Hash;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The tier on disk: its files, the directory of what is in them, and reading. */
final class DiskTier implements AutoCloseable {
  private static final String IDENTITY = "storage";
  private static final long MAGIC = 0x31304d_4f52_5645L;
  private static final int IDENTITY_SIZE = 32;
  private static final int READERS = 4;
  private static final int MOST_MOVES = 4;
  private static final System.Logger LOG = System.getLogger(DiskTier.class.getName());

  final Hash hash;
  final Marks marks;
  final SegmentLog log;
  final Directory directory;
  private final Volume volume;
  private final PurgeLog purges;
  private final Counts counts;
  private final IoThreads threads = new IoThreads(READERS);

  /** Opens what is there, or makes it. */
  DiskTier(Volume volume, StorageOptions options, Counts counts, int mostMarks) throws IOException {
    this.volume = volume;
    this.counts = counts;
    int count = (int) (options.disk() / options.segment());
    long seed = readIdentity(options.segment());
    PurgeLog purges = null;
    Marks marks = null;
    if (seed != 0) {
      marks = new Marks(new Hash(seed), mostMarks);
      purges = PurgeLog.open(volume, marks);
      if (purges == null) {
        LOG.log(
            System.Logger.Level.WARNING,
            "the log of purges in {0} is damaged: nothing of the cache there is used",
            volume.directory());
      }
    }
    if (purges == null || marks == null) {
      seed = startAnew(options.segment());
      marks = new Marks(new Hash(seed), mostMarks);
      purges = PurgeLog.open(volume, marks);
    }
    for (int i = count; volume.exists(SegmentLog.fileName(i)); i++) {
      volume.delete(SegmentLog.fileName(i));
    }
    if (purges == null) {
      throw new IOException("a new log of purges cannot be read");
    }
    this.hash = new Hash(seed);
    this.marks = marks;
    this.purges = purges;
    directory = new Directory(Math.max(1, options.disk() / options.meanObject()));
    log = new SegmentLog(volume, directory, marks, counts, options.segment(), count);
  }

  /** The seed of the hashes; 0 if there is nothing that can be used. */
  private long readIdentity(int segmentSize) throws IOException {
    try (var file = volume.open(IDENTITY)) {
      var identity = ByteBuffer.allocateDirect(IDENTITY_SIZE).order(LITTLE_ENDIAN);
      file.read(identity, 0);
      boolean sound =
          !identity.hasRemaining()
              && identity.getLong(0) == MAGIC
              && identity.getInt(16) == segmentSize
              && identity.getInt(28) == DiskRecord.sum(identity, 0, 28);
      return sound ? identity.getLong(8) : 0;
    }
  }

  /** Forgets all there is. The identity goes first and comes last. */
  private long startAnew(int segmentSize) throws IOException {
    volume.delete(IDENTITY);
    volume.force();
    for (int i = 0; volume.exists(SegmentLog.fileName(i)); i++) {
      volume.delete(SegmentLog.fileName(i));
    }
    volume.delete(PurgeLog.NAME);
    long seed = new SecureRandom().nextLong() | 1;
    var identity = ByteBuffer.allocateDirect(IDENTITY_SIZE).order(LITTLE_ENDIAN);
    identity.putLong(MAGIC).putLong(seed).putInt(segmentSize).putLong(0);
    identity.putInt(DiskRecord.sum(identity, 0, 28)).flip();
    try (var file = volume.open(IDENTITY + ".new")) {
      file.write(identity, 0);
      file.force();
    }
    volume.rename(IDENTITY + ".new", IDENTITY);
    return seed;
  }

  /** Writes a mark down; done when it is there for good. */
  CompletableFuture<Void> append(Marks.Mark mark) {
    return purges.append(mark);
  }

  /** Whether a body of this length can be stored in pieces. */
  boolean takes(int prefixLength, long bodyLength) {
    long pieces = Math.ceilDiv(bodyLength, (long) PiecePlace.LENGTH);
    return DiskRecord.HEADER + prefixLength + 8 * pieces + Place.UNIT <= log.largestRecord()
        && bodyLength <= (long) log.segments() * log.segmentSize() / 4;
  }

  /** Reads an object; null if it is not there any more. Lets the calling fiber wait. */
  @Nullable DiskObject read(long hash, long place, Recipient recipient) {
    try {
      return threads.call(() -> Optional.ofNullable(readNow(hash, place, recipient))).orElse(null);
    } catch (IOException e) {
      readFailed(e);
      return null;
    }
  }

  private @Nullable DiskObject readNow(long hash, long found, Recipient recipient)
      throws IOException {
    long place = found;
    for (int i = 0; place != 0 && i < MOST_MOVES; i++) {
      var object = readAt(hash, place, recipient);
      if (object != null) {
        return object;
      }
      long present = directory.get(hash);
      if (Place.isSame(present, place)) {
        if (directory.remove(hash, place)) {
          counts.corrupt.increment();
        }
        return null;
      }
      place = present;
    }
    return null;
  }

  /** Null if something else is there, or something damaged. */
  private @Nullable DiskObject readAt(long hash, long place, Recipient recipient)
      throws IOException {
    var segment = log.segment(Place.segment(place));
    int most = Place.mostSize(place);
    // Before the segment is leased, as it may wait, or throw.
    var loan = most <= Buffers.SIZE ? Buffers.borrow() : null;
    DiskObject object = null;
    boolean leased = false;
    try {
      leased = segment.lease();
      if (!leased) {
        return null;
      }
      // A view, since others that borrow the buffer expect its byte order as it was.
      var whole = loan == null ? ByteBuffer.allocateDirect(most) : loan.buffer().duplicate();
      var buffer = whole.order(LITTLE_ENDIAN).clear().limit(most);
      segment.file.read(buffer, Place.offset(place));
      buffer.flip();
      var record = DiskRecord.read(buffer, 0);
      if (record != null
          && !record.isPiece()
          && record.hash() == hash
          && record.sequence() == segment.sequence
          && record.isSound(buffer, 0)) {
        object = DiskObject.of(record, place, buffer, loan);
        if (object != null && !object.pinPieces(log, recipient)) {
          object.close();
          object = null;
          boolean unused = directory.remove(hash, place);
        }
      }
      return object;
    } finally {
      if (leased) {
        segment.release();
      }
      if (object == null && loan != null) {
        loan.close();
      }
    }
  }

  /**
   * Reads a piece of a large body, of so many bytes: they begin behind the record's header in the
   * buffer. Lets the calling fiber wait.
   *
   * @throws IOException also if the piece was evicted, as its segment is not pinned
   */
  Buffers.Loan readPiece(long hash, long piece, int number, int length) throws IOException {
    return threads.call(
        () -> {
          var segment = log.segmentOf(piece);
          if (segment == null || !segment.lease()) {
            throw evicted();
          }
          try {
            if (!PiecePlace.isIn(piece, segment)) {
              throw evicted();
            }
            return readPieceNow(segment, hash, piece, number, length);
          } finally {
            segment.release();
          }
        });
  }

  private static IOException evicted() {
    return new IOException("a piece of a response was evicted before a slow reader came to it");
  }

  private Buffers.Loan readPieceNow(Segment segment, long hash, long piece, int number, int length)
      throws IOException {
    var loan = Buffers.borrow();
    boolean sound = false;
    try {
      var buffer = loan.buffer().clear().limit(DiskRecord.HEADER + length);
      segment.file.read(buffer, PiecePlace.offset(piece));
      buffer.flip();
      var record = DiskRecord.read(buffer, 0);
      sound =
          record != null
              && record.isPiece()
              && record.hash() == hash
              && record.pieces() == number
              && record.restLength() == length
              && record.sequence() == segment.sequence
              && record.isSound(buffer, 0);
    } catch (IOException e) {
      readFailed(e);
      throw e;
    } finally {
      if (!sound) {
        loan.close();
      }
    }
    if (!sound) {
      counts.corrupt.increment();
      throw new IOException("a piece of a stored response is damaged on disk");
    }
    return loan;
  }

  private void readFailed(IOException e) {
    counts.diskErrors.increment();
    LOG.log(System.Logger.Level.DEBUG, "cannot read from " + volume.directory(), e);
  }

  @Override
  public void close() {
    log.close();
    purges.close();
    threads.close();
    directory.close();
    volume.close();
  }
}
