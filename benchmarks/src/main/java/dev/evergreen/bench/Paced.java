package dev.evergreen.bench;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * Asks a server by HTTP/1.1 at a constant rate on some connections, one request at a time on each.
 * The time of a request counts from when it was to be sent, so that a server that stalls is not
 * spared those that come meanwhile. A process of its own, that has one thread and can be pinned.
 */
final class Paced {

  /** The time for the JVM to compile what it needs; it does not count. */
  private static final long WARM_UP = 500_000_000;

  private static final byte[] HEAD_END = {'\r', '\n', '\r', '\n'};
  private static final String LENGTH = "\r\ncontent-length:";

  private final Histogram times = new Histogram(3);
  private final ByteBuffer request;
  private final long gap;

  private Paced(String path, long gap) {
    this.gap = gap;
    var text = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    request = ByteBuffer.allocateDirect(text.length()).put(text.getBytes(ISO_8859_1)).flip();
  }

  /** A connection, and the requests that are due on it. */
  private static final class Client {
    private final SocketChannel channel;
    private final ByteBuffer in = ByteBuffer.allocate(64 << 10);
    private final ArrayDeque<Long> due = new ArrayDeque<>();
    private long sentFor = -1;

    Client(SocketChannel channel) {
      this.channel = channel;
    }
  }

  /**
   * Prints the 99th percentile in microseconds.
   *
   * @param arguments the port, the path, how many connections, requests a second, and seconds
   */
  public static void main(String[] arguments) throws IOException {
    int connections = Integer.parseInt(arguments[2]);
    long gap = (long) (1e9 / Double.parseDouble(arguments[3]));
    var paced = new Paced(arguments[1], gap);
    paced.run(
        Integer.parseInt(arguments[0]),
        connections,
        (long) (1e9 * Double.parseDouble(arguments[4])));
    if (paced.times.getTotalCount() == 0) {
      throw new EOFException("nothing was answered in time");
    }
    System.out.println(paced.times.getValueAtPercentile(99) / 1000.0);
  }

  private void run(int port, int connections, long nanos) throws IOException {
    try (var selector = Selector.open()) {
      var clients = new ArrayList<Client>();
      for (int i = 0; i < connections; i++) {
        var channel =
            SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        channel.configureBlocking(false);
        clients.add(new Client(channel));
        channel.register(selector, SelectionKey.OP_READ, clients.getLast());
      }
      try {
        load(selector, clients, nanos);
      } finally {
        for (var client : clients) {
          client.channel.close();
        }
      }
    }
  }

  private void load(Selector selector, List<Client> clients, long nanos) throws IOException {
    long begin = System.nanoTime();
    long next = begin;
    int turn = 0;
    for (long now = begin; now - begin < WARM_UP + nanos; now = System.nanoTime()) {
      for (; next - now <= 0; next += gap) {
        var client = clients.get(turn++ % clients.size());
        client.due.add(next);
        sendIfIdle(client);
      }
      selector.selectNow();
      for (var key : selector.selectedKeys()) {
        receive((Client) key.attachment(), begin + WARM_UP);
      }
      selector.selectedKeys().clear();
    }
  }

  private void sendIfIdle(Client client) throws IOException {
    if (client.sentFor < 0 && !client.due.isEmpty()) {
      client.sentFor = client.due.poll();
      client.channel.write(request.duplicate());
    }
  }

  private void receive(Client client, long from) throws IOException {
    if (client.channel.read(client.in) < 0) {
      throw new EOFException("the server has closed a connection");
    }
    if (isWhole(client.in)) {
      client.in.clear();
      if (client.sentFor - from >= 0) {
        times.recordValue(System.nanoTime() - client.sentFor);
      }
      client.sentFor = -1;
      sendIfIdle(client);
    }
  }

  private static boolean isWhole(ByteBuffer in) throws IOException {
    int head = headLength(in);
    if (head < 0) {
      return false;
    }
    var text = new String(in.array(), in.arrayOffset(), head, ISO_8859_1).toLowerCase(Locale.ROOT);
    int at = text.indexOf(LENGTH);
    if (!text.startsWith("http/1.1 200 ") || at < 0) {
      throw new IOException("it answered something else: " + text);
    }
    int begin = at + LENGTH.length();
    int length = Integer.parseInt(text.substring(begin, text.indexOf('\r', begin)).strip());
    return in.position() >= head + length;
  }

  private static int headLength(ByteBuffer in) {
    for (int i = 0; i + HEAD_END.length <= in.position(); i++) {
      int same = 0;
      while (same < HEAD_END.length && in.get(i + same) == HEAD_END[same]) {
        same++;
      }
      if (same == HEAD_END.length) {
        return i + same;
      }
    }
    return -1;
  }
}
