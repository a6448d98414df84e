package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Client;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoreKind;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands that ask a trace, on one that is being recorded. */
class WhyCommandTest {
  private static final StoreKind REDIS = StoreKind.named("redis").orElseThrow();

  @TempDir Path directory;
  private Recording recording;
  private long epoch;
  private long lane;
  private long anna;
  private long bert;

  @BeforeEach
  void record() throws IOException {
    var redactor = Redactor.open(directory, List.of());
    recording = Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL);
    var spool = recording.spool();
    epoch = spool.epoch("redis", "127.0.0.1:6379", "content: empty");
    lane = spool.lane(epoch, "shared");
    anna = spool.connect(epoch, new Client("127.0.0.1:1", "anna", "default", "RESP2"));
    bert = spool.connect(epoch, new Client("127.0.0.1:2", "", "default", "RESP3"));
  }

  @AfterEach
  void end() throws IOException {
    recording.close();
  }

  private Spool spool() {
    return recording.spool();
  }

  private long exchange(long client, String reply, String... command) {
    var request = REDIS.recorded(Stream.of(command).map(Bytes::of).toList());
    long row = recording.spool().request(client, lane, 0, ByteBuffer.wrap(request.toArray()));
    recording.spool().reply(row, ByteBuffer.wrap(Bytes.of(reply).toArray()));
    return row;
  }

  /** What a command prints. */
  private String run(int exit, String... arguments) {
    var out = new StringWriter();
    var all = Stream.concat(Stream.of(arguments), Stream.of("--trace", directory.toString()));
    var line = Main.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
    assertEquals(exit, line.execute(all.toArray(String[]::new)), out.toString());
    return out.toString().replaceAll("\\d{4}-\\d\\d-\\d\\dT[0-9:.]*Z", "T");
  }

  @Test
  void answersInTheFormOfTheManual() {
    exchange(bert, "+OK\r\n", "SET", "cart:42", "1");
    long set = exchange(anna, "+OK\r\n", "SET", "cart:42", "3");
    exchange(bert, "+OK\r\n", "SET", "cart:43", "5");
    assertEquals(
        """
        {"reply":"3","certainty":"certain","witnesses":[[{"row":%d,"at":"T","client":"anna",\
        "command":["SET","cart:42","3"],"reply":"OK"}]],"truncated":false}
        """
            .formatted(set),
        run(0, "why", "redis", "--json", "GET", "cart:42"));
    assertEquals(
        """
        GET cart:42 -> 3  (certain)
        because of
          row %d  T  anna  SET cart:42 3 -> OK
        """
            .formatted(set),
        run(0, "why", "redis", "GET", "cart:42"));
  }

  @Test
  void givesUpWhatTakesTooLongAndSaysSo() {
    exchange(anna, "+OK\r\n", "SET", "a", "1");
    var said = run(1, "why", "redis", "--within", "0.000001", "GET", "a");
    assertTrue(said.contains("takes longer than 0.000001 s") && said.contains("--within"), said);
    assertTrue(run(1, "why", "redis", "--within", "1e-10", "GET", "a").contains("takes longer"));
    assertTrue(run(0, "why", "redis", "--within", "0", "GET", "a").startsWith("GET a -> 1"));
    assertTrue(run(2, "why", "redis", "--within", "-1", "GET", "a").contains("--within must"));
    assertTrue(run(2, "why", "redis", "--space", "x", "GET", "a").contains("--space must"));
  }

  @Test
  void namesTheDeletionThatMadeAValueNil() {
    exchange(anna, "+OK\r\n", "SET", "a", "1");
    long del = exchange(bert, ":1\r\n", "DEL", "a");
    long get = exchange(anna, "$-1\r\n", "GET", "a");
    exchange(anna, "+OK\r\n", "SET", "a", "2");
    var past = run(0, "why", "redis", "--row", Long.toString(get), "--json");
    assertTrue(past.startsWith("{\"reply\":null,\"certainty\":\"certain\""), past);
    assertTrue(past.contains("\"row\":" + del), past);
    var lastOfAnna = run(0, "why", "redis", "--client", "anna", "GET", "a");
    assertTrue(lastOfAnna.contains("row " + del + " "), lastOfAnna);
    assertTrue(run(0, "why", "redis", "GET", "a").startsWith("GET a -> 2"));
  }

  @Test
  void answersAsOfATime() throws InterruptedException {
    exchange(anna, "+OK\r\n", "SET", "a", "1");
    var between = Instant.now();
    while (!Instant.now().isAfter(between.plusMillis(2))) {
      Thread.onSpinWait();
    }
    exchange(anna, "+OK\r\n", "SET", "a", "2");
    var answer = run(0, "why", "redis", "--at", between.plusMillis(1).toString(), "GET", "a");
    assertTrue(answer.startsWith("GET a -> 1"), answer);
  }

  /** To a disk that is full; a trace that was cut silently would be taken for the whole. */
  @Test
  void whatCannotBeWrittenIsAnError() {
    exchange(anna, "+OK\r\n", "SET", "a", "1");
    for (var arguments :
        List.of(
            List.of("trace", "export"),
            List.of("trace", "tail", "-f"),
            List.of("why", "redis", "GET", "a"))) {
      var full =
          new Writer() {
            @Override
            public void write(char[] text, int from, int length) throws IOException {
              throw new IOException("No space left on device");
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
          };
      var errors = new StringWriter();
      var line = Main.commandLine().setOut(new PrintWriter(full)).setErr(new PrintWriter(errors));
      var all = Stream.concat(arguments.stream(), Stream.of("--trace", directory.toString()));
      assertEquals(1, line.execute(all.toArray(String[]::new)), errors::toString);
      assertTrue(errors.toString().contains("cannot be written"), errors::toString);
    }
  }

  @Test
  void timesOfOtherCenturiesAreBeforeAllAndAfterAll() {
    exchange(anna, "+OK\r\n", "SET", "a", "1");
    for (var late : List.of("2270-01-01T00:00:00Z", "+99999-01-01T00:00:00Z")) {
      var answer = run(0, "why", "redis", "--at", late, "GET", "a");
      assertTrue(answer.startsWith("GET a -> 1  (certain)"), answer);
    }
    for (var early : List.of("1600-01-01T00:00:00Z", "-99999-01-01T00:00:00Z")) {
      var answer = run(1, "why", "redis", "--at", early, "GET", "a");
      assertTrue(answer.contains("nothing was recorded before that"), answer);
    }
  }

  @Test
  void numbersThatMakeNoSenseAreRefused() {
    exchange(anna, "+OK\r\n", "SET", "a", "1");
    for (var arguments :
        List.of(
            List.of("why", "--limit", "0", "redis", "GET", "a"),
            List.of("why", "--row", "-1", "redis", "GET", "a"),
            List.of("trace", "tail", "-n", "-5"))) {
      var said = run(2, arguments.toArray(String[]::new));
      assertTrue(said.contains(" must "), said);
    }
  }

  @Test
  void aPageOfNothingIsRefused() {
    var nowhere = directory.resolve("nowhere").toString();
    var out = new StringWriter();
    var line = Main.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
    assertEquals(1, line.execute("trace", "page", "--listen", "127.0.0.1:0", "--trace", nowhere));
    assertTrue(out.toString().contains("There is no trace in " + nowhere), out::toString);
  }

  @Test
  void takesWordsThatLookLikeOptions() {
    exchange(anna, ":1\r\n", "RPUSH", "l", "x");
    var answer = run(0, "why", "redis", "LRANGE", "l", "0", "-1");
    assertTrue(answer.startsWith("LRANGE l 0 -1 -> [\"x\"]"), answer);
  }

  @Test
  void explainsAnElementOfATransaction() {
    exchange(anna, "+OK\r\n", "MULTI");
    exchange(anna, "+QUEUED\r\n", "SET", "a", "1");
    exchange(anna, "+QUEUED\r\n", "INCR", "a");
    long exec = exchange(anna, "*2\r\n+OK\r\n:2\r\n", "EXEC");
    var answer = run(0, "why", "redis", "GET", "a");
    assertTrue(answer.startsWith("GET a -> 2  (certain)"), answer);
    assertTrue(answer.contains("row " + exec + " "), answer);
    var row = Long.toString(exec);
    assertTrue(run(0, "why", "redis", "--row", row, "--part", "1").contains("certain"));
    var none = run(1, "why", "redis", "--row", row, "--part", "2");
    assertTrue(none.contains("there is no part 2"), none);
  }

  /** A pool has many connections of one name, and uses each of them now and then. */
  @Test
  void findsTheLastReplyOfAClientOnWhicheverConnection() {
    long later = spool().connect(epoch, new Client("127.0.0.1:3", "anna", "default", "RESP2"));
    exchange(bert, "+OK\r\n", "SET", "cart", "1");
    long old = exchange(later, "$1\r\n1\r\n", "GET", "cart");
    long set = exchange(bert, "+OK\r\n", "SET", "cart", "2");
    long last = exchange(anna, "$1\r\n2\r\n", "GET", "cart");
    var answer = run(0, "why", "redis", "--client", "anna", "GET", "cart");
    assertTrue(answer.startsWith("GET cart -> 2"), answer);
    assertTrue(answer.contains("row " + set + " "), answer);
    var list = run(0, "why", "redis", "--client", "anna");
    assertEquals(
        "row %d  T  anna  GET cart -> 2\nrow %d  T  anna  GET cart -> 1\n".formatted(last, old),
        list);
  }

  @Test
  void listsWhatAClientDidAndWhatPasses() {
    long one = exchange(anna, "+OK\r\n", "SET", "a", "1");
    long two = exchange(bert, "$1\r\n1\r\n", "GET", "a");
    assertEquals(
        "row %d  T  127.0.0.1:2  GET a -> 1\n".formatted(two),
        run(0, "why", "redis", "--client", "127.0.0.1:2"));
    assertEquals(
        "row %d  T  127.0.0.1:2  GET a -> 1\n".formatted(two), run(0, "trace", "tail", "-n", "1"));
    assertEquals(
        """
        {"row":%d,"at":"T","client":"anna","command":["SET","a","1"],"reply":"OK"}
        {"row":%d,"at":"T","client":"127.0.0.1:2","command":["GET","a"],"reply":"1"}
        """
            .formatted(one, two),
        run(0, "trace", "export"));
  }

  /** What clients send must not steer the terminal of who looks at it. */
  @Test
  void printsNothingThatATerminalObeys() {
    for (var sign : List.of("\u001B[2J", "\u009B2J", "\u202E", "\r")) {
      var evil = spool().connect(epoch, new Client("127.0.0.1:3", "n" + sign, "u", "RESP2"));
      long unknown = exchange(evil, "-ERR unknown command\r\n", "X" + sign);
      exchange(evil, "+OK\r\n", "SET", "a" + sign, sign);
      var told =
          run(0, "why", "redis", "--row", Long.toString(unknown))
              + run(0, "why", "redis", "GET", "a" + sign)
              + run(0, "trace", "tail");
      assertTrue(told.contains("X?"), told);
      assertFalse(told.contains(sign), () -> "a sign of " + sign.codePointAt(0));
    }
  }

  @Test
  void repeatsNoPassword() {
    var url = "jdbc:postgres://127.0.0.1/db?user=u&password=geheim";
    var out = new StringWriter();
    var line = Main.commandLine().setErr(new PrintWriter(out));
    assertEquals(2, line.execute("shim", "redis", "--trace", url));
    assertTrue(out.toString().contains("but is jdbc:postgres:..."), out.toString());
    assertFalse(out.toString().contains("geheim"), out.toString());
  }

  @Test
  void saysWhatIsWrong() {
    assertTrue(run(1, "why", "s3", "GET", "a").contains("of the kind of store redis, not s3"));
    assertTrue(run(1, "why", "redis", "--row", "999").contains("no row 999"));
    assertTrue(run(1, "why", "redis", "--client", "nobody").contains("nothing of a client nobody"));
    assertTrue(run(2, "why", "redis", "--at", "noon", "GET", "a").contains("not noon"));
    var out = new StringWriter();
    var line = Main.commandLine().setErr(new PrintWriter(out));
    var nowhere = directory.resolve("nowhere").toString();
    assertEquals(1, line.execute("why", "redis", "--trace", nowhere, "GET", "a"));
    assertTrue(out.toString().contains("There is no trace in " + nowhere), out.toString());
  }
}
