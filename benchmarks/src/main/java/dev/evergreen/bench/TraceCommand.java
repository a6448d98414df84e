package dev.evergreen.bench;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Client;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A trace of millions of operations: how fast it is loaded, and how soon it answers. */
@Command(
    name = "trace",
    description = {
      "Measures how fast a trace of millions of operations is loaded, and how soon it answers.",
      "Operations of Redis are recorded straight into the trace, without a Redis: six in ten set random keys, one counts in a single key, one sets random fields of a single hash, two read.",
      "It tells how many a second the loader brings into the database, each million alone, and how long the first page of an answer takes, and a whole history."
    },
    mixinStandardHelpOptions = true)
final class TraceCommand implements Callable<Integer> {
  private static final int MILLION = 1_000_000;
  private static final int FIELDS = 10_000;
  private static final int PAGE = 50;
  private static final int TOLD = 3;
  private static final Duration LONG = Duration.ofHours(1);

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--millions",
      paramLabel = "N",
      description = "How many million operations; ${DEFAULT-VALUE} if not given")
  private int millions = 10;

  @Option(names = "--keys", paramLabel = "N", description = "${DEFAULT-VALUE} if not given")
  private int keys = 100_000;

  @Option(
      names = "--url",
      paramLabel = "URL",
      description = "A schema of PostgreSQL to load into; an SQLite file if not given")
  private String url = "";

  @Option(
      names = "--postgres",
      description = "Loads into a PostgreSQL server of its own, in a temporary folder")
  private boolean postgres;

  @Option(
      names = "--trace",
      paramLabel = "DIR",
      description =
          "Makes the trace there and keeps it; one that is there is only asked. So two builds can be compared")
  private @Nullable Path kept;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  private final StoreKind redis = StoreKind.named("redis").orElseThrow();
  private final Random random = new Random(1);

  @Override
  public Integer call() throws Exception {
    if (!postgres) {
      return measure(url);
    }
    if (!url.isEmpty()) {
      throw new ParameterException(
          spec.commandLine(), "--postgres is a place of its own, but there is also " + url);
    }
    try (var server = OwnPostgres.start()) {
      return measure(server.url());
    }
  }

  /** Loads into this schema of PostgreSQL, or into an SQLite file if it is empty. */
  private int measure(String place) throws Exception {
    var section = report.section("trace");
    var lines = new ArrayList<Line>();
    var directory = kept == null ? Files.createTempDirectory("bench-trace") : kept;
    try {
      if (kept == null || Files.notExists(kept)) {
        load(directory, place, lines);
      }
      try (var trace = StoredTrace.open(place.isEmpty() ? directory.toString() : place, LONG)) {
        ask(trace, lines);
      }
    } finally {
      if (kept == null) {
        Folders.delete(directory);
      }
    }
    var table = new Report(lines, 1);
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(table.markdown());
    }
    return 0;
  }

  private void load(Path directory, String place, List<Line> lines) throws IOException {
    try (var recording =
        Recording.open(
            directory,
            place,
            SpoolSettings.DEFAULT.withBytes(2L << 30),
            Redactor.open(directory, List.of()),
            Retention.ALL)) {
      load(recording, lines);
    }
  }

  private void load(Recording recording, List<Line> lines) {
    var spool = recording.spool();
    long epoch = spool.epoch("redis", "bench", StoreKind.EMPTY);
    // Two, as soon as some client has commands about its connection.
    long[] lanes = {spool.lane(epoch, "shared"), spool.lane(epoch, "of its own")};
    long client = spool.connect(epoch, new Client("bench", "bench", "", "RESP2"));
    var rates = new ArrayList<Double>();
    var perSecond = new ArrayList<Double>();
    long used = loaderNanos();
    for (int i = 0; i < millions; i++) {
      long begin = System.nanoTime();
      for (int j = 0; j < MILLION; j++) {
        record(spool, lanes[random.nextInt(lanes.length)], client);
      }
      if (!recording.awaitLoaded(LONG)) {
        throw new IllegalStateException("the trace is not loaded");
      }
      long now = loaderNanos();
      rates.add(MILLION / ((System.nanoTime() - begin) / 1e9) / 1e3);
      perSecond.add(MILLION / ((now - used) / 1e9) / 1e3);
      used = now;
      spec.commandLine()
          .getErr()
          .printf(
              "%d M: %.0f k/s, %.0f k per second of the loader's processor%n",
              i + 1, rates.getLast(), perSecond.getLast());
    }
    lines.add(Line.alone("loaded, each million", "k/s", rates).atLeast(50));
    lines.add(Line.alone("the same, per second of the loader's processor", "k/s", perSecond));
    lines.add(Line.alone("loaded, the last million", "k/s", List.of(rates.getLast())).atLeast(120));
  }

  private void record(Spool spool, long lane, long client) {
    int what = random.nextInt(10);
    var key = "key:" + random.nextInt(keys);
    switch (what) {
      case 0 -> exchange(spool, lane, client, ":1\r\n", "INCR", "hot");
      case 1 ->
          exchange(spool, lane, client, ":0\r\n", "HSET", "big", "f" + random.nextInt(FIELDS), "x");
      case 2, 3 -> exchange(spool, lane, client, "$1\r\nx\r\n", "GET", key);
      default -> exchange(spool, lane, client, "+OK\r\n", "SET", key, "x");
    }
  }

  private void exchange(Spool spool, long lane, long client, String reply, String... words) {
    var request = redis.recorded(Stream.of(words).map(Bytes::of).toList());
    long row = spool.request(client, lane, 0, ByteBuffer.wrap(request.toArray()));
    spool.reply(row, ByteBuffer.wrap(Bytes.of(reply).toArray()));
  }

  /** Of the thread that loads; the recorder's own work does not count. */
  private static long loaderNanos() {
    var threads = ManagementFactory.getThreadMXBean();
    return Arrays.stream(threads.dumpAllThreads(false, false))
        .filter(thread -> thread.getThreadName().equals("trace-loader"))
        .mapToLong(thread -> threads.getThreadCpuTime(thread.getThreadId()))
        .sum();
  }

  private void ask(StoredTrace trace, List<Line> lines) throws IOException {
    lines.add(firstPage(trace, "GET of any key", () -> "GET key:" + random.nextInt(keys)));
    lines.add(firstPage(trace, "GET of a key with a long history", () -> "GET hot"));
    lines.add(firstPage(trace, "GET of a key that never was", () -> "GET none" + random.nextInt()));
    lines.add(firstPage(trace, "HGETALL of a large hash", () -> "HGETALL big"));
    lines.add(firstPage(trace, "HGET of a field", () -> "HGET big f" + random.nextInt(FIELDS)));
    lines.add(firstPage(trace, "KEYS", () -> "KEYS key:1*"));
    lines.add(firstPage(trace, "DBSIZE", () -> "DBSIZE"));
    lines.add(firstPage(trace, "KEYS of an empty database", "7", () -> "KEYS *"));
    tell(trace, lines);
  }

  /** Tells the long history some times: the first one has to warm the JVM, too. */
  private void tell(StoredTrace trace, List<Line> lines) {
    var threads = ManagementFactory.getThreadMXBean();
    var seconds = new ArrayList<Double>();
    var processor = new ArrayList<Double>();
    long elements = 0;
    for (int i = 0; i < TOLD; i++) {
      long begin = System.nanoTime();
      long used = threads.getCurrentThreadCpuTime();
      var chain = new Why(redis.specification(), trace).chain(question(trace, "GET hot", "0"));
      for (elements = 0; chain.hasNext(); elements++) {
        chain.next();
      }
      seconds.add((System.nanoTime() - begin) / 1e9 * MILLION / elements);
      processor.add((threads.getCurrentThreadCpuTime() - used) / 1e9 * MILLION / elements);
    }
    var what = "a history of %,d operations, a million of it".formatted(elements);
    lines.add(Line.alone(what, "s", seconds).atMost(5));
    lines.add(Line.alone("the same, processor time of who asks", "s", processor));
  }

  private interface Questions {
    String next();
  }

  private Line firstPage(StoredTrace trace, String what, Questions questions) {
    return firstPage(trace, what, "0", questions);
  }

  private Line firstPage(StoredTrace trace, String what, String space, Questions questions) {
    var millis = new ArrayList<Double>();
    for (int i = 0; i < 50; i++) {
      var question = question(trace, questions.next(), space);
      long begin = System.nanoTime();
      var answer =
          new Why(redis.specification(), trace).ask(question, new Why.Wish(false, 1, PAGE, -1));
      millis.add((System.nanoTime() - begin) / 1e6);
      if (answer.witnesses().isEmpty()) {
        throw new IllegalStateException("no answer to " + question.text());
      }
    }
    return Line.alone("first page, " + what, "ms", millis).atMost(50);
  }

  private static Operation question(StoredTrace trace, String text, String space) {
    var words = Stream.of(text.split(" ", -1)).map(Bytes::of).toList();
    return trace.question(Long.MAX_VALUE, trace.epoch(Long.MAX_VALUE), space, words, null);
  }
}
