package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.evergreen.proxy.storage.Marks.Mark;
import dev.evergreen.proxy.storage.Volume.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * The marks on disk, in the order in which they were made, 40 bytes each:
 *
 * <pre>
 * 0 stamp  8 hash  16 kind  20 soft  24 length of the prefix  28 zero  36 CRC32C of these 36 bytes
 * </pre>
 *
 * A mark is confirmed when the system says that it is on the medium. Those that come together are
 * forced together. A mark of the kind {@value #FLOOR} says that nothing older than its stamp is to
 * be found.
 *
 * <p>When the log is longer than what is still needed of it, it is written anew beside, and takes
 * the place of the old one in one step.
 */
final class PurgeLog implements AutoCloseable {
  static final String NAME = "purges";
  private static final String FRESH = "purges.new";
  static final int FLOOR = 3;
  static final int SIZE = 40;
  private static final int SUM_AT = 36;
  private static final int LEAST_COMPACTED = 1 << 14;
  private static final System.Logger LOG = System.getLogger(PurgeLog.class.getName());

  private record Request(@Nullable Mark mark, CompletableFuture<Void> done) {}

  /** Two marks of the same thing: the later one is enough. */
  private record Subject(int kind, boolean soft, long hash) {
    static Subject of(Mark mark) {
      return new Subject(mark.kind(), mark.soft(), mark.kind() == FLOOR ? 0 : mark.hash());
    }
  }

  private final Volume volume;
  private final LinkedBlockingQueue<Request> queue = new LinkedBlockingQueue<>();

  // Of the thread, once it runs.
  private DiskFile file;
  private long end;
  private final Marks marks;
  private boolean failing;

  private PurgeLog(Volume volume, Marks marks, DiskFile file, long end) {
    this.volume = volume;
    this.marks = marks;
    this.file = file;
    this.end = end;
    Thread.ofPlatform().daemon().name("storage-purges").start(this::work);
  }

  /**
   * Opens the log and makes the marks that it has.
   *
   * @return null if it is damaged: then nobody knows what was purged
   */
  static @Nullable PurgeLog open(Volume volume, Marks marks) throws IOException {
    volume.delete(FRESH);
    var file = volume.open(NAME);
    var found = read(file);
    if (found == null) {
      file.close();
      return null;
    }
    for (var mark : found) {
      marks.seen(mark.stamp());
      if (mark.kind() == FLOOR) {
        marks.raiseFloor(mark.stamp());
      } else {
        marks.add(mark);
      }
    }
    volume.force();
    return new PurgeLog(volume, marks, file, (long) found.size() * SIZE);
  }

  /**
   * All marks. A part of one at the end was never confirmed; a damaged one anywhere may have been,
   * and so may what came behind it.
   */
  private static @Nullable List<Mark> read(DiskFile file) throws IOException {
    var found = new ArrayList<Mark>();
    long count = file.size() / SIZE;
    var window = ByteBuffer.allocateDirect(SIZE * 4096).order(LITTLE_ENDIAN);
    window.limit(0);
    for (long i = 0; i < count; i++) {
      if (window.remaining() < SIZE) {
        file.read(window.clear(), i * SIZE);
        window.flip();
      }
      int at = window.position();
      if (window.remaining() < SIZE
          || window.getInt(at + SUM_AT) != DiskRecord.sum(window, at, SUM_AT)) {
        return null;
      }
      found.add(
          new Mark(
              window.getLong(at),
              window.getInt(at + 16),
              window.getInt(at + 20) != 0,
              window.getLong(at + 8),
              window.getInt(at + 24)));
      window.position(at + SIZE);
    }
    return found;
  }

  /** Appends a mark; done when it is there for good. */
  CompletableFuture<Void> append(Mark mark) {
    var request = new Request(mark, new CompletableFuture<>());
    queue.add(request);
    return request.done;
  }

  private void work() {
    var batch = new ArrayList<Request>();
    boolean open = true;
    while (open) {
      batch.clear();
      try {
        batch.add(queue.take());
      } catch (InterruptedException e) {
        return;
      }
      queue.drainTo(batch);
      open = batch.stream().noneMatch(request -> request.mark == null);
      write(batch);
    }
  }

  private void write(List<Request> batch) {
    try {
      var bytes = ByteBuffer.allocateDirect(batch.size() * SIZE).order(LITTLE_ENDIAN);
      for (var request : batch) {
        if (request.mark != null) {
          put(bytes, request.mark);
        }
      }
      int length = bytes.flip().remaining();
      file.write(bytes, end);
      file.force();
      end += length;
      failing = false;
      batch.forEach(request -> request.done.complete(null));
      if (end > LEAST_COMPACTED * (long) SIZE && end > 4L * marks.count() * SIZE) {
        compact();
      }
    } catch (IOException e) {
      if (!failing) {
        failing = true;
        LOG.log(System.Logger.Level.WARNING, "cannot write purges to " + volume.directory(), e);
      }
      batch.forEach(request -> request.done.completeExceptionally(e));
    }
  }

  private static void put(ByteBuffer to, Mark mark) {
    int at = to.position();
    to.putLong(mark.stamp()).putLong(mark.hash()).putInt(mark.kind());
    to.putInt(mark.soft() ? 1 : 0).putInt(mark.length()).putLong(0);
    to.putInt(DiskRecord.sum(to, at, SUM_AT));
  }

  /** Writes down the latest mark of each subject that is above the floor, and the floor. */
  private void compact() throws IOException {
    var found = read(file);
    if (found == null) {
      throw new IOException("the log of purges is damaged");
    }
    Map<Subject, Mark> needed = new LinkedHashMap<>();
    for (var mark : found) {
      if (mark.stamp() >= marks.floor()) {
        needed.merge(Subject.of(mark), mark, (a, b) -> a.stamp() > b.stamp() ? a : b);
      }
    }
    var floor = new Mark(marks.floor(), FLOOR, false, 0, 0);
    needed.merge(Subject.of(floor), floor, (a, b) -> a.stamp() > b.stamp() ? a : b);
    var bytes = ByteBuffer.allocateDirect(needed.size() * SIZE).order(LITTLE_ENDIAN);
    needed.values().forEach(mark -> put(bytes, mark));
    volume.delete(FRESH);
    var fresh = volume.open(FRESH);
    int length = bytes.flip().remaining();
    fresh.write(bytes, 0);
    fresh.force();
    volume.rename(FRESH, NAME);
    file.close();
    file = fresh;
    end = length;
  }

  /** Writes what was handed over, and ends. */
  @Override
  public void close() {
    var last = new Request(null, new CompletableFuture<>());
    queue.add(last);
    try {
      last.done.exceptionally(failure -> null).join();
      file.close();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot close the log of purges", e);
    }
  }
}
