package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;

/**
 * A trace that is being recorded: its spool, and a loader that brings what is in it into the
 * database. One process records a trace at a time, and a trace is that of one store.
 */
public final class Recording implements AutoCloseable {
  /** For so long a recorder waits at its start for what its database says. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** The file in a spool's directory that says which one it is. */
  static final String ID = "id";

  private final Spool spool;
  private final Loader loader;
  private final Redactor redactor;

  private Recording(Spool spool, Loader loader, Redactor redactor) {
    this.spool = spool;
    this.loader = loader;
    this.redactor = redactor;
  }

  /**
   * Begins to record, or goes on.
   *
   * @param directory of the trace, which is made if it is not there
   * @param url of a schema of PostgreSQL, {@code jdbc:postgresql:…}; empty to keep the trace in an
   *     SQLite file in the directory
   * @throws IOException if the directory cannot be used, or another process records there, or if
   *     the retention limits the bytes of a PostgreSQL; also if the database is that of another
   *     spool or of a newer version. A database that cannot be reached within some seconds is no
   *     reason: it may come later.
   */
  public static Recording open(
      Path directory, String url, SpoolSettings settings, Redactor redactor, Retention retention)
      throws IOException {
    if (!url.isEmpty() && retention.limitsBytes()) {
      throw new IOException(
          "A trace in PostgreSQL cannot be kept below a size, since its tables become no smaller by"
              + " what is removed; limit the age instead");
    }
    SpoolFiles.makeDirectory(directory);
    var database = TraceDatabase.of(directory, url);
    var place = directory.resolve("spool");
    var spool = Spool.open(place, settings);
    try {
      var loader = new Loader(spool, id(place), database, redactor, retention);
      return open(spool, loader, redactor, directory);
    } catch (IOException | RuntimeException e) {
      spool.close();
      throw e;
    }
  }

  private static Recording open(Spool spool, Loader loader, Redactor redactor, Path directory)
      throws IOException {
    try {
      var refusal = loader.awaitRefusal(PATIENCE);
      if (refusal.isPresent()) {
        throw new IOException(refusal.get().getMessage(), refusal.get());
      }
      // Before anything is recorded that they are to hide.
      redactor.keep(directory);
      return new Recording(spool, loader, redactor);
    } catch (IOException | RuntimeException e) {
      loader.close();
      throw e;
    }
  }

  /**
   * Loads what a recorder has left in its spool that has ended, or was killed; nothing if one
   * records there.
   *
   * @param directory of the trace
   * @param url as for {@link #open}
   * @param limit how long at most; the rest is left to the next
   * @return whether there was no recorder, so that it was tried
   * @throws IOException if the spool cannot be read or the directory cannot be written
   * @throws TraceException if the database cannot be written
   */
  public static boolean loadWhatIsLeft(Path directory, String url, Duration limit)
      throws IOException {
    var place = directory.resolve("spool");
    if (!Files.isDirectory(place)) {
      return false;
    }
    var lock = Spool.tryLock(place);
    if (lock.isEmpty()) {
      return false;
    }
    var database = TraceDatabase.of(directory, url);
    try (var held = lock.get();
        var session = LoadSession.open(database, Redactor.reopen(directory), id(place));
        var reader = new SpoolReader(place, session.position())) {
      session.check(reader);
      Loader.loadAll(session, reader, System.nanoTime() + limit.toNanos());
      return held.isOpen();
    } catch (SQLException e) {
      throw new TraceException(
          "What is left in %s cannot be loaded into %s".formatted(place, database), e);
    }
  }

  /** Which spool it is: a database belongs to one. */
  private static String id(Path directory) throws IOException {
    var id = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
    return new String(SpoolFiles.readOrWrite(directory, ID, () -> id), StandardCharsets.UTF_8);
  }

  /** Where what passes is recorded. */
  public Spool spool() {
    return spool;
  }

  /** What replaces credentials before they are recorded. */
  public Redactor redactor() {
    return redactor;
  }

  /**
   * Waits until all that was recorded before is in the database.
   *
   * @return whether it is; if not, the time was over
   */
  public boolean awaitLoaded(Duration limit) {
    return loader.await(spool.report().nextNumber() - 1, limit);
  }

  /** How the loading of what is recorded is doing. */
  public LoaderReport loading() {
    return loader.report();
  }

  /** Loads what was recorded, and ends. */
  @Override
  public void close() throws IOException {
    spool.finish();
    loader.close();
    spool.close();
  }
}
