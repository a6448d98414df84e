package dev.evergreen.server;

import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.TraceException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What the commands that read a trace have in common. */
abstract class TraceOptions implements Callable<Integer> {
  static final Duration PATIENCE = Duration.ofSeconds(2);

  @Option(
      names = "--trace",
      paramLabel = "DIR|URL",
      defaultValue = "trace",
      description = "The trace's directory, or its database's URL (default: ${DEFAULT-VALUE}).")
  private String place = "";

  @Option(
      names = "--spool",
      paramLabel = "DIR",
      description = {
        "With a URL: the recorder's directory, if it is on this machine. What is recorded there"
            + " and",
        "not loaded is waited for, and what a recorder has left that has ended is loaded."
      })
  private @Nullable Path spool;

  @Option(names = "--json", description = "For programs: one line of JSON for each answer.")
  boolean json;

  @Spec CommandSpec spec = CommandSpec.create();

  /** Answers from a trace that can be read. */
  abstract int run(StoredTrace trace) throws InterruptedException;

  @Override
  public Integer call() throws InterruptedException {
    boolean url = place.startsWith("jdbc:");
    var directory = url ? spool : Path.of(place);
    try (var trace = StoredTrace.open(directory, url ? place : "", PATIENCE)) {
      return run(trace);
    } catch (TraceException e) {
      return failed(reason(e));
    } catch (OutputEndedException e) {
      return failed("the output cannot be written any more");
    } catch (OutOfMemoryError | StackOverflowError e) {
      return failed("that takes more memory than there is");
    }
  }

  /**
   * Who reads the output has gone, or its disk is full; the writers of the JDK keep it to
   * themselves.
   */
  private static final class OutputEndedException extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  static String reason(TraceException e) {
    return e.getMessage() + (e.getCause() == null ? "" : ": " + e.getCause().getMessage());
  }

  final void check(boolean good, String complaint) {
    if (!good) {
      throw new ParameterException(spec.commandLine(), complaint);
    }
  }

  /** Waits for what was recorded until now, and says so if it is not all there. */
  final void awaitLoaded(StoredTrace trace) {
    var loaded = trace.awaitLoaded(PATIENCE);
    var rest =
        switch (loaded.rest()) {
          case NONE -> "";
          case NOT_LOADED -> "what came later is not loaded yet";
          case NOT_KNOWN -> "whether something came later is not known without --spool";
          case OF_ANOTHER -> "the spool is not that of this trace, and what is there not loaded";
        };
    if (!rest.isEmpty()) {
      spec.commandLine()
          .getErr()
          .println("As of %s, row %d: %s.".formatted(loaded.at(), loaded.row(), rest));
    }
  }

  final void print(String line) {
    spec.commandLine().getOut().println(line);
    flush();
  }

  /** Has it written what was printed, and ends the command if that is not possible. */
  final void flush() {
    if (Output.isLost(spec.commandLine().getOut())) {
      throw new OutputEndedException();
    }
  }

  final int failed(String why) {
    spec.commandLine().getErr().println(spec.name() + ": " + why);
    return ExitCode.SOFTWARE;
  }
}
