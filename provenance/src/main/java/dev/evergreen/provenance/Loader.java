package dev.evergreen.provenance;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings what a spool holds into the database of a trace, in a platform thread of its own. Frames
 * become rows in transactions, and with them the position in the spool: so whatever fails or is
 * killed, loading goes on behind the last transaction, and nothing is there twice or missing. While
 * the database cannot be reached, or anything else fails, the spool fills, and it is tried again
 * and again: {@link #report} tells, and the log.
 */
final class Loader implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Loader.class.getName());

  /**
   * So many frames are a transaction, if there are as many. What costs most are the pages of the
   * index of cells, of which a transaction writes each once: so the more, the cheaper.
   */
  private static final int BATCH = 100_000;

  /** A transaction of who has little time. */
  private static final int SMALL_BATCH = 10_000;

  /** Between two looks whether there is something to load, at least. */
  private static final Duration IDLE = Duration.ofMillis(10);

  /**
   * How long it lets frames gather when it has caught up, unless somebody waits for them. A
   * transaction of few frames costs as much as one of many: without a pause each of ten thousand
   * operations a second costs six times the processor time.
   */
  private static final Duration GATHERING = Duration.ofMillis(200);

  /** While it gives way it looks so often whether another process wants it to hurry. */
  private static final Duration LOOK = Duration.ofMillis(50);

  private static final Duration PATIENCE = Duration.ofMillis(500);
  private static final Duration BETWEEN_COMPLAINTS = Duration.ofMinutes(1);
  private static final Duration BETWEEN_FOLDS = Duration.ofSeconds(5);

  private final Spool spool;
  private final String spoolId;
  private final TraceDatabase database;
  private final Redactor redactor;
  private final Retention retention;
  private final Thread thread;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private long loaded;
  private long awaited;
  private boolean closed;
  private long failures;
  private String failure = "";
  private long complainedAt;

  /** Whether the database was found to be this spool's. */
  private boolean begun;

  /** Why it is not. */
  private @Nullable TraceException refusal;

  private long foldedAt = System.nanoTime();

  /** Whether the last attempt to fold failed. */
  private boolean foldFailed;

  // The thread's own.
  private CoreTime.Reading before = CoreTime.Reading.NONE;

  /** Whether a transaction ended because it had become old, and not since there was no more. */
  private boolean cut;

  Loader(
      Spool spool, String spoolId, TraceDatabase database, Redactor redactor, Retention retention) {
    this.spool = spool;
    this.spoolId = spoolId;
    this.database = database;
    this.redactor = redactor;
    this.retention = retention;
    // What is recorded can wait in the spool; who is recorded cannot.
    thread =
        Thread.ofPlatform()
            .name("trace-loader")
            .daemon()
            .priority(Thread.MIN_PRIORITY)
            .start(this::run);
  }

  /**
   * Waits until all frames up to that number are in the database.
   *
   * @return whether they are; if not, the time was over
   */
  boolean await(long number, Duration limit) {
    lock.lock();
    try {
      awaited = Math.max(awaited, number);
      changed.signalAll();
      long left = limit.toNanos();
      while (loaded < number && left > 0) {
        left = changed.awaitNanos(left);
      }
      return loaded >= number;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until the database has been tried.
   *
   * @return why nothing can ever be loaded there; empty if it can, or it cannot be reached now
   */
  Optional<TraceException> awaitRefusal(Duration limit) {
    lock.lock();
    try {
      long left = limit.toNanos();
      while (!begun && failures == 0 && left > 0) {
        left = changed.awaitNanos(left);
      }
      return Optional.ofNullable(refusal);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } finally {
      lock.unlock();
    }
  }

  /** How it is doing. */
  LoaderReport report() {
    lock.lock();
    try {
      return new LoaderReport(loaded, failures, failure);
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    boolean last = false;
    while (!last) {
      // Once more when it was closed: what was recorded until then is to be loaded.
      last = isClosed();
      try (var session = LoadSession.open(database, redactor, spoolId);
          var reader = new SpoolReader(spool.directory(), session.position());
          var cores = CoreTime.ofThisThread()) {
        session.check(reader);
        begin();
        load(session, reader, cores);
        return;
      } catch (TraceException e) {
        refuse(e);
        tell(e, System.Logger.Level.WARNING);
      } catch (SQLException | IOException e) {
        tell(e, System.Logger.Level.WARNING);
      } catch (Throwable e) {
        // Whatever it is, a fault of a kind of store or of ours: the spool keeps what is recorded.
        tell(e, System.Logger.Level.ERROR);
      }
      pause(PATIENCE);
    }
  }

  private void begin() {
    lock.lock();
    try {
      begun = true;
      refusal = null;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void refuse(TraceException e) {
    lock.lock();
    try {
      refusal = begun ? null : e;
    } finally {
      lock.unlock();
    }
  }

  private void load(LoadSession session, SpoolReader reader, CoreTime cores)
      throws SQLException, IOException {
    while (true) {
      // Asked before, so that all that was recorded until then is loaded.
      boolean last = isClosed();
      before = cores.read();
      cut = false;
      long begun = System.nanoTime();
      int frames = batch(session, reader, BATCH, () -> giveWay(cores, reader, begun));
      boolean full = session.isFull();
      if (frames > 0) {
        session.commit(reader.position());
        told(reader.nextNumber() - 1);
      }
      spool.release(session.position().segment());
      fold(session);
      recovered();
      if (frames < BATCH && !cut && !full) {
        if (last) {
          return;
        }
        gather();
      }
    }
  }

  /** Loads all that there is, unless a deadline passes. */
  static void loadAll(LoadSession session, SpoolReader reader, long deadline)
      throws SQLException, IOException {
    while (System.nanoTime() - deadline < 0) {
      if (batch(session, reader, SMALL_BATCH, () -> false) == 0) {
        return;
      }
      session.commit(reader.position());
    }
  }

  /**
   * Loads as many frames as there are, or are to be in a transaction, or as there is memory for.
   *
   * @param enough is asked after each portion whether the transaction is to end with it
   */
  static int batch(LoadSession session, SpoolReader reader, int most, BooleanSupplier enough)
      throws SQLException, IOException {
    int frames = 0;
    for (; frames < most || reader.isAmid(); frames++) {
      if (session.isFull() && !reader.isAmid()) {
        return frames;
      }
      if (frames % Courtesy.PORTION == Courtesy.PORTION - 1
          && enough.getAsBoolean()
          && !reader.isAmid()) {
        return frames;
      }
      switch (reader.next()) {
        case FRAME -> session.load(reader);
        case GAP -> session.lost(reader.lost(), reader.wasRecorded());
        case NOTHING -> {
          return frames;
        }
      }
    }
    return frames;
  }

  /**
   * Pauses if others want the cores, and nobody wants what is recorded. Answers whether the
   * transaction is as old then as it may become by that: until it ends nobody sees what is in it.
   */
  private boolean giveWay(CoreTime cores, SpoolReader reader, long begun) {
    long pause = Courtesy.pauseNanos(cores.read().since(before), behind(reader));
    long until = System.nanoTime() + pause;
    for (long left = pause; left > 0 && mayWait(); left = until - System.nanoTime()) {
      pause(Duration.ofNanos(Math.min(left, LOOK.toNanos())), () -> awaited > loaded);
    }
    before = cores.read();
    long age = System.nanoTime() - begun;
    cut = pause > 0 && age > Courtesy.LONGEST_TRANSACTION.toNanos();
    return cut;
  }

  /** How old the frame is. Of one that an earlier process has left only that it is old is known. */
  private Duration behind(SpoolReader reader) {
    return reader.run() == spool.run()
        ? Duration.ofNanos(System.nanoTime() - spool.nanoTime(reader.time()))
        : Courtesy.MOST_BEHIND;
  }

  /** Whether nobody waits for what is not loaded, and there is room for more. */
  private boolean mayWait() {
    long reached;
    lock.lock();
    try {
      reached = loaded;
      if (closed || awaited > reached) {
        return false;
      }
    } finally {
      lock.unlock();
    }
    return spool.isRoomy() && Hurry.asked(spool.directory()) <= reached;
  }

  private void fold(LoadSession session) throws SQLException {
    // As long as there is something to remove, as often as something is loaded.
    long before = foldedAt;
    if (System.nanoTime() - before > BETWEEN_FOLDS.toNanos()) {
      // Said first: what fails is not tried again at once.
      foldedAt = System.nanoTime();
      foldFailed = true;
      foldedAt = session.fold(retention) ? before : System.nanoTime();
      foldFailed = false;
    }
  }

  private void told(long number) {
    lock.lock();
    try {
      recovered();
      loaded = number;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Whatever failed has been done, unless that was to fold. */
  private void recovered() {
    lock.lock();
    try {
      if (!failure.isEmpty() && !foldFailed) {
        failure = "";
        LOG.log(System.Logger.Level.INFO, "The trace is loaded again");
      }
    } finally {
      lock.unlock();
    }
  }

  private void tell(Throwable e, System.Logger.Level level) {
    boolean complain;
    lock.lock();
    try {
      long now = System.nanoTime();
      complain = !failure.equals(e.toString()) || now - complainedAt > BETWEEN_COMPLAINTS.toNanos();
      complainedAt = complain ? now : complainedAt;
      failure = e.toString();
      failures++;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (complain) {
      LOG.log(
          level,
          "The trace cannot be loaded into %s; what is recorded waits in the spool"
              .formatted(database),
          e);
    }
  }

  private boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  private void gather() {
    pause(IDLE);
    pause(GATHERING, () -> awaited > loaded);
  }

  private void pause(Duration limit) {
    pause(limit, () -> false);
  }

  /** Waits until that is so, with the lock held, or it was closed, or the time is over. */
  private void pause(Duration limit, BooleanSupplier enough) {
    lock.lock();
    try {
      long left = limit.toNanos();
      while (!closed && !enough.getAsBoolean() && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** Loads what was recorded until now, unless the database cannot be reached, and ends. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    SpoolFiles.awaitEnd(thread);
  }
}
