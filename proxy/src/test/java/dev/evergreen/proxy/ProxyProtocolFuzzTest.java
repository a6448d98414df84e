package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.MemoryPair;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/**
 * Headers of the PROXY protocol, right and wrong: each is taken for what the specification says,
 * and nothing behind it is touched, or its connection is refused. Those of the corpus are in the
 * resource {@code proxy-protocol.csv}, one for each way in which one can be read. With {@code
 * -Devergreen.proxy.fuzz=N} there are N mutated ones beside them, and {@code
 * -Devergreen.proxy.seed=S} says where they begin.
 */
@Timeout(600)
class ProxyProtocolFuzzTest {
  private static final int ROUNDS = Integer.getInteger("evergreen.proxy.fuzz", 3_000);
  private static final long SEED = Long.getLong("evergreen.proxy.seed", 20261125);

  private static final Fibers FIBERS = Fibers.builder().name("fuzz").processors(1).start();
  private static final String REST = "GET / HTTP/1.1\r\n";
  private static final String REFUSED = "refused";
  private static final String SELF = "127.0.0.1";

  private static final String BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  private static final String FOUR = BYTE + "(?:\\." + BYTE + "){3}";
  private static final String PORT =
      "(?:6553[0-5]|655[0-2]\\d|65[0-4]\\d\\d|6[0-4]\\d{3}|[1-5]\\d{4}|[1-9]\\d{0,3}|0)";

  /** Addresses of version 6 are left to the JDK, as long as they look like one. */
  private static final String SIX = "[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*";

  private static final Pattern LINE =
      Pattern.compile(
          "PROXY (?:UNKNOWN(?: .*?)?|TCP4 (%1$s) %1$s %3$s %3$s|TCP6 (%2$s) (%2$s) %3$s %3$s)\r\n"
              .formatted(FOUR, SIX, PORT),
          Pattern.DOTALL);

  private static final String SIGNATURE = "\r\n\r\n\0\r\nQUIT\n";

  private static final List<String> SEEDS =
      List.of(
          "PROXY TCP4 192.0.2.1 192.0.2.2 1 65535\r\n",
          "PROXY TCP6 2001:db8::1 ::1 443 12345\r\n",
          "PROXY UNKNOWN ffff::ffff ffff::ffff 65535 65535\r\n",
          SIGNATURE + "!\21\0\14\300\0\2\1\177\0\0\1\0\1\0\2",
          SIGNATURE + "!\21\0\17\300\0\2\1\177\0\0\1\0\1\0\2\4\0\0",
          SIGNATURE + "!!\0$" + " \1\15\270" + "\0".repeat(11) + "\1" + "\0".repeat(20),
          SIGNATURE + " \0\0\0");

  private static final String[] PIECES = {
    " ", "\r\n", "\r", "\n", "\0", "PROXY ", "TCP4", "TCP6", "UNKNOWN", ".", ":", "0", "255", "256",
    "65536", "-", "::", "%1", "[", "\21", "\41", "!", "\377",
  };

  @AfterAll
  static void end() {
    FIBERS.close();
  }

  /** Whom a header speaks for; what follows it must be there still. */
  private static String outcome(String header, int piece) throws Exception {
    try (var pair = MemoryPair.of(FIBERS, MemoryPair.CAPACITY, piece)) {
      pair.near().write((header + REST).getBytes(ISO_8859_1));
      pair.near().shutdownOutput();
      var outcome = new CompletableFuture<String>();
      FIBERS.spawn(
          () -> {
            try {
              var client = ProxyProtocol.read(pair.far(), InetAddress.ofLiteral(SELF));
              var rest = new ByteArrayOutputStream();
              var bytes = ByteBuffer.allocate(100);
              while (pair.far().read(bytes.clear()) >= 0) {
                rest.write(bytes.array(), 0, bytes.position());
              }
              outcome.complete(client.getHostAddress() + " " + rest.toString(ISO_8859_1));
            } catch (IOException e) {
              outcome.complete(REFUSED);
            } catch (RuntimeException e) {
              outcome.completeExceptionally(e);
            }
          });
      return outcome.get();
    }
  }

