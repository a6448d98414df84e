package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The files of a spool. A platform thread makes one ahead of the one in use, full of zeros: a file
 * with holes would let writing to the memory fail when the disk is full, and that would end the
 * process. It also removes those that were loaded.
 */
final class SpoolFiles {
  private static final System.Logger LOG = System.getLogger(SpoolFiles.class.getName());
  private static final String SUFFIX = ".spool";
  private static final Duration RETRY = Duration.ofMillis(200);

  /** So many numbers are left out behind a run that was killed: some were given, and not kept. */
  private static final int NUMBERS_IN_DOUBT = 10_000;

  /** So many indexes more than are needed are reserved. */
  private static final int RESERVED_AHEAD = 16;

  private final Path directory;
  private final SpoolSettings settings;
  private final ByteBuffer zeros = ByteBuffer.allocateDirect(1 << 20);
  private long firstNumber = 1;
  private long nextIndex;
  private Reservation reserved = Reservation.NOTHING;

  // Guarded by this.
  private final TreeSet<Long> present = new TreeSet<>();
  private final ArrayDeque<SpoolSegment> written = new ArrayDeque<>();
  private @Nullable SpoolSegment prepared;
  private long keepFrom;
  private boolean failing;

  /** Why it is failing, until that has been told. */
  private @Nullable Throwable fault;

  private long retryAt;
  private boolean closed;
  private @Nullable Thread thread;

  private SpoolFiles(Path directory, SpoolSettings settings) {
    this.directory = directory;
    this.settings = settings;
  }

  static SpoolFiles open(Path directory, SpoolSettings settings) throws IOException {
    var files = new SpoolFiles(directory, settings);
    for (long index : list(directory)) {
      files.adopt(index);
    }
    files.skip(Reservation.read(directory));
    return files;
  }

  /** Leaves out what may have been given to files and frames that the disk has lost. */
  private void skip(Reservation reserved) {
    nextIndex = Math.max(nextIndex, reserved.index());
    boolean whole = reserved.ofThisBoot() && !present.isEmpty();
    firstNumber = Math.max(firstNumber, whole ? 0 : reserved.number());
  }

  private void adopt(long index) throws IOException {
    var path = path(directory, index);
    var segment = SpoolSegment.reading(index, path);
    if (segment == null) {
      // It was made ahead and never used; or its head is destroyed, and nothing in it can be found.
      Files.deleteIfExists(path);
      return;
    }
    present.add(index);
    nextIndex = index + 1;
    firstNumber = Math.max(firstNumber, segment.lastNumber() + NUMBERS_IN_DOUBT);
    segment.close();
  }

  /** The indexes of the files that are there, the oldest first. */
  static List<Long> list(Path directory) throws IOException {
    var indexes = new ArrayList<Long>();
    try (var paths = Files.newDirectoryStream(directory, "*" + SUFFIX)) {
      for (var path : paths) {
        var name = path.getFileName().toString();
        indexes.add(Long.valueOf(name.substring(0, name.length() - SUFFIX.length())));
      }
    }
    indexes.sort(null);
    return indexes;
  }

  static Path path(Path directory, long index) {
    return directory.resolve("%012d%s".formatted(index, SUFFIX));
  }

