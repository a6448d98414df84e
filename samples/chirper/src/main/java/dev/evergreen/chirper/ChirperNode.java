package dev.evergreen.chirper;

import dev.evergreen.settings.Signals;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/**
 * One of several processes that are Chirper together, as {@link Launcher} starts them. On SIGTERM
 * it leaves the others and ends. It also ends when its standard input does, which means that the
 * launcher is gone. SIGINT it leaves to the launcher, as a terminal sends it to all of them at
 * once.
 */
@Command(name = "node", hidden = true, description = "One of the processes of --nodes.")
final class ChirperNode implements Callable<Integer> {

  /** Longer than leaving a cluster takes. */
  static final Duration END_WITHIN = Duration.ofSeconds(30);

  /** Without a launcher all end at the same time, and there is nobody to leave grains to. */
  private static final Duration END_ALONE_WITHIN = Duration.ofSeconds(5);

  @Option(names = "--port", required = true, description = "The port of its page.")
  private int port;

  @Option(names = "--data", required = true, description = "The directory that all share.")
  private Path data = Path.of("");

  @Option(names = "--jdbc", description = "The database that all share.")
  private @Nullable String jdbc;

  @Option(names = "--memcached", description = "The port of its items.")
  private @Nullable Integer memcached;

  @Option(names = "--operations", description = "The port of its dashboard.")
  private @Nullable Integer operations;

  @Option(names = "--cluster-port", required = true, description = "Its port for other nodes.")
  private int clusterPort;

  @Option(
      names = "--seeds",
      required = true,
      split = ",",
      description = "The addresses of all nodes.")
  private List<String> seeds = List.of();

  @Option(
      names = "--pages",
      required = true,
      split = ",",
      description = "The ports of all nodes' pages.")
  private List<Integer> pages = List.of();

  private final CountDownLatch told = new CountDownLatch(1);

  @Override
  public Integer call() throws Exception {
    Signals.on("INT", () -> {});
    Signals.on("TERM", () -> end(END_WITHIN));
    Thread.ofPlatform().daemon().name("chirper-input").start(this::awaitEndOfInput);
    var directory = DataDirectory.share(data);
    try (var server = ChirperServer.joined(directory, jdbc, clusterPort, seeds)) {
      // For ends of other kinds: another signal, or the node was fenced.
      Runtime.getRuntime().addShutdownHook(new Thread(server::close, "chirper-end"));
      if (memcached != null) {
        Chirper.serveMemcached(server, memcached);
      }
      if (operations != null) {
        Chirper.serveOperations(server, operations);
      }
      Chirper.announce(server.serve(port, pages));
      told.await();
    }
    return ExitCode.OK;
  }

  private void awaitEndOfInput() {
    try {
      while (System.in.read() >= 0) {
        // Nothing is said there.
      }
    } catch (IOException e) {
      // Nobody will say more.
    }
    end(END_ALONE_WITHIN);
  }

  /** Ends in good order, and if that takes too long in none. */
  private void end(Duration within) {
    told.countDown();
    Thread.ofPlatform().daemon().name("chirper-end-limit").start(() -> haltAfter(within));
  }

  private static void haltAfter(Duration within) {
    try {
      Thread.sleep(within);
    } catch (InterruptedException e) {
      // then at once
    }
    Runtime.getRuntime().halt(ExitCode.SOFTWARE);
  }
}
