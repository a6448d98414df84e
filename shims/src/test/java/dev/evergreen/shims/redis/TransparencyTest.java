package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.settings.FreePorts;
import dev.evergreen.shims.Address;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a client reads is the same with the shim as without, to the byte. */
@Timeout(120)
class TransparencyTest {
  private static final int STREAMS = Integer.getInteger("evergreen.shim.streams", 30);
  private static final int LENGTH = 60;

  private static Shimmed shimmed;

  @BeforeAll
  static void start() throws IOException {
    shimmed = Shimmed.start();
  }

  @AfterAll
  static void end() {
    if (shimmed != null) {
      shimmed.close();
    }
  }

  /** Makes a connection. */
  @FunctionalInterface
  private interface Dial {
    Talk talk() throws IOException;
  }

  /** Says something, in pieces, and reads all that comes until the end. */
  private static String said(Dial dial, byte[] requests, Random cuts) throws IOException {
    try (var talk = dial.talk()) {
      var reading = new StringBuilder();
      var reader =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      reading.append(talk.readUntil("+the end\r\n"));
                    } catch (IOException e) {
                      reading.append(e);
                    }
                  });
      for (int from = 0; from < requests.length; ) {
        int most = cuts.nextInt(4) == 0 ? 1 + cuts.nextInt(20) : 1 + cuts.nextInt(100_000);
        int n = Math.min(most, requests.length - from);
        talk.send(Arrays.copyOfRange(requests, from, from + n));
        from += n;
      }
      talk.send(Inline.ascii("RESET\r\n"));
      talk.send("EVAL", "return {ok='the end'}", "0");
      reader.join();
      return withoutIds(reading.toString());
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** HELLO tells the connection's id. */
  private static String withoutIds(String replies) {
    return replies.replaceAll("\\$2\r\nid\r\n:[0-9]+", "\\$2\r\nid\r\n:n");
  }

  /** From a little before the first difference on. */
  private static String tail(String text, String other) {
    int i = 0;
    while (i < text.length() && i < other.length() && text.charAt(i) == other.charAt(i)) {
      i++;
    }
    return i == text.length() && i == other.length()
        ? ""
        : "at " + i + ": " + text.substring(Math.max(0, i - 200), Math.min(text.length(), i + 200));
  }

  private record Stream(long seed, byte[] requests) {
    String expected() throws IOException {
      return said(() -> Talk.to(shimmed.redis.port), requests, new Random(seed));
    }

    void check(String expected) throws IOException {
      check(expected, () -> Talk.to(shimmed.port()));
    }

    void check(String expected, Dial dial) throws IOException {
      var actual = said(dial, requests, new Random(seed));
      assertEquals(tail(expected, actual), tail(actual, expected), () -> "seed " + seed);
    }
  }

  /** Each has keys and channels of its own. */
  private static List<Stream> streams() {
    long base = Long.getLong("evergreen.seed", new Random().nextLong());
    return IntStream.range(0, STREAMS)
        .mapToObj(
            i -> new Stream(base + i, new RandomRequests(base + i, "c" + i + ":").some(LENGTH)))
        .toList();
  }

  /** Of the same server, as another one has another order of what has none. */
  private static List<String> expected(List<Stream> streams) throws IOException {
    shimmed.redis.ask("FLUSHALL");
    var expected = new ArrayList<String>();
    for (var stream : streams) {
      expected.add(stream.expected());
    }
    shimmed.redis.ask("FLUSHALL");
    return expected;
  }

  @Test
  void randomRequestsAreRepliedToInTheSameWay() throws IOException {
    var streams = streams();
    var expected = expected(streams);
    for (int i = 0; i < STREAMS; i++) {
      streams.get(i).check(expected.get(i));
    }
  }

  /** Scripts are, also if it is watched what they do. */
  @Test
  void watchedScriptsAreRepliedToInTheSameWay() throws IOException {
    var settings = Shimmed.settings("127.0.0.1:" + shimmed.redis.port).withMonitor(true);
    try (var shim = RedisShim.start(settings)) {
      var streams = streams().subList(0, Math.min(8, STREAMS));
      var expected = expected(streams);
      for (int i = 0; i < streams.size(); i++) {
        streams.get(i).check(expected.get(i), () -> Talk.to(Shimmed.port(shim)));
      }
    }
  }

  @Test
  void clientsThatShareUpstreamsDoNotGetEachOthersReplies()
      throws IOException, ExecutionException, InterruptedException {
    checkTogether(() -> Talk.to(shimmed.port()));
  }

  /** Writes are held back again and again, and lanes are left; who waits for one begins anew. */
  @Test
  void pausesMakeNoDifference() throws IOException, ExecutionException, InterruptedException {
    var settings =
        Shimmed.settings("127.0.0.1:" + shimmed.redis.port).withPatience(Duration.ofMillis(3));
    var over = new AtomicBoolean();
    try (var shim = RedisShim.start(settings);
        var pausing = Talk.to(shimmed.redis.port)) {
      var pauses =
          new FutureTask<>(
              () -> {
                while (!over.get()) {
                  pausing.ask("CLIENT", "PAUSE", "20", "WRITE");
                  // Until that is over.
                  pausing.ask("SET", "pause", "over");
                }
                return null;
              });
      Thread.ofVirtual().start(pauses);
      try {
        checkTogether(() -> Talk.to(Shimmed.port(shim)));
      } finally {
        over.set(true);
        pauses.get();
      }
    }
  }

  private static void checkTogether(Dial dial)
      throws IOException, ExecutionException, InterruptedException {
    var streams = streams();
    var expected = expected(streams);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var all = new ArrayList<Future<?>>();
      for (int i = 0; i < STREAMS; i++) {
        var stream = streams.get(i);
        var wanted = expected.get(i);
        all.add(
            threads.submit(
                () -> {
                  stream.check(wanted, dial);
                  return null;
                }));
      }
      for (var one : all) {
        one.get();
      }
    }
  }

  /** Cut at every byte: each request is said once for each of its bytes, in two pieces. */
  @Test
  void requestsAreRepliedToInTheSameWayWhereverTheyAreCut() throws IOException {
    var requests =
        Inline.join(
            Inline.join(
                Identity.request("SET", "cut", "a\r\nb"),
                Inline.ascii("get cut\r\n*0\r\n*-1\r\nECHO \"x y\"\r\n\r\n")),
            Inline.join(
                Inline.join(Identity.request("MULTI"), Identity.request("GET", "cut")),
                Inline.join(Identity.request("EXEC"), Identity.request("CLIENT", "GETNAME"))));
    var expected =
        "+OK\r\n$4\r\na\r\nb\r\n$3\r\nx y\r\n+OK\r\n+QUEUED\r\n*1\r\n$4\r\na\r\nb\r\n$-1\r\n";
    try (var talk = Talk.to(shimmed.port())) {
      for (int cut = 1; cut < requests.length; cut++) {
        talk.send(Arrays.copyOf(requests, cut));
        Thread.onSpinWait();
        talk.send(Arrays.copyOfRange(requests, cut, requests.length));
        assertEquals(expected, talk.readUntil("$-1\r\n"), "cut at " + cut);
      }
    }
  }

  /** By whatever clients come, and however Redis is reached. */
  @ParameterizedTest
  @CsvSource({"unix, unix", "tls, tcp", "tcp, tls", "tcp, mutual tls", "tls, unix"})
  void transportsMakeNoDifference(String listen, String upstream, @TempDir Path directory)
      throws IOException, GeneralSecurityException, InterruptedException {
    var files = Certificates.make(directory);
    int tlsPort = FreePorts.next();
    try (var redis =
        RedisServer.start(
            "--tls-port", "" + tlsPort,
            "--tls-cert-file", files.certificates().toString(),
            "--tls-key-file", files.key().toString(),
            "--tls-auth-clients", upstream.equals("mutual tls") ? "yes" : "no",
            "--tls-ca-cert-file", String.valueOf(files.authority()))) {
      var settings =
          RedisShimSettings.of(
                  Address.of(
                      switch (listen) {
                        case "unix" -> "unix:" + directory.resolve("shim.sock");
                        case "tls" -> "tls:127.0.0.1:0";
                        default -> "127.0.0.1:0";
                      }),
                  Address.of(
                      switch (upstream) {
                        case "unix" -> "unix:" + redis.socket;
                        case "tls", "mutual tls" -> "tls:127.0.0.1:" + tlsPort;
                        default -> "127.0.0.1:" + redis.port;
                      }))
              .withProcessors(2)
              .withServerTls(
                  listen.equals("tls") ? new ServerTls(ServerTls.Settings.of(files)) : null)
              .withClientTls(
                  switch (upstream) {
                    case "tls" -> ClientTls.trusting(Objects.requireNonNull(files.authority()));
                    case "mutual tls" -> ClientTls.of(files);
                    default -> null;
                  });
      try (var shim = RedisShim.start(settings)) {
        Dial dial =
            () ->
                switch (shim.address()) {
                  case InetSocketAddress inet when listen.equals("tls") ->
                      new Talk(Certificates.dial(files, inet.getPort()));
                  case InetSocketAddress inet -> Talk.to(inet.getPort());
                  default -> new Talk(directory.resolve("shim.sock"));
                };
        for (var stream : streams().subList(0, 5)) {
          redis.ask("FLUSHALL");
          var expected =
              said(() -> Talk.to(redis.port), stream.requests(), new Random(stream.seed()));
          redis.ask("FLUSHALL");
          stream.check(expected, dial);
        }
      }
    }
  }
}
