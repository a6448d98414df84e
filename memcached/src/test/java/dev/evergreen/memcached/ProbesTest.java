package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.request;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Each command at its edges: what {@code probes.txt} has is answered as Debian's memcached answers
 * it, to the byte; and so are requests of the binary protocol whose parts do not fit together.
 */
@Timeout(300)
class ProbesTest {
  private static final Pattern REPEATED = Pattern.compile("<(.)\\*(\\d+)>");
  private static final Pattern ESCAPED = Pattern.compile("\\\\(n|l|r|t|0|x([0-9a-f]{2}))");

  private static List<String> probes() throws IOException {
    try (var file = ProbesTest.class.getResourceAsStream("/probes.txt")) {
      var text = new String(Objects.requireNonNull(file).readAllBytes(), US_ASCII);
      return text.lines().filter(line -> !line.isEmpty() && !line.startsWith("#")).toList();
    }
  }

  /** The bytes that a probe stands for, a character each. */
  private static String bytes(String probe) {
    var whole =
        REPEATED
            .matcher(probe)
            .replaceAll(match -> match.group(1).repeat(Integer.parseInt(match.group(2))));
    return ESCAPED.matcher(whole).replaceAll(match -> unescaped(match.group(1)));
  }

  private static String unescaped(String letters) {
    return switch (letters.charAt(0)) {
      case 'n' -> "\r\n";
      case 'l' -> "\n";
      case 'r' -> "\r";
      case 't' -> "\t";
      case '0' -> "\0";
      default -> String.valueOf((char) Integer.parseInt(letters.substring(1), 16));
    };
  }

  private static List<String> answers(String probe, Client client) throws Exception {
    try (client) {
      client.exchange("flush_all\r\n");
      var side = new DifferentialTest.Side(client);
      var answers = new ArrayList<String>();
      for (var part : probe.split("\\|\\|", -1)) {
        answers.add(side.ask(List.of(bytes(part))));
        if (answers.getLast().endsWith("<end>")) {
          break;
        }
      }
      return answers;
    }
  }

  @Test
  void probesAreAnsweredAsByMemcached() throws Exception {
    var differences = new ArrayList<String>();
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var server = TestServer.start(Mode.PROCESSORS)) {
      for (var probe : probes()) {
        var theirs = answers(probe, reference.connect());
        var ours = answers(probe, server.connect());
        if (!theirs.equals(ours)) {
          differences.add(probe + "\n  memcached " + theirs + "\n  ours      " + ours);
        }
      }
    }
    assertEquals("", String.join("\n", differences));
  }

  /** All kinds of requests that there are, with parts as these and others have them. */
  private static List<String> misfits() {
    var requests = new ArrayList<String>();
    for (int opcode = 0; opcode <= 0x24; opcode++) {
      for (int extras : new int[] {0, 4, 8, 20, 21}) {
        for (var key : List.of("", "k", "k".repeat(250), "k".repeat(251))) {
          for (var value : List.of("", "v")) {
            requests.add(request(opcode, "\0".repeat(extras), key, value));
            requests.add(request(opcode, "\0".repeat(extras), key, value, 99_999, 7));
          }
        }
      }
    }
    return requests;
  }

  private static List<String> answersOfBinary(String request, Client client) throws IOException {
    try (client) {
      BinaryProtocolTest.exchange(client, request(0x08, "", "", ""));
      return BinaryProtocolTest.exchange(client, request);
    }
  }

  /**
   * The version, statistics, SASL and what memcached takes for unknown have replies of their own;
   * and what cannot have a value is refused if it has one, where memcached takes that for the next
   * request, and closes.
   */
  private static boolean isApart(String request) {
    int opcode = request.charAt(1);
    boolean touches = (opcode >= 0x1c && opcode <= 0x1e) || opcode >= 0x23;
    return opcode == 0x0b
        || opcode == 0x10
        || opcode == 0x1b
        || (opcode >= 0x1f && opcode <= 0x22)
        || (touches && request.endsWith("v"));
  }

  @Test
  void binaryRequestsThatDoNotFitAreAnsweredAsByMemcached() throws Exception {
    var differences = new ArrayList<String>();
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var server = TestServer.start(Mode.PROCESSORS)) {
      for (var request : misfits()) {
        if (!isApart(request)) {
          var theirs = withoutCas(answersOfBinary(request, reference.connect()));
          var ours = withoutCas(answersOfBinary(request, server.connect()));
          if (!theirs.equals(ours)) {
            differences.add(
                BinaryProtocolTest.hex(request)
                    + "\n  memcached "
                    + theirs
                    + "\n  ours      "
                    + ours);
          }
        }
      }
    }
    assertEquals("", String.join("\n", differences));
  }

  /** CAS numbers, of which there are some or none. */
  private static List<String> withoutCas(List<String> responses) {
    return responses.stream()
        .map(
            response ->
                response.length() < 48 || response.startsWith("0".repeat(16), 32)
                    ? response
                    : response.substring(0, 32) + "cas" + response.substring(48))
        .toList();
  }
}
