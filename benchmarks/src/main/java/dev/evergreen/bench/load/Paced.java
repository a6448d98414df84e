package dev.evergreen.bench;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * Asks a server by HTTP/1.1 at a constant rate on some connections, one request at a time on each.
 * The time of a request counts from when it was to be sent, so that a server that stalls is not
 * spared those that come meanwhile. A process of its own, that has one thread and can be pinned.
 */
final class Paced {

  /**
   * The time for the JVM to compile what it needs, at the same rate. What is then still to be
   * answered is awaited before the times that count begin.
   */
  private static final long WARM_UP = 3_000_000_000L;

  private static final byte[] OK = "HTTP/1.1 200 ".getBytes(ISO_8859_1);
  private static final byte[] HEAD_END = "\r\n\r\n".getBytes(ISO_8859_1);
  private static final byte[] LENGTH = "\r\ncontent-length:".getBytes(ISO_8859_1);

  /** Of answers, since they were due. */
  private final Histogram times = new Histogram(3);

  /** How late requests were sent on connections that waited for nothing else: by this process. */
  private final Histogram own = new Histogram(3);

  private final ByteBuffer request;
  private final long gap;
  private int open;

  private Paced(String path, long gap) {
    this.gap = gap;
    var text = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    request = ByteBuffer.allocateDirect(text.length()).put(text.getBytes(ISO_8859_1)).flip();
  }

  /** A connection, and the requests that are due on it. */
  private static final class Client {
    private final SocketChannel channel;
    private final byte[] bytes = new byte[64 << 10];
    private final ByteBuffer in = ByteBuffer.wrap(bytes);
    private final ArrayDeque<Long> due = new ArrayDeque<>();
    private long sentFor;
    private boolean waits;

    Client(SocketChannel channel) {
      this.channel = channel;
    }
  }

  /**
   * Prints the 99th percentiles in microseconds: of the answers, and of this process's own delays.
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
    System.out.println(
        paced.times.getValueAtPercentile(99) / 1000.0
            + " "
            + paced.own.getValueAtPercentile(99) / 1000.0);
  }

  private void run(int port, int connections, long nanos) throws IOException {
    try (var selector = Selector.open()) {
      var clients = new ArrayList<Client>();
      for (int i = 0; i < connections; i++) {
        var channel =
            SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.configureBlocking(false);
        clients.add(new Client(channel));
        channel.register(selector, SelectionKey.OP_READ, clients.getLast());
      }
      try {
        load(selector, clients, WARM_UP);
        times.reset();
        own.reset();
        load(selector, clients, nanos);
      } finally {
        for (var client : clients) {
          client.channel.close();
        }
      }
    }
  }

  /** Lets requests be due for a time, and returns when all are answered. */
  private void load(Selector selector, List<Client> clients, long nanos) throws IOException {
    long begin = System.nanoTime();
    long next = begin;
    int turn = 0;
    for (long now = begin; next - begin < nanos || open > 0; now = System.nanoTime()) {
      for (; next - now <= 0 && next - begin < nanos; next += gap) {
        var client = clients.get(turn++ % clients.size());
        client.due.add(next);
        open++;
        if (!client.waits) {
          own.recordValue(System.nanoTime() - next);
          send(client);
        }
      }
      selector.selectNow(key -> receive((Client) key.attachment()));
    }
  }

  private void send(Client client) {
    client.sentFor = client.due.remove();
    client.waits = true;
    try {
      client.channel.write(request.duplicate());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void receive(Client client) {
    try {
      if (client.channel.read(client.in) < 0) {
        throw new EOFException("the server has closed a connection");
      }
      if (!isWhole(client)) {
        return;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    client.in.clear();
    times.recordValue(System.nanoTime() - client.sentFor);
    client.waits = false;
    open--;
    if (!client.due.isEmpty()) {
      send(client);
    }
  }

  private static boolean isWhole(Client client) throws IOException {
    var bytes = client.bytes;
    int end = client.in.position();
    int head = find(HEAD_END, bytes, 0, end);
    if (head < 0) {
      return false;
    }
    int at = find(LENGTH, bytes, 0, head);
    if (!Arrays.equals(OK, 0, OK.length, bytes, 0, OK.length) || at < 0) {
      throw new IOException(
          "it answered something else: " + new String(bytes, 0, head, ISO_8859_1));
    }
    int length = 0;
    for (int i = at + LENGTH.length; bytes[i] != '\r'; i++) {
      length = bytes[i] == ' ' ? length : 10 * length + bytes[i] - '0';
    }
    return end >= head + HEAD_END.length + length;
  }

  /** Where some bytes are, which are in lower case: -1 if nowhere. */
  private static int find(byte[] what, byte[] bytes, int from, int to) {
    for (int i = from; i + what.length <= to; i++) {
      int same = 0;
      while (same < what.length && lower(bytes[i + same]) == what[same]) {
        same++;
      }
      if (same == what.length) {
        return i;
      }
    }
    return -1;
  }

  private static int lower(byte letter) {
    return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
  }
}
