package dev.evergreen.bench.load;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.kernel.Errno;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import org.HdrHistogram.Histogram;

/**
 * Asks a server by HTTP/1.1 on some connections, one request at a time on each: at a constant rate,
 * or as fast as it answers. At a rate the time of a request counts from when it was to be sent, so
 * that a server that stalls is not spared those that come meanwhile; each goes to the connection
 * that has been free for the longest time, or waits for one. A process of its own, that has one
 * thread and can be pinned. Nothing is allocated for a request.
 */
public final class Paced {

  /**
   * The time for the JVM to compile what it needs, at the same rate. What is then still to be
   * answered is awaited before the times that count begin.
   */
  private static final long WARM_UP = 3_000_000_000L;

  /** For a server that was left alone meanwhile, or has others since. */
  private static final long SETTLING = 300_000_000L;

  /** How long any answer is awaited. */
  private static final long PATIENCE = 10_000_000_000L;

  private static final byte[] OK = "HTTP/1.1 200 ".getBytes(ISO_8859_1);
  private static final byte[] HEAD_END = "\r\n\r\n".getBytes(ISO_8859_1);
  private static final byte[] LENGTH = "\r\ncontent-length:".getBytes(ISO_8859_1);

  /**
   * What was found.
   *
   * @param rate of answers, by the second
   * @param answers their 99th percentile, in microseconds
   * @param ownDelays that of how late requests left that did not wait for a connection
   * @param busy the share of the time for which this process has worked: near 1 the times are its
   *     own rather than the server's
   */
  public record Result(double rate, double answers, double ownDelays, double busy) {
    /** Reads what {@link #main} has printed. */
    public static Result parse(String printed) {
      var numbers =
          Arrays.stream(printed.strip().split(" ", -1)).mapToDouble(Double::parseDouble).toArray();
      return new Result(numbers[0], numbers[1], numbers[2], numbers[3]);
    }

    @Override
    public String toString() {
      return rate + " " + answers + " " + ownDelays + " " + busy;
    }
  }

  /** Of answers, since they were due. */
  private final Histogram times = new Histogram(3);

  /**
   * What of them was the server's: all but how late the request was sent, and for how long the
   * answer was there and this process was not woken yet.
   */
  private final Histogram served = new Histogram(3);

  /** How late requests were sent that did not wait for a connection: by this process. */
  private final Histogram own = new Histogram(3);

  private final Sockets sockets;
  private final MemorySegment request;
  private final MemorySegment received;

  /** 0 for as fast as possible. */
  private final double gap;

  private final Client[] clients;

  /** A ring of the connections that are free. */
  private final int[] free;

  private int firstFree;
  private int frees;

  /** Since when there has been a free connection, if there is one. */
  private long freeSince;

  /** A connection, and what has come of the answer to its request. */
  private static final class Client {
    private final int socket;
    private final byte[] bytes = new byte[64 << 10];
    private int end;
    private long due;
    private long late;

    Client(int socket) {
      this.socket = socket;
    }
  }

  private Paced(int port, String path, int connections, double rate, Arena arena)
      throws IOException {
    gap = rate == 0 ? 0 : 1e9 / rate;
    var text = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    request = arena.allocateFrom(ValueLayout.JAVA_BYTE, text.getBytes(ISO_8859_1));
    received = arena.allocate(64 << 10);
    sockets = new Sockets();
    clients = new Client[connections];
    free = new int[connections];
    for (int i = 0; i < connections; i++) {
      var server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
      clients[i] = new Client(sockets.connect(server, i, true));
      addFree(i, 0);
    }
  }

  /**
   * Prints a {@link Result}; or, if no seconds are given, prints what of the latencies was the
   * server's, of each time that is asked for, as {@link PacedProcess} does.
   *
   * @param arguments the port, the path, how many connections, requests a second or 0 for as many
   *     as are answered, and seconds
   */
  public static void main(String[] arguments) throws IOException {
    try (var arena = Arena.ofConfined()) {
      var paced =
          new Paced(
              Integer.parseInt(arguments[0]),
              arguments[1],
              Integer.parseInt(arguments[2]),
              Double.parseDouble(arguments[3]),
              arena);
      if (arguments.length > 4) {
        System.out.println(paced.run(nanos(arguments[4])));
      } else {
        paced.obey(new BufferedReader(new InputStreamReader(System.in, ISO_8859_1)));
      }
    }
  }

