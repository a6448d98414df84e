package dev.evergreen.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;

/** What clients may do to a memcached server that means harm to its others. */
enum Attack {
  SLOW_SENDERS("values that are half sent, then a byte a second", 32) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      int length = number % 3 == 0 ? 1_000_000 : number % 3 == 1 ? 100_000 : 9_000;
      talk.send("set slow%d 0 0 %d\r\n%s".formatted(number, length, "v".repeat(5_000)));
      while (true) {
        Thread.sleep(1_000);
        talk.send("v");
      }
    }
  },
  SLOW_READERS("values of 1 MB of which a byte a second is taken", 16) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send(set("big" + number, 1_000_000) + ("get big" + number + "\r\n").repeat(10));
      while (true) {
        Thread.sleep(1_000);
        talk.read(1);
      }
    }
  },
  DEAF("pipelines whose replies nobody takes", 64) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send(set("medium", 7_000));
      while (true) {
        talk.send("get medium\r\n".repeat(1_000));
      }
    }
  },
  PIPELINES("pipelines of thousands of gets, whose replies are taken", 64) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send(set("small", 200));
      talk.readAside();
      while (true) {
        talk.send("get small\r\n".repeat(8_500));
      }
    }
  },
  CONNECTS("connections that are closed at once", 4) {
    @Override
    void attack(Talk talk, int number) throws IOException {
      talk.socket.setSoLinger(true, 0);
    }
  },
  HALF_COMMANDS("commands that come byte by byte and have no end", 1_000) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send("set half 0 0 ");
      while (true) {
        Thread.sleep(100);
        talk.send(" ");
      }
    }
  },
  ENDLESS_LINES("gets of one line without an end", 8) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send(set("k", 200) + "get");
      talk.readAside();
      while (true) {
        talk.send(" k".repeat(20_000));
      }
    }
  },
  GARBAGE("lines that are no commands", 8) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send("no such command\r\n".repeat(4_000));
      }
    }
  },
  LARGE_VALUES("values of 1 MB stored and read without a pause", 8) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send(set("large" + number, 1_000_000) + "get large" + number + "\r\n");
      }
    }
  },
  LISTS("lists of all keys", 4) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      while (true) {
        talk.send("lru_crawler metadump all\r\n");
        talk.readTo("END\r\n");
      }
    }
  },
  REPORTS("reports of statistics", 4) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send("stats\r\nstats conns\r\nstats sizes\r\nstats settings\r\n".repeat(10));
      }
    }
  },
  WATCHERS("watchers that take nothing", 20) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send("watch fetchers mutations\r\n");
      Thread.sleep(Long.MAX_VALUE);
    }
  },
  IDLE("connections that do nothing", 5_000) {
    @Override
    void attack(Talk talk, int number) throws Exception {
      talk.send("version\r\n");
      Thread.sleep(Long.MAX_VALUE);
    }
  };

  /** What it does, for people. */
  final String description;

  /** How many connections do it. */
  final int connections;

  Attack(String description, int connections) {
    this.description = description;
    this.connections = connections;
  }

  /** Does it over a connection, until the server hangs up or for ever. */
  abstract void attack(Talk talk, int number) throws Exception;

  private static String set(String key, int length) {
    return "set " + key + " 0 0 " + length + " noreply\r\n" + "x".repeat(length) + "\r\n";
  }

  /** A connection to the server. */
  record Talk(Socket socket) implements AutoCloseable {

    private static final int SMALL_BUFFER = 4_096;

    static Talk to(InetSocketAddress server) throws IOException {
      var socket = new Socket();
      // The less the system takes for those who do not read, the more is left to the server.
      socket.setReceiveBufferSize(SMALL_BUFFER);
      socket.connect(server);
      return new Talk(socket);
    }

    void send(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(US_ASCII));
    }

    void read(int bytes) throws IOException {
      socket.getInputStream().readNBytes(bytes);
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
  public static void main(String[] arguments) throws Exception {
    var attack = valueOf(arguments[0].toUpperCase(Locale.ROOT));
    var server =
        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), Integer.parseInt(arguments[1]));
    var begun = new CountDownLatch(attack.connections);
    for (int i = 0; i < attack.connections; i++) {
      int number = i;
      Thread.startVirtualThread(() -> attack.repeat(server, number, begun));
    }
    begun.await();
    System.out.println("begun");
    Thread.sleep(Long.MAX_VALUE);
  }

  private void repeat(InetSocketAddress server, int number, CountDownLatch begun) {
    while (true) {
      try (var talk = Talk.to(server)) {
        begun.countDown();
        attack(talk, number);
      } catch (IOException e) {
        // The server has hung up: once more.
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
