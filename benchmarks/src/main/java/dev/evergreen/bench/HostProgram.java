package dev.evergreen.bench;

import dev.evergreen.cluster.ClusterNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/**
 * The program of a process that hosts grains, and what they are compared with, for a measuring
 * process: it says on its standard output where it is reached, and then obeys its standard input.
 * When that ends, however that came about, so does the process.
 */
final class HostProgram {

  private HostProgram() {}

  /**
   * Runs until the standard input ends.
   *
   * @param arguments the address of the measuring node, and that of its Pekko system, or {@code -}
   */
  public static void main(String[] arguments) throws IOException {
    // Joining takes a while, in which whoever started this process may go.
    var node = new CompletableFuture<ClusterNode>();
    Thread.ofPlatform().name("start").start(() -> start(node, arguments[0], arguments[1]));
    obey(node);
    Runtime.getRuntime().halt(0);
  }

  private static void start(CompletableFuture<ClusterNode> node, String seed, String pekko) {
    try {
      node.complete(start(seed, pekko));
    } catch (IOException | RuntimeException e) {
      System.err.println("the host did not start: " + e);
      Runtime.getRuntime().halt(1);
    }
  }

  private static ClusterNode start(String seed, String pekko) throws IOException {
    var node = BenchCluster.describe().listen("127.0.0.1", 0).seeds(seed).start();
    if (!pekko.equals("-")) {
      PekkoAsk.host(pekko);
    }
    say("ready " + Floor.listen() + " " + LinkCalls.listen());
    return node;
  }

  private static void obey(CompletableFuture<ClusterNode> started) throws IOException {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (var line = input.readLine(); line != null; line = input.readLine()) {
      var node = started.join();
      switch (line) {
        case "state" -> say("state " + node.ready() + " " + node.counts().subscriptions());
        case "heap" -> say("heap " + Heap.used());
        default -> say("unknown " + line);
      }
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
