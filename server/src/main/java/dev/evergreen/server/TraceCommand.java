package dev.evergreen.server;

import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.TraceException;
import dev.evergreen.provenance.TracePage;
import dev.evergreen.provenance.TraceTail;
import dev.evergreen.provenance.TraceView;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Shows what was recorded, as it was. */
@Command(
    name = "trace",
    description = "Shows what a store was asked and answered.",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {TraceCommand.Tail.class, TraceCommand.Export.class, TraceCommand.Page.class})
public final class TraceCommand implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** Made by picocli. */
  TraceCommand() {}

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "say what: tail, export or page");
  }

  /** The last operations, and those to come. */
  @Command(
      name = "tail",
      description = "Shows the last operations with their replies, and with -f those to come.",
      mixinStandardHelpOptions = true)
  static final class Tail extends TraceOptions {
    private static final Duration POLL = Duration.ofMillis(50);

    private static final int PAGE = 1_000;

    @Option(
        names = {"-n", "--lines"},
        paramLabel = "N",
        defaultValue = "10",
        description = "How many of the last operations (default: ${DEFAULT-VALUE}).")
    private int lines;

    @Option(
        names = {"-f", "--follow"},
        description = "Goes on with what comes, until it is ended.")
    private boolean follow;

    @Override
    int run(StoredTrace trace) throws InterruptedException {
      check(lines >= 0, "--lines must not be negative");
      awaitLoaded(trace);
      var view = new TraceView(trace);
      long next = 0;
      for (var operation : trace.last(lines)) {
        show(view, operation);
        next = operation.row() + 1;
      }
      var tail = new TraceTail(next);
      while (follow) {
        var page = tail.next(trace, PAGE);
        page.forEach(operation -> show(view, operation));
        if (page.size() < PAGE) {
          Thread.sleep(POLL);
        }
      }
      return ExitCode.OK;
    }

    private void show(TraceView view, Operation operation) {
      print(json ? TraceView.json(view.element(operation)) : view.line(operation));
    }
  }

  /** All operations. */
  @Command(
      name = "export",
      description = "Writes all operations in their order, one line of JSON for each.",
      mixinStandardHelpOptions = true)
  static final class Export extends TraceOptions {
    private static final int PAGE = 1_000;

    @Option(
        names = "--from",
        paramLabel = "ROW",
        defaultValue = "0",
        description = "From that row on.")
    private long from;

    @Override
    int run(StoredTrace trace) {
      awaitLoaded(trace);
      var view = new TraceView(trace);
      List<Operation> page = trace.from(from, PAGE);
      while (!page.isEmpty()) {
        for (var operation : page) {
          spec.commandLine().getOut().println(TraceView.json(view.element(operation)));
        }
        flush();
        page = trace.from(page.getLast().row() + 1, PAGE);
      }
      return ExitCode.OK;
    }
  }

  /** A page to look at the trace with. */
  @Command(
      name = "page",
      description = {
        "Serves a page to look at the trace with.",
        "It searches for keys and shows their histories, why an answer is as it is, and what passes now.",
        "The command prints the page's address. It contains a token: whoever has the address may see the data. SIGINT and SIGTERM end it."
      },
      mixinStandardHelpOptions = true)
  static final class Page implements Callable<Integer> {
    private static final int TOKEN_BYTES = 18;

    @Option(
        names = "--trace",
        paramLabel = "DIR|URL",
        defaultValue = "trace",
        description = "The trace's directory, or its database's URL (default: ${DEFAULT-VALUE}).")
    private String place = "";

    @Option(
        names = "--listen",
        paramLabel = "HOST:PORT",
        defaultValue = "127.0.0.1:7390",
        description = {
          "Where browsers find it (default: ${DEFAULT-VALUE}); the port 0 is any that is free.",
          "It speaks HTTP without TLS: for other machines put a proxy with TLS before it."
        })
    private String listen = "";

    @Option(
        names = "--host",
        paramLabel = "NAME",
        description = "A name by which browsers call it, as a proxy before it has; several times.")
    private List<String> hosts = List.of();

    @Option(
        names = "--token-file",
        paramLabel = "FILE",
        description = "Holds the token (default: a new one at each start).")
    private @Nullable Path tokenFile;

    @Spec private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws InterruptedException {
      try (var _ = StoredTrace.open(place, TraceOptions.PATIENCE)) {
        // A page of nothing would tell nobody that its place was mistyped.
      } catch (TraceException e) {
        return failed(TraceOptions.reason(e));
      }
      try (var page = TracePage.start(place, new TracePage.Settings(address(), token(), hosts))) {
        spec.commandLine().getOut().println("The trace is shown at " + page.url());
        spec.commandLine().getOut().flush();
        new CountDownLatch(1).await();
        return ExitCode.OK;
      } catch (IOException e) {
        return failed(Reasons.of(e, "--listen"));
      } catch (UnresolvedAddressException e) {
        return failed("--listen: no address is known of " + listen);
      }
    }

    private int failed(String why) {
      spec.commandLine().getErr().println(spec.name() + ": " + why);
      return ExitCode.SOFTWARE;
    }

    private InetSocketAddress address() {
      int colon = listen.lastIndexOf(':');
      try {
        var host = listen.substring(0, colon).replaceAll("[\\[\\]]", "");
        return new InetSocketAddress(host, Integer.parseInt(listen.substring(colon + 1)));
      } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
        throw new ParameterException(spec.commandLine(), "--listen is host:port, not " + listen, e);
      }
    }

    private String token() throws IOException {
      if (tokenFile != null) {
        var token = Files.readString(tokenFile).strip();
        if (token.isEmpty()) {
          throw new IOException("there is no token in " + tokenFile);
        }
        return token;
      }
      var random = new byte[TOKEN_BYTES];
      new SecureRandom().nextBytes(random);
      return Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    }
  }
}
