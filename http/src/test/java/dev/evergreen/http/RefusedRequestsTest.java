package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What could be understood in two ways, or cannot be at all, is refused, and nothing after it. */
@Timeout(60)
class RefusedRequestsTest {
  private static final String GET = "GET / HTTP/1.1\r\nHost: a\r\n";
  private static final String POST = "POST / HTTP/1.1\r\nHost: a\r\n";
  private static final String CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n";

  static Stream<Arguments> refused() {
    return Stream.of(
        row(
            "CL and TE",
            400,
            POST + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        row(
            "TE and CL",
            400,
            POST + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
        row("TE gzip, chunked", 501, POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        row("TE gzip", 501, POST + "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n"),
        row("TE identity", 501, POST + "Transfer-Encoding: identity\r\n\r\n"),
        row("TE chunked, gzip", 400, POST + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
        row(
            "TE twice in a line",
            501,
            POST + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        row("TE empty", 400, POST + "Transfer-Encoding:\r\n\r\n"),
        row("TE with a quote", 400, POST + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        row(
            "TE on two lines",
            400,
            POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        row(
            "TE on two lines, other",
            400,
            POST + "Transfer-Encoding: chunked\r\nTransfer-encoding: x\r\n\r\n"),
        row("VT before chunked", 400, POST + "Transfer-Encoding: \u000bchunked\r\n\r\n0\r\n\r\n"),
        row(
            "TE of HTTP/1.0",
            400,
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        row("CL 3, 3", 400, POST + "Content-Length: 3, 3\r\n\r\nabc"),
        row("CL twice, equal", 400, POST + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        row(
            "CL twice, different",
            400,
            POST + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        row("CL +3", 400, POST + "Content-Length: +3\r\n\r\nabc"),
        row("CL -3", 400, POST + "Content-Length: -3\r\n\r\nabc"),
        row("CL 0x3", 400, POST + "Content-Length: 0x3\r\n\r\nabc"),
        row("CL empty", 400, POST + "Content-Length:\r\n\r\n"),
        row("CL too great", 400, POST + "Content-Length: 9999999999999999999\r\n\r\n"),
        row("obs-fold", 400, GET + "X: a\r\n b\r\n\r\n"),
        row("obs-fold with tab", 400, GET + "X: a\r\n\tb\r\n\r\n"),
        row("folded first", 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        row("bare LF after a field", 400, "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
        row("bare LF after the first line", 400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        row("bare LF at the end", 400, GET + "\n"),
        row("bare CR in a value", 400, GET + "X: a\rb\r\n\r\n"),
        row("CR CR LF", 400, GET + "X: a\r\r\n\r\n"),
        row("NUL in a value", 400, GET + "X: a\u0000b\r\n\r\n"),
        row("DEL in a value", 400, GET + "X: a\u007fb\r\n\r\n"),
        row("NUL in a name", 400, GET + "X\u0000: a\r\n\r\n"),
        row("no colon", 400, GET + "X\r\n\r\n"),
        row("no name", 400, GET + ": a\r\n\r\n"),
        row("blank before the colon", 400, POST + "Content-Length : 3\r\n\r\nabc"),
        row("tab before the colon", 400, POST + "Content-Length\t: 3\r\n\r\nabc"),
        row("name of other letters", 400, GET + "\u00e4: a\r\n\r\n"),
        row("two Hosts", 400, GET + "Host: b\r\n\r\n"),
        row("two Hosts, equal", 400, GET + "Host: a\r\n\r\n"),
        row("no Host", 400, "GET / HTTP/1.1\r\nX: y\r\n\r\n"),
        row("two Hosts of 1.0", 400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
        row("Host with a path", 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        row("Host with a user", 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        row("Host with a comma", 400, "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"),
        row("Host with a blank", 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        row("Host of 256 bytes", 400, "GET / HTTP/1.1\r\nHost: " + "a".repeat(256) + "\r\n\r\n"),
        row(
            "host of 256 bytes",
            400,
            "GET http://" + "a".repeat(256) + "/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("Host with a bad port", 400, "GET / HTTP/1.1\r\nHost: a:80x\r\n\r\n"),
        row("Host with a port only", 400, "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"),
        row("leading blank", 400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("two empty lines before", 400, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("bare LF before", 400, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("tab after the method", 400, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("two blanks after the method", 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("two blanks before the version", 400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("blank after the version", 400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
        row("blank in the target", 400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("control in the target", 400, "GET /a\u0001b HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("NUL in the target", 400, "GET /a\u0000b HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("tab in the target", 400, "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("CR in the target", 400, "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("high byte in the target", 400, "GET /\u00e4 HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("fragment in the target", 400, "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("no target", 400, "GET HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("no path", 400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("asterisk of GET", 400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("URI without a host", 400, "GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("URI with a port only", 400, "GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("URI of another scheme", 400, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("URI with a user", 400, "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("CONNECT without a port", 400, "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"),
        row("CONNECT to a path", 400, "CONNECT /a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
        row(
            "CONNECT with a body",
            400,
            "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nContent-Length: 3\r\n\r\nabc"),
        row("HTTP/0.9", 400, "GET /\r\n\r\n"),
        row("version 1.2", 505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
        row("version 2.0", 505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
        row("version 0.9", 505, "GET / HTTP/0.9\r\nHost: a\r\n\r\n"),
        row("version in small letters", 400, "GET / http/1.1\r\nHost: a\r\n\r\n"),
        row("version 1.10", 400, "GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
        row("version 1", 400, "GET / HTTP/1\r\nHost: a\r\n\r\n"),
        row("version 01.1", 400, "GET / HTTP/01.1\r\nHost: a\r\n\r\n"),
        row("TLS", 400, "\u0016\u0003\u0001\u0002\u0000\u0001\r\n\r\n"),
        row("unknown expectation", 417, POST + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\na"),
        row("chunk size of 17 digits", 400, CHUNKED + "00000000000000003\r\nabc\r\n0\r\n\r\n"),
        row("chunk size 0x3", 400, CHUNKED + "0x3\r\nabc\r\n0\r\n\r\n"),
        row("chunk size +3", 400, CHUNKED + "+3\r\nabc\r\n0\r\n\r\n"),
        row("chunk size -3", 400, CHUNKED + "-3\r\nabc\r\n0\r\n\r\n"),
        row("blank before the chunk size", 400, CHUNKED + " 3\r\nabc\r\n0\r\n\r\n"),
        row("blank after the chunk size", 400, CHUNKED + "3 \r\nabc\r\n0\r\n\r\n"),
        row("no chunk size", 400, CHUNKED + "\r\nabc\r\n0\r\n\r\n"),
        row("no chunk size but an extension", 400, CHUNKED + ";a\r\nabc\r\n0\r\n\r\n"),
        row("chunk size and text", 400, CHUNKED + "3 a\r\nabc\r\n0\r\n\r\n"),
        row("bare LF after the chunk size", 400, CHUNKED + "3\nabc\r\n0\r\n\r\n"),
        row("LF in a chunk extension", 400, CHUNKED + "3;a\nb\r\nabc\r\n0\r\n\r\n"),
        row("CR in a chunk extension", 400, CHUNKED + "3;a\rb\r\nabc\r\n0\r\n\r\n"),
        row("NUL in a chunk extension", 400, CHUNKED + "3;a\u0000\r\nabc\r\n0\r\n\r\n"),
        row("chunk longer than told", 400, CHUNKED + "3\r\nabcd\r\n0\r\n\r\n"),
        row("chunk shorter than told", 400, CHUNKED + "5\r\nabc\r\n0\r\n\r\n"),
        row("bare LF after a chunk", 400, CHUNKED + "3\r\nabc\n0\r\n\r\n"),
        row("bare LF after the last chunk", 400, CHUNKED + "3\r\nabc\r\n0\r\n\n"),
        row("obs-fold in trailers", 400, CHUNKED + "0\r\nX: a\r\n b\r\n\r\n"),
        row("bare LF in trailers", 400, CHUNKED + "0\r\nX: a\n\r\n"));
  }

  private static Arguments row(String name, int status, String sent) {
    return Arguments.of(name, status, sent);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("refused")
  void isRefused(String name, int status, String sent) throws Exception {
    var asked = new ArrayList<String>();
    Handler handler =
        exchange -> {
          Talk.echo(exchange);
          asked.add(exchange.request().target());
        };
    // A request that follows must not be taken for one.
    var answer = Talk.answer(handler, sent + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), () -> name + ": " + answer);
    assertTrue(answer.contains("\r\nConnection: close\r\n"), answer);
    assertEquals(answer.indexOf("HTTP/1.1 "), answer.lastIndexOf("HTTP/1.1 "), answer);
    assertEquals(List.of(), asked);
  }

  @Test
  void limitsHaveStatusesOfTheirOwn() throws Exception {
    var settings = HttpSettings.DEFAULT.withHeads(100, 200, 400, 5);
    assertStatus(414, settings, "GET /" + "x".repeat(100) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    assertStatus(414, settings, "GET /" + "x".repeat(100));
    assertStatus(431, settings, GET + "X: " + "x".repeat(200) + "\r\n\r\n");
    assertStatus(431, settings, GET + ("X: " + "x".repeat(90) + "\r\n").repeat(5) + "\r\n");
    assertStatus(431, settings, GET + "X: x\r\n".repeat(5) + "\r\n");
    assertStatus(431, settings, CHUNKED + "0\r\n" + "X: x\r\n".repeat(6) + "\r\n");
    assertStatus(431, settings, CHUNKED + "0\r\nX: " + "x".repeat(200) + "\r\n\r\n");
    assertStatus(400, settings, CHUNKED + "3;" + "x".repeat(300) + "\r\nabc\r\n0\r\n\r\n");
    assertStatus(200, settings, GET + "X: x\r\n".repeat(4) + "\r\n");
    var longest = "GET /" + "x".repeat(100 - 16) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    assertStatus(200, settings, longest);
  }

  @Test
  void aHostMayHaveTheLengthOfAName() throws Exception {
    var longest = "a".repeat(255) + ":65535";
    assertStatus(200, HttpSettings.DEFAULT, "GET / HTTP/1.1\r\nHost: " + longest + "\r\n\r\n");
  }

  private static void assertStatus(int status, HttpSettings settings, String sent)
      throws Exception {
    var answer = Talk.answer(Talk::echo, settings, sent, 1000);
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
  }

  @Test
  void theRestOfARefusedRequestDoesNotCutTheAnswerOff() throws Exception {
    var answer = Talk.answer(Talk::echo, "NONSENSE\r\n" + "x".repeat(1 << 20));
    assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
    assertTrue(answer.endsWith("\n"), answer);
  }
}
