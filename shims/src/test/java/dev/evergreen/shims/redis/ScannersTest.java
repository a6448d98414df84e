package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.shims.redis.RequestScanner.Found;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where requests and replies end, however they are cut. */
class ScannersTest {

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static Found scan(String text) {
    return new RequestScanner().scan(bytes(text), text.length());
  }

  private static List<Integer> ends(ReplyScanner scanner, String text, int cut) {
    var ends = new ArrayList<Integer>();
    var bytes = bytes(text);
    for (int end : new int[] {cut, text.length()}) {
      while (scanner.scan(bytes, end)) {
        ends.add(scanner.at);
      }
    }
    return ends;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "+OK\r\n",
        "-ERR no\r\n",
        ":-5\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "$0\r\n\r\n",
        "$5\r\na\r\nbc\r\n",
        "*2\r\n*1\r\n:1\r\n*2\r\n+a\r\n$1\r\nb\r\n",
        "%1\r\n+a\r\n~2\r\n#t\r\n_\r\n",
        ",1.5\r\n",
        "(123\r\n",
        "=6\r\ntxt:ab\r\n",
        "!3\r\nERR\r\n",
        ">3\r\n+message\r\n+a\r\n+b\r\n",
        "|1\r\n+ttl\r\n:3\r\n*1\r\n+x\r\n",
        "*1\r\n|1\r\n+a\r\n+b\r\n:7\r\n"
      })
  void aReplyEndsAtTheSamePlaceHoweverItIsCut(String reply) {
    var text = reply + reply;
    for (int cut = 0; cut <= text.length(); cut++) {
      assertEquals(
          List.of(reply.length(), text.length()), ends(new ReplyScanner(), text, cut), "" + cut);
    }
  }

  @Test
  void anAttributeIsPartOfTheReplyThatFollows() {
    var scanner = new ReplyScanner();
    var text = "|1\r\n$3\r\nttl\r\n:3\r\n-ERR x\r\n";
    assertTrue(scanner.scan(bytes(text), text.length()));
    assertTrue(scanner.isError());
    assertEquals("ERR x", scanner.word());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "x",
        "*a\r\n",
        "$1x\r\n",
        "*\r\n",
        "$99999999999999999999\r\n",
        "%-1\r\n",
        "*1\rx"
      })
  void whatIsNoReplyIsStrange(String text) {
    var scanner = new ReplyScanner();
    assertFalse(scanner.scan(bytes(text), text.length()));
    assertTrue(scanner.strange());
  }

  @Test
  void declaredLengthsTakeNoMemoryAndDoNotOverflow() {
    var scanner = new ReplyScanner();
    var text = "*9000000000000000\r\n".repeat(200);
    assertFalse(scanner.scan(bytes(text), text.length()));
    assertTrue(scanner.strange());
    assertEquals(Found.PART, scan("*2147483647\r\n$536870912\r\nx"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "*1\r\n+PING\r\n",
        "*-0\r\n",
        "*--1\r\n",
        "*-\r\n",
        "*1\r\n$1\r\naXX",
        "*1\r\n$1\r\na\rX",
        "*01\r\n$4\r\nPING\r\n",
        "*1\r\n$-1\r\n",
        "*1\rx",
        "*99999999999\r\n",
        "*\r\n"
      })
  void whatRedisMayReadOtherwiseIsStrange(String text) {
    assertEquals(Found.STRANGE, scan(text));
  }

  @Test
  void aRequestOfNothingIsNotRepliedTo() {
    assertEquals(Found.EMPTY, scan("*0\r\n"));
    assertEquals(Found.EMPTY, scan("*-20\r\n"));
    assertEquals(Found.LINE, scan("\r\n"));
  }

  @Test
  void argumentsAreFoundHoweverARequestIsCut() {
    var text = "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\nbc\r\n";
    for (int cut = 0; cut < text.length(); cut++) {
      var scanner = new RequestScanner();
      var bytes = bytes(text);
      assertEquals(Found.PART, scanner.scan(bytes, cut));
      assertEquals(Found.WHOLE, scanner.scan(bytes, text.length()));
      assertEquals(text.length(), scanner.at);
      assertEquals("SET", Verb.argument(scanner, bytes, 0, 64));
      assertEquals("", Verb.argument(scanner, bytes, 1, 64));
      assertEquals("a\r\nbc", Verb.argument(scanner, bytes, 2, 64));
    }
  }

  /** Of a long request nothing is kept that was passed on. */
  @Test
  void aLongRequestGoesOnWhereverItIsCut() {
    var text = "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\nbc\r\n";
    for (int cut = 1; cut < text.length(); cut++) {
      var scanner = new RequestScanner();
      assertEquals(Found.PART, scanner.scan(bytes(text.substring(0, cut)), cut));
      var rest = bytes(text.substring(cut));
      scanner.at = 0;
      assertEquals(Found.WHOLE, scanner.scan(rest, rest.capacity()), "cut at " + cut);
      assertEquals(rest.capacity(), scanner.at);
    }
  }

  @Test
  void randomBytesAreReadToTheirEndOrRefused() {
    var random = new Random(42);
    var alphabet = "*$+-:%~>|_#,(!=0123456789\r\n\r\nabc";
    for (int i = 0; i < 20_000; i++) {
      var text = new StringBuilder();
      for (int n = random.nextInt(40); n > 0; n--) {
        text.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      var bytes = bytes(text.toString());
      var replies = new ReplyScanner();
      while (replies.scan(bytes, bytes.capacity())) {
        assertTrue(replies.at <= bytes.capacity());
      }
      assertTrue(replies.strange() || replies.at == bytes.capacity());
      var requests = new RequestScanner();
      var found = Found.WHOLE;
      while (found != Found.PART && found != Found.STRANGE) {
        found = requests.scan(bytes, bytes.capacity());
        assertTrue(requests.at <= bytes.capacity());
        if (found == Found.WHOLE) {
          Verb.of(requests, bytes);
        } else if (found == Found.LINE) {
          Inline.split(bytes, requests.began(), requests.at);
        }
      }
    }
  }

  @Test
  void linesAreSplitAsRedisDoes() {
    assertEquals(List.of("SET", "k", "a b"), words("SET k \"a b\"\r\n"));
    assertEquals(List.of("k", "AB'", "x\n"), words("k  \"\\x41B'\" \"x\\n\"\n"));
    assertEquals(List.of("it's", "\\n"), words("'it\\'s' '\\n'\r\n"));
    assertEquals(List.of(), words("  \r\n"));
    assertEquals(List.of("?"), words("\"open\r\n"));
    assertEquals(List.of("?"), words("\"a\"b\r\n"));
  }

  private static List<String> words(String line) {
    return Inline.split(bytes(line), 0, line.length())
        .map(words -> words.stream().map(w -> new String(w, StandardCharsets.ISO_8859_1)).toList())
        .orElse(List.of("?"));
  }

  /** What comes in pieces is read with more care, byte by byte. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void aRequestIsTheSameWhetherItComesAtOnceOrInPieces(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 1_000; i++) {
      var text = new StringBuilder(request(random) + request(random));
      if (random.nextBoolean()) {
        text.setCharAt(random.nextInt(text.length()), "*$01-\r\nx".charAt(random.nextInt(8)));
      }
      var bytes = bytes(text.toString());
      var atOnce = new RequestScanner();
      var inPieces = new RequestScanner();
      var found = atOnce.scan(bytes, bytes.capacity());
      var slowly = Found.PART;
      for (int end = 1; end <= bytes.capacity() && slowly == Found.PART; end++) {
        slowly = inPieces.scan(bytes, end);
      }
      assertEquals(found, slowly, text::toString);
      assertEquals(seen(atOnce), seen(inPieces), text::toString);
    }
  }

  private static String request(Random random) {
    int count = random.nextInt(8) == 0 ? random.nextInt(30) : 1 + random.nextInt(3);
    var text = new StringBuilder("*" + count + "\r\n");
    for (int i = 0; i < count; i++) {
      var argument = "a\r\n$1".repeat(3).substring(0, random.nextInt(15));
      text.append("$%d\r\n%s\r\n".formatted(argument.length(), argument));
    }
    return text.toString();
  }

  private static List<Integer> seen(RequestScanner scanner) {
    var seen = new ArrayList<>(List.of(scanner.began(), scanner.at, scanner.count));
    for (int i = 0; scanner.has(i); i++) {
      seen.addAll(List.of(scanner.starts[i], scanner.ends[i]));
    }
    return seen;
  }

  /** What is behind a request that is not looked at whole begins anywhere in what comes next. */
  @Test
  void aLineIsFoundBehindALongRequest() {
    var requests = new RequestScanner();
    var first = "GET " + "k".repeat(200) + "\r\n*1\r\n$100\r\n";
    assertEquals(Found.LINE, requests.scan(bytes(first), first.length()));
    requests.restart(requests.at);
    assertEquals(Found.PART, requests.scan(bytes(first), first.length()));
    var next = "x".repeat(100) + "\r\nPING\r\nGET k";
    requests.at = 0;
    assertEquals(Found.WHOLE, requests.scan(bytes(next), next.length()));
    assertEquals(Found.LINE, requests.scan(bytes(next), next.length()));
    assertEquals(Found.PART, requests.scan(bytes(next), next.length()));
    var rest = "GET k\r\n";
    requests.moved(-requests.at);
    assertEquals(Found.LINE, requests.scan(bytes(rest), rest.length()));
    assertEquals(rest.length(), requests.at);
  }
}