  /** Makes a directory for the user of this process only, and those above it. */
  static void makeDirectory(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      var modes = PosixFilePermissions.fromString("rwx------");
      Files.createDirectories(directory, PosixFilePermissions.asFileAttribute(modes));
    }
  }

  /** Makes a file for the user of this process only, if it is not there. */
  static void makeFile(Path file) throws IOException {
    try {
      var modes = PosixFilePermissions.fromString("rw-------");
      Files.createFile(file, PosixFilePermissions.asFileAttribute(modes));
    } catch (FileAlreadyExistsException e) {
      // As it should be after the first time.
      LOG.log(System.Logger.Level.TRACE, "there is one", e);
    }
  }

  /**
   * What a file holds, which is written if it is not there. It may be there and be empty, where a
   * process was killed that did not write it whole.
   */
  static byte[] readOrWrite(Path directory, String name, Supplier<byte[]> content)
      throws IOException {
    var file = directory.resolve(name);
    if (!Files.exists(file) || Files.size(file) == 0) {
      write(directory, name, content.get());
    }
    return Files.readAllBytes(file);
  }

  /** Writes a file whole: after a failure of any kind it has the old content or the new one. */
  static void write(Path directory, String name, byte[] content) throws IOException {
    var temporary = directory.resolve(name + ".next");
    Files.deleteIfExists(temporary);
    makeFile(temporary);
    try (var file = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
      for (var bytes = ByteBuffer.wrap(content); bytes.hasRemaining(); ) {
        // A disk that is nearly full takes a part.
        file.write(bytes);
      }
      file.force(true);
    }
    Files.move(temporary, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    forceDirectory(directory);
  }

  Path directory() {
    return directory;
  }

  /** The number of the first frame that is recorded by this process. */
  long firstNumber() {
    return firstNumber;
  }

  /** The segment to begin with, which is beyond the limit if the files of others take all room. */
  synchronized SpoolSegment takeFirst() throws IOException {
    var segment = make(firstNumber);
    written.add(segment);
    return segment;
  }

  /**
   * Begins to make segments ahead.
   *
   * @param first tells the number of the first frame of the segment in use, or of the one before
   * @param made is run whenever there is one
   */
  synchronized void start(LongSupplier first, Runnable made) {
    thread = Thread.ofPlatform().name("spool-files").daemon().start(() -> run(first, made));
  }

  /** The segment that was made ahead, if there is one. */
  synchronized @Nullable SpoolSegment take() {
    var segment = prepared;
    if (segment != null) {
      written.add(segment);
      prepared = null;
      notifyAll();
    }
    return segment;
  }

  /** Whether nothing will be made before files were released, or room on the disk was made. */
  synchronized boolean full() {
    return failing || (prepared == null && present.size() >= settings.segments());
  }

  synchronized int count() {
    return present.size();
  }

  /** Lets the files before that one be removed. */
  synchronized void release(long index) {
    keepFrom = Math.max(keepFrom, index);
    notifyAll();
  }

  private void run(LongSupplier first, Runnable made) {
    boolean last = false;
    while (!last) {
      try {
        work(first, made);
        last = true;
      } catch (RuntimeException | Error e) {
        // Such as want of memory. Without this thread all who record would wait for ever.
        failed(e);
        tell(made);
      } catch (InterruptedException e) {
        LOG.log(System.Logger.Level.DEBUG, "ended", e);
        last = true;
      }
    }
  }

  private void work(LongSupplier first, Runnable made) throws InterruptedException {
    while (awaitWork()) {
      tellFault();
      removeReleased();
      if (makeNext(first)) {
        made.run();
      }
    }
  }

  /** Whoever waits for a file looks again: it may be that it is to wait no more. */
  private void tell(Runnable made) {
    try {
      made.run();
    } catch (RuntimeException | Error e) {
      // It is told again when the next attempt has failed or not.
      failed(e);
    }
  }

  private synchronized boolean awaitWork() throws InterruptedException {
    while (!closed && (resting() || (!wanted() && !removable()))) {
      wait(failing ? RETRY.toMillis() : 0);
    }
    return !closed;
  }

  /** Whether it has failed just now. */
  private boolean resting() {
    return failing && System.nanoTime() - retryAt < 0;
  }

  private boolean wanted() {
    return prepared == null && present.size() < settings.segments();
  }

  private boolean removable() {
    return !present.isEmpty() && present.first() < keepFrom;
  }

  private void removeReleased() {
    for (var index = releasable(); index != null; index = releasable()) {
      try {
        Files.deleteIfExists(path(directory, index));
      } catch (IOException e) {
        LOG.log(System.Logger.Level.WARNING, "Cannot remove a loaded file of the spool", e);
      }
    }
  }

  private synchronized @Nullable Long releasable() {
    if (!removable()) {
      return null;
    }
    var first = written.peek();
    if (first != null && first.index() < keepFrom) {
      first.close();
      written.remove();
    }
    return present.pollFirst();
  }

  private boolean makeNext(LongSupplier first) {
    synchronized (this) {
      if (!wanted()) {
        return false;
      }
    }
    try {
      var segment = make(first.getAsLong());
      synchronized (this) {
        prepared = segment;
        failing = false;
      }
      return true;
    } catch (IOException e) {
      failed(e);
      return true;
    }
  }

  /** Needs no memory. */
  private synchronized void failed(Throwable e) {
    retryAt = System.nanoTime() + RETRY.toNanos();
    if (!failing) {
      failing = true;
      fault = e;
    }
  }

  private void tellFault() {
    Throwable told;
    synchronized (this) {
      told = fault;
      // Before it is told, since that may fail, too.
      fault = null;
    }
    if (told != null) {
      LOG.log(
          System.Logger.Level.WARNING,
          "The spool gets no room in %s; it is full when its present file is".formatted(directory),
          told);
    }
  }

  /**
   * @param first a number from which on those of at most two segments were given
   */
  private SpoolSegment make(long first) throws IOException {
    long index = nextIndex;
    // Those two, and this one.
    reserve(index + 1, first + 3L * settings.mostNumbers());
    var path = path(directory, index);
    var temporary = directory.resolve("next");
    Files.deleteIfExists(temporary);
    makeFile(temporary);
    try (var file = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
      for (long left = settings.segmentBytes(); left > 0; ) {
        zeros.position(0).limit((int) Math.min(left, zeros.capacity()));
        left -= file.write(zeros);
      }
    } catch (IOException e) {
      Files.deleteIfExists(temporary);
      throw e;
    }
    Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
    if (settings.durability() != Durability.NONE) {
      forceDirectory(directory);
    }
    var segment = SpoolSegment.prepared(index, path, settings.segmentBytes());
    nextIndex++;
    synchronized (this) {
      present.add(index);
    }
    return segment;
  }

  /** Reserves what may be given below these, and more, so that it is seldom to be done. */
  private void reserve(long index, long number) throws IOException {
    if (index > reserved.index() || number > reserved.number()) {
      // Of numbers fewer, as each jump among them is one of the trace's rows.
      long more = number + settings.mostNumbers();
      var next = new Reservation(index + RESERVED_AHEAD, more, Reservation.thisBoot());
      next.write(directory);
      reserved = next;
    }
  }

  static void forceDirectory(Path directory) throws IOException {
    try (var names = FileChannel.open(directory, StandardOpenOption.READ)) {
      names.force(true);
    }
  }

  /**
   * Ends the thread and gives the memory back; the file that was made ahead goes.
   *
   * @param next the number of the next frame, if there were one
   */
  void close(long next) throws IOException {
    Thread running;
    synchronized (this) {
      closed = true;
      running = thread;
      notifyAll();
    }
    if (running != null) {
      awaitEnd(running);
    }
    if (prepared != null) {
      prepared.close();
      Files.deleteIfExists(prepared.path());
    }
    written.forEach(SpoolSegment::close);
    written.clear();
    try {
      new Reservation(nextIndex, next, Reservation.thisBoot()).write(directory);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "More stays reserved than was given", e);
    }
  }

  /** Waits for it also if interrupted: what it works at is closed next. */
  static void awaitEnd(Thread thread) {
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
  }
}
