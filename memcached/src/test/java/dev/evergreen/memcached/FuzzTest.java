package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Bytes that nobody's client would send, to a server that serves another client meanwhile. After
 * each input:
 *
 * <ul>
 *   <li>the same connection answers a question by its answer and nothing else, or was hung up on;
 *   <li>the other one is served, and finds what it had stored;
 *   <li>no connection and no memory is held any more, and no exception escaped.
 * </ul>
 *
 * All inputs of the {@link Corpus} are sent in each run, and some that are made of them by chance:
 * {@code -Devergreen.memcached.fuzz=N} for each protocol and mode, from a seed that is new each
 * time and printed. What fails is written to {@code target/fuzz}; the message says how to repeat
 * it.
 */
@Timeout(1800)
class FuzzTest {
  private static final int INPUTS = Integer.getInteger("evergreen.memcached.fuzz", 1000);
  private static final int LEAST_ANSWERED = 10;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @ParameterizedTest
  @CsvSource({
    "TEXT, PROCESSORS",
    "META, PROCESSORS",
    "BINARY, PROCESSORS",
    "TEXT, JDK",
    "META, JDK",
    "BINARY, JDK"
  })
  void keptAndMutatedInputsHarmNobody(FuzzTarget target, Mode mode) throws Exception {
    var corpus = Corpus.of(target.name().toLowerCase(Locale.ROOT));
    try (var run = new Run(target, mode)) {
      for (var kept : corpus.all()) {
        run.check(kept.bytes(), kept.name());
      }
      long first = Long.getLong("evergreen.memcached.seed", System.nanoTime());
      System.out.println("fuzzing " + target + " in mode " + mode + " from seed " + first);
      for (long seed = first; seed < first + INPUTS; seed++) {
        var bytes = target.input(corpus.mutated(seed));
        try {
          run.check(bytes, "seed " + seed);
        } catch (AssertionError | Exception e) {
          throw new AssertionError(howToRepeat(corpus, target, seed, bytes), e);
        }
      }
      // Else the mutations would hit the first line only.
      assertTrue(run.answered > INPUTS / LEAST_ANSWERED, () -> "answered " + run.answered);
    }
  }

  private static String howToRepeat(Corpus corpus, FuzzTarget target, long seed, String bytes)
      throws IOException {
    var folder = Files.createDirectories(Path.of("target/fuzz"));
    var file = folder.resolve(target.name().toLowerCase(Locale.ROOT) + "-" + seed);
    Files.writeString(file, bytes, ISO_8859_1);
    return """
        An input did harm. Once more: -Devergreen.memcached.seed=%d -Devergreen.memcached.fuzz=1. \
        To keep it: copy %s to %s/ under a name that says what it is."""
        .formatted(seed, file, corpus.folder());
  }

  /** A server with one client that means well. */
  private static final class Run implements AutoCloseable {
    private final FuzzTarget target;
    private final AtomicReference<Throwable> escaped = new AtomicReference<>();
    private final TestServer server;
    private final Client other;
    private int number;
    private int answered;
    private long evicted;

    Run(FuzzTarget target, Mode mode) throws IOException {
      this.target = target;
      Thread.setDefaultUncaughtExceptionHandler((_, thrown) -> escaped.set(thrown));
      server = TestServer.start(TestServer.settings(mode).withFlushes(false).withWatches(false));
      other = server.connect();
      store();
    }

    void check(String bytes, String name) throws Exception {
      var question = ++number;
      try (var client = server.connect()) {
        var completion = target.completion(bytes);
        int half = bytes.length() / 2;
        client.send(bytes.substring(0, half));
        client.send(bytes.substring(half));
        if (completion == null) {
          client.socket.shutdownOutput();
          client.rest();
        } else {
          client.send(completion + target.question(question));
          var replies = client.upTo(target.answer(question));
          boolean whole = replies.endsWith("<end>") || target.isWhole(replies);
          assertTrue(whole, () -> name + ": " + replies);
          answered += replies.endsWith("<end>") ? 0 : 1;
        }
      } catch (SocketException e) {
        // It was hung up on while it still sent; that is seen by what follows.
      }
      checkOthers(name);
    }

    private void store() throws IOException {
      assertEquals("STORED\r\n", other.exchange("set another's 5 0 5\r\nvalue\r\n"));
    }

    private void checkOthers(String name) throws Exception {
      long evictedBefore = evicted;
      evicted = server.server().store.stats().evictions();
      if (evicted > evictedBefore) {
        // Large values may have had to have its room.
        store();
      }
      var found = other.exchange("get another's\r\n");
      assertEquals("VALUE another's 5 5\r\nvalue\r\nEND\r\n", found, name);
      long until = System.nanoTime() + PATIENCE.toNanos();
      while (server.server().limit.served() > 1 || server.server().store.stats().heldBytes() > 0) {
        assertTrue(System.nanoTime() < until, () -> name + " left something behind");
        Thread.sleep(1);
      }
      assertNull(escaped.get(), name);
    }

    @Override
    public void close() throws IOException {
      Thread.setDefaultUncaughtExceptionHandler(null);
      other.close();
      server.close();
    }
  }
}
