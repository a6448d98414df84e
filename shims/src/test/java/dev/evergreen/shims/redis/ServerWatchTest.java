package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpoolSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the shim makes of what a store says of itself. */
@Timeout(60)
class ServerWatchTest {
  @TempDir private Path directory;

  private static String said(String request) {
    return switch (request) {
      case "INFO SERVER" -> "redis_version:7.0.0\r\nrun_id:one\r\nredis_mode:standalone\r\n";
      case "INFO REPLICATION" -> "role:master\r\nmaster_replid:two\r\n";
      case "INFO PERSISTENCE" -> "loading:0\r\nasync_loading:0\r\n";
      case "INFO MEMORY" -> "number_of_cached_scripts:0\r\nnumber_of_functions:0\r\n";
      default -> "";
    };
  }

  private Recording record() throws IOException {
    return new Recorded(directory).record(SpoolSettings.DEFAULT.withSegmentBytes(1 << 20));
  }

  /** How certain it is after a start at such a store that a key is not there. */
  private Certainty certainty(Function<String, String> replies) throws IOException {
    try (var recording = record();
        var store = new FakeStore(replies);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + store.port()).withSpool(recording.spool()));
        var client = Talk.to(Shimmed.port(shim))) {
      client.ask("PING");
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
      return new Recorded(directory).ask("0", "GET a").certainty();
    }
  }

  @Test
  void aStoreThatHasNothingIsEmpty() throws IOException {
    assertEquals(Certainty.CERTAIN, certainty(ServerWatchTest::said));
  }

  @Test
  void aStoreThatStillReadsWhatItHasKeptIsNot() throws IOException {
    assertEquals(
        Certainty.BEFORE_RECORDING,
        certainty(
            request ->
                request.equals("INFO PERSISTENCE")
                    ? "loading:1\r\nasync_loading:0\r\n"
                    : said(request)));
  }

  /** What the former one was told is no cause of what this one has. */
  @Test
  void anotherStoreThatHasNothingIsEmptyToo() throws IOException {
    assertEquals(Certainty.CERTAIN, certainty(ServerWatchTest::said));
    Function<String, String> another = request -> said(request).replace("run_id:one", "run_id:2");
    assertEquals(Certainty.CERTAIN, certainty(another));
    // Once more the same: what it has not, somebody may have removed.
    assertEquals(Certainty.BEFORE_RECORDING, certainty(another));
  }

  /** What it has was asked before that, or behind it: only the second tells anything. */
  @Test
  void norIsOneThatHasReadItWhenItIsAsked() throws IOException {
    var asked = new AtomicBoolean();
    assertEquals(
        Certainty.BEFORE_RECORDING,
        certainty(
            request ->
                switch (request) {
                  case "INFO KEYSPACE" -> {
                    asked.set(true);
                    yield "";
                  }
                  case "INFO PERSISTENCE" -> asked.get() ? said(request) : "loading:1\r\n";
                  default -> said(request);
                }));
  }

  @Test
  void norIsOneThatDoesNotTell() throws IOException {
    assertEquals(
        Certainty.BEFORE_RECORDING,
        certainty(request -> request.equals("INFO PERSISTENCE") ? "" : said(request)));
  }

  /** Nothing can be kept any more; but a store that is another one must not be taken for this. */
  @Test
  void goesOnWatchingWhateverFails() throws Exception {
    var asked = new CountDownLatch(4);
    var recording = record();
    try (var store =
            new FakeStore(
                request -> {
                  if (request.equals("INFO SERVER")) {
                    asked.countDown();
                  }
                  return said(request);
                });
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + store.port()).withSpool(recording.spool()))) {
      assertFalse(shim.isClosed());
      recording.close();
      store.cut();
      assertTrue(asked.await(30, TimeUnit.SECONDS), "nobody looks at the store any more");
    }
  }

  /** What a store says that has given this recorder's first connection the number 7. */
  private static String said(String request, String others) {
    return switch (request) {
      case "CLIENT ID" -> ":7\r\n";
      case "CLIENT LIST" ->
          others.startsWith("-")
              ? others
              : others + "id=7 addr=a:1 name= flags=N db=0\nid=8 addr=a:2 name= flags=N db=0\n";
      default -> said(request, Duration.ZERO);
    };
  }

  /**
   * The links to others are none of a recorder's, nor is what has come later. A list in another
   * form tells nothing.
   */
  @ParameterizedTest
  @CsvSource({
    "'', CERTAIN",
    "'id=3 addr=a:0 name=flags=N flags=S db=0', CERTAIN",
    "'id=3 addr=a:0 name= flags=M db=0', CERTAIN",
    "'id=9 addr=a:0 name= flags=N db=0', CERTAIN",
    "'id=3 addr=a:0 name= flags=N db=0', ONE_OF",
    "'id=3 addr=a:0 name= flags=bP db=0', ONE_OF"
  })
  void whatIsLeftOfAFormerRecorderIsToldByTheNumbersOfClients(String other, Certainty certainty)
      throws IOException {
    var hears = new AtomicBoolean(true);
    Function<String, String> replies =
        request -> {
          if (request.startsWith("SET ") && !hears.get()) {
            throw new UncheckedIOException(new IOException("it does not answer"));
          }
          return said(request, other.isEmpty() ? "" : other + "\n");
        };
    try (var store = new FakeStore(replies)) {
      hears.set(false);
      set(store, "old");
      hears.set(true);
      set(store, "new");
    }
    assertEquals(certainty, ask("GET k", null).certainty());
  }

  private void set(FakeStore store, String value) throws IOException {
    try (var recording = record();
        var shim = before(store, recording.spool());
        var client = Talk.to(Shimmed.port(shim))) {
      client.send("SET", "k", value);
      String _ = value.equals("old") ? client.rest() : client.reply();
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    }
  }

  private static RedisShim before(FakeStore store, Spool spool) throws IOException {
    return RedisShim.start(Shimmed.settings("127.0.0.1:" + store.port()).withSpool(spool));
  }

  /** A request is destroyed on record: it may be in a script that is under way. */
  @Test
  void whatIsLeftIsLookedForUntilItHasGone() throws Exception {
    var others = new AtomicReference<>("-BUSY Redis is busy running a script.\r\n");
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(1 << 20);
    try (var store =
        new FakeStore(request -> said(request, Objects.requireNonNull(others.get())))) {
      try (var spool = Spool.open(directory.resolve("spool"), settings);
          var shim = before(store, spool);
          var client = Talk.to(Shimmed.port(shim))) {
        client.ask("SET", "k", "destroyed");
      }
      tear("destroyed");
      try (var recording = record();
          var shim = before(store, recording.spool());
          var client = Talk.to(Shimmed.port(shim))) {
        assertEquals(Certainty.GAP, afterSetting(client, recording));
        others.set("");
        while (afterSetting(client, recording) != Certainty.CERTAIN) {
          Thread.sleep(20);
        }
      }
    }
  }

  /** Which process it is, and what is left there, is asked when it is not busy any more. */
  @Test
  void aStoreThatIsBusyAtTheStartIsAskedAgainWhatItIs() throws Exception {
    var isBusy = new AtomicBoolean();
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(1 << 20);
    try (var store =
        new FakeStore(
            request ->
                isBusy.get() && !request.startsWith("SET ")
                    ? "-BUSY Redis is busy running a script.\r\n"
                    : said(request, ""))) {
      try (var spool = Spool.open(directory.resolve("spool"), settings);
          var shim = before(store, spool);
          var client = Talk.to(Shimmed.port(shim))) {
        client.ask("SET", "k", "destroyed");
      }
      tear("destroyed");
      isBusy.set(true);
      try (var recording = record();
          var shim = before(store, recording.spool());
          var client = Talk.to(Shimmed.port(shim))) {
        assertEquals(Certainty.GAP, afterSetting(client, recording));
        isBusy.set(false);
        while (afterSetting(client, recording) != Certainty.CERTAIN) {
          Thread.sleep(20);
        }
      }
    }
  }

  private Certainty afterSetting(Talk client, Recording recording) throws IOException {
    client.ask("SET", "k", "v");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    return ask("GET k", null).certainty();
  }

  /** Changes a bit of the frame that holds a text. */
  private void tear(String text) throws IOException {
    try (var files = Files.list(directory.resolve("spool"))) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        var bytes = Files.readAllBytes(file);
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(text);
        if (at >= 0) {
          bytes[at] ^= 1;
          Files.write(file, bytes);
        }
      }
    }
  }

  /** What a store says whose clock is so far ahead. */
  private static String time(Duration ahead) {
    var now = Instant.now().plus(ahead);
    var seconds = Long.toString(now.getEpochSecond());
    var micros = Integer.toString(now.getNano() / 1_000);
    return "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n"
        .formatted(seconds.length(), seconds, micros.length(), micros);
  }

  /**
   * Why a key is as it is, which was set to go at a time, when the recorder's clock has so many
   * seconds left to that.
   */
  private Answer afterSetting(Function<String, String> replies, long left) throws IOException {
    var set = Instant.now();
    try (var recording = record();
        var store = new FakeStore(replies);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + store.port()).withSpool(recording.spool()));
        var client = Talk.to(Shimmed.port(shim))) {
      var deadline = set.plusSeconds(60).toEpochMilli();
      assertEquals("+OK\r\n", client.ask("SET", "k", "v", "PXAT", Long.toString(deadline)));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    }
    return ask("GET k", set.plusSeconds(60 - left));
  }

  private Answer ask(String question, @Nullable Instant at) {
    try (var trace = new Recorded(directory).trace()) {
      return Recorded.ask(trace, "0", question, at);
    }
  }

  private static String said(String request, Duration ahead) {
    return request.startsWith("SET ")
        ? "+OK\r\n"
        : request.equals("TIME") ? time(ahead) : said(request);
  }

  @Test
  void whatIsToGoAtATimeGoesByTheClockOfTheStore() throws IOException {
    var ahead = Duration.ofSeconds(30);
    var gone = afterSetting(request -> said(request, ahead), 15);
    assertEquals(Certainty.CERTAIN, gone.certainty(), gone::toString);
    assertNull(new RedisKind().plain(Objects.requireNonNull(gone.reply())), gone::toString);
  }

  @Test
  void whatIsToGoAtATimeStaysByTheClockOfTheStore() throws IOException {
    var behind = Duration.ofSeconds(-30);
    var there = afterSetting(request -> said(request, behind), -15);
    assertEquals(Certainty.CERTAIN, there.certainty(), there::toString);
    assertEquals("v", new RedisKind().plain(Objects.requireNonNull(there.reply())));
  }

  @Test
  void whetherItHasGoneIsNotKnownIfTheStoreDoesNotSayWhatTimeItHas() throws IOException {
    var answer =
        afterSetting(request -> request.equals("TIME") ? "" : said(request, Duration.ZERO), 15);
    assertEquals(Certainty.ONE_OF, answer.certainty(), answer::toString);
  }

  /** Which deadlines have passed by then, nobody knows. */
  @Test
  void anotherEpochBeginsWhenAClockWasSet() throws Exception {
    var wasSet = new AtomicBoolean();
    var asked = new CountDownLatch(4);
    try (var recording = record();
        var store =
            new FakeStore(
                request -> {
                  if (request.equals("TIME")) {
                    asked.countDown();
                  }
                  return said(request, Duration.ofHours(wasSet.get() ? 1 : 0));
                });
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + store.port()).withSpool(recording.spool()));
        var client = Talk.to(Shimmed.port(shim));
        var trace = new Recorded(directory).trace()) {
      client.ask("SET", "k", "v", "PX", "600000");
      assertTrue(asked.await(30, TimeUnit.SECONDS), "nobody looks at the clock");
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
      long first = trace.from(1, 1).getFirst().epoch();
      assertEquals(first, trace.epoch(Long.MAX_VALUE), "it goes as it went");
      assertEquals(Certainty.CERTAIN, ask("GET k", null).certainty());
      wasSet.set(true);
      while (trace.epoch(Long.MAX_VALUE) == first) {
        Thread.sleep(10);
        assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
      }
      assertEquals(Certainty.BEFORE_RECORDING, ask("GET k", null).certainty());
    }
  }
}
