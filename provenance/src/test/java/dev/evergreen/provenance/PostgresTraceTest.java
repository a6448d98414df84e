package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.storage.PostgresServer;
import java.io.IOException;
import java.nio.file.Files;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A trace in a schema of PostgreSQL. */
class PostgresTraceTest extends TraceStoreConformance {
  @Override
  String newUrl() throws Exception {
    return PostgresServer.get().newSchema();
  }

  @Test
  void waitsForNoServerForEver() throws Exception {
    try (var recording = record();
        var writer = TraceDatabase.of(directory, PostgresServer.get().newSchema()).writer();
        var reader = database()) {
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
      assertTrue(writer.getNetworkTimeout() > 0);
      assertTrue(reader.getNetworkTimeout() > 0);
    }
  }

  /** As the program made it that had the whole path in an index. */
  @Test
  void renewsTheIndexOfCellsOfAnOlderTrace() throws Exception {
    var cell = key("a");
    try (var recording = record()) {
      Line.open(recording).exchange("set a 1", "ok");
    }
    try (var connection = DriverManager.getConnection(url());
        var statement = connection.createStatement()) {
      statement.execute("drop index cell_place");
      statement.execute("alter table cell add constraint cell_path_key unique (path)");
    }
    try (var trace = trace()) {
      assertEquals(
          1, rows(trace.writers(cell, Long.MAX_VALUE)).size(), "before it was recorded on");
    }
    var bytes = new byte[6_000];
    new Random(8).nextBytes(bytes);
    try (var recording = record()) {
      var line = Line.open(recording);
      line.exchange("set a 2", "ok");
      line.exchange("set " + HexFormat.of().formatHex(bytes) + " 1", "ok");
      assertTrue(
          recording.awaitLoaded(Duration.ofSeconds(20)), () -> recording.loading().failure());
    }
    try (var trace = trace()) {
      assertEquals(2, rows(trace.writers(cell, Long.MAX_VALUE)).size());
    }
  }

  /** As of a container, or a machine: it takes itself for the same spool. */
  @Test
  void refusesWhatARecorderHasLoadedWhoseDirectoryIsACopy() throws Exception {
    record().close();
    var copy = directory.resolve("copy");
    Files.createDirectories(copy.resolve("spool"));
    try (var files = Files.list(directory.resolve("spool"))) {
      for (var file : files.toList()) {
        Files.copy(file, copy.resolve("spool").resolve(file.getFileName()));
      }
    }
    try (var one = record()) {
      Line.open(one).exchange("set a 1", "ok");
      assertTrue(one.awaitLoaded(Duration.ofSeconds(20)));
      try (var spool = Spool.open(copy.resolve("spool"), settings())) {
        long epoch = spool.epoch("tiny", "here", "");
        long lane = spool.lane(epoch, "shared");
        for (int i = 0; i < 10; i++) {
          spool.reply(spool.request(0, lane, 0, Frames.bytes("set b 1")), Frames.bytes("ok"));
        }
      }
      var redactor = Redactor.open(copy, List.of());
      var e =
          assertThrows(
              IOException.class,
              () -> Recording.open(copy, url(), settings(), redactor, Retention.ALL));
      assertTrue(String.valueOf(e.getMessage()).contains("Another recorder"), e.toString());
      Line.open(one).exchange("set a 2", "ok");
      assertTrue(one.awaitLoaded(Duration.ofSeconds(20)));
    }
    assertEquals(2, count("select count(*) from op"));
  }

  /** What one client says would be the last that is ever loaded. */
  @Test
  void refusesAnEncodingThatDoesNotHoldAllTexts() throws Exception {
    try (var connection = DriverManager.getConnection(url());
        var statement = connection.createStatement()) {
      for (var encoding : List.of("LATIN1", "SQL_ASCII")) {
        statement.execute(
            "create database trace_%1$s encoding '%1$s' template template0 locale 'C'"
                .formatted(encoding));
      }
    }
    var latin = url().replace("/postgres?", "/trace_latin1?").replaceAll("currentSchema=\\w+&", "");
    var redactor = Redactor.open(directory, List.of());
    var e =
        assertThrows(
            IOException.class,
            () -> Recording.open(directory, latin, settings(), redactor, Retention.ALL));
    assertTrue(String.valueOf(e.getMessage()).contains("LATIN1"), e.toString());
    var ascii = latin.replace("latin1", "sql_ascii");
    try (var recording = Recording.open(directory, ascii, settings(), redactor, Retention.ALL)) {
      Line.open(recording).exchange("\u65e5 a 1", "ok");
      assertTrue(
          recording.awaitLoaded(Duration.ofSeconds(20)), () -> recording.loading().failure());
    }
  }

  @Test
  void refusesALimitOfBytesThatItCouldNotKeep() {
    var retention = new Retention(Duration.ofDays(1), 1L << 30);
    var e = assertThrows(IOException.class, () -> record(retention, List.of()));
    assertTrue(String.valueOf(e.getMessage()).contains("limit the age"), e.toString());
  }
}
