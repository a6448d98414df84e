package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Hostile bytes, from clients and from the store. They are what once was a fault, in the files
 * {@code hostile-*.txt}, and what comes of that at random.
 */
@Timeout(300)
class FuzzTest {
  private static final int INPUTS = Integer.getInteger("evergreen.fuzz.inputs", 200);
  private static final long SEED = Long.getLong("evergreen.seed", System.nanoTime());

  @TempDir private Path directory;

  private static List<byte[]> corpus(String name) throws IOException {
    try (var file = Objects.requireNonNull(FuzzTest.class.getResourceAsStream(name), name)) {
      return new String(file.readAllBytes(), StandardCharsets.US_ASCII)
          .lines()
          .map(line -> line.translateEscapes().getBytes(StandardCharsets.ISO_8859_1))
          .toList();
    }
  }

  /** An input of the corpus as it is, or several, or something like that. */
  private static byte[] input(List<byte[]> corpus, int number) {
    if (number < corpus.size()) {
      return corpus.get(number);
    }
    var random = new Random(SEED + number);
    var out = new ByteArrayOutputStream();
    for (int i = random.nextInt(4); i >= 0; i--) {
      out.writeBytes(
          random.nextInt(4) == 0
              ? new RandomRequests(SEED + number, "z").some(2)
              : corpus.get(random.nextInt(corpus.size())));
    }
    var bytes = out.toByteArray();
    for (int i = random.nextInt(6); i > 0 && bytes.length > 0; i--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(4)) {
        case 0 -> bytes[at] = (byte) random.nextInt(256);
        case 1 -> bytes[at] = (byte) "\r\n*$0123 \"".charAt(random.nextInt(10));
        case 2 -> bytes = Arrays.copyOf(bytes, at);
        default ->
            bytes =
                Inline.join(
                    Arrays.copyOf(bytes, at), Arrays.copyOfRange(bytes, at / 2, bytes.length));
      }
    }
    return bytes;
  }

  @Test
  void whateverAClientSaysOthersAreServed() throws IOException {
    System.out.println("-Devergreen.seed=" + SEED);
    var corpus = corpus("hostile-requests.txt");
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(4 << 20).withDurability(Durability.NONE);
    try (var recording = new Recorded(directory).record(settings);
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()))) {
      var open = new ArrayList<Talk>();
      try (var other = shimmed.client()) {
        for (int i = 0; i < INPUTS; i++) {
          var client = shimmed.client();
          open.add(client);
          try {
            client.send(input(corpus, i));
            if (i % 3 == 0) {
              client.socket.shutdownOutput();
            }
          } catch (IOException e) {
            // Redis has ended it already.
            client.close();
          }
          var word = "token" + i;
          int number = i;
          assertEquals(
              "$" + word.length() + "\r\n" + word + "\r\n",
              other.ask("ECHO", word),
              () -> "after input " + number + " of seed " + SEED);
          if (open.size() > 20) {
            open.removeFirst().close();
          }
        }
      }
      for (var client : open) {
        client.close();
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)), "not loaded");
    }
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      var kind = new RedisKind();
      for (var operation : trace.from(1, 100_000)) {
        assertNotNull(kind.touches(operation), operation::text);
        var reply = operation.reply();
        if (reply != null) {
          assertTrue(
              reply.length() == 0 || kind.value(reply) != null || reply.length() < 6,
              operation::text);
        }
      }
    }
  }

  /** Passes on what comes, and what Redis says with faults in it, but on the first connection. */
  private static final class Liar implements AutoCloseable {
    private final ServerSocket listener =
        new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final List<byte[]> corpus;
    private final int port;
    volatile boolean lies;

    Liar(int port, List<byte[]> corpus) throws IOException {
      this.port = port;
      this.corpus = corpus;
      Thread.ofVirtual().start(this::accept);
    }

    private void accept() {
      try {
        for (int i = 0; ; i++) {
          var here = listener.accept();
          var there = new Socket(InetAddress.getLoopbackAddress(), port);
          sockets.addAll(List.of(here, there));
          connect(here, there, i);
        }
      } catch (IOException e) {
        // It was closed.
        return;
      }
    }

    /** Both ends or none: who was left with one would wait for ever for the other. */
    private void connect(Socket here, Socket there, int number) throws IOException {
      try {
        var asked = here.getInputStream();
        var replied = there.getInputStream();
        var replying = here.getOutputStream();
        pump(asked, there.getOutputStream(), there, -1);
        pump(replied, replying, here, number);
      } catch (IOException e) {
        // They were cut at once.
        here.close();
        there.close();
      }
    }

    private void pump(InputStream in, OutputStream out, Socket end, int number) {
      Thread.ofVirtual()
          .start(
              () -> {
                var buffer = new byte[1 << 16];
                try (end) {
                  for (int n = in.read(buffer), k = 0; n >= 0; n = in.read(buffer), k++) {
                    boolean lie = lies && number > 0 && k > 0 && (number + k) % 5 == 0;
                    out.write(lie ? input(corpus, number + k / 5) : Arrays.copyOf(buffer, n));
                  }
                } catch (IOException e) {
                  // Either end has gone.
                  return;
                }
              });
    }

    /** Ends all connections; one that is just being made is left for the next time. */
    void cut() throws IOException {
      for (var socket : List.copyOf(sockets)) {
        socket.close();
        sockets.remove(socket);
      }
    }

    @Override
    public void close() throws IOException {
      listener.close();
      cut();
    }
  }

  @Test
  void whateverTheStoreSaysNobodyWaitsForEver() throws IOException {
    System.out.println("-Devergreen.seed=" + SEED);
    try (var redis = RedisServer.start();
        var liar = new Liar(redis.port, corpus("hostile-replies.txt"));
        var shim = RedisShim.start(Shimmed.settings("127.0.0.1:" + liar.listener.getLocalPort()))) {
      int port = ((java.net.InetSocketAddress) shim.address()).getPort();
      for (int i = 0; i < INPUTS / 4; i++) {
        liar.lies = true;
        try (var shared = Talk.to(port);
            var pinned = Talk.to(port)) {
          for (int j = 0; j < 8; j++) {
            shared.send("GET", "a");
            pinned.send("CLIENT", "GETNAME");
            pinned.send("MULTI");
            pinned.send("EXEC");
            Thread.onSpinWait();
          }
          liar.lies = false;
          liar.cut();
          // One whose upstream is just being made is not cut.
          shared.socket.shutdownOutput();
          pinned.socket.shutdownOutput();
          shared.rest();
          pinned.rest();
        } catch (java.net.SocketException e) {
          // It was let go while it spoke.
          liar.lies = false;
          liar.cut();
        }
        assertEquals("+PONG\r\n", Talk.served(port, "PING"), () -> "seed " + SEED);
      }
    }
  }

  @Test
  void scannersSayTheSameHoweverHostileBytesAreCut() throws IOException {
    var requests = corpus("hostile-requests.txt");
    var replies = corpus("hostile-replies.txt");
    for (int i = 0; i < 50 * INPUTS; i++) {
      var random = new Random(SEED + i);
      for (var bytes : List.of(input(requests, i), input(replies, i))) {
        int cut = bytes.length == 0 ? 0 : random.nextInt(bytes.length);
        int number = i;
        assertEquals(
            requestEnds(bytes, bytes.length),
            requestEnds(bytes, cut),
            () -> "seed " + SEED + number);
        assertEquals(
            replyEnds(bytes, bytes.length), replyEnds(bytes, cut), () -> "seed " + SEED + number);
      }
    }
  }

  private static List<String> requestEnds(byte[] bytes, int cut) {
    var ends = new ArrayList<String>();
    var scanner = new RequestScanner();
    var buffer = ByteBuffer.wrap(bytes);
    for (int end : new int[] {cut, bytes.length}) {
      for (var found = scanner.scan(buffer, end);
          found != RequestScanner.Found.PART;
          found = scanner.scan(buffer, end)) {
        ends.add(found + " at " + scanner.at);
        if (found == RequestScanner.Found.STRANGE) {
          return ends;
        }
      }
    }
    return ends;
  }

  private static List<String> replyEnds(byte[] bytes, int cut) {
    var ends = new ArrayList<String>();
    var scanner = new ReplyScanner();
    var buffer = ByteBuffer.wrap(bytes);
    for (int end : new int[] {cut, bytes.length}) {
      while (scanner.scan(buffer, end)) {
        ends.add(scanner.kind() + scanner.word() + scanner.isNil() + " at " + scanner.at);
      }
    }
    ends.add("" + scanner.strange());
    return ends;
  }
}
