package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.storage.PostgresServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A disk that is full, the recorder's or the database's, costs nothing that is not told. */
@Timeout(120)
class FullDiskTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(20);
  private static final int EXCHANGES = 10_000;
  private static final String VALUE = "y".repeat(500);
  private static final SpoolSettings SETTINGS =
      SpoolSettings.DEFAULT.withSegmentBytes(256 << 10).withBytes(16 << 20);

  @TempDir Path directory;

  /** A small disk, which is there until it is closed. */
  private record Disk(Path place) implements AutoCloseable {
    static Disk of(String size) throws IOException, InterruptedException {
      var place = Files.createTempDirectory("evergreen-disk");
      boolean made = run("mount", "-t", "tmpfs", "-o", "size=" + size, "none", place.toString());
      if (!made) {
        Files.delete(place);
      }
      assumeTrue(made, "only root can make a small disk, and with mount");
      return new Disk(place);
    }

    long free() throws IOException {
      return Files.getFileStore(place).getUsableSpace();
    }

    void resize(String size) throws IOException, InterruptedException {
      assertTrue(run("mount", "-o", "remount,size=" + size, place.toString()));
    }

    /** Whether a program is there and does what it is told. */
    private static boolean run(String... command) throws InterruptedException {
      try {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor()
            == 0;
      } catch (IOException e) {
        return false;
      }
    }

    @Override
    public void close() throws IOException {
      // One that was given up is interrupted, and leaves nothing nevertheless.
      boolean interrupted = Thread.interrupted();
      try {
        boolean unused = run("umount", place.toString());
        assertTrue(unused || run("umount", "--lazy", place.toString()), "it stays");
        Files.delete(place);
        assertTrue(unused, "it is still in use");
      } catch (InterruptedException e) {
        interrupted = true;
        throw new IOException("interrupted while the disk was taken out", e);
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  private static long count(Connection connection, String table) throws SQLException {
    try (var statement = connection.createStatement();
        var found = statement.executeQuery("select count(*) from " + table)) {
      found.next();
      return found.getLong(1);
    }
  }

  private static long count(Path directory, String table) {
    try (var connection = TraceDatabase.of(directory, "").reader()) {
      return count(connection, table);
    } catch (SQLException e) {
      throw new TraceException("it cannot be counted", e);
    }
  }

  /** The spool and the database are on the same. */
  @ParameterizedTest
  @EnumSource
  void recordsOnWhenThereIsRoomAgain(Overflow overflow) throws Exception {
    try (var disk = Disk.of("4m")) {
      var redactor = Redactor.open(disk.place(), List.of());
      var settings = SETTINGS.withOverflow(overflow);
      try (var recording = Recording.open(disk.place(), "", settings, redactor, Retention.ALL)) {
        var line = TraceStoreConformance.Line.open(recording);
        var recorder = Thread.ofPlatform().start(() -> record(line));
        boolean goesOn = true;
        while (overflow == Overflow.DROP
            ? recording.spool().report().dropped() == 0
            : disk.free() >= SETTINGS.segmentBytes()) {
          assertTrue(goesOn, "it has room for all");
          goesOn = recorder.isAlive();
        }
        disk.resize("128m");
        recorder.join();
        if (overflow == Overflow.DROP) {
          // What was dropped is told with the next file.
          while (!recording.awaitLoaded(SHORT) || count(disk.place(), "gap") == 0) {
            line.exchange("get a", VALUE);
          }
        }
        assertTrue(recording.awaitLoaded(LONG), () -> recording.loading().failure());
        if (overflow == Overflow.SLOW) {
          assertEquals(EXCHANGES, count(disk.place(), "op where outcome = 1"));
          assertEquals(0, count(disk.place(), "gap"));
        }
      }
    }
  }

  private static void record(TraceStoreConformance.Line line) {
    for (int i = 0; i < EXCHANGES; i++) {
      line.exchange("set key" + i + " " + VALUE, "ok");
    }
  }

  @Test
  void loadsWhenThePostgresWhoseDiskIsFullHasRoomAgain() throws Exception {
    var server = PostgresServer.get();
    try (var disk = Disk.of("3m");
        var admin = DriverManager.getConnection(server.newSchema());
        var statement = admin.createStatement()) {
      try (var found = statement.executeQuery("show data_directory")) {
        found.next();
        Files.setOwner(disk.place(), Files.getOwner(Path.of(found.getString(1))));
      }
      var url = server.newSchema();
      statement.execute("create tablespace small location '%s'".formatted(disk.place()));
      try {
        loadThrough(
            url + "&options=-c%20default_tablespace=small",
            "No space left",
            () -> {},
            () -> disk.resize("128m"));
      } finally {
        Thread.interrupted();
        disk.resize("128m");
        statement.execute(
            "drop schema %s cascade"
                .formatted(url.replaceFirst(".*currentSchema=([a-z0-9]*).*", "$1")));
        statement.execute("drop tablespace small");
      }
    }
  }

  @Test
  void loadsWhenThePostgresThatIsReadOnlyIsNotAnyMore() throws Exception {
    var server = PostgresServer.get();
    try (var admin = DriverManager.getConnection(server.newSchema());
        var statement = admin.createStatement()) {
      var role = "alter role %s ".formatted(PostgresServer.USER);
      loadThrough(
          server.newSchema(),
          "read-only",
          () -> {
            statement.execute(role + "set default_transaction_read_only = on");
            statement.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                    + " where application_name = 'evergreen trace'");
          },
          () -> statement.execute(role + "reset default_transaction_read_only"));
    }
  }

  /** What is done to a server. */
  @FunctionalInterface
  private interface Change {
    void make() throws Exception;
  }

  /** Records while a server can take nothing, for a reason, and after that. */
  private void loadThrough(String url, String reason, Change before, Change after)
      throws Exception {
    var redactor = Redactor.open(directory, List.of());
    try (var recording = Recording.open(directory, url, SETTINGS, redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      assertTrue(recording.awaitLoaded(LONG), () -> recording.loading().failure());
      try {
        before.make();
        record(line);
        while (!recording.loading().failure().contains(reason)) {
          assertTrue(!recording.awaitLoaded(SHORT), "it has taken all");
        }
      } finally {
        after.make();
      }
      assertTrue(recording.awaitLoaded(LONG), () -> recording.loading().failure());
    }
    try (var connection = TraceDatabase.of(directory, url).reader()) {
      assertEquals(EXCHANGES, count(connection, "op where outcome = 1"));
      assertEquals(0, count(connection, "gap"));
    }
  }
}
