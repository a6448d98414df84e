package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.storage.PostgresServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever ends a recorder, a loader or a database: nothing is loaded twice, nothing is missing.
 */
@Timeout(180)
class LoaderFaultTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final int LIVES = 4;

  @TempDir Path directory;

  /** A process that records until it is killed, again and again, loads what it had finished. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void loadsAllOnceThroughKills(long seed) throws Exception {
    var random = new Random(seed);
    long told = 0;
    for (int life = 0; life < LIVES; life++) {
      told += recordUntilKilled(life, 300 + random.nextInt(3_000));
    }
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      assertTrue(recording.awaitLoaded(LONG));
    }
    var next = new long[LIVES];
    long replies = 0;
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      for (var page = trace.from(0, 1_000); !page.isEmpty(); ) {
        for (var operation : page) {
          // Each request says its life and its number there.
          var words = operation.request();
          assertEquals(next[words.get(1).at(0) - '0']++, Long.parseLong(words.get(2).text()));
          replies += operation.outcomeUnknown() ? 0 : 1;
        }
        page = trace.from(page.getLast().row() + 1, 1_000);
      }
    }
    assertTrue(replies >= told, replies + " replies of " + told);
    assertEquals(sum(next), count("select count(*) from op_cell"));
    assertEquals(0, count("select count(*) from op where outcome = 0"));
  }

  private static long sum(long[] numbers) {
    return LongStream.of(numbers).sum();
  }

  private long count(String sql) throws SQLException {
    try (var connection = TraceDatabase.of(directory, "").reader();
        var statement = connection.createStatement();
        var found = statement.executeQuery(sql)) {
      found.next();
      return found.getLong(1);
    }
  }

  /** How many exchanges were finished, at least. */
  private long recordUntilKilled(int life, int lines) throws IOException, InterruptedException {
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Recorder.class.getName(),
                directory.toString(),
                Integer.toString(life))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    long finished = 0;
    try (var output = process.inputReader()) {
      for (int i = 0; i < lines; i++) {
        output.readLine();
        finished++;
      }
      process.toHandle().destroyForcibly();
    }
    process.waitFor();
    return finished;
  }

  /** The process: exchanges as fast as its reader lets it. */
  static final class Recorder {
    private Recorder() {}

    public static void main(String[] arguments) throws Exception {
      var directory = Path.of(arguments[0]);
      var redactor = Redactor.open(directory, List.of());
      var settings = SpoolSettings.DEFAULT.withSegmentBytes(256 << 10).withBytes(64 << 20);
      var recording = Recording.open(directory, "", settings, redactor, Retention.ALL);
      var spool = recording.spool();
      long epoch = spool.epoch("tiny", "here", "");
      long lane = spool.lane(epoch, "lane");
      long connection = spool.connect(epoch, new Client("a", "", "", ""));
      for (long i = 0; ; i++) {
        var request = Frames.bytes("set " + arguments[1] + " " + i);
        spool.reply(spool.request(connection, lane, 0, request), Frames.bytes("ok"));
        System.out.println(i);
      }
    }
  }

  @Test
  void waitsInTheSpoolWhileTheDatabaseIsGone() throws Exception {
    var server = PostgresServer.get();
    var url = server.newSchema();
    var redactor = Redactor.open(directory, List.of());
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(256 << 10).withBytes(16 << 20);
    try (var recording = Recording.open(directory, url, settings, redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      var rows = new ArrayList<Long>();
      rows.add(line.exchange("set a 1", "ok"));
      assertTrue(recording.awaitLoaded(LONG));
      server.stopImmediately();
      for (int i = 0; i < 5_000; i++) {
        rows.add(line.exchange("set a " + i, "ok"));
      }
      assertFalse(recording.awaitLoaded(Duration.ZERO));
      server.start();
      rows.add(line.exchange("set a 2", "ok"));
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = StoredTrace.open(url, Duration.ZERO)) {
        assertEquals(
            rows.reversed(),
            TraceStoreConformance.rows(
                trace.writers(TraceStoreConformance.key("a"), Long.MAX_VALUE)));
      }
    }
  }

  @Test
  void goesOnAfterAnErrorOfAnyKindAndTellsOfIt() throws Exception {
    StepsKind.DEATHS.set(2);
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      var spool = recording.spool();
      long epoch = spool.epoch("steps", "here", "");
      long row =
          spool.request(
              spool.connect(epoch, new Client("a", "", "", "")),
              spool.lane(epoch, "lane"),
              0,
              Frames.bytes("die now"));
      spool.reply(row, Frames.bytes("?"));
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(2, recording.loading().failures());
      assertEquals("", recording.loading().failure());
      assertEquals(1, count("select count(*) from op"));
    }
  }

  /** A server that takes connections and says nothing, as a hung one does. */
  @Test
  void triesAgainWhereTheDatabaseHangs() throws Exception {
    try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      var url =
          "jdbc:postgresql://127.0.0.1:%d/x?user=x&socketTimeout=1&sslmode=disable"
              .formatted(silent.getLocalPort());
      var redactor = Redactor.open(directory, List.of());
      try (var recording =
          Recording.open(directory, url, SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
        while (recording.loading().failures() < 2) {
          assertFalse(recording.awaitLoaded(Duration.ofMillis(50)));
        }
        assertFalse(recording.loading().failure().isEmpty());
      }
    }
  }

  @Test
  void refusesTheDatabaseOfAnotherSpool() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL).close();
    Files.delete(directory.resolve("spool/id"));
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      recording.spool().push(0, 0, ByteBuffer.allocate(1));
      assertFalse(recording.awaitLoaded(Duration.ofMillis(300)));
    }
    assertEquals(0, count("select count(*) from push"));
  }
}
