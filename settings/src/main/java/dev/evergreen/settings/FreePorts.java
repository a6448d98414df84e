package dev.evergreen.settings;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ports of the loopback interface for processes that listen there later, or again and again. A port
 * that the system gives to whoever asks for any is none: while nobody listens there, it may be
 * given to an outgoing connection. Whoever listens at once needs none of these, but asks for port
 * 0.
 */
public final class FreePorts {

  /** Linux gives those from 32,768 on to connections, unless told otherwise, others higher ones. */
  private static final int FIRST = 26_000;

  private static final int COUNT = 6_000;

  /** Processes that choose at the same time begin so far from each other. */
  private static final int APART = 32;

  private static final AtomicInteger NEXT =
      new AtomicInteger((int) (ProcessHandle.current().pid() % (COUNT / APART) * APART));

  private FreePorts() {}

  /**
   * A port where nobody listens now, another one each time.
   *
   * @throws IOException if there is none
   */
  public static int next() throws IOException {
    for (int i = 0; i < COUNT; i++) {
      int port = FIRST + Math.floorMod(NEXT.getAndIncrement(), COUNT);
      if (isFree(port)) {
        return port;
      }
    }
    throw new IOException(
        "none of the ports from %d to %d is free".formatted(FIRST, FIRST + COUNT - 1));
  }

  /** So many of them. */
  public static List<Integer> next(int count) throws IOException {
    var ports = new ArrayList<Integer>();
    while (ports.size() < count) {
      ports.add(next());
    }
    return ports;
  }

  private static boolean isFree(int port) {
    try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
