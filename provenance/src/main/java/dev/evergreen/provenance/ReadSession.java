package dev.evergreen.provenance;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a reader asks a trace's database by: a connection with its statements, and the time that a
 * question may take. To be used by one thread, but for {@link #giveUp}.
 */
final class ReadSession implements AutoCloseable {
  private final TraceDatabase database;
  private final Connection connection;
  private final Statements statements;

  /** How long a question may take, or zero for any time; and until when. */
  private Duration allowed = Duration.ZERO;

  private long deadline;

  /** Whether nobody wants an answer any more. */
  private volatile boolean givenUp;

  /** Whether nothing comes or goes at present, for a question. */
  private boolean still;

  ReadSession(TraceDatabase database, Connection connection) {
    this.database = database;
    this.connection = connection;
    this.statements = new Statements(connection);
  }

  TraceDatabase database() {
    return database;
  }

  /** Whether all that is read is of one moment, so that it may be held. */
  boolean isStill() {
    return still;
  }

  /** Reads from the database; turns its exceptions. */
  interface Reading<T extends @Nullable Object> {
    T read() throws SQLException;
  }

  <T extends @Nullable Object> T read(Reading<T> reading) {
    try {
      return reading.read();
    } catch (SQLException e) {
      throw new TraceException("The trace in %s cannot be read".formatted(database), e);
    }
  }

  /**
   * Answers a question from the trace as it is at one moment: meanwhile the database keeps what is
   * removed.
   *
   * @param forget what is held of the trace, before and after
   */
  <T extends @Nullable Object> T atOnce(Supplier<T> question, Runnable forget) {
    if (!read(connection::getAutoCommit)) {
      return question.get();
    }
    forget.run();
    read(
        () -> {
          connection.setAutoCommit(false);
          return true;
        });
    still = true;
    T answer;
    try {
      answer = question.get();
    } catch (RuntimeException | Error e) {
      try {
        endAtOnce(forget);
      } catch (RuntimeException | Error more) {
        e.addSuppressed(more);
      }
      throw e;
    }
    endAtOnce(forget);
    return answer;
  }

  private void endAtOnce(Runnable forget) {
    read(
        () -> {
          try {
            connection.rollback();
          } finally {
            still = false;
            connection.setAutoCommit(true);
            forget.run();
          }
          return true;
        });
  }

  /**
   * Lets what is asked from now on take so long at most: after that it fails with an exception that
   * says so.
   */
  void allow(Duration limit) {
    allowed = limit;
    deadline = System.nanoTime() + limit.toNanos();
  }

  /** Lets whatever is asked, now and from now on, fail soon. By any thread. */
  void giveUp() {
    givenUp = true;
  }

  /** Throws if the question has taken its time, or nobody wants the answer any more. */
  void checkTime() {
    if (givenUp) {
      throw new TraceException("The question was given up");
    }
    if (!allowed.isZero() && System.nanoTime() - deadline > 0) {
      throw new TraceException(
          "The question takes longer than %s s; the command line may give it more, by --within"
              .formatted(seconds(allowed)));
    }
  }

  private static String seconds(Duration time) {
    return BigDecimal.valueOf(time.toNanos(), 9).stripTrailingZeros().toPlainString();
  }

  /** What is asked of the database. */
  Statements statements() {
    return statements;
  }

  /** How far the trace is loaded: the row. */
  long loaded() throws SQLException {
    return statements.number("select seq from trace").orElse(0L);
  }

  @Override
  public void close() {
    read(
        () -> {
          connection.close();
          return true;
        });
  }
}
