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
  private static final int NUMBERS_IN_DOUBT = 1_000;

  private final Path directory;
  private final SpoolSettings settings;
  private final ByteBuffer zeros = ByteBuffer.allocateDirect(1 << 20);
  private long firstNumber = 1;
  private long nextIndex;

  // Guarded by this.
  private final TreeSet<Long> present = new TreeSet<>();
  private final ArrayDeque<SpoolSegment> written = new ArrayDeque<>();
  private @Nullable SpoolSegment prepared;
  private long keepFrom;
  private boolean failing;
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
    return files;
  }

  private void adopt(long index) throws IOException {
    var path = path(directory, index);
    var segment = SpoolSegment.reading(index, path);
    if (segment == null) {
      // It was made ahead and never used; or its head is destroyed, and nothing in it can be found.
      Files.delete(path);
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

  Path directory() {
    return directory;
  }

  /** The number of the first frame that is recorded by this process. */
  long firstNumber() {
    return firstNumber;
  }

  /** The segment to begin with, which is beyond the limit if the files of others take all room. */
  synchronized SpoolSegment takeFirst() throws IOException {
    var segment = make();
    written.add(segment);
    return segment;
  }

  /** Begins to make segments ahead; {@code made} is run whenever there is one. */
  synchronized void start(Runnable made) {
    thread = Thread.ofPlatform().name("spool-files").daemon().start(() -> run(made));
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

  private void run(Runnable made) {
    try {
      while (awaitWork()) {
        removeReleased();
        if (makeNext()) {
          made.run();
        }
      }
    } catch (InterruptedException e) {
      LOG.log(System.Logger.Level.DEBUG, "closed", e);
    }
  }

  private synchronized boolean awaitWork() throws InterruptedException {
    while (!closed && !wanted() && !removable()) {
      wait(failing ? RETRY.toMillis() : 0);
    }
    return !closed;
  }

  private boolean wanted() {
    return prepared == null
        && present.size() < settings.segments()
        && (!failing || System.nanoTime() - retryAt >= 0);
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

  private boolean makeNext() {
    synchronized (this) {
      if (!wanted()) {
        return false;
      }
    }
    try {
      var segment = make();
      synchronized (this) {
        prepared = segment;
        failing = false;
      }
      return true;
    } catch (IOException e) {
      tellFailure(e);
      return true;
    }
  }

  private synchronized void tellFailure(IOException e) {
    retryAt = System.nanoTime() + RETRY.toNanos();
    if (!failing) {
      failing = true;
      LOG.log(
          System.Logger.Level.WARNING,
          "The spool gets no room in %s; it is full when its present file is".formatted(directory),
          e);
    }
  }

  private SpoolSegment make() throws IOException {
    long index = nextIndex;
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
      forceDirectory();
    }
    nextIndex++;
    synchronized (this) {
      present.add(index);
    }
    return SpoolSegment.prepared(index, path, settings.segmentBytes());
  }

  private void forceDirectory() throws IOException {
    try (var names = FileChannel.open(directory, StandardOpenOption.READ)) {
      names.force(true);
    }
  }

  /** Ends the thread and gives the memory back; the file that was made ahead goes. */
  void close() throws IOException {
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
  }

  static void awaitEnd(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
