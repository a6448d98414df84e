package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.shims.Tape;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client's own upstream to a store that says what the test wants. */
@Timeout(60)
class OwnUpstreamTest {
  @TempDir private Path directory;

  /** What is done with an upstream; the socket is the store's end of it. */
  @FunctionalInterface
  private interface Doing {
    void with(OwnUpstream upstream, Socket store) throws Exception;
  }

  private void doing(Doing doing) throws Exception {
    try (var recording = new Recorded(directory).record(SpoolSettings.DEFAULT);
        var shimmed = Shimmed.start();
        var client = shimmed.client();
        var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      assertEquals("+PONG\r\n", client.ask("PING"));
      var session = shimmed.shim.sessions.iterator().next();
      var tape = new Tape(recording.spool());
      tape.epoch("redis", "a test's", "");
      var done =
          new FutureTask<>(
              (Callable<Void>)
                  () -> {
                    var made = shimmed.shim.upstream.dialer().dial(server.getLocalSocketAddress());
                    var upstream = new OwnUpstream(session, made, 0, "", tape, null);
                    try (var store = server.accept()) {
                      doing.with(upstream, store);
                    } finally {
                      upstream.close();
                    }
                    return null;
                  });
      shimmed.shim.fibers.spawn(done);
      done.get(30, TimeUnit.SECONDS);
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
  }

  private static void submit(OwnUpstream upstream, Verb verb, Words words, String... request)
      throws IOException {
    var bytes = Identity.request(request);
    var batch = new Batch();
    batch.begin(ByteBuffer.wrap(bytes), 0);
    batch.add(bytes.length);
    upstream.submit(verb, words, batch, Told.ALL);
  }

  /** The record may say of it that it was not sent. */
  @Test
  void nothingIsSentWhenItHasEnded() throws Exception {
    doing(
        (upstream, store) -> {
          store.shutdownOutput();
          assertTrue(upstream.readToEnd());
          submit(upstream, Verb.SHARED, Words.NONE, "SET", "k", "1");
          upstream.flush();
          upstream.close();
          assertEquals(-1, store.getInputStream().read());
        });
  }

  /** Then replies need not tell what they reply to. */
  @Test
  void whoDebugsScriptsDoesNotWaitForTheDatabase() throws Exception {
    doing(
        (upstream, _) -> {
          submit(upstream, Verb.DEBUGS, Words.NONE, "SCRIPT", "DEBUG", "SYNC");
          submit(upstream, Verb.SELECT, Words.ofSelection(1), "SELECT", "1");
          submit(upstream, Verb.SHARED, Words.NONE, "SET", "k", "1");
        });
    try (var trace = new Recorded(directory).trace()) {
      assertEquals("", trace.from(1, 100).getLast().space(), "it may be in any database");
    }
  }

  /** Each of so many would be compared with all before it, which takes minutes. */
  @Test
  void whatMayLeadToAnotherDatabaseIsNotLookedForAmongAllThatIsUnanswered() throws Exception {
    doing(
        (upstream, store) -> {
          store.getOutputStream().write(Inline.ascii("+OK\r\n"));
          submit(upstream, Verb.SELECT, Words.ofSelection(1), "SELECT", "1");
          new Thread(upstream::readToEnd).start();
          var drain = new FutureTask<>(store.getInputStream()::readAllBytes);
          Thread.startVirtualThread(drain);
          for (int i = 0; i < 100_000; i++) {
            submit(upstream, Verb.SHARED, Words.NONE, "SET", "k", "1");
          }
          assertEquals(1, upstream.database());
        });
  }

  /** What is lost in that moment is counted from nothing again. */
  @Test
  void nobodyWaitsForWhatNobodyCouldTellTheReplyOf() throws Exception {
    doing(
        (upstream, _) -> {
          submit(upstream, Verb.REPLY_OFF, Words.NONE, "CLIENT", "REPLY", "OFF");
          submit(upstream, Verb.SUBSCRIBE, Words.NONE, "SUBSCRIBE", "c");
          var waiting = Thread.ofPlatform().daemon().start(upstream::awaitReplied);
          assertTrue(waiting.join(Duration.ofSeconds(20)), "it waits");
        });
  }
}
