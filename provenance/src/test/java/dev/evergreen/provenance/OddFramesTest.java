package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever a recorder records, and in whatever order: it is loaded, folded and asked about. A frame
 * at which the loader fails would be the last that is ever loaded.
 */
@Timeout(120)
class OddFramesTest {
  private static final List<String> WORDS =
      List.of(
          "set", "get", "setnx", "copy", "clear", "begin", "commit", "a", "b", "queued", "fail");

  @TempDir Path directory;

  static LongStream seeds() {
    return LongStream.range(0, Long.getLong("evergreen.provenance.seeds", 3));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void areLoadedAndFoldedAndAskedAbout(long seed) throws Exception {
    var random = new Random(seed);
    var redactor = Redactor.open(directory, List.of(Pattern.compile("a")));
    try (var recording =
        Recording.open(directory, "", TraceStoreConformance.settings(), redactor, Retention.ALL)) {
      var recorder = new Recorder(recording.spool(), random);
      for (int i = 0; i < 400; i++) {
        recorder.recordSomething();
        if (random.nextInt(100) == 0) {
          assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)));
        }
      }
      assertTrue(
          recording.awaitLoaded(Duration.ofSeconds(60)), () -> recording.loading().failure());
      assertEquals(0, recording.loading().failures());
    }
    var database = TraceDatabase.of(directory, "");
    var id = Files.readString(directory.resolve("spool/id"));
    askAll();
    try (var session = LoadSession.open(database, redactor, id)) {
      while (session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE))) {
        // A part at a time.
      }
    }
    askAll();
  }

  private void askAll() {
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var explorer = new TraceExplorer(trace);
      long all = 0;
      for (var page = trace.from(0, 1_000); !page.isEmpty(); ) {
        for (var operation : page) {
          assertTrue(explorer.operation(operation.row()).isPresent());
          assertTrue(explorer.why(operation.row(), -1, all++ % 2 == 0).isPresent());
        }
        page = trace.from(page.getLast().row() + 1, 1_000);
      }
      assertTrue(new TraceTail(0).next(trace, 10_000).size() <= all);
    }
  }

  /** Says anything about anything. */
  private static final class Recorder {
    private final Spool spool;
    private final Random random;
    private final List<Long> numbers = new ArrayList<>(List.of(-1L, 0L, Long.MAX_VALUE, -77L));
    private final List<SpooledBody> bodies = new ArrayList<>();

    Recorder(Spool spool, Random random) {
      this.spool = spool;
      this.random = random;
      numbers.add(spool.epoch("tiny", "here", ""));
    }

    private long number() {
      // Mostly the newest, which may be of use.
      int newest = Math.min(numbers.size(), 12);
      return random.nextInt(8) == 0
          ? numbers.get(random.nextInt(numbers.size()))
          : numbers.get(numbers.size() - 1 - random.nextInt(newest));
    }

    private String text() {
      return switch (random.nextInt(10)) {
        case 0 -> "";
        case 1 -> "\u0000".repeat(random.nextInt(5));
        case 2 -> "\uD800x".repeat(random.nextInt(7_000));
        default -> WORDS.get(random.nextInt(WORDS.size()));
      };
    }

    private ByteBuffer bytes() {
      return switch (random.nextInt(12)) {
        case 0 -> ByteBuffer.allocate(0);
        case 1 -> ByteBuffer.allocate(random.nextInt(200_000));
        case 2 -> {
          var any = new byte[random.nextInt(40)];
          random.nextBytes(any);
          yield ByteBuffer.wrap(any);
        }
        default -> Frames.bytes(text() + " " + text() + " " + text());
      };
    }

    private Batch batch() {
      var batch = new Batch();
      batch.begin(ByteBuffer.wrap(Bytes.of("set a 1get aget \u0000").toArray()), 0);
      IntStream.of(7, 7, 12, 17).limit(2 + random.nextInt(3)).forEach(batch::add);
      return batch;
    }

    private Client client() {
      return new Client(text(), text(), text(), text());
    }

    void recordSomething() {
      switch (random.nextInt(18)) {
        case 0 -> numbers.add(spool.connect(number(), client()));
        case 1 -> spool.change(number(), client());
        case 2 -> spool.disconnect(number());
        case 3 -> numbers.add(spool.lane(number(), text()));
        case 4 -> spool.endLane(number(), random.nextBoolean());
        case 5, 6, 7 ->
            numbers.add(spool.request(number(), number(), random.nextInt(4) - 2, bytes()));
        case 8, 9, 10 -> spool.reply(number(), bytes());
        case 11 -> spool.unanswered(number(), Unanswered.of((byte) random.nextInt(3)));
        case 12 -> spool.push(number(), number(), bytes());
        case 13 -> {
          spool.outside(number(), ByteBuffer.wrap(Bytes.of(text()).toArray()));
          spool.gap(text());
        }
        case 14 -> {
          var body =
              random.nextBoolean()
                  ? spool.beginRequest(number(), number(), 0)
                  : spool.beginReply(number());
          numbers.add(body.number());
          bodies.add(body);
        }
        case 15 -> {
          long first = spool.requests(number(), number(), random.nextInt(4) - 2, batch());
          numbers.add(first);
          numbers.add(first + 1);
        }
        case 16 -> spool.replies(number(), batch());
        default -> recordBody();
      }
      if (random.nextInt(100) == 0) {
        numbers.add(spool.epoch(random.nextInt(4) == 0 ? text() : "tiny", text(), text()));
      }
    }

    private void recordBody() {
      if (!bodies.isEmpty()) {
        var body = bodies.get(random.nextInt(bodies.size()));
        switch (random.nextInt(3)) {
          case 0 -> body.add(bytes());
          case 1 -> body.end();
          default -> body.cut();
        }
      }
    }
  }
}
