package dev.evergreen.storage;

import static dev.evergreen.storage.Callers.awaitWaiting;
import static dev.evergreen.storage.Callers.grain;
import static dev.evergreen.storage.Callers.startSaves;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.Request.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class SqliteStorageTest {

  private final Path directory;
  private final Path file;

  SqliteStorageTest(@TempDir Path directory) {
    this.directory = directory;
    this.file = directory.resolve("grains.db");
  }

  @Test
  void aFileThatIsNoDatabaseIsRefusedAndLeftAlone() throws Exception {
    var text = "Dear diary, ".repeat(500);
    Files.writeString(file, text);
    assertRefused(file, "no SQLite database");
    assertEquals(text, Files.readString(file));
  }

  @Test
  void theDatabaseOfAnotherProgramIsRefusedAndLeftAlone() throws Exception {
    execute("create table recipe (name text)");
    var before = Files.readAllBytes(file);
    assertRefused(file, "another program's");
    assertArrayEquals(before, Files.readAllBytes(file));
  }

  @Test
  void aNewerVersionOfTheFileIsRefused() throws Exception {
    SqliteStorage.open(file).close();
    execute("pragma user_version = 3");
    assertRefused(file, "version is 3");
  }

  @Test
  void aPlaceThatCannotHoldAFileIsRefused() {
    assertRefused(directory.resolve("missing").resolve("grains.db"), "no directory");
    assertRefused(directory, "is a directory");
  }

  @Test
  void aPlaceThatCannotBeWrittenIsRefused() {
    var place = Path.of("/proc");
    assumeTrue(Files.isDirectory(place), "no directory where even root cannot make a file");
    assertRefused(place.resolve("grains.db"), "cannot be written");
  }

  @Test
  void aFileThatIsLockedForTooLongIsRefused() throws Exception {
    SqliteStorage.open(file).close();
    try (var _ = lock()) {
      assertRefused(file, "locked");
    }
  }

  @Test
  void anyNameOfAFileIsTakenAsItIs() throws Exception {
    var odd = directory.resolve("a b?cache=shared&mode=memory#1%20'é.db");
    try (var storage = SqliteStorage.open(odd)) {
      storage.save(grain(1), Storage.NONE, bytes("state"));
    }
    assertOnlyFile(odd);
    try (var storage = SqliteStorage.open(odd)) {
      assertTrue(storage.load(grain(1)).isPresent());
    }
  }

  @Test
  void manyMayOpenANewFileAtTheSameTime() throws Exception {
    for (int round = 0; round < 10; round++) {
      var fresh = directory.resolve("grains-" + round + ".db");
      var tasks = new ArrayList<FutureTask<Boolean>>();
      for (int i = 0; i < 6; i++) {
        int number = i;
        tasks.add(
            new FutureTask<>(
                () -> {
                  try (var storage = SqliteStorage.open(fresh)) {
                    storage.save(grain(number), Storage.NONE, bytes("state"));
                  }
                  return true;
                }));
      }
      tasks.forEach(task -> Thread.ofPlatform().start(task));
      for (var task : tasks) {
        task.get();
      }
      try (var storage = SqliteStorage.open(fresh)) {
        for (int i = 0; i < tasks.size(); i++) {
          assertTrue(storage.load(grain(i)).isPresent(), "grain " + i);
        }
      }
    }
  }

  @Test
  void aConflictFailsNoOtherSaveOfItsTransaction() throws Exception {
    try (var storage = SqliteStorage.open(file)) {
      storage.save(grain(25), Storage.NONE, bytes("first"));
      List<FutureTask<Long>> saves;
      try (var _ = lock()) {
        saves = startSaves(storage, 50);
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
  void aFailedSaveIsToldWithItsReasonAndTheNextOneWorks() throws Exception {
    try (var storage = SqliteStorage.open(file)) {
      long first = storage.save(grain(0), Storage.NONE, bytes("first"));
      execute(
          "create trigger broken before update on grain_state"
              + " begin select raise(rollback, 'the disk is broken'); end");
      var failure =
          assertThrows(
              StorageException.class, () -> storage.save(grain(0), first, bytes("second")));
      assertTrue(failure.toString().contains("the disk is broken"), failure.toString());
      assertTrue(failure.toString().contains(grain(0).toString()), failure.toString());
      assertEquals(first, storage.load(grain(0)).orElseThrow().revision());

      execute("drop trigger broken");
      assertTrue(storage.save(grain(0), first, bytes("second")) > first);
    }
  }

  @Test
  void aLockThatOutlastsThePatienceFailsTheSaveAndTheNextOneWorks() throws Exception {
    try (var storage = SqliteStorage.open(file, Duration.ofMillis(50))) {
      try (var _ = lock()) {
        var failure =
            assertThrows(
                StorageException.class,
                () -> storage.save(grain(0), Storage.NONE, bytes("locked out")));
        assertTrue(failure.toString().contains("SQLITE_BUSY"), failure.toString());
        assertTrue(storage.load(grain(0)).isEmpty());
      }
      assertEquals(1, storage.save(grain(0), Storage.NONE, bytes("state")));
    }
  }

  /** Else the row that it has seen may be gone when it has the lock at last. */
  @Test
  void aSaveThatWaitsForWhoGivesItsNodeUpIsRefused() throws Exception {
    var node = new NodeId("a:1", 1);
    try (var storage = SqliteStorage.open(file);
        var opened = SqliteFile.open(file, Duration.ofSeconds(10));
        var table = opened.connect(true)) {
      storage.fence("cluster").orElseThrow().join(node);
      for (long expected : List.of(Storage.NONE, 1L)) {
        var before = table.saveAll(List.of(save(1, expected, node)));
        assertEquals(List.of(new Outcome.Saved(expected + 1)), before);
      }
      var saves = List.of(save(1, 2, node), save(2, Storage.NONE, node));
      var late = new FutureTask<>(() -> table.saveAll(saves));
      try (var giver = lock();
          var delete = giver.createStatement()) {
        var saver = Thread.ofPlatform().start(late);
        awaitWaiting(List.of(saver));
        assertFalse(late.isDone());
        assertEquals(1, delete.executeUpdate("delete from grain_node"));
        delete.execute("commit");
      }
      assertEquals(List.of(new Outcome.GivenUp(), new Outcome.GivenUp()), late.get());
    }
  }

  @Test
  void eachSaveOfATransactionIsJudgedByItsOwnNode() throws Exception {
    var alive = new NodeId("a:1", 2);
    var dead = new NodeId("a:1", 1);
    try (var storage = SqliteStorage.open(file);
        var opened = SqliteFile.open(file, Duration.ofSeconds(10));
        var table = opened.connect(true)) {
      storage.fence("cluster").orElseThrow().join(alive);
      storage.save(grain(0), Storage.NONE, bytes("state"));
      var outcomes =
          table.saveAll(
              List.of(
                  save(0, 1, dead),
                  save(1, Storage.NONE, dead),
                  // The first that are fenced, and those behind them.
                  save(0, Storage.NONE, alive),
                  save(0, 1, alive),
                  save(1, Storage.NONE, alive),
                  save(1, 7, alive),
                  save(0, 2, dead),
                  save(2, Storage.NONE, dead),
                  save(2, Storage.NONE, null)));
      var givenUp = new Outcome.GivenUp();
      assertEquals(
          List.of(
              givenUp,
              givenUp,
              new Outcome.Conflict(1),
              new Outcome.Saved(2),
              new Outcome.Saved(1),
              new Outcome.Conflict(1),
              givenUp,
              givenUp,
              new Outcome.Saved(1)),
          outcomes);
      assertEquals(2, storage.load(grain(0)).orElseThrow().revision());
    }
  }

  private static Request.Save save(int grain, long expected, @Nullable NodeId by) {
    var member = by == null ? null : new Member("cluster", by);
    return new Request.Save(grain(grain), expected, bytes("by " + by), member);
  }

  /** What goes into a file without a name, or comes from one, others do not know of. */
  @Test
  void aFileThatIsMovedOrReplacedIsNotUsedAnyMore() throws Exception {
    var moved = directory.resolve("moved.db");
    var node = new NodeId("a:1", 1);
    try (var storage = SqliteStorage.open(file)) {
      var fence = storage.fence("cluster").orElseThrow();
      fence.join(node);
      storage.save(grain(1), Storage.NONE, bytes("a"));
      assertTrue(storage.load(grain(1)).isPresent() && fence.isAlive(node));

      Files.move(file, moved);
      assertIsNotInPlace(() -> storage.save(grain(1), 1, bytes("b")));
      assertIsNotInPlace(() -> storage.load(grain(1)));
      assertIsNotInPlace(() -> fence.isAlive(node));
      try (var other = SqliteStorage.open(file)) {
        other.save(grain(1), Storage.NONE, bytes("of another process"));
        assertIsNotInPlace(() -> storage.save(grain(2), Storage.NONE, bytes("b")));
        assertIsNotInPlace(() -> storage.load(grain(1)));
        assertIsNotInPlace(() -> fence.isAlive(node));
        assertTrue(other.load(grain(2)).isEmpty());
      }

      Files.move(moved, file, StandardCopyOption.REPLACE_EXISTING);
      assertIsNotInPlace(() -> storage.load(grain(1)));
    }
  }

  /** What goes into a log without a name is gone with the process. */
  @ParameterizedTest
  @ValueSource(strings = {"-wal", "-shm"})
  void nothingIsAcknowledgedThatGoesIntoALogWithoutAName(String suffix) throws Exception {
    try (var storage = SqliteStorage.open(file)) {
      storage.save(grain(1), Storage.NONE, bytes("a"));
      Files.delete(directory.resolve(file.getFileName() + suffix));
      assertIsNotInPlace(() -> storage.save(grain(1), 1, bytes("b")));
      assertIsNotInPlace(() -> storage.load(grain(1)));
    }
  }

  /** SQLite has its log where the file really is. */
  @Test
  void aLogBesideTheFileOfALinkMustStayInPlace() throws Exception {
    var folder = Files.createDirectory(directory.resolve("real"));
    var real = folder.resolve("grains.db");
    SqliteStorage.open(real).close();
    var link = Files.createSymbolicLink(directory.resolve("link.db"), real);
    try (var storage = SqliteStorage.open(link)) {
      storage.save(grain(1), Storage.NONE, bytes("a"));
      Files.delete(folder.resolve("grains.db-wal"));
      assertIsNotInPlace(() -> storage.save(grain(1), 1, bytes("b")));
    }
  }

  /** SQLite deletes a log whose database is empty, and would make such a one by connecting anew. */
  @Test
  void whatWasSavedBeforeAFileIsMovedIsThereWhenItIsPutBack() throws Exception {
    var moved = directory.resolve("moved.db");
    var killed = directory.resolve("killed.db");
    var log = directory.resolve(file.getFileName() + "-wal");
    try (var storage = SqliteStorage.open(file)) {
      storage.save(grain(1), Storage.NONE, bytes("a"));
      Files.move(file, moved);
      for (int i = 0; i < 3; i++) {
        assertIsNotInPlace(() -> storage.save(grain(2), Storage.NONE, bytes("b")));
        assertIsNotInPlace(() -> storage.load(grain(1)));
      }
      assertFalse(Files.exists(file), "an empty file was made");
      // As they are found when the process is killed here.
      Files.copy(moved, killed);
      Files.copy(log, directory.resolve("killed.db-wal"));
    }
    try (var storage = SqliteStorage.open(killed)) {
      assertTrue(storage.load(grain(1)).isPresent());
    }
  }

  private static void assertIsNotInPlace(Executable use) {
    var failure = assertThrows(StorageException.class, use);
    var message = String.valueOf(failure.getMessage());
    assertTrue(message.contains("moved, deleted or replaced"), message);
  }

  @Test
  void anInterruptedCallerIsToldAndItsQueuedSaveStillHappens() throws Exception {
    try (var storage = SqliteStorage.open(file)) {
      var interrupted = new FutureTask<>(() -> saveInterrupted(storage));
      try (var _ = lock()) {
        var thread = Thread.ofVirtual().start(interrupted);
        awaitWaiting(List.of(thread));
        thread.interrupt();
        assertTrue(interrupted.get(), "the interrupt flag was lost");
      }
      // It is behind the other one.
      storage.save(grain(1), Storage.NONE, bytes("next"));
      var saved = storage.load(grain(0)).orElseThrow();
      assertEquals(1, saved.revision());
      assertArrayEquals(bytes("state"), saved.state());
    }
  }

  private static boolean saveInterrupted(Storage storage) {
    var state = bytes("state");
    var failure =
        assertThrows(StorageException.class, () -> storage.save(grain(0), Storage.NONE, state));
    state[0] = '?'; // by now it is the caller's again
    assertTrue(failure.toString().contains("interrupted"), failure.toString());
    return Thread.currentThread().isInterrupted();
  }

  @Test
  void closingFinishesWhatIsQueuedAndRefusesWhoWaitsForRoom() throws Exception {
    var storage = SqliteStorage.open(file);
    List<FutureTask<Long>> saves;
    var closing = new FutureTask<Void>(storage::close, null);
    try (var _ = lock()) {
      // More than the writer holds and the queue has room for.
      saves = startSaves(storage, 3000);
      var closer = Thread.ofVirtual().start(closing);
      awaitWaiting(List.of(closer));
    }
    closing.get();
    assertOnlyFile(file);
    int saved = 0;
    try (var again = SqliteStorage.open(file)) {
      for (int i = 0; i < saves.size(); i++) {
        boolean acknowledged = acknowledged(saves.get(i));
        assertEquals(acknowledged, again.load(grain(i)).isPresent(), "grain " + i);
        saved += acknowledged ? 1 : 0;
      }
    }
    assertTrue(saved >= 1024 && saved < saves.size(), saved + " saved");
  }

  private static boolean acknowledged(FutureTask<Long> save) throws InterruptedException {
    try {
      return save.get() == 1;
    } catch (ExecutionException e) {
      assertTrue(e.toString().contains("closed"), e.toString());
      return false;
    }
  }

  @Test
  void closingLeavesOneFileHoweverManyConnectionsThereWere() throws Exception {
    try (var storage = SqliteStorage.open(file);
        var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      storage.save(grain(0), Storage.NONE, bytes("state"));
      for (int load = 0; load < 100; load++) {
        executor.execute(() -> storage.load(grain(0)));
      }
    }
    assertOnlyFile(file);
  }

  /** A power failure would take what was acknowledged last from any other; no test can make one. */
  @Test
  void aCommitIsOnTheDiskBeforeItIsAcknowledged() throws Exception {
    int full = 2;
    try (var opened = SqliteFile.open(file, Duration.ofSeconds(10));
        var connection = opened.connection();
        var statement = connection.createStatement()) {
      assertEquals(full, statement.executeQuery("pragma synchronous").getInt(1));
      assertTrue(statement.executeQuery("pragma fullfsync").getBoolean(1));
    }
  }

  @Test
  void theLogIsWrittenBackByTheFileAndNotByWhoeverClosesAConnection() throws Exception {
    try (var opened = SqliteFile.open(file, Duration.ofSeconds(10))) {
      try (var table = opened.connect(true)) {
        table.saveAll(List.of(new Request.Save(grain(0), Storage.NONE, bytes("state"), null)));
      }
      assertTrue(Files.exists(directory.resolve("grains.db-wal")));
    }
    assertOnlyFile(file);
  }

  @Test
  void blockedSavesLeaveVirtualThreadsFree() throws Exception {
    try (var storage = SqliteStorage.open(file)) {
      try (var _ = lock()) {
        startSaves(storage, 100);
        try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
          Callable<Boolean> other = () -> storage.load(grain(0)).isEmpty();
          assertTrue(executor.submit(other).get());
        }
      }
    }
  }

  private void assertOnlyFile(Path only) throws IOException {
    try (var files = Files.list(directory)) {
      var others = files.filter(path -> !path.toString().endsWith("-turn")).toList();
      assertEquals(List.of(only), others, "the log was not written back");
    }
  }

  private void assertRefused(Path path, String reason) {
    var refusal =
        assertThrows(
            StorageException.class, () -> SqliteStorage.open(path, Duration.ofMillis(50)).close());
    assertTrue(refusal.toString().contains(reason), refusal.toString());
    assertTrue(refusal.toString().contains(path.toString()), refusal.toString());
  }

  /** Keeps everybody else from writing until it is closed. */
  private Connection lock() throws SQLException {
    var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
    try (var statement = connection.createStatement()) {
      statement.execute("begin immediate");
    }
    return connection;
  }

  private void execute(String sql) throws SQLException {
    try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
