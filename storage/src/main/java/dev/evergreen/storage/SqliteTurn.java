package dev.evergreen.storage;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.sqlite.BusyHandler;

/**
 * Lets the processes that write one SQLite file take turns. SQLite's lock is not fair: a process
 * that writes all the time gives it back for an instant only, which others, who look after it every
 * 100 ms, may miss for seconds.
 *
 * <p>Here a process first becomes the next one, by a lock on an empty file beside the database, and
 * is that until it has SQLite's lock. So whoever has just written comes after the one that waits.
 * The operating system takes the lock back from a process that is killed. All this is for fairness
 * only: where it does not work, or not in time, SQLite's lock decides as ever. Thread-safe.
 */
final class SqliteTurn implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger(SqliteTurn.class.getName());
  private static final long RETRY_NANOS = 500_000;

  private final long patienceNanos;
  private final @Nullable FileChannel file;

  /**
   * Whether the next one was so for too long: it may be stopped, which must not cost all others.
   */
  private volatile boolean stuck;

  /**
   * For the database at the path; makes the file {@code …-turn} beside it if there is none.
   *
   * @param patience how long to wait for a turn; if it was in vain, the following do not wait until
   *     there is one to be had
   */
  SqliteTurn(Path database, Duration patience) {
    patienceNanos = patience.toNanos();
    file = open(Path.of(database + "-turn"));
  }

  private static @Nullable FileChannel open(Path path) {
    try {
      return FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "Processes will take no fair turns: " + e);
      return null;
    }
  }

  /** Waits to be the next, and is it while SQLite's lock is taken. */
  void take(Locking locking) throws SQLException {
    var next = next();
    try {
      locking.lock();
    } finally {
      release(next);
    }
  }

  private @Nullable FileLock next() {
    if (file == null) {
      return null;
    }
    long begin = System.nanoTime();
    var lock = tryLock(file);
    while (lock == null && !stuck) {
      stuck = System.nanoTime() - begin >= patienceNanos;
      LockSupport.parkNanos(RETRY_NANOS);
      lock = tryLock(file);
    }
    stuck = lock == null;
    return lock;
  }

  private static @Nullable FileLock tryLock(FileChannel file) {
    try {
      return file.tryLock();
    } catch (OverlappingFileLockException | IOException e) {
      // Another storage of this process is the next, which is as with other processes; or it cannot
      // be had.
      return null;
    }
  }

  private static void release(@Nullable FileLock lock) {
    try {
      if (lock != null) {
        lock.release();
      }
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "A turn is over, but others cannot be told", e);
    }
  }

  /**
   * Has a connection look after SQLite's lock so often that it is not left lying: nobody else does
   * meanwhile.
   *
   * @param patience how long to wait for that lock
   */
  static void waitOften(Connection connection, Duration patience) throws SQLException {
    long patienceNanos = patience.toNanos();
    BusyHandler.setHandler(
        connection,
        new BusyHandler() {
          private long begin;

          @Override
          protected int callback(int calls) {
            if (calls == 0) {
              begin = System.nanoTime();
            }
            LockSupport.parkNanos(RETRY_NANOS);
            return System.nanoTime() - begin < patienceNanos ? 1 : 0;
          }
        });
  }

  @Override
  public void close() {
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "Closing " + file + " failed; nothing is lost by it", e);
    }
  }

  /** Takes SQLite's lock. */
  interface Locking {
    void lock() throws SQLException;
  }
}
