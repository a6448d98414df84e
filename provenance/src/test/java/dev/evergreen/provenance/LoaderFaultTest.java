package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.storage.PostgresServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
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

  /** A process that folds and is killed, again and again, leaves what was needed, and no more. */
  @Test
  void keepsWhatIsNeededThroughKillsWhileItFolds() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    int keys = 50;
    var last = new long[keys];
    try (var recording =
        Recording.open(directory, "", TraceStoreConformance.settings(), redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      for (int i = 0; i < 12_000; i++) {
        last[i % keys] = line.exchange("set key" + i % keys + " " + i, "ok");
        line.exchange("get key" + i % keys, "" + i);
      }
    }
    var random = new Random(5);
    boolean done = false;
    while (!done) {
      var process = start(Folder.class);
      try (var output = process.inputReader()) {
        for (int i = 1 + random.nextInt(3); i > 0 && !done; i--) {
          done = "done".equals(output.readLine());
        }
        process.toHandle().destroyForcibly();
      }
      process.waitFor();
      // What is there is whole, wherever it was killed.
      assertEquals(
          0,
          count(
              "select count(*) from op_cell t where t.effect = 1"
                  + " and not exists (select 1 from op where op.seq = t.seq)"));
      assertEquals(
          0,
          count(
              "select count(*) from op where verb = 'SET'"
                  + " and not exists (select 1 from op_cell t where t.seq = op.seq)"));
    }
    // What one part has kept is folded with the rest only when as much has come since.
    assertTrue(count("select count(*) from op") <= 2L * keys);
    for (long row : last) {
      assertEquals(1, count("select count(*) from op where seq = " + row));
    }
  }

  /** The process: folds all, and tells after each part. */
  static final class Folder {
    private Folder() {}

    public static void main(String[] arguments) throws Exception {
      var directory = Path.of(arguments[0]);
      var database = TraceDatabase.of(directory, "");
      var id = Files.readString(directory.resolve("spool/id"));
      try (var session = LoadSession.open(database, Redactor.open(directory, List.of()), id)) {
        System.out.println("begun");
        while (session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE))) {
          System.out.println("folded");
        }
      }
      System.out.println("done");
    }
  }

  /**
   * A process whose files may not become larger, as on a full disk, keeps what it has recorded, and
   * loads it when there is room again.
   */
  @Test
  void waitsInTheSpoolWhileTheDatabaseHasNoRoom() throws Exception {
    var process =
        start(List.of("bash", "-c", "ulimit -f 1024 && exec \"$@\"", "bash"), Filler.class);
    long told;
    try (var output = process.inputReader()) {
      told = output.lines().filter(line -> line.startsWith("told ")).count();
    }
    assertEquals(0, process.waitFor());
    assertEquals(Filler.EXCHANGES, told);
    var redactor = Redactor.open(directory, List.of());
    try (var recording = Recording.open(directory, "", Filler.SETTINGS, redactor, Retention.ALL)) {
      assertTrue(recording.awaitLoaded(LONG));
    }
    assertEquals(Filler.EXCHANGES, count("select count(*) from op where outcome = 1"));
    assertEquals(0, count("select count(*) from gap"));
  }

  /** The process: records more than its database can hold, and ends when that has been told. */
  static final class Filler {
    static final int EXCHANGES = 4_000;
    static final SpoolSettings SETTINGS =
        SpoolSettings.DEFAULT.withSegmentBytes(256 << 10).withBytes(16 << 20);

    private Filler() {}

    public static void main(String[] arguments) throws Exception {
      var directory = Path.of(arguments[0]);
      var redactor = Redactor.open(directory, List.of());
      var recording = Recording.open(directory, "", SETTINGS, redactor, Retention.ALL);
      var line = TraceStoreConformance.Line.open(recording);
      for (int i = 0; i < EXCHANGES; i++) {
        line.exchange("set key" + i + " " + "y".repeat(500), "ok");
        System.out.println("told " + i);
      }
      while (recording.loading().failures() == 0) {
        if (recording.awaitLoaded(Duration.ofMillis(50))) {
          throw new IllegalStateException("its database has room");
        }
      }
      System.out.flush();
      Runtime.getRuntime().halt(0);
    }
  }

  /** How often this process has opened that file of the directory. */
  private long opened(String name) throws IOException {
    var file = directory.resolve(name).toRealPath();
    try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.filter(descriptor -> leadsTo(descriptor, file)).count();
    }
  }

  private static boolean leadsTo(Path descriptor, Path file) {
    try {
      return Files.readSymbolicLink(descriptor).equals(file);
    } catch (IOException e) {
      return false; // it was closed meanwhile
    }
  }

  /** The database has on its disk what the spool has lost: that of another machine, at least. */
  @Test
  void goesOnWhenTheSpoolHasLostWhatTheDatabaseHas() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    var settings = TraceStoreConformance.settings();
    try (var recording = Recording.open(directory, "", settings, redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      for (int i = 0; i < 4_000; i++) {
        line.exchange("set a " + i, "ok");
      }
      assertTrue(recording.awaitLoaded(LONG));
      Frames.copyForced(directory.resolve("spool"), directory.resolve("lost"));
      Files.copy(directory.resolve("spool/id"), directory.resolve("lost/id"));
    }
    Files.move(directory.resolve("spool"), directory.resolve("before"));
    Files.move(directory.resolve("lost"), directory.resolve("spool"));
    try (var recording = Recording.open(directory, "", settings, redactor, Retention.ALL)) {
      long row = TraceStoreConformance.Line.open(recording).exchange("set a 1", "ok");
      assertTrue(recording.awaitLoaded(LONG), () -> recording.loading().failure());
      assertEquals(4_001, count("select count(*) from op"));
      assertEquals(row, count("select max(seq) from op"));
    }
  }

  private Process start(Class<?> program, String... arguments) throws IOException {
    return start(List.of(), program, arguments);
  }

  private Process start(List<String> before, Class<?> program, String... arguments)
      throws IOException {
    var words = new ArrayList<>(before);
    words.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-cp",
            System.getProperty("java.class.path"),
            program.getName(),
            directory.toString()));
    words.addAll(List.of(arguments));
    return new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** How many exchanges were finished, at least. */
  private long recordUntilKilled(int life, int lines) throws IOException, InterruptedException {
    var process = start(Recorder.class, Integer.toString(life));
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

  /** Records what {@link StepsKind} dies of, as often as it is to. */
  private static void recordDeath(Spool spool) {
    long epoch = spool.epoch("steps", "here", "");
    long row =
        spool.request(
            spool.connect(epoch, new Client("a", "", "", "")),
            spool.lane(epoch, "lane"),
            0,
            Frames.bytes("die now"));
    spool.reply(row, Frames.bytes("?"));
  }

  @Test
  void goesOnAfterAnErrorOfAnyKindAndTellsOfIt() throws Exception {
    StepsKind.DEATHS.set(2);
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      recordDeath(recording.spool());
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(2, recording.loading().failures());
      assertEquals("", recording.loading().failure());
      assertEquals(1, count("select count(*) from op"));
    }
  }

  /** Though nothing is recorded any more, and not at once again and again. */
  @Test
  void goesOnAfterAFoldThatFailed() throws Exception {
    StepsKind.DEATHS.set(0);
    var redactor = Redactor.open(directory, List.of());
    var none = new Retention(Duration.ZERO, Long.MAX_VALUE);
    try (var recording = Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, none)) {
      recordDeath(recording.spool());
      assertTrue(recording.awaitLoaded(LONG));
      StepsKind.DEATHS.set(2);
      while (recording.loading().failures() == 0 || !recording.loading().failure().isEmpty()) {
        Thread.sleep(50);
      }
      assertEquals(2, recording.loading().failures());
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

  /** Neither what it says nor what the log does; a URL that no driver takes is repeated by it. */
  @Test
  void saysNoPasswordOfItsDatabase() throws Exception {
    for (var url :
        List.of(
            "jdbc:postgresql://127.0.0.1:99999/x?user=u&password=geheim",
            "jdbc:postgresql://127.0.0.1:1/x?user=u&password=geheim&connectTimeout=1",
            "jdbc:postgresql://u:geheim@127.0.0.1:99999/x")) {
      var redactor = Redactor.open(directory, List.of());
      try (var recording =
          Recording.open(directory, url, SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
        while (recording.loading().failures() == 0) {
          assertFalse(recording.awaitLoaded(Duration.ofMillis(50)));
        }
        assertFalse(recording.loading().failure().contains("geheim"), url);
      }
      var e = assertThrows(TraceException.class, () -> StoredTrace.open(url, Duration.ZERO));
      var said = new StringWriter();
      e.printStackTrace(new PrintWriter(said));
      assertFalse(said.toString().contains("geheim"), said::toString);
    }
  }

  /** As one was left that was killed before it had written it. */
  @Test
  void takesAnEmptyIdForNone() throws Exception {
    var id = directory.resolve("spool/id");
    Files.createDirectories(id.getParent());
    Files.createFile(id);
    var redactor = Redactor.open(directory, List.of());
    Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL).close();
    assertFalse(Files.readString(id).isEmpty());
  }

  @Test
  void recordsOnWhereOpeningHasFailed() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    var id = directory.resolve("spool/id");
    Files.createDirectories(id.resolve("no file"));
    assertThrows(
        IOException.class,
        () -> Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL));
    Files.delete(id.resolve("no file"));
    Files.delete(id);
    Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL).close();
  }

  @Test
  void takesAnEmptyKeyForNone() throws Exception {
    var key = directory.resolve("key");
    Files.createFile(key);
    var mark = Redactor.open(directory, List.of()).mark(Bytes.of("secret"));
    assertEquals(mark, Redactor.open(directory, List.of()).mark(Bytes.of("secret")));
    assertEquals(32, Files.size(key));
  }

  /** Who is killed amid a change of the rules leaves the old ones or the new ones. */
  @Test
  void replacesTheRulesAtOnce() throws Exception {
    Redactor.open(directory, List.of(Pattern.compile("old"))).keep(directory);
    var link = Files.createLink(directory.resolve("link"), directory.resolve("rules"));
    Redactor.open(directory, List.of(Pattern.compile("new"))).keep(directory);
    assertEquals("0 old", Files.readString(link).substring(1));
    assertEquals("0 new", Files.readString(directory.resolve("rules")).substring(1));
  }

  /** A spool without its loader, in which something waits. */
  private interface Recorded {
    void by(TraceStoreConformance.Line line);
  }

  private void leave(Recorded recorded) throws IOException {
    try (var spool = Spool.open(directory.resolve("spool"), SpoolSettings.DEFAULT)) {
      long epoch = spool.epoch("tiny", "here", "");
      long connection = spool.connect(epoch, TraceStoreConformance.ANNA);
      long lane = spool.lane(epoch, "lane");
      recorded.by(new TraceStoreConformance.Line(spool, epoch, connection, lane));
    }
  }

  private LoadSession session() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    return LoadSession.open(TraceDatabase.of(directory, ""), redactor, "the spool");
  }

  /** However much waits in the spool: there is memory for what is loaded at a time. */
  @Test
  void aTransactionEndsWhenThereIsMuchInIt() throws Exception {
    int requests = 40;
    leave(
        line -> {
          for (int i = 0; i < requests; i++) {
            line.exchange("many " + i + "- 20000", "ok");
          }
        });
    try (var session = session();
        var reader = new SpoolReader(directory.resolve("spool"), session.position())) {
      int frames = Loader.batch(session, reader, 100_000, () -> false);
      assertTrue(frames < 2 * requests, frames + " frames");
    }
  }

  /** What waits for a reply, or for the end of a transaction, may be very much. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void holdsLittleOfWhatWaits(boolean queued) throws Exception {
    var value = "v".repeat(1 << 20);
    int requests = 40;
    leave(
        line -> {
          for (int i = 0; i < requests; i++) {
            long row = line.send("set a" + i + " " + value);
            if (queued) {
              line.spool().reply(row, Frames.bytes("queued"));
            }
          }
        });
    try (var session = session();
        var reader = new SpoolReader(directory.resolve("spool"), session.position())) {
      while (Loader.batch(session, reader, 7, () -> false) > 0) {
        session.commit(reader.position());
        assertTrue(session.held() <= Parts.MOST_BYTES, session.held() + " bytes");
      }
    }
    assertEquals(requests, count("select count(*) from op"));
    assertEquals(queued ? 0 : requests, count("select count(*) from op_cell"));
    assertEquals(0, count("select count(*) from body where length(content) < 1048576"));
  }

  /** Those that are not known by heart are read, and if they are very long, none is known. */
  @ParameterizedTest
  @ValueSource(ints = {20, 40})
  void findsThePartsThatAreNotHeld(int count) throws Exception {
    var value = "v".repeat(1 << 20);
    leave(
        line -> {
          for (int i = 0; i < count; i++) {
            line.exchange("set a" + i + " " + value, "queued");
          }
          line.exchange("commit", "ok");
        });
    try (var session = session();
        var reader = new SpoolReader(directory.resolve("spool"), session.position())) {
      Loader.loadAll(session, reader, System.nanoTime() + LONG.toNanos());
    }
    boolean known = (long) count << 20 < OpRows.MOST_BYTES_OF_PARTS;
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var commit = trace.last(1).getFirst();
      assertEquals(known ? count : 0, commit.parts().size());
      assertEquals(known ? count : 0, count("select count(*) from op_cell"));
    }
  }

  /** Of what is too large to be kept the beginning is, and in the midst of a secret it may end. */
  @Test
  void hidesWhatIsAtTheEndOfABeginning() throws Exception {
    var rules = Redactor.open(directory, List.of(Pattern.compile("token-[0-9a-f]{32}")));
    var before = "set a " + "y".repeat(Payload.HEAD - 20);
    var value = before + "token-" + "0".repeat(32) + "z".repeat((int) Spool.LARGEST_BODY);
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, rules, Retention.ALL)) {
      long row = TraceStoreConformance.Line.open(recording).exchange(value, "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
        var operation = trace.operation(row).orElseThrow();
        assertTrue(operation.cut());
        assertEquals(Payload.HEAD, operation.text().length());
        assertTrue(operation.text().startsWith(before + "<hidden"), operation.text());
      }
    }
  }

  /** One client's value must not stop what is recorded of all others. */
  @Test
  void goesOnWhereARuleOrAKindFailsAtWhatIsToBeHidden() throws Exception {
    var redactor = Redactor.open(directory, List.of(Pattern.compile("password=(\\w|-)+")));
    var value = "password=" + "a".repeat(60_000);
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      long set = line.exchange("set a " + value, "ok");
      long get = line.exchange("get a", "unclean");
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(0, recording.loading().failures());
      try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
        var request = trace.operation(set).orElseThrow().request();
        assertEquals(redactor.mark(Bytes.of(value)), request.getLast());
        var reply = trace.operation(get).orElseThrow().reply();
        assertEquals(redactor.mark(Bytes.of("unclean")), reply);
      }
      // Another time it may have room, and then only a part of such a value is hidden.
      assertEquals(set, count("select seq from gap"));
    }
  }

  /** Who loads what the first one leaves hides what that was to hide. */
  @Test
  void aRecorderThatIsRefusedLeavesTheRulesOfTheOther() throws Exception {
    var rules = Redactor.open(directory, List.of(Pattern.compile("secret")));
    try (var _ = Recording.open(directory, "", SpoolSettings.DEFAULT, rules, Retention.ALL)) {
      var none = Redactor.open(directory, List.of());
      assertThrows(
          IOException.class,
          () -> Recording.open(directory, "", SpoolSettings.DEFAULT, none, Retention.ALL));
      assertEquals(rules.id(), Redactor.reopen(directory).id());
    }
  }

  @Test
  void refusesTheDatabaseOfAnotherSpool() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL).close();
    Files.delete(directory.resolve("spool/id"));
    for (int i = 0; i < 3; i++) {
      var e =
          assertThrows(
              IOException.class,
              () -> Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL));
      assertTrue(String.valueOf(e.getMessage()).contains("another spool"), e.toString());
    }
    assertEquals(0, opened("trace.db"), "each attempt leaves a connection behind");
  }

  /** The numbers of one spool tell nothing of another one. */
  @Test
  void whatAnotherSpoolHoldsIsNotTakenForLoaded() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      for (int i = 0; i < 10; i++) {
        line.exchange("set a old", "ok");
      }
    }
    Files.move(directory.resolve("spool"), directory.resolve("before"));
    leave(line -> line.exchange("set a new", "ok"));
    Files.writeString(directory.resolve("spool/id"), "another");
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      assertEquals(StoredTrace.Rest.OF_ANOTHER, trace.awaitLoaded(LONG).rest());
    }
  }
}
