package dev.evergreen.server;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.StoredTrace.Connected;
import dev.evergreen.provenance.TraceView;
import dev.evergreen.provenance.Why;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Says why a store answers as it does, from its trace. */
@Command(
    name = "why",
    description = {
      "Says which recorded operations made an answer so, with who sent them and when.",
      "COMMAND is what a client would send, such as GET cart:42; it is not sent.",
      "With --row, the reply of that row is explained. With --client, the last reply to COMMAND"
          + " that this client got; without COMMAND, what the client did is listed."
    },
    mixinStandardHelpOptions = true)
public final class WhyCommand extends TraceOptions {

  @Parameters(index = "0", paramLabel = "STORE", description = "The kind of store, as redis.")
  private String store = "";

  @Parameters(index = "1..*", paramLabel = "COMMAND", description = "What is asked about.")
  private List<String> words = new ArrayList<>();

  @Option(
      names = "--at",
      paramLabel = "TIME",
      description = "As of that time, such as 2026-11-23T06:00:00Z or, here, 2026-11-23T06:00.")
  private @Nullable String at;

  @Option(names = "--row", paramLabel = "N", description = "About the reply of that row.")
  private @Nullable Long row;

  @Option(
      names = "--part",
      paramLabel = "N",
      defaultValue = "-1",
      description = "Of a transaction, the element of its reply, from 0 (default: the last).")
  private int part = -1;

  @Option(
      names = "--client",
      paramLabel = "NAME",
      description = "A client's name, address or user.")
  private @Nullable String client;

  @Option(
      names = "--space",
      paramLabel = "N",
      defaultValue = "0",
      description = "Where in the store: of Redis the database (default: ${DEFAULT-VALUE}).")
  private String space = "";

  @Option(names = "--all", description = "All causes, as alternatives, not one of them.")
  private boolean all;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "10000",
      description = "The most operations of a cause or a list (default: ${DEFAULT-VALUE}).")
  private int limit;

  @Option(
      names = "--within",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description = "So long an answer may take; 0 for no limit (default: ${DEFAULT-VALUE}).")
  private double within;

  /** Made by picocli. */
  WhyCommand() {}

  @Override
  int run(StoredTrace trace) {
    check(limit > 0, "--limit must be positive");
    check(row == null || row > 0, "--row must be positive");
    check(within >= 0, "--within must not be negative");
    check(
        space.matches("[0-9]{1,9}"),
        "--space must be the number of a database, such as 0, but is " + space);
    awaitLoaded(trace);
    long before = before(trace);
    long epoch = trace.epoch(before);
    if (epoch == 0) {
      return failed("nothing was recorded before that");
    }
    var kind = trace.kind(epoch).specification().store();
    if (!kind.equals(store)) {
      return failed("this trace is that of the kind of store %s, not %s".formatted(kind, store));
    }
    if (client != null && words.isEmpty()) {
      return list(trace, before);
    }
    // However short it is, it is a limit.
    trace.allow(Duration.ofNanos((long) Math.ceil(within * 1e9)));
    var question = question(trace, before, epoch);
    try {
      return question.isEmpty() ? failed(notFound()) : answer(trace, question.get());
    } catch (IllegalArgumentException e) {
      // Of a part that there is not.
      return failed(String.valueOf(e.getMessage()));
    }
  }

  private long before(StoredTrace trace) {
    return row != null ? row : at != null ? trace.rowAfter(moment(at)) : Long.MAX_VALUE;
  }

  private Instant moment(String text) {
    try {
      return text.endsWith("Z")
          ? Instant.parse(text)
          : LocalDateTime.parse(text).atZone(ZoneId.systemDefault()).toInstant();
    } catch (DateTimeParseException e) {
      throw new ParameterException(
          spec.commandLine(), "--at is a time such as 2026-11-23T06:00:00Z, not " + text, e);
    }
  }

  private int list(StoredTrace trace, long before) {
    var view = new TraceView(trace);
    var operations = ofClient(trace, before);
    if (!operations.hasNext()) {
      var until = before == Long.MAX_VALUE ? "" : " before that";
      return failed("nothing of a client " + client + " is on record" + until);
    }
    for (int shown = 0; shown < limit && operations.hasNext(); shown++) {
      var operation = operations.next();
      print(json ? TraceView.json(view.element(operation)) : view.line(operation));
    }
    return ExitCode.OK;
  }

  /** What the client did on all of its connections, the newest first. */
  private Iterator<Operation> ofClient(StoredTrace trace, long before) {
    var connected = trace.connections(String.valueOf(client));
    return trace.ofConnections(connected.stream().map(Connected::id).toList(), before);
  }

  private Optional<Operation> question(StoredTrace trace, long before, long epoch) {
    var wanted = words.stream().map(Bytes::of).toList();
    if (client != null) {
      var operations = ofClient(trace, before);
      while (operations.hasNext()) {
        var operation = operations.next();
        if (operation.request().equals(wanted)) {
          return Optional.of(operation);
        }
      }
      return Optional.empty();
    }
    if (row != null) {
      return trace.operation(row);
    }
    if (wanted.isEmpty()) {
      throw new ParameterException(spec.commandLine(), "say what, such as GET cart:42, or --row");
    }
    var when = at == null ? null : moment(at);
    return Optional.of(trace.question(before, epoch, space, wanted, when));
  }

  private String notFound() {
    return client == null
        ? "there is no row " + row
        : "no such command of the client " + client + " is on record";
  }

  private int answer(StoredTrace trace, Operation question) {
    var specification = trace.kind(question.epoch()).specification();
    var wish = new Why.Wish(all, all ? Why.Wish.ALL.witnesses() : 1, limit, part);
    var answer = new Why(specification, trace).ask(question, wish);
    var view = new TraceView(trace);
    if (json) {
      print(TraceView.json(view.element(answer)));
    } else {
      view.lines(answer).forEach(this::print);
    }
    return ExitCode.OK;
  }
}
