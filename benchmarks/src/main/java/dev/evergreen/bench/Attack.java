package dev.evergreen.bench;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

/** What clients may do to a server that means harm to its others. */
sealed interface Attack permits MemcachedAttack, WebAttack {

  /** In the words of an enum. */
  String name();

  /** What it does, for people. */
  String description();

  /** How many connections do it. */
  int connections();

  /** Does it over a connection, until the server hangs up or for ever. */
  void attack(Talk talk, int number) throws Exception;

  /** Its name as people write it. */
  default String option() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** All of them. */
  static List<Attack> all() {
    return Stream.<Attack[]>of(MemcachedAttack.values(), WebAttack.values())
        .flatMap(Stream::of)
        .toList();
  }

  /** A connection to the server. */
  record Talk(Socket socket) implements AutoCloseable {

    private static final int SMALL_BUFFER = 4_096;

    /** The attackers are at other addresses than the normal client, and at several. */
    private static final int ADDRESSES = 8;

    static Talk to(InetSocketAddress server, int number) throws IOException {
      var socket = new Socket();
      // The less the system takes for those who do not read, the more is left to the server.
      socket.setReceiveBufferSize(SMALL_BUFFER);
      var own = InetAddress.ofLiteral("127.0.0." + (2 + number % ADDRESSES));
      socket.bind(new InetSocketAddress(own, 0));
      socket.connect(server);
      return new Talk(socket);
    }

    void send(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    }

    void readTo(String end) throws IOException {
      int matched = 0;
      var input = socket.getInputStream();
      var buffer = new byte[1 << 16];
      while (matched < end.length()) {
        int n = input.read(buffer);
        if (n < 0) {
          throw new IOException("the server has hung up");
        }
        for (int i = 0; i < n; i++) {
          matched =
              buffer[i] == end.charAt(matched) ? matched + 1 : buffer[i] == end.charAt(0) ? 1 : 0;
          if (matched == end.length()) {
            return;
          }
        }
      }
    }

    /** Takes a byte a second, until the server hangs up. */
    void sip() throws IOException, InterruptedException {
      while (socket.getInputStream().read() >= 0) {
        Thread.sleep(1_000);
      }
    }

    /** Takes all replies from now on, in a thread of its own. */
    void readAside() {
      Thread.startVirtualThread(
          () -> {
            try (var input = socket.getInputStream()) {
              input.transferTo(OutputStream.nullOutputStream());
            } catch (IOException e) {
              // It is over; who sends learns so, too.
            }
          });
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /**
   * Attacks the server at a port of this machine, until the process is ended: {@code NAME PORT}.
   * Prints a line when all connections have begun.
   */
  static void main(String[] arguments) throws Exception {
    var attack =
        all().stream().filter(each -> each.option().equals(arguments[0])).findFirst().orElseThrow();
    var server =
        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), Integer.parseInt(arguments[1]));
    var begun = new CountDownLatch(attack.connections());
    for (int i = 0; i < attack.connections(); i++) {
      int number = i;
      Thread.startVirtualThread(() -> repeat(attack, server, number, begun));
    }
    begun.await();
    System.out.println("begun");
    Thread.sleep(Long.MAX_VALUE);
  }

  private static void repeat(
      Attack attack, InetSocketAddress server, int number, CountDownLatch begun) {
    while (true) {
      try (var talk = Talk.to(server, number)) {
        begun.countDown();
        attack.attack(talk, number);
      } catch (IOException e) {
        // The server has hung up: once more.
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
