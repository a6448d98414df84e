package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a client reads is the same with the shim as without, to the byte. */
@Timeout(120)
class TransparencyTest {
  private static final int STREAMS = Integer.getInteger("evergreen.shim.streams", 30);
  private static final int LENGTH = 60;

  private static Shimmed shimmed;

  @BeforeAll
  static void start() throws IOException {
    assumeTrue(RedisServer.isInstalled(), "redis-server is not installed");
    shimmed = Shimmed.start();
  }

  @AfterAll
  static void end() {
    if (shimmed != null) {
      shimmed.close();
    }
  }

  /** Says something, in pieces, and reads all that comes until the end. */
  private static String said(int port, byte[] requests, Random cuts) throws IOException {
    try (var talk = Talk.to(port)) {
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
        talk.send(java.util.Arrays.copyOfRange(requests, from, from + n));
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
      return said(shimmed.redis.port, requests, new Random(seed));
    }

    void check(String expected) throws IOException {
      var actual = said(shimmed.port(), requests, new Random(seed));
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

  @Test
  void clientsThatShareUpstreamsDoNotGetEachOthersReplies()
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
                  stream.check(wanted);
                  return null;
                }));
      }
      for (var one : all) {
        one.get();
      }
    }
  }
}
