package dev.evergreen.server;

import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.TraceView;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
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
    subcommands = {TraceCommand.Tail.class, TraceCommand.Export.class})
public final class TraceCommand implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** Made by picocli. */
  TraceCommand() {}

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "say what, tail or export");
  }

  /** The last operations, and those to come. */
  @Command(
      name = "tail",
      description = "Shows the last operations with their replies, and with -f those to come.",
      mixinStandardHelpOptions = true)
  static final class Tail extends TraceOptions {
    private static final Duration POLL = Duration.ofMillis(50);

    /** So long is a reply waited for before an operation is shown without. */
    private static final Duration REPLY_PATIENCE = Duration.ofSeconds(1);

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
      awaitLoaded(trace);
      var view = new TraceView(trace);
      long next = 0;
      for (var operation : trace.last(lines)) {
        show(view, operation);
        next = operation.row() + 1;
      }
      while (follow) {
        var page = trace.from(next, PAGE);
        for (var operation : page) {
          if (isAwaited(operation)) {
            break;
          }
          show(view, operation);
          next = operation.row() + 1;
        }
        if (page.size() < PAGE) {
          Thread.sleep(POLL);
        }
      }
      return ExitCode.OK;
    }

    private static boolean isAwaited(Operation operation) {
      return operation.outcomeUnknown()
          && operation.sent().plus(REPLY_PATIENCE).isAfter(Instant.now());
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
        page = trace.from(page.getLast().row() + 1, PAGE);
      }
      spec.commandLine().getOut().flush();
      return ExitCode.OK;
    }
  }
}