  private static long nanos(String seconds) {
    return (long) (1e9 * Double.parseDouble(seconds));
  }

  private void obey(BufferedReader asked) throws IOException {
    load(WARM_UP);
    for (var seconds = asked.readLine(); seconds != null; seconds = asked.readLine()) {
      load(SETTLING);
      served.reset();
      load(nanos(seconds));
      var bytes = ByteBuffer.allocate(served.getNeededByteBufferCapacity());
      int length = served.encodeIntoCompressedByteBuffer(bytes);
      System.out.println(Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length)));
    }
  }

  private Result run(long nanos) throws IOException {
    load(WARM_UP);
    times.reset();
    own.reset();
    var threads = ManagementFactory.getThreadMXBean();
    long begin = System.nanoTime();
    long busy = threads.getCurrentThreadCpuTime();
    load(nanos);
    double passed = System.nanoTime() - begin;
    return new Result(
        times.getTotalCount() / passed * 1e9,
        times.getValueAtPercentile(99) / 1000.0,
        own.getValueAtPercentile(99) / 1000.0,
        (threads.getCurrentThreadCpuTime() - busy) / passed);
  }

  /** Lets requests be due for a time, and returns when all are answered. */
  private void load(long nanos) throws IOException {
    long begin = System.nanoTime();
    freeSince = begin;
    long asked = 0;
    while (true) {
      long now = System.nanoTime();
      long due = gap == 0 ? now : begin + (long) (asked * gap);
      boolean ended = due - begin >= nanos;
      if (ended && frees == free.length) {
        return;
      }
      if (!ended && frees > 0 && due - now <= 0) {
        send(due, now);
        asked++;
        continue;
      }
      // With none free only an answer lets it go on.
      boolean answersOnly = ended || frees == 0;
      int events = sockets.await(answersOnly ? PATIENCE : due - now);
      if (events == 0 && answersOnly) {
        throw new EOFException("nothing was answered");
      }
      for (int i = 0; i < events; i++) {
        receive(sockets.index(i));
      }
    }
  }

  private void send(long due, long now) throws IOException {
    int index = free[firstFree];
    firstFree = (firstFree + 1) % free.length;
    frees--;
    var client = clients[index];
    client.due = due;
    client.late = Math.max(0, now - Math.max(due, freeSince));
    own.recordValue(client.late);
    int sent = Errno.check(sockets.send(client.socket, request), "send");
    if (sent < request.byteSize()) {
      throw new IOException("there was no room for a request");
    }
  }

  private void addFree(int index, long now) {
    if (frees == 0) {
      freeSince = now;
    }
    free[(firstFree + frees++) % free.length] = index;
  }

  private void receive(int index) throws IOException {
    var client = clients[index];
    // An event comes only when all that was there has been read.
    int n;
    do {
      n = sockets.receiveStamped(client.socket, received);
      if (n == -Errno.EAGAIN) {
        return;
      }
      if (Errno.check(n, "receive") == 0) {
        throw new EOFException("the server has closed a connection");
      }
      MemorySegment.copy(received, ValueLayout.JAVA_BYTE, 0, client.bytes, client.end, n);
      client.end += n;
    } while (n == received.byteSize());
    if (isWhole(client)) {
      client.end = 0;
      long now = System.nanoTime();
      long came = sockets.arrival();
      times.recordValue(now - client.due);
      served.recordValue(Math.max(0, came - client.due - client.late));
      addFree(index, came);
    }
  }

  private static boolean isWhole(Client client) throws IOException {
    var bytes = client.bytes;
    int head = find(HEAD_END, bytes, 0, client.end);
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
    return client.end >= head + HEAD_END.length + length;
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
