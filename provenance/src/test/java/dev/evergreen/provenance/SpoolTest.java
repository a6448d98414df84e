package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Frames.Frame;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The frames of a spool come back as they were recorded, or their loss is told. */
@Timeout(120)
class SpoolTest {
  private static final SpoolSettings SMALL =
      new SpoolSettings(
          1 << 20, 256 << 10, Durability.NONE, Overflow.SLOW, SpoolSettings.DEFAULT.batch());
  private static final Client CLIENT = new Client("127.0.0.1:1", "", "", "");

  @TempDir Path directory;

  static LongStream seeds() {
    return LongStream.range(0, Long.getLong("evergreen.provenance.seeds", 20));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsWhatWasRecordedThroughEndsAndCrashes(long seed) throws IOException {
    var random = new Random(seed);
    var expected = new ArrayList<Frame>();
    var read = new ArrayList<Frame>();
    var lost = new long[1];
    var position = SpoolReader.Position.START;
    var place = directory.resolve("0");
    for (int life = 0; life < 4; life++) {
      var reader = new SpoolReader(place, position);
      try (var spool = Spool.open(place, SMALL)) {
        expected.add(new Frame(FrameKind.START, 0, 0, 0, 0, Bytes.EMPTY));
        for (int i = 0; i < 60; i++) {
          recordSome(spool, random, expected, new TreeSet<>());
          if (random.nextBoolean()) {
            read.addAll(Frames.all(reader, lost));
            spool.release(reader.position().segment());
          }
        }
        position = reader.position();
        reader.close();
        if (random.nextBoolean()) {
          place = Frames.copy(place, directory.resolve("killed" + life));
          continue;
        }
      }
      expected.add(new Frame(FrameKind.END, 0, 0, 0, 0, Bytes.EMPTY));
    }
    try (var reader = new SpoolReader(place, position)) {
      read.addAll(Frames.all(reader, lost));
    }
    assertEquals(0, lost[0]);
    assertEquals(numbers(expected), numbers(read));
    assertEquals(withoutNumbers(expected), withoutNumbers(read));
  }

  /**
   * Records up to thirty frames, less than what a segment has left when one is free.
   *
   * @param together the numbers of what is in one frame with what was recorded before it
   */
  private static void recordSome(
      Spool spool, Random random, List<Frame> expected, NavigableSet<Long> together) {
    int most = 1 << random.nextInt(12);
    for (int i = 0; i < random.nextInt(30); i++) {
      if (random.nextInt(3) == 0) {
        recordTogether(spool, random, most, expected, together);
        continue;
      }
      var bytes = new byte[random.nextInt(most)];
      random.nextBytes(bytes);
      var buffer = buffer(bytes, random);
      int position = buffer.position();
      long one = random.nextLong();
      long two = random.nextLong(1000);
      expected.add(
          random.nextBoolean()
              ? new Frame(
                  FrameKind.REQUEST,
                  spool.request(one, two, 7, buffer),
                  one,
                  two,
                  7,
                  Bytes.of(bytes))
              : new Frame(FrameKind.REPLY, spool.reply(two, buffer), 0, 0, two, Bytes.of(bytes)));
      assertEquals(position, buffer.position());
    }
  }

  private static void recordTogether(
      Spool spool, Random random, int most, List<Frame> expected, NavigableSet<Long> together) {
    var bytes = new byte[random.nextInt(most)];
    random.nextBytes(bytes);
    var buffer = buffer(bytes, random);
    int from = buffer.position();
    var batch = new Batch();
    batch.begin(buffer.clear(), from);
    int count = 1 + random.nextInt(20);
    for (int i = 1; i < count; i++) {
      batch.add(batch.to() + random.nextInt(1 + (from + bytes.length - batch.to()) / 2));
    }
    batch.add(from + bytes.length);
    boolean requests = random.nextBoolean();
    long one = random.nextLong();
    long about = random.nextLong(1000);
    long first =
        requests ? spool.requests(one, about, 7, batch) : spool.replies(about, batch) - (count - 1);
    for (int i = 0; i < count; i++) {
      var body = Bytes.of(bytes).slice(batch.start(i) - from, batch.end(i) - from);
      expected.add(
          requests
              ? new Frame(FrameKind.REQUEST, first + i, one, about, 7, body)
              : new Frame(FrameKind.REPLY, first + i, 0, 0, about + i, body));
      if (i > 0) {
        together.add(first + i);
      }
    }
  }

  private static ByteBuffer buffer(byte[] bytes, Random random) {
    int before = random.nextInt(5);
    int room = before + bytes.length + random.nextInt(5);
    var buffer = random.nextBoolean() ? ByteBuffer.allocate(room) : ByteBuffer.allocateDirect(room);
    return buffer.put(before, bytes).position(before).limit(before + bytes.length);
  }

  private static String withoutNumbers(List<Frame> frames) {
    return frames.stream()
        .map(
            f ->
                f.kind()
                    + " "
                    + f.one()
                    + " "
                    + f.two()
                    + " "
                    + f.about()
                    + " "
                    + f.body().hashCode())
        .collect(Collectors.joining("\n"));
  }

  private static List<Long> numbers(List<Frame> frames) {
    return frames.stream()
        .filter(f -> f.kind() == FrameKind.REQUEST || f.kind() == FrameKind.REPLY)
        .map(Frame::number)
        .toList();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void tellsWhatIsDamagedAndReadsTheRest(long seed) throws IOException {
    var random = new Random(seed);
    var together = new TreeSet<Long>();
    try (var spool = Spool.open(directory.resolve("whole"), SMALL)) {
      for (int i = 0; i < 60; i++) {
        recordSome(spool, random, new ArrayList<>(), together);
      }
    }
    var whole = Frames.all(directory.resolve("whole"), new long[1]);
    var copy = Frames.copy(directory.resolve("whole"), directory.resolve("damaged"));
    var files = SpoolFiles.list(copy);
    var path = SpoolFiles.path(copy, files.get(random.nextInt(files.size())));
    var content = Files.readAllBytes(path);
    int damages = 1 + random.nextInt(3);
    for (int i = 0; i < damages; i++) {
      content[64 + random.nextInt(content.length - 64)] ^= (byte) (1 << random.nextInt(8));
    }
    Files.write(path, content);
    // Another life follows, so that nobody waits for more in the damaged file.
    Spool.open(copy, SMALL).close();

    var lost = new long[1];
    var read = Frames.all(copy, lost);
    var kept = read.subList(0, read.size() - 2);
    assertTrue(whole.containsAll(kept), "something was read that was not recorded");
    var begins = new TreeSet<>(whole.stream().map(Frame::number).toList());
    begins.removeAll(together);
    var broken = new ArrayList<>(whole);
    broken.removeAll(kept);
    var frames = broken.stream().map(frame -> begins.floor(frame.number())).distinct();
    assertTrue(frames.count() <= damages, "a damage takes one frame at most");
    assertTrue(lost[0] >= whole.size() - kept.size(), "what is lost is told");
  }

  /** One thread is killed inside a frame, while others have gone on to the next files. */
  @Test
  void passesAFrameThatItsRunNeverFinished() throws IOException {
    try (var spool = Spool.open(directory.resolve("run"), SMALL)) {
      recordMany(spool, 100, new AtomicLong());
    }
    var copy = Frames.copy(directory.resolve("run"), directory.resolve("killed"));
    var path = SpoolFiles.path(copy, 0);
    var content = Files.readAllBytes(path);
    // The highest bit of the first frame's word says that it is finished.
    content[SpoolSegment.offset(SpoolSegment.start()) + 7] &= 0x7f;
    Files.write(path, content);
    try (var reader = new SpoolReader(copy, SpoolReader.Position.START)) {
      assertEquals(SpoolReader.Step.NOTHING, reader.next(), "it may still be finished");
      Spool.open(copy, SMALL).close();
      assertEquals(SpoolReader.Step.GAP, reader.next());
      assertEquals(100, numbers(Frames.all(reader, new long[1])).size());
    }
  }

  /** Each of them has a number, so that as many are missing. */
  @Test
  void tellsHowManyAreLostWithAFrameOfSeveral() throws IOException {
    var batch = new Batch();
    batch.begin(ByteBuffer.allocate(100), 0);
    IntStream.rangeClosed(1, 50).forEach(i -> batch.add(2 * i));
    long first;
    try (var spool = Spool.open(directory.resolve("run"), SMALL)) {
      first = spool.requests(1, 2, 3, batch);
      assertEquals(first + 50, spool.request(1, 2, 3, ByteBuffer.allocate(1)));
      assertEquals(first + 100, spool.replies(first, batch));
    }
    var copy = Frames.copy(directory.resolve("run"), directory.resolve("damaged"));
    try (var file = FileChannel.open(SpoolFiles.path(copy, 0), StandardOpenOption.WRITE)) {
      // Behind that which says that the recording begins, something in a body.
      file.write(ByteBuffer.wrap(new byte[] {1}), 64 + 48 + 48 + 250);
    }
    var lost = new long[1];
    var read = Frames.all(copy, lost);
    assertEquals(50, lost[0]);
    assertEquals(LongStream.rangeClosed(first + 50, first + 100).boxed().toList(), numbers(read));
  }

  @Test
  void keepsBodiesInPiecesUntilTheyAreTooLargeAndThenTheirHash() throws IOException {
    var settings = SMALL.withBytes(64 << 20).withSegmentBytes(4 << 20);
    var piece = ByteBuffer.allocateDirect(1 << 20);
    var hash = SpooledBody.sha256();
    try (var spool = Spool.open(directory, settings)) {
      var body = spool.beginReply(5);
      for (int i = 0; i < 20; i++) {
        piece.put(0, (byte) i);
        hash.update(piece.duplicate());
        body.add(piece);
      }
      body.end();
    }
    var frames = Frames.all(directory, new long[1]);
    long pieces =
        frames.stream()
            .filter(f -> f.kind() == FrameKind.PIECE)
            .mapToLong(f -> f.body().length())
            .sum();
    assertEquals(Spool.LARGEST_BODY, pieces);
    var end = frames.get(frames.size() - 2).body();
    assertEquals(
        20L << 20,
        ByteBuffer.wrap(end.toArray()).order(java.nio.ByteOrder.LITTLE_ENDIAN).getLong());
    assertEquals(Bytes.of(hash.digest()), end.slice(8, 40));
  }

  @Test
  void slowsWhoRecordsUntilThereIsRoom() throws Exception {
    try (var spool = Spool.open(directory, SMALL);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      var progress = new AtomicLong();
      var recorder = Thread.startVirtualThread(() -> recordMany(spool, 600, progress));
      while (spool.report().waits() == 0 || spool.report().segments() < 4) {
        Thread.onSpinWait();
      }
      assertTrue(progress.get() < 300, "1 MiB has no room for more frames of 4 KiB");
      var read = new ArrayList<Frame>();
      while (recorder.isAlive()) {
        read.addAll(Frames.all(reader, new long[1]));
        spool.release(reader.position().segment());
      }
      read.addAll(Frames.all(reader, new long[1]));
      assertEquals(600, numbers(read).size());
      assertEquals(0, spool.report().dropped());
    }
  }

  @Test
  void endsAlsoWhenItIsFullAndNobodyLoads() throws Exception {
    var spool = Spool.open(directory, SMALL);
    var last = new AtomicLong();
    var recorder =
        Thread.startVirtualThread(
            () -> {
              var bytes = ByteBuffer.allocate(4096);
              while (last.get() >= 0) {
                last.set(spool.request(1, 2, 3, bytes));
              }
            });
    while (spool.report().waits() == 0 || spool.report().segments() < 4) {
      Thread.onSpinWait();
    }
    spool.finish();
    recorder.join();
    assertTrue(last.get() < 0);
    spool.close();
  }

  @Test
  void readsEachFrameOnceWhileFilesComeAndGo() throws Exception {
    int frames = 40_000;
    try (var spool = Spool.open(directory, SMALL);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      var recorders = new ArrayList<Thread>();
      for (int i = 0; i < 4; i++) {
        recorders.add(
            Thread.ofPlatform().start(() -> recordMany(spool, frames / 4, new AtomicLong())));
      }
      long read = 0;
      while (read < frames) {
        var step = reader.next();
        assertTrue(step != SpoolReader.Step.GAP, "lost nothing, and says it did");
        if (step == SpoolReader.Step.FRAME && reader.kind() == FrameKind.REQUEST) {
          read++;
        } else {
          spool.release(reader.position().segment());
        }
      }
      for (var recorder : recorders) {
        recorder.join();
      }
    }
  }

  private static void recordMany(Spool spool, int frames, AtomicLong progress) {
    var bytes = ByteBuffer.allocate(4096);
    for (int i = 0; i < frames; i++) {
      spool.request(1, 2, 3, bytes);
      progress.incrementAndGet();
    }
  }

  @Test
  void dropsAndTellsHowMuchWhenItIsFull() throws Exception {
    try (var spool = Spool.open(directory, SMALL.withOverflow(Overflow.DROP));
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      recordMany(spool, 600, new AtomicLong());
      long dropped = spool.report().dropped();
      assertTrue(dropped > 300, "1 MiB has no room for more frames of 4 KiB");
      long number = spool.request(1, 2, 3, ByteBuffer.allocate(4096));
      assertTrue(number < 0);
      assertEquals(Spool.DROPPED, spool.reply(number, ByteBuffer.allocate(1)));
      var three = new Batch();
      three.begin(ByteBuffer.allocate(9000), 0);
      IntStream.of(3000, 6000, 9000).forEach(three::add);
      assertEquals(number, spool.requests(1, 2, 3, three));
      assertEquals(Spool.DROPPED, spool.replies(number, three));

      var read = Frames.all(reader, new long[1]);
      assertEquals(600 - dropped, numbers(read).size());
      spool.release(reader.position().segment());
      while (spool.request(1, 2, 3, ByteBuffer.allocate(1)) < 0) {
        dropped++;
      }
      long atOnce = gaps(read).getFirst();
      var gap = Frames.all(reader, new long[1]).getFirst();
      assertEquals(FrameKind.GAP, gap.kind());
      assertEquals(dropped + 8, atOnce + gap.about());
    }
  }

  /** How many frames each gap tells that is among these. */
  private static List<Long> gaps(List<Frame> frames) {
    return frames.stream()
        .filter(frame -> frame.kind() == FrameKind.GAP)
        .map(Frame::about)
        .toList();
  }

  /** Nothing need come after it, and the process may be killed. */
  @ParameterizedTest
  @EnumSource(Durability.class)
  void tellsAtOnceThatItDrops(Durability durability) throws Exception {
    var settings = SMALL.withDurability(durability).withOverflow(Overflow.DROP);
    try (var spool = Spool.open(directory, settings);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      var bytes = ByteBuffer.allocate(4096);
      long last = 0;
      for (long next = 1; next > 0; next = spool.request(1, 2, 3, bytes)) {
        last = next;
        assertEquals(List.of(), gaps(Frames.all(reader, new long[1])));
      }
      spool.settle(Spool.DROPPED);
      var lost = new long[1];
      var gap = Frames.all(reader, lost).getLast();
      assertEquals(FrameKind.GAP, gap.kind());
      assertEquals(1, gap.about());
      assertEquals(last + 1, gap.number());
      assertTrue(spool.request(1, 2, 3, bytes) < 0);
      assertEquals(List.of(), Frames.all(reader, lost), "there is room for one gap");

      var killed = Frames.copy(directory, directory.resolve("killed"));
      Spool.open(killed, settings.withBytes(2L << 20)).close();
      var read = Frames.all(killed, lost);
      assertEquals(List.of(1L), gaps(read));
      assertEquals(
          read.stream().map(Frame::number).distinct().count(), read.size(), "no number is twice");
      assertEquals(0, lost[0]);
      assertEquals(last + 2, spool.report().nextNumber());
    }
  }

  /** The effect of a request may come when others are recorded again: by its reply it is there. */
  @Test
  void tellsAgainWhenTheReplyComesToWhatWasDropped() throws Exception {
    try (var spool = Spool.open(directory, SMALL.withOverflow(Overflow.DROP));
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      long request = drop(spool, 2, 2);
      makeRoom(spool, reader);
      for (int i = 0; i < 2; i++) {
        // Others have nothing to do with that.
        spool.unanswered(Spool.DROPPED, Unanswered.NONE_EXPECTED);
        spool.reply(Spool.DROPPED, ByteBuffer.allocate(1));
        assertEquals(List.of(), gaps(Frames.all(reader, new long[1])));
        if (i == 0) {
          spool.reply(request, ByteBuffer.allocate(1));
        } else {
          spool.unanswered(request, Unanswered.NOT_SENT);
        }
        assertEquals(List.of(1L), gaps(Frames.all(reader, new long[1])));
      }
      spool.endLane(2, false);
      assertEquals(List.of(), gaps(Frames.all(reader, new long[1])), "no more were dropped");
    }
  }

  /** Then no reply will come. */
  @Test
  void tellsAgainWhenTheLaneEndsOfWhatWasDropped() throws Exception {
    try (var spool = Spool.open(directory, SMALL.withOverflow(Overflow.DROP));
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      long request = drop(spool, 2, 3);
      drop(spool, -7, 1);
      makeRoom(spool, reader);
      spool.reply(request, ByteBuffer.allocate(1));
      Frames.all(reader, new long[1]);
      spool.endLane(3, true);
      assertEquals(List.of(), gaps(Frames.all(reader, new long[1])), "of another lane");
      spool.endLane(2, true);
      assertEquals(List.of(2L), gaps(Frames.all(reader, new long[1])));
      spool.endLane(-7, true);
      assertEquals(List.of(1L), gaps(Frames.all(reader, new long[1])));
    }
  }

  /** Fills a spool until so many requests on a lane were dropped; answers their number. */
  private static long drop(Spool spool, long lane, int many) {
    long number = 0;
    for (int dropped = 0; dropped < many; ) {
      number = spool.request(1, lane, 3, ByteBuffer.allocate(4096));
      dropped += number < 0 ? 1 : 0;
    }
    return number;
  }

  private static void makeRoom(Spool spool, SpoolReader reader) throws Exception {
    Frames.all(reader, new long[1]);
    spool.release(reader.position().segment());
    while (spool.request(1, 9, 3, ByteBuffer.allocate(4096)) < 0) {
      Thread.onSpinWait();
    }
    Frames.all(reader, new long[1]);
  }

  /** A recorder has requests of its own, which nobody has to know. */
  @Test
  void theReplyToWhatWasNeverToBeRecordedIsNoLoss() throws IOException {
    try (var spool = Spool.open(directory, SMALL)) {
      assertEquals(Spool.DROPPED, spool.reply(Spool.DROPPED, ByteBuffer.allocate(1)));
      recordMany(spool, 100, new AtomicLong());
      assertEquals(0, spool.report().dropped());
    }
    assertEquals(List.of(), gaps(Frames.all(directory, new long[1])));
  }

  /** It is put where the thread that forces has been already. */
  @Test
  void forcesAlsoTheLastFrameOfAFile() throws Exception {
    var file = Files.write(directory.resolve("segment"), new byte[1 << 16]);
    var segment = SpoolSegment.prepared(0, file, 1 << 16);
    segment.begin(1, 1, 1);
    long number = 0;
    for (long at = 0; at != SpoolSegment.FULL; at = segment.claim(4096, 1)) {
      if (at != 0) {
        segment.head(at, FrameKind.REQUEST, (byte) 0, 1, 1, 1, 0);
        segment.finish(at);
        number = segment.number(at);
      }
    }
    var forced = new ConcurrentLinkedQueue<Integer>();
    var sync =
        new SpoolSync(
            segment, SMALL.withDurability(Durability.REPLY), (_, _, to) -> forced.add(to));
    sync.start();
    sync.await(number);
    long last = segment.putLast(FrameKind.GAP, 1, 0, 1, ByteBuffer.allocate(10));
    assertEquals(number + 1, segment.number(last));
    sync.await(number + 1);
    assertEquals(2, forced.size());
    assertEquals(
        SpoolSegment.FULL, segment.putLast(FrameKind.GAP, 1, 0, 1, ByteBuffer.allocate(1)));
    assertEquals(SpoolSegment.FULL, segment.claim(SpoolSegment.FRAME_HEADER, 1));
    sync.close();
    segment.close();
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void keepsTheOrderOfManyThreadsAndFibers(Durability durability) throws Exception {
    int threads = 4;
    int each = durability == Durability.REPLY ? 200 : 20_000;
    try (var spool = Spool.open(directory, SMALL.withDurability(durability));
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      var running = new ArrayList<Thread>();
      var failures = new ConcurrentLinkedQueue<Throwable>();
      for (int i = 0; i < threads; i++) {
        int me = i;
        Runnable work =
            () -> {
              try {
                exchange(spool, durability, me, each);
              } catch (Throwable e) {
                failures.add(e);
              }
            };
        running.add(i % 2 == 0 ? Thread.startVirtualThread(work) : Thread.ofPlatform().start(work));
      }
      var next = new long[threads];
      var open = new java.util.HashMap<Long, Long>();
      long frames = 0;
      while (frames < 2L * threads * each && failures.isEmpty()) {
        if (reader.next() != SpoolReader.Step.FRAME) {
          spool.release(reader.position().segment());
          continue;
        }
        var frame = Frames.frame(reader);
        if (frame.kind() == FrameKind.REQUEST) {
          int thread = (int) frame.one();
          assertEquals(next[thread]++, frame.body().length() == 0 ? -1 : value(frame));
          open.put(frame.number(), frame.one());
          frames++;
        } else if (frame.kind() == FrameKind.REPLY) {
          assertEquals(open.remove(frame.about()), value(frame));
          frames++;
        }
      }
      for (var thread : running) {
        thread.join();
      }
      assertEquals(List.of(), List.copyOf(failures));
      assertEquals(threads * (long) each, LongStream.of(next).sum());
    }
  }

  private static long value(Frame frame) {
    return ByteBuffer.wrap(frame.body().toArray()).getLong();
  }

  private static void exchange(Spool spool, Durability durability, int me, int each) {
    var bytes = ByteBuffer.allocate(8 + me);
    for (long i = 0; i < each; i++) {
      long request = spool.request(me, 0, 0, bytes.putLong(0, i));
      long reply = spool.reply(request, bytes.putLong(0, me));
      assertTrue(reply > request);
      spool.settle(reply);
      if (durability == Durability.REPLY) {
        assertTrue(spool.report().durable() > reply);
      }
    }
  }

  /** Such as for want of memory: readers would wait for the rest of it for ever. */
  @Test
  void passesAFrameWhoseRecordingFailed() throws IOException {
    try (var spool = Spool.open(directory, SMALL);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      var arena = Arena.ofShared();
      var gone = arena.allocate(100).asByteBuffer();
      arena.close();
      assertThrows(IllegalStateException.class, () -> spool.request(1, 2, 3, gone));
      long number = spool.request(1, 2, 3, ByteBuffer.allocate(1));
      var lost = new long[1];
      assertEquals(number, Frames.all(reader, lost).getLast().number());
      assertEquals(1, lost[0]);
    }
  }

  /** Several may fail one after the other, also where a file ends and the next one goes on. */
  @Test
  void passesFramesOneBehindTheOtherWhoseRecordingFailed() throws IOException {
    try (var spool = Spool.open(directory, SMALL);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      var arena = Arena.ofShared();
      var gone = arena.allocate(60_000).asByteBuffer();
      arena.close();
      var lost = new long[1];
      for (int i = 1; i <= 4; i++) {
        assertThrows(IllegalStateException.class, () -> spool.request(1, 2, 3, gone));
        if (i < 3) {
          Frames.all(reader, lost);
          assertEquals(i, lost[0]);
        }
      }
      long number = spool.request(1, 2, 3, ByteBuffer.allocate(60_000));
      assertEquals(number, Frames.all(reader, lost).getLast().number());
      assertEquals(4, lost[0]);
    }
  }

  /** What is being recorded behind them will be whole, and is waited for. */
  @Test
  void losesNothingBehindFramesWhoseRecordingFailed() throws IOException {
    var path = SpoolFiles.path(directory, 0);
    Files.write(path, new byte[1 << 16]);
    try (var segment = SpoolSegment.prepared(0, path, 1 << 16);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      segment.begin(1, 1, 1);
      segment.giveUp(segment.claim(SpoolSegment.FRAME_HEADER, 1));
      segment.giveUp(segment.claim(SpoolSegment.FRAME_HEADER, 1));
      long unfinished = segment.claim(SpoolSegment.FRAME_HEADER, 1);
      recordIn(segment);
      var lost = new long[1];
      assertEquals(List.of(), Frames.all(reader, lost));
      segment.head(unfinished, FrameKind.REQUEST, (byte) 0, 1, 1, 1, 0);
      segment.finish(unfinished);
      assertEquals(List.of(3L, 4L), numbers(Frames.all(reader, lost)));
      assertEquals(2, lost[0]);
    }
  }

  /** Whoever else writes to the file, nobody goes round in a circle there; it counts as lost. */
  @ParameterizedTest
  @ValueSource(longs = {1L << 63, 1L << 63 | 7, 1L << 63 | 1L << 31, 1L << 63 | 0xffff_ffffL})
  void aDestroyedWordEndsNoWalk(long word) throws IOException {
    var path = SpoolFiles.path(directory, 0);
    Files.write(path, new byte[1 << 16]);
    try (var segment = SpoolSegment.prepared(0, path, 1 << 16);
        var reader = new SpoolReader(directory, SpoolReader.Position.START);
        var file = FileChannel.open(path, StandardOpenOption.WRITE)) {
      segment.begin(1, 1, 1);
      long start = SpoolSegment.start();
      var bytes = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(0, word);
      file.write(bytes, SpoolSegment.offset(start));
      assertTimeoutPreemptively(
          Duration.ofSeconds(20),
          () -> {
            boolean padding = (word & 1L << 31) != 0;
            assertEquals(padding, segment.isOver(start));
            assertEquals(padding, segment.finished(start) == start);
            assertTrue(SpoolSegment.offset(segment.end(start)) > SpoolSegment.offset(start));
            long claimed = segment.claim(SpoolSegment.FRAME_HEADER, 1);
            assertEquals(padding, claimed == SpoolSegment.FULL);
            var lost = new long[1];
            if (!padding) {
              segment.head(claimed, FrameKind.REQUEST, (byte) 0, 1, 1, 1, 0);
              segment.finish(claimed);
              assertEquals(List.of(2L), numbers(Frames.all(reader, lost)));
              assertEquals(1, lost[0]);
            }
          });
    }
  }

  /** What was forced to the disk is there, and nothing else: a failure of the power. */
  @Test
  void givesNoNumberAndNoFileAgainWhenTheDiskHasLostThem() throws IOException {
    long given;
    try (var spool = Spool.open(directory, SMALL);
        var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      for (int i = 0; i < 10; i++) {
        recordMany(spool, 100, new AtomicLong());
        Frames.all(reader, new long[1]);
        spool.release(reader.position().segment());
      }
      given = spool.report().nextNumber();
      Frames.copyForced(directory, directory.resolve("lost"));
    }
    long next = SpoolFiles.list(directory).getLast() + 1;
    try (var spool = Spool.open(directory.resolve("lost"), SMALL)) {
      assertTrue(spool.request(1, 2, 3, ByteBuffer.allocate(1)) >= given);
      assertTrue(SpoolFiles.list(directory.resolve("lost")).getFirst() >= next);
    }
  }

  /** Whoever waits for a frame hears that it is on the disk only if it is, also at the end. */
  @Test
  void tellsNobodyAtTheEndThatWhatWasNotForcedIsOnTheDisk() throws Exception {
    var file = Files.write(directory.resolve("segment"), new byte[1 << 16]);
    var segment = SpoolSegment.prepared(0, file, 1 << 16);
    segment.begin(1, 1, 1);
    long first = recordIn(segment);
    long unfinished = segment.claim(SpoolSegment.FRAME_HEADER, 1);
    long behind = recordIn(segment);
    var sync = new SpoolSync(segment, SMALL.withDurability(Durability.REPLY));
    var waiting = new FutureTask<Void>(() -> sync.await(segment.number(behind)), null);
    var waiter = Thread.ofPlatform().start(waiting);
    while (waiter.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    sync.close();
    sync.await(segment.number(first));
    assertEquals(segment.number(unfinished), sync.durable());
    var failure = assertThrows(ExecutionException.class, waiting::get);
    assertTrue(failure.getCause() instanceof UncheckedIOException, failure::toString);
    segment.close();
  }

  /** What it works at is closed next, such as files that are mapped into memory. */
  @Test
  void waitsForTheEndOfAThreadAlsoIfInterrupted() throws Exception {
    var end = new CountDownLatch(1);
    var working =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    end.await();
                  } catch (InterruptedException e) {
                    throw new IllegalStateException("nobody interrupts it", e);
                  }
                });
    var closing =
        new FutureTask<>(
            () -> {
              Thread.currentThread().interrupt();
              SpoolFiles.awaitEnd(working);
              return !working.isAlive() && Thread.interrupted();
            });
    var closer = Thread.ofPlatform().start(closing);
    while (closer.isAlive() && closer.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    end.countDown();
    assertTrue(closing.get(), "it still works, or who was interrupted does not know it");
  }

  private static long recordIn(SpoolSegment segment) {
    long at = segment.claim(SpoolSegment.FRAME_HEADER, 1);
    segment.head(at, FrameKind.REQUEST, (byte) 0, 1, 1, 1, 0);
    segment.finish(at);
    return at;
  }

  /** Nobody waits for a disk that does not answer any more. */
  @Test
  void tellsWhoWaitsThatItCannotBeForced() throws IOException {
    var made = directory.resolve("file");
    Files.write(made, new byte[1 << 16]);
    var segment = SpoolSegment.prepared(0, made, 1 << 16);
    segment.begin(1, 2, 3);
    recordIn(segment);
    var sync =
        new SpoolSync(
            segment,
            SMALL.withDurability(Durability.REPLY),
            (_, _, _) -> {
              throw new UncheckedIOException(new IOException("a broken disk"));
            });
    sync.start();
    assertThrows(UncheckedIOException.class, () -> sync.await(1));
    assertEquals(Long.MAX_VALUE, sync.index(), "nothing waits to be forced");
    sync.close();
    segment.close();
  }

  /** Else all who record would wait for a file that nobody makes. */
  @Test
  void makesFilesAgainAfterAnErrorOfAnyKind() throws Exception {
    var deaths = new AtomicLong(2);
    // Who waits for room looks again after each failure, and when there is a file.
    var made = new CountDownLatch(3);
    var files = SpoolFiles.open(directory, SMALL);
    files.takeFirst();
    files.start(
        () -> {
          if (deaths.getAndDecrement() > 0) {
            throw new OutOfMemoryError("of a test");
          }
          return 1;
        },
        made::countDown);
    made.await();
    assertEquals(2, files.count());
    files.close(1);
  }

  /** Also after its disk was damaged. */
  @ParameterizedTest
  @MethodSource("seeds")
  void tellsHowFarItIsWhateverItsWordsAre(long seed) throws IOException {
    long last;
    try (var spool = Spool.open(directory, SMALL)) {
      recordMany(spool, 20, new AtomicLong());
      last = spool.report().nextNumber() - 1;
      assertEquals(last, new SpoolEnd(directory).lastNumber());
      var random = new Random(seed);
      try (var file = FileChannel.open(SpoolFiles.path(directory, 0), StandardOpenOption.WRITE)) {
        // The word of a frame; the highest bit says that it is finished.
        var word = ByteBuffer.allocate(8).putLong(0, random.nextLong());
        word.put(7, (byte) 0x80);
        file.write(word, 64 + 48 + (4096 + 48) * random.nextInt(20));
      }
      assertTrue(new SpoolEnd(directory).lastNumber() <= last);
    }
  }

  /** Also when another file has begun since. */
  @Test
  void tellsHowFarItHasComeSinceItWasAskedLast() throws IOException {
    try (var spool = Spool.open(directory, SMALL)) {
      var end = new SpoolEnd(directory);
      for (int i = 0; i < 30; i++) {
        recordMany(spool, 3, new AtomicLong());
        assertEquals(spool.report().nextNumber() - 1, end.lastNumber());
      }
      assertTrue(SpoolFiles.list(directory).size() > 1);
    }
  }

  @Test
  void tellsHowFarASpoolIsThatWasBegunAnew() throws IOException {
    var end = new SpoolEnd(directory);
    for (int frames : new int[] {12, 3}) {
      try (var spool = Spool.open(directory, SMALL)) {
        recordMany(spool, frames, new AtomicLong());
        assertEquals(spool.report().nextNumber() - 1, end.lastNumber());
      }
      try (var files = Files.list(directory)) {
        for (var file : files.toList()) {
          Files.delete(file);
        }
      }
    }
  }

  /** Who has just listed the files meets one that a recorder removes as it ends. */
  @Test
  void readsNothingOfAFileThatHasGone() throws IOException {
    assertNull(SpoolSegment.reading(0, directory.resolve("gone")));
  }

  @Test
  void refusesASecondRecorder() throws IOException {
    try (var _ = Spool.open(directory, SMALL)) {
      var e = assertThrows(IOException.class, () -> Spool.open(directory, SMALL));
      assertTrue(e.toString().contains("name another directory"), e.toString());
    }
    Spool.open(directory, SMALL).close();
  }

  @Test
  void isReadableByItsUserOnly() throws IOException {
    var made = directory.resolve("a/spool");
    try (var spool = Spool.open(made, SMALL)) {
      spool.connect(spool.epoch("tiny", "here", ""), CLIENT);
      for (var path : List.of(made, made.getParent())) {
        assertEquals("rwx------", modes(path));
      }
      try (var files = Files.list(made)) {
        assertTrue(files.allMatch(file -> modes(file).equals("rw-------")));
      }
    }
  }

  private static String modes(Path path) {
    try {
      return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    } catch (java.nio.file.NoSuchFileException e) {
      return "rw-------"; // the file that is being made, which has got its name meanwhile
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void refusesSettingsThatCannotWork() {
    assertThrows(IllegalArgumentException.class, () -> SMALL.withBytes(300_000));
    assertThrows(IllegalArgumentException.class, () -> SMALL.withSegmentBytes(1000));
  }

  /** Those who record wait then, or lose what they record. */
  @Test
  void aFullSpoolHasNoRoomHoweverSmallItIs() throws IOException {
    var settings = SMALL.withBytes(512 << 10).withOverflow(Overflow.DROP);
    try (var spool = Spool.open(directory, settings)) {
      assertTrue(spool.isRoomy());
      while (spool.report().dropped() == 0 || spool.report().segments() < 2) {
        spool.request(1, 1, 0, ByteBuffer.wrap(new byte[1000]));
      }
      assertFalse(spool.isRoomy());
    }
  }
}
