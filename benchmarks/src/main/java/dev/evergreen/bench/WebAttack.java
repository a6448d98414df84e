package dev.evergreen.bench;

import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What clients may do to {@link WebTarget}. */
enum WebAttack implements Attack {
  HALF_POSTS("POSTs that are half sent, then a byte a second", 2_050) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(post(1_000) + "{");
      while (true) {
        Thread.sleep(1_000);
        talk.send(" ");
      }
    }
  },
  RANDOM_NAMES("views by names that nobody else asks for", 8) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send(get("/live/board?count=1&owner=" + ThreadLocalRandom.current().nextLong()));
      }
    }
  },
  MANY_VIEWS("a hundred views on each socket, of a value that is changed all the time", 64) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      if (number < 2) {
        talk.readAside();
        for (int i = 0; ; i++) {
          var body = "{\"owner\":\"busy\",\"note\":\"news %d of %d\"}".formatted(i, number);
          talk.send(post(body.length()) + body);
          Thread.sleep(10);
        }
      }
      talk.send(UPGRADE);
      talk.send(
          frame(
              IntStream.range(0, 100)
                  .mapToObj(i -> subscribe(i, 100 * number + i))
                  .collect(Collectors.joining(",", "[", "]"))));
      talk.readAside();
      while (true) {
        Thread.sleep(5_000);
        talk.send(frame("{\"type\":\"heartbeat\"}"));
      }
    }
  },
  SLOW_STREAMS("event streams of 1 MB of which a byte a second is taken", 200) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send("GET /live/large HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n");
      talk.sip();
    }
  },
  SLOW_SOCKETS("WebSockets with a view of 1 MB of which a byte a second is taken", 200) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(
          UPGRADE + frame("{\"type\":\"subscribe\",\"id\":1,\"view\":\"large\",\"params\":{}}"));
      talk.sip();
    }
  },
  SLOW_ANSWERS("answers of 4 MB of which a byte a second is taken", 400) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(get("/large"));
      talk.sip();
    }
  },
  SOCKETS("WebSockets that are opened and closed at once", 8) {
    @Override
    public void attack(Talk talk, int number) throws IOException {
      talk.socket().setSoLinger(true, 0);
      talk.send(UPGRADE);
      talk.readTo("\r\n\r\n");
    }
  },
  CONNECTS("connections that are closed at once", 4) {
    @Override
    public void attack(Talk talk, int number) throws IOException {
      talk.socket().setSoLinger(true, 0);
    }
  },
  BODIES("bodies that are as large as they may be, and larger", 8) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      var large = "{\"owner\":\"large\",\"note\":\"" + "x".repeat(15_000) + "\"}";
      for (int i = 0; i < 20; i++) {
        talk.send(post(large.length()) + large);
      }
      talk.send(post(1_000_000) + "x".repeat(1_000_000));
    }
  },
  MESSAGES("messages over WebSockets without a pause", 8) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(UPGRADE);
      talk.readAside();
      while (true) {
        talk.send(frame("{\"type\":\"ping\"}"));
      }
    }
  },
  IDLE("connections that ask once and then do nothing", 3_000) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(get("/live/board?count=1&owner=idle"));
      talk.sip();
    }
  };

  private static final String UPGRADE =
      String.join(
          "\r\n",
          "GET /live HTTP/1.1",
          "Host: 127.0.0.1",
          "Connection: Upgrade",
          "Upgrade: websocket",
          "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
          "",
          "");

  private final String description;
  private final int connections;

  WebAttack(String description, int connections) {
    this.description = description;
    this.connections = connections;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public int connections() {
    return connections;
  }

  private static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  }

  /** The head of a command. */
  private static String post(int length) {
    return "POST /commands/pin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        + "Content-Length: "
        + length
        + "\r\n\r\n";
  }

  private static String subscribe(int id, int count) {
    return "{\"type\":\"subscribe\",\"id\":%d,\"view\":\"board\",\"params\":{\"owner\":\"busy\",\"count\":%d}}"
        .formatted(id, count);
  }

  /** A message as a client must send it, masked with zeros. */
  private static String frame(String text) {
    var length =
        text.length() < 126
            ? "" + (char) (0x80 | text.length())
            : ""
                + (char) (0x80 | 126)
                + (char) (text.length() >> 8)
                + (char) (text.length() & 0xff);
    return "\u0081" + length + "\0\0\0\0" + text;
  }
}
