package dev.evergreen.storage;

import static dev.evergreen.storage.Callers.awaitWaiting;
import static dev.evergreen.storage.Callers.grain;
import static dev.evergreen.storage.Callers.startSaves;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.PostgresStorage.Settings;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class PostgresStorageTest {

  private static final Duration SHORT = Duration.ofMillis(500);

  private final PostgresServer server = PostgresServer.get();
  private final String url = server.newSchema();

  /** What the storages' sessions are called, to know them from those of other tests. */
  private final String sessions = "of-" + System.nanoTime();

  PostgresStorageTest() throws Exception {}

  @Test
  void aUrlOfNoPostgresDatabaseIsRefused() {
    var refusal =
        assertThrows(IllegalArgumentException.class, () -> PostgresStorage.open("grains.db"));
    assertTrue(refusal.toString().contains("'grains.db'"), refusal.toString());
  }

  @Test
  void impossibleSettingsAreRefused() {
    var settings = Settings.of(url);
    assertThrows(IllegalArgumentException.class, () -> settings.withConnections(1));
    assertThrows(IllegalArgumentException.class, () -> settings.withPatience(Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> settings.withPatience(Duration.ofDays(1)));
  }

  /** What was acknowledged may not be there yet. */
  @Test
  void aReplicaIsNoDatabaseToLoadFrom() {
    for (var type : new String[] {"any", "secondary", "preferSecondary", "preferPrimary"}) {
      var asked = "jdbc:postgresql://a,b/grains?targetServerType=" + type;
      var refusal = assertThrows(IllegalArgumentException.class, () -> Settings.of(asked));
      assertTrue(String.valueOf(refusal.getMessage()).contains("not " + type), refusal::toString);
    }
    Settings.of("jdbc:postgresql://a,b/grains?targetServerType=primary");
    Settings.of("jdbc:postgresql://a,b/grains?targetServerType=master");
  }

  @Test
  void nothingTellsThePassword() {
    var settings = Settings.of(url).withUser(PostgresServer.USER, PostgresServer.PASSWORD);
    try (var storage = PostgresStorage.open(settings)) {
      for (var text : new String[] {settings.toString(), storage.toString()}) {
        assertFalse(text.contains("secret"), text);
      }
    }
  }

  @Test
  void aWrongPasswordIsRefusedAtOnce() {
    var settings =
        Settings.of(server.url())
            .withUser(PostgresServer.USER, "wrong")
            .withPatience(Duration.ofMinutes(10));
    assertRefused(settings, "password");
  }

  @Test
  void aServerThatIsNotThereIsWaitedForAndThenNamed() {
    var nowhere = "jdbc:postgresql://127.0.0.1:1/postgres";
    assertRefused(Settings.of(nowhere).withPatience(SHORT), nowhere);
  }

  @Test
  void aNewerVersionOfTheTableIsRefused() throws Exception {
    open().close();
    execute("update grain_state_version set version = 4");
    assertRefused(Settings.of(url), "version is 4");
  }

  @Test
  void theTableOfAnotherProgramIsRefusedAndLeftAlone() throws Exception {
    execute("create table grain_state (name text)");
    assertRefused(Settings.of(url), "another program's");
    execute("insert into grain_state (name) values ('still as it was')");
  }

  @Test
  void manyMayOpenANewDatabaseAtTheSameTime() throws Exception {
    var tasks = new ArrayList<FutureTask<Boolean>>();
    for (int i = 0; i < 6; i++) {
      int number = i;
      tasks.add(
          new FutureTask<>(
              () -> {
                try (var storage = open(2, Duration.ofSeconds(10))) {
                  storage.save(grain(number), Storage.NONE, bytes("state"));
                }
                return true;
              }));
    }
    tasks.forEach(task -> Thread.ofPlatform().start(task));
    for (var task : tasks) {
      task.get();
    }
    try (var storage = open()) {
      for (int i = 0; i < tasks.size(); i++) {
        assertTrue(storage.load(grain(i)).isPresent(), "grain " + i);
      }
    }
  }

  /** As by a restart; another connection is made then. */
  @Test
  void whoseConnectionTheServerEndsWhileItOpensTriesAgain() throws Exception {
    open().close();
    try (var lock = DriverManager.getConnection(url);
        var statement = lock.createStatement()) {
      lock.setAutoCommit(false);
      statement.execute("lock table grain_state_version in access exclusive mode");
      var opening = new FutureTask<>(() -> open(2, Duration.ofSeconds(30)));
      Thread.ofPlatform().start(opening);
      for (int i = 0; i < 3; i++) {
        terminate("wait_event_type = 'Lock'");
        while (count("wait_event_type = 'Lock'") == 0) {
          assertFalse(opening.isDone(), () -> "it gave up: " + opening);
          Thread.sleep(5);
        }
      }
      lock.rollback();
      opening.get().close();
    }
  }

  @Test
  void noMoreConnectionsAreOpenThanItWasGiven() throws Exception {
    try (var storage = open(3, Duration.ofSeconds(10))) {
      try (var _ = lock("access exclusive")) {
        startSaves(storage, 500);
        for (int i = 0; i < 500; i++) {
          Thread.startVirtualThread(() -> storage.load(grain(0)));
        }
        awaitSessions("wait_event_type = 'Lock'", 3);
        assertEquals(3, count("true"));
      }
    }
  }

  @Test
  void aConflictFailsNoOtherSaveOfItsBatch() throws Exception {
    try (var storage = open()) {
      storage.save(grain(25), Storage.NONE, bytes("first"));
      var saves = new ArrayList<FutureTask<Long>>();
      try (var _ = lock("exclusive")) {
        saves.addAll(startSaves(storage, 50));
      }
      var conflict = assertThrows(ExecutionException.class, saves.remove(25)::get);
      assertInstanceOf(RevisionConflictException.class, conflict.getCause());
      for (var save : saves) {
        assertEquals(1, save.get());
      }
      assertArrayEquals(bytes("first"), storage.load(grain(25)).orElseThrow().state());
    }
  }

  @Test
  void aSaveThatTheServerRefusesFailsAloneAndIsToldWithItsReason() throws Exception {
    try (var storage = open()) {
      breakSavesOf("user 25");
      var saves = new ArrayList<FutureTask<Long>>();
      try (var _ = lock("exclusive")) {
        saves.addAll(startSaves(storage, 50));
      }
      var failure = assertFails(saves.remove(25));
      assertTrue(failure.toString().contains("the disk is broken"), failure.toString());
      assertTrue(failure.toString().contains("User/user 25"), failure.toString());
      for (var save : saves) {
        assertEquals(1, save.get());
      }
      assertTrue(storage.load(grain(25)).isEmpty());
      execute("drop trigger broken on grain_state");
      assertEquals(1, storage.save(grain(25), Storage.NONE, bytes("state")));
    }
  }

  @Test
  void aLockThatOutlastsThePatienceFailsTheSaveAndTheNextOneWorks() throws Exception {
    try (var storage = open(2, SHORT)) {
      try (var _ = lock("exclusive")) {
        assertThrows(
            StorageException.class,
            () -> storage.save(grain(0), Storage.NONE, bytes("locked out")));
        // Loads do not stand in that queue.
        assertTrue(storage.load(grain(0)).isEmpty());
        awaitSessions("wait_event_type = 'Lock'", 0);
      }
      assertTrue(storage.load(grain(0)).isEmpty(), "it was written although nobody waited");
      assertEquals(1, storage.save(grain(0), Storage.NONE, bytes("state")));
    }
  }

  @Test
  void aConnectionThatBreaksLeavesTheSaveUnknownAndTheNextOneWorks() throws Exception {
    try (var storage = open()) {
      try (var _ = lock("exclusive")) {
        var save = startSaves(storage, 1).getFirst();
        awaitSessions("wait_event_type = 'Lock'", 1);
        terminate("wait_event_type = 'Lock'");
        var failure = assertFails(save);
        assertTrue(failure.toString().contains("unknown"), failure.toString());
      }
      assertEquals(1, storage.save(grain(0), Storage.NONE, bytes("state")));
    }
  }

  @Test
  void loadsDoNotNoticeBrokenConnections() throws Exception {
    try (var storage = open(2, Duration.ofSeconds(10))) {
      storage.save(grain(0), Storage.NONE, bytes("state"));
      for (int i = 0; i < 5; i++) {
        terminate("true");
        assertArrayEquals(bytes("state"), storage.load(grain(0)).orElseThrow().state());
      }
    }
  }

  @Test
  void storagesThatSaveTheSameGrainsInAnyOrderNeverWaitForEachOther() throws Exception {
    var random = new Random(1);
    try (var one = open();
        var other = open();
        var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (long revision = Storage.NONE; revision < 20; revision++) {
        long expected = revision;
        var saves = new ArrayList<FutureTask<Boolean>>();
        for (var storage : new Storage[] {one, other}) {
          var order = new ArrayList<>(IntStream.range(0, 200).boxed().toList());
          Collections.shuffle(order, random);
          order.forEach(i -> saves.add(new FutureTask<>(() -> wins(storage, i, expected))));
        }
        Collections.shuffle(saves, random);
        saves.forEach(executor::execute);
        int won = 0;
        for (var save : saves) {
          won += save.get() ? 1 : 0;
        }
        assertEquals(200, won, "winners of revision " + expected);
      }
    }
    assertEquals(0, deadlocks());
  }

  private static boolean wins(Storage storage, int grain, long expected) {
    try {
      storage.save(grain(grain), expected, bytes("state"));
      return true;
    } catch (RevisionConflictException e) {
      return false;
    }
  }

  @Test
  void aSecondSaveOfAGrainInABatchSeesTheFirst() throws Exception {
    try (var storage = open(2, Duration.ofSeconds(10))) {
      var saves = new ArrayList<FutureTask<Long>>();
      try (var _ = lock("exclusive")) {
        saves.addAll(startSaves(storage, 20));
        saves.addAll(startSaves(storage, 20));
      }
      int won = 0;
      for (var save : saves) {
        try {
          won += Math.toIntExact(save.get());
        } catch (ExecutionException e) {
          assertInstanceOf(RevisionConflictException.class, e.getCause());
          assertTrue(e.toString().contains("found 1"), e.toString());
        }
      }
      assertEquals(20, won);
    }
  }

  @Test
  void whileTheDatabaseIsAwayCallersWaitAndFailAndAfterwardsAllWorks() throws Exception {
    try (var storage = open(4, Duration.ofSeconds(1))) {
      storage.save(grain(0), Storage.NONE, bytes("state"));
      server.stopImmediately();
      try {
        // More than the queue has room for.
        var saves = startSaves(storage, 3000);
        var failure = assertThrows(StorageException.class, () -> storage.load(grain(0)));
        assertTrue(failure.toString().contains("Connection"), failure.toString());
        for (var save : saves) {
          assertFails(save);
        }
      } finally {
        server.start();
      }
    }
    try (var storage = open()) {
      assertTrue(storage.load(grain(0)).isPresent());
      assertTrue(storage.load(grain(1)).isEmpty());
    }
  }

  @Test
  void aCallerThatWaitsGetsItsAnswerWhenTheDatabaseIsBack() throws Exception {
    try (var storage = open(2, Duration.ofSeconds(50))) {
      storage.save(grain(0), Storage.NONE, bytes("state"));
      server.stopImmediately();
      var load = new FutureTask<>(() -> storage.load(grain(0)));
      try {
        awaitWaiting(List.of(Thread.ofVirtual().start(load)));
      } finally {
        server.start();
      }
      assertTrue(load.get().isPresent());
    }
  }

  /** What it holds may not be the latest. */
  @Test
  void aServerThatTakesNoWritesIsNotUsed() {
    open().close();
    var replica = url + "&options=-c%20default_transaction_read_only=on";
    assertRefused(Settings.of(replica).withPatience(SHORT), "primary");
  }

  /** As one behind a proxy, which keeps the connections. */
  @Test
  void theConnectionsToAServerThatHasBecomeAReplicaAreGivenUp() throws Exception {
    try (var storage = open(2, Duration.ofSeconds(20))) {
      storage.save(grain(0), Storage.NONE, bytes("state"));
      awaitSessions("true", 2);
      execute(
          """
          create function refuse() returns trigger language plpgsql as
          'begin raise exception ''no writes here'' using errcode = ''25006''; end'""");
      execute(
          "create trigger refuse before insert on grain_state for each row execute function"
              + " refuse()");
      var pids = numbers("select pid" + ofSessions("true"));
      assertThrows(
          StorageException.class, () -> storage.save(grain(1), Storage.NONE, bytes("state")));
      execute("drop trigger refuse on grain_state");
      assertEquals(1, storage.save(grain(1), Storage.NONE, bytes("state")));
      awaitSessions("true", 2);
      assertNotEquals(pids, numbers("select pid" + ofSessions("true")));
    }
  }

  private Settings settings() {
    return Settings.of(url + "&ApplicationName=" + sessions);
  }

  private PostgresStorage open() {
    return PostgresStorage.open(settings());
  }

  private PostgresStorage open(int connections, Duration patience) {
    return PostgresStorage.open(settings().withConnections(connections).withPatience(patience));
  }

  private static void assertRefused(Settings settings, String reason) {
    var refusal =
        assertThrows(StorageException.class, () -> PostgresStorage.open(settings).close());
    assertTrue(refusal.toString().contains(reason), refusal.toString());
    assertTrue(refusal.toString().contains(settings.place()), refusal.toString());
  }

  private static StorageException assertFails(FutureTask<Long> save) {
    var thrown = assertThrows(ExecutionException.class, save::get);
    assertFalse(thrown.getCause() instanceof RevisionConflictException, thrown.toString());
    return assertInstanceOf(StorageException.class, thrown.getCause());
  }

  private void breakSavesOf(String key) throws SQLException {
    execute(
        """
        create function broken() returns trigger language plpgsql as
        'begin raise exception ''the disk is broken''; end'""");
    execute(
        "create trigger broken before insert on grain_state for each row"
            + " when (new.key = convert_to('"
            + key
            + "', 'UTF8')) execute function broken()");
  }

  /** Keeps everybody else from writing, or from reading too, until it is closed. */
  private Connection lock(String mode) throws SQLException {
    var connection = DriverManager.getConnection(url);
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute("lock table grain_state in %s mode".formatted(mode));
    }
    return connection;
  }

  private void execute(String sql) throws SQLException {
    try (var connection = DriverManager.getConnection(url);
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private long count(String condition) throws SQLException {
    return number("select count(*)" + ofSessions(condition));
  }

  private void awaitSessions(String condition, int atLeast) throws Exception {
    while (atLeast == 0 ? count(condition) > 0 : count(condition) < atLeast) {
      Thread.sleep(5);
    }
  }

  private void terminate(String condition) throws SQLException {
    number("select count(pg_terminate_backend(pid, 5000))" + ofSessions(condition));
  }

  private String ofSessions(String condition) {
    return " from pg_stat_activity where application_name = '%s' and %s"
        .formatted(sessions, condition);
  }

  private long deadlocks() throws SQLException {
    return number("select deadlocks from pg_stat_database where datname = current_database()");
  }

  private long number(String query) throws SQLException {
    return numbers(query).iterator().next();
  }

  private Set<Long> numbers(String query) throws SQLException {
    try (var connection = server.connect();
        var statement = connection.createStatement();
        var rows = statement.executeQuery(query)) {
      var numbers = new HashSet<Long>();
      while (rows.next()) {
        numbers.add(rows.getLong(1));
      }
      return numbers;
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
