package dev.evergreen.provenance;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** Rows for PostgreSQL by {@code COPY} in its binary form, which takes far less than inserts. */
final class PostgresCopy implements TraceDatabase.RowWriter {
  private static final byte[] SIGNATURE = {
    'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0xFF, '\r', '\n', 0
  };

  /** So many bytes are collected before they are sent. */
  private static final int COLLECTED = 1 << 20;

  private final CopyManager copies;
  private final String sql;
  private final ByteArrayOutputStream collected = new ByteArrayOutputStream();
  private final DataOutputStream out = new DataOutputStream(collected);

  PostgresCopy(Connection connection, String table) throws SQLException {
    copies = connection.unwrap(PGConnection.class).getCopyAPI();
    sql = "copy %s from stdin (format binary)".formatted(table);
  }

  @Override
  public void add(@Nullable Object... values) throws SQLException {
    try {
      if (collected.size() == 0) {
        out.write(SIGNATURE);
        out.writeInt(0);
        out.writeInt(0);
      }
      out.writeShort(values.length);
      for (var value : values) {
        write(value);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("memory can be written", e);
    }
    if (collected.size() >= COLLECTED) {
      flush();
    }
  }

  private void write(@Nullable Object value) throws IOException {
    switch (value) {
      case null -> out.writeInt(-1);
      case Long number -> {
        out.writeInt(Long.BYTES);
        out.writeLong(number);
      }
      case String text -> write(text(text).getBytes(StandardCharsets.UTF_8));
      case byte[] bytes -> write(bytes);
      default -> throw new IllegalArgumentException("no column holds a " + value.getClass());
    }
  }

  private void write(byte[] bytes) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  /** A text without zeros, which PostgreSQL's texts cannot hold. */
  static String text(String text) {
    return text.replace('\0', '\uFFFD');
  }

  @Override
  public void flush() throws SQLException {
    if (collected.size() == 0) {
      return;
    }
    try {
      out.writeShort(-1);
      copies.copyIn(sql, new ByteArrayInputStream(collected.toByteArray()));
    } catch (IOException e) {
      throw new SQLException("The rows could not be sent", e);
    } finally {
      collected.reset();
    }
  }
}