  /** The same by the specification, for a reader that sees all at once. */
  private static String expected(String header) throws IOException {
    var all = header + REST;
    if (all.startsWith(SIGNATURE)) {
      return ofBytes(all.getBytes(ISO_8859_1));
    }
    var line = LINE.matcher(all);
    if (!line.lookingAt() || line.end() > 107) {
      return REFUSED;
    }
    var text = line.group(1) != null ? line.group(1) : line.group(2);
    try {
      if (line.group(3) != null) {
        var _ = InetAddress.ofLiteral(line.group(3));
      }
      var client = text == null ? SELF : InetAddress.ofLiteral(text).getHostAddress();
      return client + " " + all.substring(line.end());
    } catch (IllegalArgumentException e) {
      return REFUSED;
    }
  }

  private static String ofBytes(byte[] all) throws IOException {
    if (all.length < 16) {
      return REFUSED;
    }
    int length = (all[14] & 0xff) << 8 | (all[15] & 0xff);
    boolean local = all[12] == 0x20;
    int kind = all[13] & 0xff;
    int transport = kind & 15;
    boolean known = kind == 0 || (kind > 0x10 && kind < 0x40 && (transport == 1 || transport == 2));
    int size = local ? 0 : kind >> 4 == 1 ? 4 : kind >> 4 == 2 ? 16 : 0;
    if (!(local || (all[12] == 0x21 && known))
        || length > 4096
        || all.length < 16 + length
        || (size > 0 && length < 2 * size + 4)) {
      return REFUSED;
    }
    var client =
        size == 0
            ? SELF
            : InetAddress.getByAddress(Arrays.copyOfRange(all, 16, 16 + size)).getHostAddress();
    return client + " " + new String(all, 16 + length, all.length - 16 - length, ISO_8859_1);
  }

  @ParameterizedTest(name = "{0}")
  @CsvFileSource(resources = "proxy-protocol.csv", delimiter = ';', quoteCharacter = '`')
  void aHeaderIsTakenOrRefused(String text, String client) throws Exception {
    var header = text.translateEscapes();
    var expected = client.equals(REFUSED) ? REFUSED : client + " " + REST;
    assertEquals(expected, outcome(header, MemoryPair.CAPACITY));
    assertEquals(expected, outcome(header, 1), "byte by byte");
    assertEquals(expected, expected(header), "the other reader");
  }

  @Test
  void whateverIsSaidIsTakenByTheSpecificationOrRefused() throws Exception {
    var random = new Random(SEED);
    var taken = new ArrayList<String>();
    for (int i = 0; i < ROUNDS; i++) {
      var header = mutated(random);
      var expected = expected(header);
      assertEquals(expected, outcome(header, 1 + random.nextInt(40)), () -> shown(header));
      if (!expected.equals(REFUSED)) {
        taken.add(header);
      }
    }
    assertTrue(taken.size() > ROUNDS / 10, "too few were taken: " + taken.size());
  }

  private static String mutated(Random random) {
    var text = new StringBuilder(SEEDS.get(random.nextInt(SEEDS.size())));
    for (int i = random.nextInt(3); i > 0; i--) {
      int at = random.nextInt(text.length());
      switch (random.nextInt(4)) {
        case 0 -> text.insert(at, PIECES[random.nextInt(PIECES.length)]);
        case 1 -> text.deleteCharAt(at);
        case 2 -> text.setCharAt(at, (char) random.nextInt(256));
        default -> text.setCharAt(at, (char) (text.charAt(at) ^ (1 << random.nextInt(8))));
      }
    }
    return text.toString();
  }

  private static String shown(String header) {
    return header.replace("\r", "\\r").replace("\n", "\\n").replace("\0", "\\0");
  }
}
