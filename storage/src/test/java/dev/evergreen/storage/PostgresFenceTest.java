package dev.evergreen.storage;

import static dev.evergreen.storage.Callers.grain;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.PostgresStorage.Settings;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** That the statement fences, at each moment in which a node may be given up. */
@Timeout(60)
final class PostgresFenceTest {

  private static final NodeId NODE = new NodeId("here:1", 7);
  private static final int ROUNDS = 100;
  private static final int SAVERS = 4;
  private static final RandomGenerator RANDOM = new SplittableRandom(7);
  private static final AtomicLong GATES = new AtomicLong();

  private final PostgresServer server = PostgresServer.get();
  private final String url = server.newSchema();
  private final String sessions = "fence-" + System.nanoTime();
  private final long gate = GATES.incrementAndGet();

  PostgresFenceTest() throws Exception {}

  @Test
  void aStatementUnderWayIsWaitedForAndSeenAfterwards() throws Exception {
    try (var storage = open(Duration.ofSeconds(20));
        var another = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      FutureTask<Long> save;
      FutureTask<Boolean> givenUp;
      try (var _ = closedGate()) {
        save = save(fence.storageOf(NODE), 0);
        awaitSessions("wait_event = 'advisory'", 1);
        givenUp = giveUp(fence);
        awaitNotAlive(fence);
        // No other may begin meanwhile, however many follow each other.
        assertThrows(
            NodeGivenUpException.class,
            () -> fence.storageOf(NODE).save(grain(1), Storage.NONE, bytes("late")));
        assertFalse(fence.isAlive(NODE));
        assertFalse(givenUp.isDone());
        // If nobody goes on with it, the next one who looks gives it up to the end.
        assertEquals(Set.of(NODE), another.fence("cluster").orElseThrow().alive());
        assertTrue(storage.load(grain(0)).isEmpty());
      }
      assertTrue(givenUp.get());
      assertEquals(Set.of(), fence.alive());
      assertEquals(1, storage.load(grain(0)).orElseThrow().revision());
      assertEquals(1, save.get());
    }
  }

