package dev.evergreen.storage;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.Request.Load;
import dev.evergreen.storage.Request.Save;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Keeps states in one SQLite file.
 *
 * <p><b>What is promised.</b> A save that returned is on the disk: it survives {@code kill -9}, and
 * a power failure too if the disk keeps what it acknowledges. Several processes may open the same
 * file on a local file system; per revision of a grain one save succeeds among all of them.
 *
 * <p><b>How.</b> SQLite blocks in native code, which would hold a virtual thread's carrier. So one
 * platform thread saves and a few load, each with a connection of its own, and callers wait for
 * them. The saving thread commits whatever waits, up to a bound, in one transaction: a forced write
 * to the disk is paid once for all who wait at that moment, which makes many concurrent callers the
 * way to save much. At most {@value Workers#CAPACITY} saves wait, further callers wait for room.
 *
 * <p><b>When it fails</b> (disk full, I/O error, locked by another process for longer than 10
 * seconds), every save of that transaction fails with a {@link StorageException}; what was
 * acknowledged before stays, and the next save starts afresh. One that conflicts fails alone. A
 * file that was moved, deleted or replaced while it is open is not used any more.
 *
 * <p><b>Interrupts.</b> A caller that is interrupted while it waits gets a {@link StorageException}
 * and keeps its interrupt flag; its save may still happen.
 */
public final class SqliteStorage implements Storage {

  private static final long LARGE_TRANSACTION_BYTES = 16L << 20;
  private static final int LOADING_THREADS = 4;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final SqliteFile file;
  private final Workers workers;

  @GuardedBy("this")
  private boolean fenced;

  private SqliteStorage(SqliteFile file) {
    this.file = file;
    // No limit: a lock that another process holds fails a transaction before callers lose patience.
    workers = new Workers("sqlite", file.toString(), Duration.ofNanos(Long.MAX_VALUE));
    workers.startSaving(
        Workers.CAPACITY,
        LARGE_TRANSACTION_BYTES,
        new SqliteJob<>(() -> file.connect(true), SqliteStorage::serveSaves));
    for (int i = 0; i < LOADING_THREADS; i++) {
      workers.startLoading(
          1, new SqliteJob<>(() -> file.connect(false), SqliteStorage::serveLoads));
    }
  }

  /**
   * Opens the file, or makes it. SQLite keeps two more beside it, {@code -wal} and {@code -shm},
   * that belong to it while a process has it open or after one was killed. The empty {@code -turn}
   * is by what several processes take turns in writing; it stays.
   *
   * <p>Blocks the calling thread in native code, usually for milliseconds, while another process
   * has it locked for up to 10 seconds.
   *
   * @throws StorageException if its directory does not exist, it is no SQLite database or another
   *     program's, was written by a newer version of this program, or cannot be written
   */
  public static SqliteStorage open(Path file) {
    return open(file, PATIENCE);
  }

  /** With another patience for locks of other processes. */
  static SqliteStorage open(Path file, Duration patience) {
    return new SqliteStorage(SqliteFile.open(file, patience));
  }

  @Override
  public Optional<Stored> load(GrainId grain) {
    return workers.load(grain);
  }

  @Override
  public long save(GrainId grain, long expected, byte[] state) {
    return workers.save(grain, expected, state, null);
  }

  /**
   * A row for each node that is alive. A transaction that saves looks for its node's, and giving a
   * node up takes the row away by a transaction too, which waits for those under way.
   */
  @Override
  public synchronized Optional<Fence> fence(String cluster) {
    if (!fenced) {
      fenced = true;
      workers.startFence(
          new SqliteJob<>(
              () -> file.connect(false),
              (table, batch) -> DatabaseFence.answer(batch, table::isAlive)));
    }
    return Optional.of(new DatabaseFence(cluster, workers, new Nodes()));
  }

  /** Each by a connection of its own, as they are rarely used. */
  private final class Nodes implements DatabaseFence.Nodes {
    @Override
    public void join(Member member) throws SQLException {
      try (var table = file.connect(true)) {
        var _ = table.inTransaction(() -> table.nodes().join(member));
      }
    }

    @Override
    public Set<NodeId> alive(String cluster) throws SQLException {
      try (var table = file.connect(false)) {
        return table.nodes().alive(cluster);
      }
    }

    @Override
    public boolean giveUp(Member member, Member by) throws SQLException {
      try (var table = file.connect(true)) {
        return table.inTransaction(() -> table.nodes().giveUp(member, by));
      }
    }
  }

  private static void serveSaves(GrainTable table, List<Save> batch) throws SQLException {
    var outcomes = table.saveAll(batch);
    for (int i = 0; i < outcomes.size(); i++) {
      batch.get(i).answer().complete(outcomes.get(i));
    }
  }

  private static void serveLoads(GrainTable table, List<Load> batch) throws SQLException {
    for (var load : batch) {
      load.answer().complete(table.load(load.grain()));
    }
  }

  /** Does what was asked before, and writes the log back into the file; blocks until then. */
  @Override
  public synchronized void close() {
    workers.close();
    file.close();
  }

  @Override
  public String toString() {
    return "SqliteStorage[" + file + "]";
  }
}
