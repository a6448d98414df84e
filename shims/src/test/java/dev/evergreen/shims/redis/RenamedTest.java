package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.SpoolSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A Redis whose commands have other names, of which the shim does not know any: what clients say at
 * random.
 */
@Timeout(120)
class RenamedTest {
  private static final int STREAMS = Integer.getInteger("evergreen.shim.streams", 30);
  private static final long SEED = Long.getLong("evergreen.seed", System.nanoTime());

  private static final String[] OPTIONS =
      """
      --rename-command SELECT go --rename-command CLIENT xc --rename-command MULTI many --rename-command FLUSHALL zap
      --rename-command WATCH look --rename-command SUBSCRIBE sub --rename-command KEYS zk
      """
          .strip()
          .split("\\s+", -1);

  /** About data, of known names and of others. */
  private static final List<String> OF_DATA =
      List.of(
          "SET k 1",
          "SET k 2",
          "GET k",
          "INCR n",
          "GET n",
          "SETNX z 4",
          "SETNX k 5",
          "APPEND z 1",
          "DEL k",
          "zk *",
          "nobody a",
          "zap");

  /** About connections, of known names and of others. */
  private static final List<String> OF_CONNECTIONS =
      List.of(
          "go 1",
          "go 0",
          "go 99",
          "xc REPLY SKIP",
          "xc REPLY OFF",
          "xc REPLY ON",
          "xc GETNAME",
          "many",
          "EXEC",
          "DISCARD",
          "look k",
          "sub c",
          "UNSUBSCRIBE",
          "RESET",
          "HELLO 2",
          "HELLO 3",
          "SELECT 1",
          "MULTI",
          "BLPOP none 0.01",
          "EVAL return(1) 0");

  private static final String[] LAST = {"DISCARD", "RESET", "xc REPLY ON"};

  @TempDir private Path directory;

  private static List<String> some(Random random, boolean ofConnections) {
    var some = new ArrayList<String>();
    for (int i = random.nextInt(12); i >= 0; i--) {
      boolean next = ofConnections && random.nextInt(3) > 0;
      some.add(Histories.pick(random, next ? OF_CONNECTIONS : OF_DATA));
    }
    return some;
  }

  /** Says all that at once, and then what has Redis speak if it does not; reads until the end. */
  private static String said(int port, List<String> requests, String... then) throws IOException {
    var bytes = new ByteArrayOutputStream();
    for (var list : List.of(requests, List.of(then), List.of("ECHO end"))) {
      list.forEach(request -> bytes.writeBytes(Identity.request(request.split(" ", -1))));
    }
    try (var talk = Talk.to(port)) {
      talk.send(bytes.toByteArray());
      return talk.readUntil("$3\r\nend\r\n").replaceAll("id\r\n:\\d+", "id");
    }
  }

  @Test
  void randomRequestsAreRepliedToInTheSameWay() throws IOException {
    try (var shimmed = Shimmed.start(OPTIONS)) {
      for (int i = 0; i < 2 * STREAMS; i++) {
        var seed = SEED + i;
        var requests = some(new Random(seed), true);
        var expected = said(shimmed.redis.port, requests, LAST);
        shimmed.redis.ask("zap");
        assertEquals(
            expected, said(shimmed.port(), requests, LAST), () -> "seed " + seed + requests);
        shimmed.redis.ask("zap");
      }
    }
  }

  /**
   * Each time with a record of its own: of what a renamed command has done all later ones doubt.
   */
  @Test
  void whatIsCalledCertainIsSo() throws IOException {
    int certain = 0;
    // Of some seeds none leaves anything certain.
    for (int i = 0; i < STREAMS / 5 || (certain == 0 && i < 10 * STREAMS); i++) {
      certain += certain(new Recorded(directory.resolve("" + i)), SEED + i);
    }
    assertTrue(certain > 0, "nothing was certain");
  }

  private static int certain(Recorded there, long seed) throws IOException {
    int certain = 0;
    var random = new Random(seed);
    try (var recording = there.record(SpoolSettings.DEFAULT.withDurability(Durability.NONE));
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()), OPTIONS)) {
      said(shimmed.port(), some(random, false));
      if (random.nextBoolean()) {
        said(shimmed.port(), some(random, true), LAST);
      }
      said(shimmed.port(), some(random, false));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(30)), "not loaded");
      for (var question : List.of("GET k", "GET n", "GET z")) {
        var answer = there.ask("0", question);
        if (answer.certainty() == Answer.Certainty.CERTAIN) {
          var real = Bytes.of(shimmed.redis.ask(question.split(" ", -1)));
          assertEquals(Resp.read(real), answer.reply(), () -> "seed " + seed + answer);
          certain++;
        }
      }
    }
    return certain;
  }
}
