package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.body;
import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.find;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the storage promises, one thing at a time, without disk and with it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StorageTest {
  private static final int MIB = 1 << 20;

  @TempDir Path directory;

  private static Storage inMemory() throws IOException {
    return Storage.open(StorageOptions.memory(16 * MIB));
  }

  private Storage onDisk() throws IOException {
    return Storage.open(
        StorageOptions.memory(4 * MIB).memoryObject(200_000).onDisk(directory, 64 * MIB));
  }

  /** Waits until so many objects are on disk. */
  private static void awaitObjects(Storage storage, long count) throws InterruptedException {
    while (storage.stats().diskObjects() < count) {
      Thread.sleep(1);
    }
  }

  @Test
  void whatIsStoredIsFoundAndSentFromNativeMemory() throws Exception {
    try (var storage = inMemory()) {
      assertNull(find(storage, "a"));
      assertTrue(put(storage, "a", 1, 10_000));
      try (var lease = find(storage, "a")) {
        assertNotNull(lease);
        assertEquals(Lease.Source.MEMORY, lease.source());
        assertEquals(10_000, lease.length());
        assertTrue(lease.head().isDirect() && lease.head().isReadOnly());
        for (var piece : lease.read(0, Long.MAX_VALUE)) {
          assertTrue(piece.isDirect() && piece.isReadOnly());
        }
        assertEquals(1, check(lease, "a"));
        assertEquals(0, lease.read(10_000, 1).length);
        assertEquals(17, lease.read(9_000, 17)[0].remaining());
        assertThrows(IndexOutOfBoundsException.class, () -> lease.read(10_001, 1));
      }
      assertTrue(put(storage, "a", 2, 0));
      assertEquals(2, version(storage, "a"));
      assertEquals(2, storage.stats().stored());
    }
  }

  @Test
  void keysAndHeadsMayBeLong() throws Exception {
    try (var storage = inMemory()) {
      var long1 = "k".repeat(Entry.MAX_KEY - 1) + "1";
      var long2 = "k".repeat(Entry.MAX_KEY - 1) + "2";
      put(storage, long1, 1, 70_000);
      put(storage, long2, 2, 70_000);
      assertEquals(1, version(storage, long1));
      assertEquals(2, version(storage, long2));
      assertThrows(IllegalArgumentException.class, () -> put(storage, long1 + "x", 1, 1));
    }
  }

  @Test
  void aResponseIsFoundOnlyWhenItIsComplete() throws Exception {
    try (var storage = inMemory();
        var appender = storage.append(entry("a", 1, 100, storage.stamp()))) {
      var body = body("a", 1, 100);
      appender.append(ByteBuffer.wrap(body, 0, 60));
      assertNull(find(storage, "a"));
      assertThrows(IOException.class, appender::commit);
      assertNull(find(storage, "a"));
      assertEquals(1, storage.stats().abandoned());
    }
  }

  @Test
  void aBodyLongerThanSaidIsAbandoned() throws Exception {
    try (var storage = inMemory();
        var appender = storage.append(entry("a", 1, 100, storage.stamp()));
        var follower = appender.follow()) {
      assertThrows(IOException.class, () -> appender.append(ByteBuffer.allocate(101)));
      assertThrows(IncompleteException.class, () -> follower.read(0, 1));
      assertNull(find(storage, "a"));
    }
  }

  /** Takes all, and prefers the one with the longest head. */
  private static final class ByLength implements Selector {
    @Override
    public boolean takes(byte[] variant) {
      return true;
    }

    @Override
    public boolean prefers(ByteBuffer earlier, ByteBuffer last) {
      return earlier.remaining() > last.remaining();
    }
  }

  @Test
  void theVariantStoredLastThatIsTakenIsFound() throws Exception {
    for (var storage : List.of(inMemory(), onDisk())) {
      try (storage) {
        for (var variant : List.of("gzip", "br", "de")) {
          put(storage, entry("a", variant, 1, 100, storage.stamp(), List.of()));
        }
        assertEquals(1, version(storage, "a", "gzip"));
        assertEquals(1, version(storage, "a", "de"));
        assertEquals(0, version(storage, "a", "en"));
        put(storage, entry("a", "br", 2, 100, storage.stamp(), List.of()));
        var seen = new ArrayList<String>();
        assertNull(storage.find(key("a"), variant -> !seen.add(new String(variant, UTF_8))));
        assertEquals(List.of("br", "de", "gzip"), seen, "newest first");
        try (var lease = find(storage, "a")) {
          assertNotNull(lease);
          assertEquals(2, check(lease, "abr"));
        }
        try (var lease = storage.find(key("a"), new ByLength())) {
          assertNotNull(lease);
          assertEquals("gzip", new String(lease.variant(), UTF_8), "it prefers that");
        }
        put(storage, "a", 3, 100);
        assertEquals(3, version(storage, "a"), "one that does not vary replaces them");
        put(storage, entry("a", "br", 4, 100, storage.stamp(), List.of()));
        assertEquals(4, version(storage, "a", "br"));
        assertEquals(0, version(storage, "a", "gzip"));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"false, 100", "true, 100", "true, 300_000", "false, 0"})
  void whatWasAskedForEarlierTakesNoPlaceOfWhatWasAskedForLater(boolean disk, String size)
      throws Exception {
    int length = Integer.parseInt(size.replace("_", ""));
    try (var storage = disk ? onDisk() : inMemory();
        var earlier = storage.append(entry("a", 1, length, storage.stamp()));
        var later = storage.append(entry("a", 2, length, storage.stamp()))) {
      later.append(ByteBuffer.wrap(body("a", 2, length)));
      assertTrue(later.commit());
      earlier.append(ByteBuffer.wrap(body("a", 1, length)));
      try (var lease = earlier.follow()) {
        var reader = TestStorage.reader(lease, "a");
        assertFalse(earlier.commit());
        assertEquals(1, reader.get(), "who follows it reads it nevertheless");
      }
      assertEquals(2, version(storage, "a"));
      put(storage, "a", 3, length);
      assertEquals(3, version(storage, "a"));
    }
  }

  @Test
  void whatWasAskedForEarlierIsNotFoundAfterARestartEither() throws Exception {
    int length = 3_000_000;
    try (var storage = onDisk();
        var earlier = storage.append(entry("a", 1, length, storage.stamp()));
        var later = storage.append(entry("a", 2, length, storage.stamp()))) {
      later.append(ByteBuffer.wrap(body("a", 2, length)));
      assertTrue(later.commit());
      earlier.append(ByteBuffer.wrap(body("a", 1, length)));
      assertFalse(earlier.commit());
    }
    try (var storage = onDisk()) {
      assertEquals(2, version(storage, "a"));
    }
  }

  @Test
  void variantsAreListedAsTheyWereAskedFor() throws Exception {
    for (var storage : List.of(inMemory(), onDisk())) {
      try (storage;
          var plain = storage.append(entry("a", 1, 100, storage.stamp()));
          var first = storage.append(entry("a", "gzip", 1, 100, storage.stamp(), List.of()));
          var second = storage.append(entry("a", "br", 1, 100, storage.stamp(), List.of()))) {
        put(storage, entry("a", "de", 1, 100, storage.stamp(), List.of()));
        second.append(ByteBuffer.wrap(body("abr", 1, 100)));
        assertTrue(second.commit());
        first.append(ByteBuffer.wrap(body("agzip", 1, 100)));
        assertTrue(first.commit());
        plain.append(ByteBuffer.wrap(body("a", 1, 100)));
        assertFalse(plain.commit(), "it would replace all of them");
        var seen = new ArrayList<String>();
        assertNull(storage.find(key("a"), variant -> !seen.add(new String(variant, UTF_8))));
        assertEquals(List.of("de", "br", "gzip"), seen);
        put(storage, entry("a", "gzip", 2, 100, storage.stamp(), List.of()));
        seen.clear();
        assertNull(storage.find(key("a"), variant -> !seen.add(new String(variant, UTF_8))));
        assertEquals(List.of("gzip", "de", "br"), seen);
      }
    }
  }

  /** What is found right has the place of what was asked for then. */
  @ParameterizedTest
  @ValueSource(ints = {100, 300_000})
  void whatIsFoundRightIsAsWhatIsAskedForThen(int length) throws Exception {
    try (var storage = onDisk()) {
      put(storage, "a", 1, length);
      try (var earlier = storage.append(entry("a", 2, length, storage.stamp()));
          var found = find(storage, "a")) {
        assertNotNull(found);
        var head = TestStorage.bytes(found.head());
        assertTrue(storage.replaceHead(found, head, List.of(), storage.stamp()));
        earlier.append(ByteBuffer.wrap(body("a", 2, length)));
        assertFalse(earlier.commit());
      }
      assertEquals(1, version(storage, "a"));
    }
  }

  @Test
  void aPurgeTakesAllOfItsKindAndNothingElse() throws Exception {
    for (var storage : List.of(inMemory(), onDisk())) {
      try (storage) {
        put(storage, entry("/x/1", "gzip", 1, 100, storage.stamp(), List.of("t", "u")));
        put(storage, entry("/x/1", "br", 1, 100, storage.stamp(), List.of("t")));
        put(storage, entry("/x/2", "", 1, 100, storage.stamp(), List.of("t")));
        put(storage, entry("/x/22", "", 1, 100, storage.stamp(), List.of()));
        put(storage, entry("/y", "", 1, 100, storage.stamp(), List.of("u")));
        storage.purge(Purge.uri(key("/x/1")));
        assertEquals(0, version(storage, "/x/1", "gzip"));
        assertEquals(0, version(storage, "/x/1", "br"));
        assertEquals(1, version(storage, "/x/2"));
        storage.purge(Purge.tag("t"));
        assertEquals(0, version(storage, "/x/2"));
        assertEquals(1, version(storage, "/y"));
        assertEquals(1, version(storage, "/x/22"));
        storage.purge(Purge.prefix(key("/x/2")));
        assertEquals(0, version(storage, "/x/22"));
        assertEquals(1, version(storage, "/y"));
        put(storage, entry("/x/2", "", 2, 100, storage.stamp(), List.of("t")));
        assertEquals(2, version(storage, "/x/2"), "what is asked for later is found");
        storage.purge(Purge.prefix(key("")));
        assertEquals(0, version(storage, "/y"));
        assertEquals(4, storage.stats().marks());
      }
    }
  }

  @Test
  void aSoftPurgeLeavesItStale() throws Exception {
    for (var storage : List.of(inMemory(), onDisk())) {
      try (storage) {
        put(storage, entry("a", "", 1, 100, storage.stamp(), List.of("t")));
        storage.purge(Purge.tag("t").softly());
        try (var lease = find(storage, "a")) {
          assertNotNull(lease);
          assertTrue(lease.isStale());
          assertTrue(
              storage.replaceHead(
                  lease, TestStorage.bytes(lease.head()), List.of("t"), storage.stamp()));
        }
        try (var lease = find(storage, "a")) {
          assertNotNull(lease);
          assertFalse(lease.isStale(), "it was validated since");
        }
      }
    }
  }

  @Test
  void whatWasAskedForBeforeAPurgeIsNotStoredAfterIt() throws Exception {
    for (var storage : List.of(inMemory(), onDisk())) {
      try (storage) {
        for (int length : new int[] {100, 1_000_000}) {
          long stamp = storage.stamp();
          storage.purge(Purge.uri(key("a")));
          assertFalse(put(storage, entry("a", 1, length, stamp)));
          assertEquals(0, version(storage, "a"));
        }
        put(storage, "b", 1, 100);
        try (var lease = find(storage, "b")) {
          assertNotNull(lease);
          long stamp = storage.stamp();
          storage.purge(Purge.uri(key("b")));
          storage.replaceHead(lease, new byte[3], List.of(), stamp);
          assertNull(find(storage, "b"), "neither is what was validated before");
        }
      }
    }
  }

  /**
   * Another reader has it meanwhile, as the disk may that writes it after its first hit. A tenth of
   * the memory is enough to hold it so often.
   */
  @Test
  void anotherHeadKeepsTheBody() throws Exception {
    var options = StorageOptions.memory(16 * MIB).memoryObject(200_000);
    try (var storage = Storage.open(options.onDisk(directory, 64 * MIB))) {
      for (int length : new int[] {0, 100, 150_000, 1_000_000}) {
        put(storage, "a", 1, length);
        byte[] head = (length + " other").getBytes(UTF_8);
        try (var lease = find(storage, "a");
            var other = find(storage, "a")) {
          assertNotNull(lease);
          assertNotNull(other);
          assertTrue(
              storage.replaceHead(lease, head, List.of("new"), storage.stamp()),
              "length " + length);
          assertFalse(
              storage.replaceHead(lease, new byte[1], List.of(), storage.stamp()),
              "it is not the same any more");
          assertEquals(1, check(lease, "a"), "the lease is as it was");
        }
        try (var lease = find(storage, "a")) {
          assertNotNull(lease);
          assertEquals(
              MemorySegment.ofArray(head).mismatch(MemorySegment.ofBuffer(lease.head())), -1);
          assertEquals(-1, Arrays.mismatch(body("a", 1, length), TestStorage.read(lease)));
        }
        storage.purge(Purge.tag("new"));
        assertNull(find(storage, "a"));
      }
    }
  }

  @Test
  void whatIsStoredOnADiskWithRoomIsThereAfterARestart() throws Exception {
    try (var storage = onDisk()) {
      for (int i = 0; i < 20; i++) {
        put(storage, "once" + i, 1, 1000 * i);
      }
      put(storage, entry("v", "gzip", 1, 100, storage.stamp(), List.of()));
      put(storage, "large", 1, 3_000_000);
      awaitObjects(storage, 23);
    }
    try (var storage = onDisk()) {
      assertEquals(23, storage.stats().diskObjects());
      for (int i = 0; i < 20; i++) {
        assertEquals(1, version(storage, "once" + i));
      }
      assertEquals(1, version(storage, "v", "gzip"));
      assertEquals(1, version(storage, "large"));
      assertEquals(22, storage.stats().diskHits());
      assertEquals(1, version(storage, "once3"));
      assertEquals(1, storage.stats().memoryHits(), "it was promoted");
      put(storage, "once3", 2, 500);
      assertEquals(2, version(storage, "once3"));
    }
  }

  @Test
  void whatIsWrittenToDiskCountsAsHitByWhoAsksForItOnly() throws Exception {
    try (var storage =
        TieredStorage.open(StorageOptions.memory(4 * MIB).onDisk(directory, 64 * MIB))) {
      put(storage, "a", 1, 100);
      awaitObjects(storage, 1);
      long hash = storage.hashOf(key("a"));
      try (var held = storage.memory().peek(hash)) {
        assertTrue(held != null && held.isFirstHit);
      }
      assertEquals(1, version(storage, "a"));
      try (var held = storage.memory().peek(hash)) {
        assertFalse(held == null || held.isFirstHit);
      }
    }
  }

  @Test
  void onAFullDiskWhatIsNewTakesThePlaceOfWhatIsOldest() throws Exception {
    var options =
        StorageOptions.memory(4 * MIB).memoryObject(1000).onDisk(directory, 8 * MIB).segment(MIB);
    try (var storage = Storage.open(options)) {
      // Too large for memory, so that they are on disk alone.
      for (int i = 0; i < 2_000; i++) {
        put(storage, "large" + i, 1, 5_000);
      }
      assertTrue(storage.stats().evictedDisk() > 0);
      put(storage, "new", 1, 100);
    }
    try (var storage = Storage.open(options)) {
      assertEquals(1, version(storage, "new"));
      assertEquals(1, version(storage, "large1999"));
      assertEquals(0, version(storage, "large0"));
    }
  }

  @Test
  void purgesHoldAfterARestart() throws Exception {
    try (var storage = onDisk()) {
      for (var name : List.of("/a/1", "/a/2", "/b/1", "/b/2", "/c")) {
        put(storage, entry(name, "", 1, 1000, storage.stamp(), List.of("tag" + name)));
        assertEquals(1, version(storage, name));
      }
      put(storage, "/large", 1, 3_000_000);
      awaitObjects(storage, 6);
      storage.purge(Purge.uri(key("/a/1")));
      storage.purge(Purge.tag("tag/a/2"));
      storage.purge(Purge.prefix(key("/b")));
      storage.purge(Purge.uri(key("/c")).softly());
      storage.purge(Purge.uri(key("/large")));
    }
    try (var storage = onDisk()) {
      for (var name : List.of("/a/1", "/a/2", "/b/1", "/b/2", "/large")) {
        assertEquals(0, version(storage, name), name);
      }
      try (var lease = find(storage, "/c")) {
        assertNotNull(lease);
        assertTrue(lease.isStale());
      }
      put(storage, "/b/1", 2, 10);
      assertEquals(2, version(storage, "/b/1"), "stamps go on");
    }
  }

  @Test
  void nothingOfAFormerRoundOfTheLogIsFoundAgain() throws Exception {
    var options =
        StorageOptions.memory(1 << 20)
            .memoryObject(1000)
            .onDisk(directory, 5 << 20)
            .segment(1 << 20);
    var before = new ArrayList<String>();
    try (var storage = Storage.open(options)) {
      // Of one size, so that what a former use of a segment left begins where a record may.
      for (int i = 1000; i < 2500; i++) {
        put(storage, "o" + i, 1, 5000);
      }
      for (int i = 1000; i < 2500; i++) {
        if (version(storage, "o" + i) > 0) {
          before.add("o" + i);
        }
      }
      assertTrue(storage.stats().evictedDisk() > 500);
    }
    try (var storage = Storage.open(options)) {
      for (int i = 1000; i < 2500; i++) {
        assertEquals(before.contains("o" + i) ? 1 : 0, version(storage, "o" + i), "o" + i);
      }
      assertEquals(0, storage.stats().corrupt(), "nor was it entered");
    }
  }

  @Test
  void theDirectoryIsOfOneProcess() throws Exception {
    try (var storage = onDisk()) {
      assertThrows(IOException.class, this::onDisk);
      assertEquals(0, storage.stats().misses(), "it is not harmed");
    }
    onDisk().close();
  }

  @Test
  void aResponseOfUnknownLengthGrowsOutOfMemory() throws Exception {
    try (var storage = onDisk()) {
      var body = body("a", 1, 5_000_000);
      var entry = new Entry(key("a"), TestStorage.head("a", 1, body.length), storage.stamp(), -1);
      try (var appender = storage.append(entry);
          var follower = appender.follow()) {
        assertEquals(-1, follower.length());
        for (int at = 0; at < body.length; at += 12_345) {
          appender.append(ByteBuffer.wrap(body, at, Math.min(12_345, body.length - at)));
        }
        assertTrue(appender.commit());
        assertEquals(body.length, follower.length());
        assertEquals(1, check(follower, "a"), "a slow reader gets all of it");
      }
      assertEquals(1, version(storage, "a"));
      try (var lease = find(storage, "a")) {
        assertNotNull(lease);
        assertEquals(Lease.Source.DISK, lease.source());
      }
    }
  }

  @Test
  void allVariantsAreFoundThatStoredLastFirst() throws Exception {
    try (var storage = onDisk()) {
      assertEquals(List.of(), storage.findAll(key("a"), 9, _ -> true));
      for (var variant : List.of("de", "en", "fr")) {
        assertTrue(put(storage, entry("a", variant, 1, 10, storage.stamp(), List.of())));
      }
      assertEquals(List.of("fr", "en", "de"), variants(storage, "a", 9));
      assertEquals(List.of("fr", "en"), variants(storage, "a", 2));
      assertTrue(put(storage, "b", 1, 10));
      assertEquals(List.of(""), variants(storage, "b", 9));
    }
  }

  /** What is leaked is held for good, and only a tenth of the memory may be. */
  @Test
  void whatWasFoundIsLetGoOfIfMoreCannotBe() throws Exception {
    try (var storage = inMemory()) {
      for (int i = 0; i < 100; i++) {
        var key = "a" + i;
        for (var variant : List.of("de", "en")) {
          assertTrue(put(storage, entry(key, variant, 1, 100_000, storage.stamp(), List.of())));
        }
        var failing = new AtomicInteger();
        assertThrows(
            IllegalStateException.class,
            () ->
                storage.findAll(
                    key(key),
                    9,
                    _ -> {
                      if (failing.incrementAndGet() == 2) {
                        throw new IllegalStateException("there is no buffer");
                      }
                      return true;
                    }));
      }
      try (var lease = find(storage, "a99", "en")) {
        assertNotNull(lease);
        assertTrue(
            storage.replaceHead(lease, new byte[10], List.of(), storage.stamp()),
            "it is held itself");
      }
    }
  }

  private static List<String> variants(Storage storage, String key, int most) {
    var variants = new ArrayList<String>();
    for (var lease : storage.findAll(key(key), most, _ -> true)) {
      try (lease) {
        variants.add(new String(lease.variant(), UTF_8));
      }
    }
    return variants;
  }

  /** Seen: a client that invalidated a million other URIs emptied the cache. */
  @Test
  void whatNobodyHasAskedForIsInvalidatedWithoutAMark() throws Exception {
    try (var storage = inMemory()) {
      assertTrue(put(storage, "a", 1, 10_000));
      for (int i = 0; i < 5000; i++) {
        storage.invalidate(Purge.uri(key("other" + i)));
      }
      assertEquals(0, storage.stats().marks());
      assertEquals(5000, storage.stats().purges());
      assertEquals(1, version(storage, "a"));
      storage.invalidate(Purge.uri(key("a")));
      assertEquals(0, version(storage, "a"));
      assertEquals(1, storage.stats().marks());
    }
  }

  @Test
  void whatIsInvalidatedWhileItIsAskedForIsNotStored() throws Exception {
    try (var storage = inMemory()) {
      try (var question = storage.ask(key("a"))) {
        storage.ask(key("a")).close();
        storage.invalidate(Purge.uri(key("a")));
        assertFalse(put(storage, entry("a", 1, 10, question.stamp())));
      }
      assertEquals(1, storage.stats().marks());
    }
  }

  @Test
  void whatIsInvalidatedWhileItIsReceivedIsNotStored() throws Exception {
    try (var storage = inMemory()) {
      Appender appender;
      try (var question = storage.ask(key("a"))) {
        appender = storage.append(entry("a", "v", 1, 10, question.stamp(), List.of()));
      }
      try (appender) {
        appender.append(ByteBuffer.wrap(body("av", 1, 10)));
        storage.invalidate(Purge.uri(key("a")));
        assertFalse(appender.commit());
      }
      assertEquals(1, storage.stats().marks());
      try (var question = storage.ask(key("a"))) {
        assertTrue(put(storage, entry("a", "v", 2, 10, question.stamp(), List.of())));
      }
      storage.invalidate(Purge.uri(key("a")));
      assertEquals(0, version(storage, "a", "v"));
    }
  }
}
