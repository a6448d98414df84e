package dev.evergreen.bench.load;

import java.util.List;

/** The memcached of the system, run as a child and never as its service. */
public final class DebianMemcached {

  private DebianMemcached() {}

  /** Whether it is installed. */
  public static boolean present() {
    return Programs.has("memcached");
  }

  /**
   * With one thread that serves.
   *
   * @param megabytes for items
   * @param connections at most
   */
  public static List<String> command(int megabytes, int connections) {
    return List.of(
        "memcached",
        "-p",
        ServerProcess.PORT,
        "-l",
        "127.0.0.1",
        "-u",
        "nobody",
        "-t",
        "1",
        "-m",
        String.valueOf(megabytes),
        "-c",
        String.valueOf(connections));
  }
}