  /** It has come to the server before the node was given up, but looks at the node after that. */
  @Test
  void aStatementThatWasSentBeforeAndBeginsAfterwardsSavesNothing() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      FutureTask<Long> save;
      try (var _ = lockedTable()) {
        save = save(fence.storageOf(NODE), 0);
        awaitSessions("wait_event = 'relation'", 1);
        fence.giveUp(NODE);
      }
      assertGivenUp(save);
      assertTrue(storage.load(grain(0)).isEmpty());
    }
  }

  /** As that of a client that has died amid what it sent. It has seen nothing yet. */
  @Test
  void aTransactionThatHasNoSnapshotIsNotWaitedFor() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      try (var _ = holding("lock table grain_state in row exclusive mode")) {
        fence.giveUp(NODE);
      }
      assertFalse(fence.isAlive(NODE));
      assertTrue(fence.alive().isEmpty());
    }
  }

  /** It must not take away what another one is about to wait for. */
  @Test
  void whoWasGivenUpGivesNobodyUpAndWaitsForNobody() throws Exception {
    var givenUp = new NodeId("there:1", 7);
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      FutureTask<Long> save;
      try (var _ = closedGate()) {
        save = save(fence.storageOf(NODE), 0);
        awaitSessions("wait_event = 'advisory'", 1);
        assertFalse(fence.giveUp(NODE, givenUp));
      }
      assertEquals(1, save.get());
      assertTrue(fence.isAlive(NODE));
    }
  }

  /** Whatever was acknowledged is seen by who gave the node up, and nothing is saved afterwards. */
  @Test
  void nothingIsSavedOnceANodeIsGivenUp() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = storage.fence("cluster").orElseThrow();
      for (int round = 0; round < ROUNDS; round++) {
        var node = new NodeId("here:1", round);
        fence.join(node);
        var mine = fence.storageOf(node);
        var savers = new ArrayList<FutureTask<Long>>();
        for (int saver = 0; saver < SAVERS; saver++) {
          int grain = SAVERS * round + saver;
          savers.add(start(new FutureTask<>(() -> saveUntilGivenUp(mine, grain))));
        }
        LockSupport.parkNanos(RANDOM.nextLong(5_000_000));
        assertTrue(fence.giveUp(node, node));
        var seen = new ArrayList<Long>();
        for (int saver = 0; saver < SAVERS; saver++) {
          seen.add(revision(storage, SAVERS * round + saver));
        }
        for (int saver = 0; saver < SAVERS; saver++) {
          assertEquals(seen.get(saver), savers.get(saver).get(), "what was acknowledged");
          assertEquals(seen.get(saver), revision(storage, SAVERS * round + saver), "what is there");
        }
      }
    }
  }

  /** Saves one state after the other; answers with the last revision that was acknowledged. */
  private static long saveUntilGivenUp(Storage storage, int grain) {
    long revision = Storage.NONE;
    while (true) {
      try {
        revision = storage.save(grain(grain), revision, bytes("state"));
      } catch (NodeGivenUpException e) {
        return revision;
      }
    }
  }

  private static long revision(Storage storage, int grain) {
    return storage.load(grain(grain)).map(Storage.Stored::revision).orElse(Storage.NONE);
  }

  @Test
  void aStatementThatOutlastsThePatienceEndsBeforeItsNodeIsGivenUp() throws Exception {
    try (var storage = open(Duration.ofSeconds(20));
        var hasty = open(Duration.ofMillis(500))) {
      var fence = joined(storage);
      var theirs = hasty.fence("cluster").orElseThrow();
      FutureTask<Long> save;
      try (var _ = closedGate()) {
        save = save(fence.storageOf(NODE), 0);
        awaitSessions("wait_event = 'advisory'", 1);
        assertThrows(StorageException.class, () -> theirs.giveUp(NODE));
      }
      theirs.giveUp(NODE);
      assertEquals(1, storage.load(grain(0)).orElseThrow().revision());
      assertEquals(1, save.get());
    }
  }

  @Test
  void savesOfSeveralNodesInOneBatchAreEachJudgedByTheirOwn() throws Exception {
    var second = new NodeId("there:1", 7);
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      fence.join(second);
      FutureTask<Long> ours;
      FutureTask<Long> theirs;
      FutureTask<Long> nobodys;
      try (var _ = lockedTable()) {
        // Both threads that save are busy, the others wait for them together.
        for (int busy = 1; busy <= 2; busy++) {
          var _ = save(fence.storageOf(second), 10 + busy);
          awaitSessions("wait_event = 'relation'", busy);
        }
        ours = save(fence.storageOf(NODE), 0);
        theirs = save(fence.storageOf(second), 1);
        nobodys = save(storage, 2);
        fence.giveUp(NODE);
      }
      assertGivenUp(ours);
      assertEquals(1, theirs.get());
      assertEquals(1, nobodys.get());
    }
  }

  /** It was on its way when its connection broke, and the node has joined by another one. */
  @Test
  void aJoiningThatComesLateDoesNotMakeANodeAliveThatWasGivenUp() throws Exception {
    try (var storage = open(Duration.ofSeconds(20));
        var late = open(Duration.ofSeconds(20))) {
      var fence = storage.fence("cluster").orElseThrow();
      FutureTask<Fence> joining;
      try (var _ = closedGate("grain_node")) {
        joining = start(new FutureTask<>(() -> joined(late)));
        awaitSessions("wait_event = 'advisory'", 1);
        execute(
            "set session_replication_role = replica; " // does not wait at the gate
                + "insert into grain_node values ('cluster', 'here:1', 7, true)");
        assertTrue(fence.isAlive(NODE));
        fence.giveUp(NODE);
      }
      joining.get();
      assertFalse(fence.isAlive(NODE));
      assertEquals(Set.of(), fence.alive());
      var save = save(fence.storageOf(NODE), 0);
      assertGivenUp(save);
    }
  }

  /**
   * Nobody had heard of it when it was given up; it must be found by those who ask who is alive.
   */
  @Test
  void aNodeThatJoinsWhileItIsGivenUpIsNotGone() throws Exception {
    var judge = new NodeId("there:1", 7);
    try (var storage = open(Duration.ofSeconds(20));
        var another = open(Duration.ofSeconds(20))) {
      var fence = storage.fence("cluster").orElseThrow();
      fence.join(judge);
      FutureTask<Long> save;
      FutureTask<Boolean> givenUp;
      try (var _ = closedGate()) {
        save = save(fence.storageOf(judge), 0);
        awaitSessions("wait_event = 'advisory'", 1);
        givenUp = start(new FutureTask<>(() -> fence.giveUp(NODE, judge)));
        awaitSessions("query like 'select l.virtualtransaction%'", 1);
        joined(another);
      }
      assertTrue(givenUp.get());
      assertEquals(1, save.get());
      assertTrue(fence.isAlive(NODE));
      assertEquals(Set.of(NODE, judge), fence.alive());
    }
  }

  @Test
  void whoWasGivenUpLongAgoIsForgotten() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      fence.giveUp(NODE);
      fence.join(new NodeId("there:1", 7));
      assertEquals(2, number("select count(*) from grain_node"));
      execute("update grain_node set gone = gone - interval '25 hours'");
      fence.join(new NodeId("there:1", 8));
      assertEquals(0, number("select count(*) from grain_node where not alive"));
      assertEquals(2, fence.alive().size());
    }
  }

  /** It changes nothing, so that it can be asked anew. */
  @Test
  void whetherANodeIsAliveIsAskedAgainWhenConnectionsBreak() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      var fence = joined(storage);
      for (int i = 0; i < 5; i++) {
        assertTrue(fence.isAlive(NODE));
        assertTrue(
            number(
                    "select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity where"
                        + " application_name = '%s'".formatted(sessions))
                > 0);
        assertTrue(fence.isAlive(NODE));
      }
    }
  }

  @Test
  void tablesOfVersion1AreGivenAFence() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      storage.save(grain(0), Storage.NONE, bytes("old"));
    }
    execute("drop table grain_node");
    execute("update grain_state_version set version = 1");
    try (var storage = open(Duration.ofSeconds(20))) {
      assertEquals(2, joined(storage).storageOf(NODE).save(grain(0), 1, bytes("new")));
    }
    assertEquals(3, number("select version from grain_state_version"));
  }

  /** Nodes of the former version go on: they say of nobody that it is gone. */
  @Test
  void tablesOfVersion2KeepTheirNodes() throws Exception {
    try (var storage = open(Duration.ofSeconds(20))) {
      joined(storage);
    }
    backToVersion2();
    try (var storage = open(Duration.ofSeconds(20))) {
      var former = new NodeId("there:1", 7);
      execute("insert into grain_node values ('cluster', 'there:1', 7, true)");
      var fence = storage.fence("cluster").orElseThrow();
      assertEquals(Set.of(NODE, former), fence.alive());
      assertTrue(fence.giveUp(NODE, former));
      assertEquals(Set.of(former), fence.alive());
    }
    assertEquals(3, number("select version from grain_state_version"));
  }

  /** Whoever waits to change a table keeps those waiting who come after, whom nobody keeps. */
  @Test
  void savesGoOnWhileADumpKeepsTheTablesFromBeingChanged() throws Exception {
    try (var storage = open(Duration.ofSeconds(10))) {
      var mine = joined(storage).storageOf(NODE);
      backToVersion2();
      FutureTask<PostgresStorage> opening;
      try (var _ = holding("lock table grain_node in access share mode")) {
        opening = start(new FutureTask<>(() -> open(Duration.ofSeconds(50))));
        for (int i = 0; i < 3; i++) {
          awaitSessions("wait_event = 'relation' and query like 'alter%'", 1);
          assertEquals(1, mine.save(grain(i), Storage.NONE, bytes("state")));
        }
      }
      opening.get().close();
      assertEquals(3, number("select version from grain_state_version"));
    }
  }

  @Test
  void whoWaitsInVainToChangeATableSaysForWhat() throws Exception {
    try (var _ = open(Duration.ofSeconds(20))) {
      backToVersion2();
    }
    try (var _ = holding("lock table grain_node in access share mode")) {
      var failure = assertThrows(StorageException.class, () -> open(Duration.ofSeconds(2)));
      assertTrue(String.valueOf(failure.getMessage()).contains("a dump"), failure::toString);
    }
  }

  /** As the database may have it for programs that do not say. */
  @Test
  void whoWaitsForAnotherToMakeTheTablesSeesThemThoughItsTransactionsAreToBeRepeatable()
      throws Exception {
    try (var _ = open(Duration.ofSeconds(20))) {
      backToVersion2();
    }
    FutureTask<PostgresStorage> opening;
    try (var making = holding("select pg_advisory_xact_lock(%d)".formatted(0x45766772));
        var statement = making.createStatement()) {
      opening = start(new FutureTask<>(this::openRepeatable));
      awaitSessions("wait_event = 'advisory'", 1);
      statement.execute("alter table grain_node add column gone timestamptz");
      statement.execute("update grain_state_version set version = 3");
      making.commit();
    }
    opening.get().close();
  }

  private PostgresStorage openRepeatable() {
    return PostgresStorage.open(
        Settings.of(
            "%s&ApplicationName=%s&options=-c%%20default_transaction_isolation=repeatable%%5C%%20read"
                .formatted(url, sessions)));
  }

  private void backToVersion2() throws SQLException {
    execute("alter table grain_node drop column gone");
    execute("update grain_state_version set version = 2");
  }

  /** A server that crashes would lose what was acknowledged last. */
  @Test
  void aDatabaseWhoseCommitsDoNotWaitForTheDiskIsMadeTo() throws Exception {
    try (var _ = open(Duration.ofSeconds(20))) {
      execute("create table seen (setting text)");
      execute(
          """
          create function look() returns trigger language plpgsql as
          'begin insert into seen values (current_setting(''synchronous_commit'')); return new; end'
          """);
      execute(
          "create trigger look before insert on grain_state for each row execute function look()");
    }
    for (var setting : new String[] {"off", "local"}) {
      execute("alter database postgres set synchronous_commit = " + setting);
      try (var storage = open(Duration.ofSeconds(20))) {
        storage.save(grain(setting.length()), Storage.NONE, bytes("state"));
      } finally {
        execute("alter database postgres reset synchronous_commit");
      }
    }
    assertEquals(1, number("select count(*) from seen where setting = 'on'"));
    assertEquals(1, number("select count(*) from seen where setting = 'local'"));
    assertEquals(2, number("select count(*) from seen"));
  }

  /** A statement that was planned for few states goes on when there are many. */
  @Test
  void aTableThatIsKnownToBeSmallIsNotReadAsAWhole() throws Exception {
    int saves = 20;
    try (var storage = open(Duration.ofSeconds(20))) {
      storage.save(grain(0), Storage.NONE, bytes("state"));
      execute("analyze grain_state, grain_node");
    }
    awaitCounted("n_tup_ins >= 1");
    try (var storage = open(Duration.ofSeconds(20))) {
      var mine = joined(storage).storageOf(NODE);
      for (int i = 1; i <= saves; i++) {
        mine.save(grain(i), Storage.NONE, bytes("state"));
        storage.load(grain(i));
      }
    }
    awaitCounted("n_tup_ins > " + saves);
    long scans =
        number("select seq_scan from pg_stat_user_tables where relid = 'grain_state'::regclass");
    assertTrue(scans < saves, () -> scans + " scans"); // one made the index
  }

  /** The server counts when a session ends. */
  private void awaitCounted(String condition) throws Exception {
    while (number(
            "select count(*) from pg_stat_user_tables where relid = 'grain_state'::regclass and "
                + condition)
        < 1) {
      Thread.sleep(5);
    }
  }

  private PostgresStorage open(Duration patience) {
    return PostgresStorage.open(
        Settings.of(url + "&ApplicationName=" + sessions).withPatience(patience));
  }

  private static Fence joined(Storage storage) {
    var fence = storage.fence("cluster").orElseThrow();
    fence.join(NODE);
    return fence;
  }

  private static FutureTask<Long> save(Storage storage, int grain) {
    return start(new FutureTask<>(() -> storage.save(grain(grain), Storage.NONE, bytes("state"))));
  }

  private static FutureTask<Boolean> giveUp(Fence fence) {
    return start(new FutureTask<>(() -> fence.giveUp(NODE), true));
  }

  private static <T> FutureTask<T> start(FutureTask<T> task) {
    Thread.startVirtualThread(task);
    return task;
  }

  private static void assertGivenUp(FutureTask<Long> save) {
    var thrown = assertThrows(ExecutionException.class, save::get);
    assertInstanceOf(NodeGivenUpException.class, thrown.getCause());
  }

  /** Keeps statements that save where they have looked at their node, and written nothing yet. */
  private Connection closedGate() throws SQLException {
    return closedGate("grain_state");
  }

  private Connection closedGate(String table) throws SQLException {
    execute(
        """
        create function wait_at_gate() returns trigger language plpgsql as
        'begin perform pg_advisory_xact_lock(%d); return new; end'"""
            .formatted(gate));
    execute(
        "create trigger wait_at_gate before insert on %s for each row".formatted(table)
            + " execute function wait_at_gate()");
    return holding("select pg_advisory_xact_lock(%d)".formatted(gate));
  }

  /** Keeps statements that save before they look at anything. */
  private Connection lockedTable() throws SQLException {
    return holding("lock table grain_state in exclusive mode");
  }

  /** Holds what the statement takes, until it is closed. */
  private Connection holding(String sql) throws SQLException {
    var connection = DriverManager.getConnection(url);
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
    return connection;
  }

  private void execute(String sql) throws SQLException {
    try (var connection = DriverManager.getConnection(url);
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private long number(String query) throws SQLException {
    try (var connection = DriverManager.getConnection(url);
        var statement = connection.createStatement();
        var row = statement.executeQuery(query)) {
      row.next();
      return row.getLong(1);
    }
  }

  private static void awaitNotAlive(Fence fence) throws InterruptedException {
    while (fence.isAlive(NODE)) {
      Thread.sleep(5);
    }
  }

  private void awaitSessions(String condition, int count) throws Exception {
    while (number(
            "select count(*) from pg_stat_activity where application_name = '%s' and %s"
                .formatted(sessions, condition))
        < count) {
      Thread.sleep(5);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
