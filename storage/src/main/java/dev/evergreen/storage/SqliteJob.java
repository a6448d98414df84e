package dev.evergreen.storage;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Serves requests through one connection of its own. A failure costs the connection; the next
 * requests get a new one, so that nothing of the failure stays behind. Used by one thread.
 */
final class SqliteJob<R extends Request<?>> implements Worker.Job<R> {

  private static final System.Logger LOG = System.getLogger(SqliteJob.class.getName());

  private final Connector connector;
  private final Service<R> service;
  private @Nullable GrainTable table;

  SqliteJob(Connector connector, Service<R> service) {
    this.connector = connector;
    this.service = service;
  }

  @Override
  public void serve(List<R> batch) throws SQLException {
    boolean served = false;
    try {
      if (table == null) {
        table = connector.connect();
      }
      service.serve(table, batch);
      served = true;
    } finally {
      if (!served) {
        end();
      }
    }
  }

  @Override
  public void end() {
    try {
      if (table != null) {
        table.close();
      }
    } catch (SQLException e) {
      LOG.log(System.Logger.Level.WARNING, "Closing a connection failed; nothing is lost by it", e);
    } finally {
      table = null;
    }
  }

  /** Makes connections. */
  interface Connector {
    GrainTable connect() throws SQLException;
  }

  /** Answers every request of a batch, or throws. */
  interface Service<R> {
    void serve(GrainTable table, List<R> batch) throws SQLException;
  }
}
