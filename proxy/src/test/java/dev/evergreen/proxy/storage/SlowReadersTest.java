package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.body;
import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.find;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.reader;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Readers that take nothing cost the others nothing, and get nothing wrong. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlowReadersTest {
  private static final int MIB = 1 << 20;
  private static final int LARGE = 3_900_000;
  private static final int MANY = 60;
  private static final int READERS = 5;

  @TempDir Path directory;

  /** Large responses take a quarter of it each. */
  private TieredStorage onSmallDisk() throws IOException {
    return TieredStorage.open(
        StorageOptions.memory(4 * MIB)
            .memoryObject(20_000)
            .onDisk(directory, 16 * MIB)
            .segment(MIB));
  }

  private static Lease followed(Storage storage, String name) throws IOException {
    try (var appender = storage.append(entry(name, 1, LARGE, storage.stamp()))) {
      var lease = appender.follow();
      appender.append(ByteBuffer.wrap(body(name, 1, LARGE)));
      assertTrue(lease.read(0, 1000).length > 0);
      assertTrue(appender.commit());
      return lease;
    }
  }

  private static Lease stored(Storage storage, String name) throws IOException {
    assertTrue(put(storage, name, 1, LARGE));
    return Objects.requireNonNull(find(storage, name));
  }

  @Test
  void slowReadersOfLargeResponsesLeaveTheDiskToOthers() throws Exception {
    for (boolean stored : new boolean[] {true, false}) {
      try (var storage = onSmallDisk()) {
        var name = stored ? "stored" : "followed";
        var slow = new ArrayList<Lease>();
        for (int i = 0; i < READERS; i++) {
          slow.add(stored ? stored(storage, name + i) : followed(storage, name + i));
        }
        // As much as the disk, so that all but what is pinned is overwritten.
        for (int i = 0; i < MANY; i++) {
          assertTrue(put(storage, name + "other" + i, 1, 250_000), "other " + i);
          assertEquals(1, version(storage, name + "other" + i));
        }
        for (int i = MANY - 20; i < MANY; i++) {
          assertEquals(1, version(storage, name + "other" + i), "it stays for a while");
        }
        assertEquals(1, check(slow.getFirst(), name + 0), "the first one is not disturbed");
        assertEquals(List.of(false, false), wholes(slow.subList(2, 4), name, 2));
        slow.forEach(Lease::close);
        assertEquals(0, storage.stats().corrupt());
      }
    }
  }

  @Test
  void slowReadersOfMemoryLeaveItToOthers() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(40 * MIB))) {
      var slow = new ArrayList<Lease>();
      for (int i = 0; i < 2 * READERS; i++) {
        slow.add(stored(storage, "slow" + i));
        assertTrue(slow.getLast().read(0, 1000).length > 0);
      }
      for (int i = 0; i < MANY; i++) {
        assertTrue(put(storage, "other" + i, 1, 100_000), "other " + i);
        assertEquals(1, version(storage, "other" + i));
      }
      for (int i = 0; i < MANY; i++) {
        assertEquals(1, version(storage, "other" + i));
      }
      assertEquals(1, check(slow.getFirst(), "slow0"), "the first one is not disturbed");
      assertTrue(wholes(slow.subList(1, 2 * READERS), "slow", 1).getLast(), "it is still there");
      slow.forEach(Lease::close);
    }
  }

  /**
   * Seen: who read one after the other by one connection held all that may be held, and what others
   * read was cut off as it was fetched anew.
   */
  @Test
  void whoReadsMuchLeavesAsMuchToOthers() throws Exception {
    for (boolean full : new boolean[] {true, false}) {
      try (var storage = Storage.open(StorageOptions.memory(40 * MIB))) {
        whoReadsMuchLeavesAsMuchToOthers(storage, full);
      }
    }
    var options = StorageOptions.memory(4 * MIB).memoryObject(20_000);
    try (var storage = Storage.open(options.onDisk(directory, 60 * MIB).segment(MIB))) {
      whoReadsMuchLeavesAsMuchToOthers(storage, true);
    }
  }

  private static void whoReadsMuchLeavesAsMuchToOthers(Storage storage, boolean full)
      throws IOException {
    if (full) {
      putOthers(storage);
    }
    var leases = new ArrayList<Lease>();
    var one = new Recipient();
    for (int i = 0; i < READERS; i++) {
      assertTrue(put(storage, "slow" + i, 1, MIB));
      leases.add(Objects.requireNonNull(storage.find(key("slow" + i), _ -> true, one)));
    }
    putOthers(storage);
    assertTrue(put(storage, "a", 1, MIB));
    leases.add(Objects.requireNonNull(find(storage, "a")));
    assertTrue(put(storage, "a", 2, MIB));
    putOthers(storage);
    assertEquals(1, check(leases.getLast(), "a"));
    leases.forEach(Lease::close);
  }

  /** Seen: of what one read at a time, some was cut off though memory was free. */
  @Test
  void whatIsReplacedIsReadToItsEndWhileMemoryIsFree() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(64 * MIB))) {
      var leases = new ArrayList<Lease>();
      var one = new Recipient();
      for (int i = 0; i < 12; i++) {
        assertTrue(put(storage, "a" + i, 1, 2 * MIB));
        leases.add(Objects.requireNonNull(storage.find(key("a" + i), _ -> true, one)));
      }
      for (int i = 0; i < leases.size(); i++) {
        assertTrue(put(storage, "a" + i, 2, 2 * MIB));
      }
      for (int i = 0; i < leases.size(); i++) {
        assertEquals(1, check(leases.get(i), "a" + i));
        leases.get(i).close();
      }
    }
  }

  /** More than there is room for. */
  private static void putOthers(Storage storage) throws IOException {
    for (int i = 0; i < 80; i++) {
      assertTrue(put(storage, "other" + i, 1, MIB));
    }
  }

  /** Seen: who was sent a part of it was cut off, as it was validated before that was read. */
  @Test
  void whatFitsIntoABufferStaysAsItWasFoundAlsoWhereNothingMayBeHeld() throws Exception {
    int length = 40_000; // The store has it in several pieces.
    try (var storage = Storage.open(StorageOptions.memory(32 * MIB));
        var _ = stored(storage, "slow")) {
      assertTrue(put(storage, "a", 1, length));
      try (var lease = Objects.requireNonNull(find(storage, "a"))) {
        assertTrue(put(storage, "a", 2, length));
        assertEquals(1, check(lease, "a"));
      }
    }
  }

  @Test
  void slowReadersOfWhatWasReceivedHaveOneBufferEach() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(32 * MIB))) {
      int before = Buffers.count();
      var slow = new ArrayList<Lease>();
      for (int i = 0; i < MANY; i++) {
        slow.add(followed(storage, "slow" + i));
      }
      int buffers = Buffers.count() - before;
      // Each has its first piece at hand; some lie ready.
      assertTrue(buffers < MANY + 200, () -> MANY + " slow readers have " + buffers + " buffers");
      assertEquals(1, check(slow.getFirst(), "slow0"), "the first one is not disturbed");
      assertTrue(wholes(slow.subList(1, MANY), "slow", 1).getLast(), "it is still there");
      slow.forEach(Lease::close);
    }
  }

  /** Whatever the clients do: an origin may be slow, or have much to do. */
  @Test
  void whatIsBeingReceivedTakesABoundedNumberOfBuffers() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(32 * MIB))) {
      int before = Buffers.count();
      var body = body("a", 1, LARGE);
      var all = new ArrayList<Appender>();
      var readers = new ArrayList<CompletableFuture<Long>>();
      for (int i = 0; i < MANY; i++) {
        all.add(storage.append(entry("a", 1, LARGE, storage.stamp())));
        readers.add(reader(all.getLast().follow(), "a"));
        all.getLast().append(ByteBuffer.wrap(body, 0, LARGE - 1));
      }
      int buffers = Buffers.count() - before;
      // A quarter of the memory, a few of each, and some that lie ready.
      int most = 8 * MIB / Buffers.SIZE + 3 * MANY + 100;
      assertTrue(buffers < most, () -> MANY + " responses have " + buffers + " buffers");
      for (var appender : all) {
        appender.append(ByteBuffer.wrap(body, LARGE - 1, 1));
        boolean stored = appender.commit();
        assertEquals(appender == all.getFirst() || appender == all.get(1), stored);
        appender.close();
      }
      for (var reader : readers) {
        assertEquals(1, reader.get());
      }
      assertTrue(put(storage, "b", 1, LARGE), "there is room again");
      assertEquals(1, version(storage, "b"));
    }
  }

  @Test
  void whatSlowReadersHaveAtHandIsNotBeingCollectedAnyMore() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(16 * MIB))) {
      int collected = 4 * MIB / Buffers.SIZE;
      int length = 100_000;
      var slow = new ArrayList<Lease>();
      for (int i = 0; i < 2 * collected; i++) {
        var name = "slow" + i;
        try (var appender = storage.append(entry(name, 1, length, storage.stamp()))) {
          slow.add(appender.follow());
          appender.append(ByteBuffer.wrap(body(name, 1, length)));
          assertTrue(slow.getLast().read(length - 1, 1).length > 0, "the last piece is at hand");
          assertTrue(appender.commit());
        }
      }
      assertTrue(put(storage, "other", 1, MIB), "there is room");
      assertEquals(1, version(storage, "other"));
      slow.forEach(Lease::close);
    }
  }

  /** Seen: readers that took nothing kept all of it, and nothing else could be collected. */
  @Test
  void whatWasCollectedInVainIsNotKeptForReadersThatTakeNothing() throws Exception {
    var options = StorageOptions.memory(16 * MIB).patience(Duration.ofMillis(200));
    try (var storage = Storage.open(options)) {
      var slow = new ArrayList<Lease>();
      var commits = new ArrayList<CompletableFuture<Boolean>>();
      for (int i = 0; i < 4; i++) {
        var name = "slow" + i;
        var appender = storage.append(entry(name, 1, MIB, storage.stamp()));
        slow.add(appender.follow());
        appender.append(ByteBuffer.wrap(body(name, 1, MIB)));
        storage.purge(Purge.uri(key(name)));
        commits.add(CompletableFuture.supplyAsync(() -> commit(appender)));
      }
      for (var commit : commits) {
        assertFalse(commit.get());
      }
      assertTrue(put(storage, "other", 1, MIB), "there is room");
      for (var lease : slow) {
        assertThrows(DamagedException.class, () -> lease.read(0, 1), "it may go on elsewhere");
        lease.close();
      }
    }
  }

  private static boolean commit(Appender appender) {
    try (appender) {
      return appender.commit();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void whoReadsOnGetsAllOfWhatWasCollectedInVain() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(16 * MIB))) {
      try (var appender = storage.append(entry("a", 1, MIB, storage.stamp()))) {
        var reader = reader(appender.follow(), "a");
        appender.append(ByteBuffer.wrap(body("a", 1, MIB)));
        storage.purge(Purge.uri(key("a")));
        assertFalse(appender.commit());
        assertEquals(1, reader.get());
      }
    }
  }

  /** Seen: the patience with all of it was no longer than that with a single piece. */
  @Test
  void whoReadsOnSlowlyIsNotCutOffAsOneThatStandsStillIs() throws Exception {
    var options = StorageOptions.memory(32 * MIB).patience(Duration.ofMillis(1500));
    try (var storage = Storage.open(options);
        var appender = storage.append(entry("a", 1, LARGE, storage.stamp()));
        var slow = appender.follow();
        var stuck = appender.follow()) {
      var body = body("a", 1, LARGE);
      appender.append(ByteBuffer.wrap(body));
      storage.purge(Purge.uri(key("a")));
      var commit = CompletableFuture.supplyAsync(() -> commit(appender));
      var received = ByteBuffer.allocate(LARGE);
      while (received.hasRemaining()) {
        received.put(slow.read(received.position(), LARGE)[0]);
        Thread.sleep(50); // All in all twice the patience.
      }
      assertArrayEquals(body, received.array());
      assertFalse(commit.get());
      assertThrows(DamagedException.class, () -> stuck.read(0, 1));
    }
  }

  /** Seen: as long as their clients took nothing, nothing else could be collected. */
  @Test
  void whatAnOriginGaveUpIsNotKeptForReadersThatTakeNothing() throws Exception {
    var options = StorageOptions.memory(16 * MIB).patience(Duration.ofMillis(200));
    try (var storage = Storage.open(options)) {
      var slow = new ArrayList<Lease>();
      var ends = new ArrayList<CompletableFuture<Void>>();
      for (int i = 0; i < 4; i++) {
        var appender = storage.append(entry("slow" + i, 1, MIB, storage.stamp()));
        slow.add(appender.follow());
        appender.append(ByteBuffer.wrap(body("slow" + i, 1, MIB), 0, MIB - 1));
        ends.add(CompletableFuture.runAsync(appender::close));
      }
      for (var end : ends) {
        end.get();
      }
      assertTrue(put(storage, "other", 1, MIB), "there is room");
      for (var lease : slow) {
        assertThrows(IncompleteException.class, () -> lease.read(0, 1));
        lease.close();
      }
    }
  }

  @Test
  void whoReadsOnGetsAllThatCameBeforeAnOriginGaveUp() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(16 * MIB))) {
      var body = body("a", 1, MIB);
      var appender = storage.append(entry("a", 1, MIB, storage.stamp()));
      try (var lease = appender.follow()) {
        appender.append(ByteBuffer.wrap(body, 0, MIB - 1));
        var end = CompletableFuture.runAsync(appender::close);
        var received = ByteBuffer.allocate(MIB - 1);
        while (received.hasRemaining()) {
          received.put(lease.read(received.position(), MIB)[0]);
        }
        assertArrayEquals(Arrays.copyOf(body, MIB - 1), received.array());
        assertThrows(IncompleteException.class, () -> lease.read(MIB - 1, 1));
        end.get();
      }
    }
  }

  /** Seen: as long as others came, it was passed on to them. */
  @Test
  void nobodyBeginsToFollowWhatWasCollectedInVain() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(16 * MIB));
        var appender = storage.append(entry("a", 1, MIB, storage.stamp()));
        var first = appender.follow()) {
      appender.append(ByteBuffer.wrap(body("a", 1, MIB)));
      storage.purge(Purge.uri(key("a")));
      var commit = CompletableFuture.supplyAsync(() -> commit(appender));
      // It waits for the first reader then.
      while (canBegin(appender)) {
        Thread.onSpinWait();
      }
      assertEquals(1, check(first, "a"), "who was there before reads on");
      assertFalse(commit.get());
    }
  }

  private static boolean canBegin(Appender appender) throws IOException {
    try (var late = appender.follow()) {
      return late.read(0, 1).length > 0;
    } catch (DamagedException e) {
      return false;
    }
  }

  /** Seen: it was told that it was too slow, and looked for it nowhere else. */
  @Test
  void whatWasGivenBackOfACollectionInVainMayBeElsewhere() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(16 * MIB));
        var appender = storage.append(entry("a", 1, MIB, storage.stamp()));
        var lease = appender.follow()) {
      appender.append(ByteBuffer.wrap(body("a", 1, MIB)));
      assertTrue(lease.read(MIB - 1, 1).length > 0);
      storage.purge(Purge.uri(key("a")));
      assertFalse(appender.commit());
      assertThrows(DamagedException.class, () -> lease.read(0, 1));
    }
  }

  /** Which of them are whole; none has a wrong byte. */
  private static List<Boolean> wholes(List<Lease> leases, String name, int from) {
    var wholes = new ArrayList<Boolean>();
    for (var lease : leases) {
      try {
        assertEquals(1, check(lease, name + (from + wholes.size())));
        wholes.add(true);
      } catch (IOException e) {
        wholes.add(false);
      }
    }
    return wholes;
  }
}
