package dev.evergreen.bench.polymix;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;

/**
 * One who asks, over at most four connections, each of which serves some requests only. A library's
 * client would not let us say how many.
 */
final class Robot implements AutoCloseable {
  private static final int CONNECTIONS = 4;
  private static final int MOST_A_CONNECTION = 64;
  private static final int PATIENCE_MILLIS = 30_000;

  /**
   * What came.
   *
   * @param made when the origin made it, by {@link System#nanoTime}. A proxy may leave that out of
   *     a 304 of its own; then Cache-Status tells whether it was made after the request or before
   */
  record Answer(int status, long made) {}

  private final int port;
  private final Semaphore places = new Semaphore(CONNECTIONS);
  private final Deque<Connection> idle = new ConcurrentLinkedDeque<>();

  Robot(int port) {
    this.port = port;
  }

  /** Asks for a path, with more lines each of which ends with CR LF. */
  Answer ask(String path, String lines) throws IOException, InterruptedException {
    places.acquire();
    try {
      var former = idle.pollLast();
      if (former != null) {
        try {
          return ask(former, path, lines);
        } catch (IOException e) {
          if (former.isAnswering || e instanceof SocketTimeoutException) {
            throw e;
          }
          // It was ended while nobody used it.
        }
      }
      return ask(new Connection(port), path, lines);
    } finally {
      places.release();
    }
  }

  private Answer ask(Connection connection, String path, String lines) throws IOException {
    try {
      var answer = connection.ask(path, lines);
      if (connection.left > 0) {
        idle.addLast(connection);
      } else {
        connection.close();
      }
      return answer;
    } catch (IOException e) {
      connection.close();
      throw e;
    }
  }

  @Override
  public void close() throws IOException {
    for (var connection = idle.poll(); connection != null; connection = idle.poll()) {
      connection.close();
    }
  }

  private static final class Connection implements AutoCloseable {
    private final Socket socket = new Socket();
    private final InputStream input;
    private int left = Zipf.draw(MOST_A_CONNECTION, new SplittableRandom());
    private boolean isAnswering;

    @SuppressWarnings("AddressSelection") // The loopback address is one.
    Connection(int port) throws IOException {
      try {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        input = new BufferedInputStream(socket.getInputStream());
      } catch (IOException e) {
        socket.close();
        throw e;
      }
    }

    Answer ask(String path, String lines) throws IOException {
      left--;
      isAnswering = false;
      var end = left == 0 ? "Connection: close\r\n\r\n" : "\r\n";
      var request = "GET " + path + " HTTP/1.1\r\nHost: polymix.test\r\n" + lines + end;
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      int status = Integer.parseInt(line().split(" ", 3)[1]);
      isAnswering = true;
      long made = Long.MIN_VALUE;
      long length = status == 304 ? 0 : -1;
      for (var line = line(); !line.isEmpty(); line = line()) {
        int colon = line.indexOf(':');
        if (colon < 0) {
          throw new IOException("'" + line + "' is no field");
        }
        var name = line.substring(0, colon);
        var value = line.substring(colon + 1).strip();
        if (name.equalsIgnoreCase(Origin.MADE)) {
          made = Long.parseLong(value);
        } else if (name.equalsIgnoreCase("Cache-Status") && value.contains("fwd=")) {
          made = made == Long.MIN_VALUE ? Long.MAX_VALUE : made;
        } else if (name.equalsIgnoreCase("Content-Length") && status != 304) {
          length = Long.parseLong(value);
        } else if (name.equalsIgnoreCase("Connection") && value.equalsIgnoreCase("close")) {
          left = 0;
        }
      }
      if (length < 0) {
        throw new IOException("an answer of status " + status + " has no length");
      }
      input.skipNBytes(length);
      return new Answer(status, made);
    }

    private String line() throws IOException {
      var line = new StringBuilder();
      for (int next = input.read(); next != '\n'; next = input.read()) {
        if (next < 0) {
          throw new EOFException("it was ended amid a line");
        }
        line.append((char) next);
      }
      return line.toString().stripTrailing();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
