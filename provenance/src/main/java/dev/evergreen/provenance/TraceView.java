package dev.evergreen.provenance;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Operations and answers of a trace, as people and programs are told them. */
public final class TraceView {
  private static final JsonMapper JSON = new JsonMapper();
  private static final int LONGEST_LINE = 200;
  private static final int BEGINNING = 1_000;

  private final StoredTrace trace;
  private final int longestReply;
  private final Map<Long, String> clients = new HashMap<>();

  /** A view of that trace; used as the trace is, by one thread. */
  public TraceView(StoredTrace trace) {
    this(trace, Integer.MAX_VALUE);
  }

  /** A view that shows of longer replies the beginning only, as a text. */
  TraceView(StoredTrace trace, int longestReply) {
    this.trace = trace;
    this.longestReply = longestReply;
  }

  /** An operation for {@code --json}: row, at, client, command, reply. */
  public Map<String, @Nullable Object> element(Operation operation) {
    var element = new LinkedHashMap<String, @Nullable Object>();
    element.put("row", operation.row());
    element.put("at", operation.sent().toString());
    element.put("client", client(operation));
    element.put("command", operation.request().stream().map(Bytes::text).toList());
    element.put("reply", reply(operation));
    return element;
  }

  /** An answer for {@code --json}: reply, certainty, witnesses, truncated. */
  public Map<String, @Nullable Object> element(Answer answer) {
    var witnesses = new ArrayList<List<Map<String, @Nullable Object>>>();
    for (var witness : answer.witnesses()) {
      witnesses.add(witness.elements().stream().map(this::element).toList());
    }
    var element = new LinkedHashMap<String, @Nullable Object>();
    element.put("reply", reply(answer));
    element.put("certainty", answer.certainty().label());
    element.put("witnesses", witnesses);
    element.put("truncated", answer.truncated());
    return element;
  }

  private Map<String, @Nullable Object> element(Witness.Element element) {
    return switch (element) {
      case Witness.Done done -> element(done.operation());
      case Witness.Clock(var moment) -> clock(moment);
    };
  }

  /** A moment that came: when, or between which times. */
  static Map<String, @Nullable Object> clock(Moment moment) {
    var clock = new LinkedHashMap<String, @Nullable Object>();
    clock.put("clock", moment.earliest().toString());
    if (!moment.latest().equals(moment.earliest())) {
      clock.put("until", moment.isOpen() ? null : moment.latest().toString());
    }
    return clock;
  }

  /** An operation on one line: row, time, client, command, reply. */
  public String line(Operation operation) {
    var reply = operation.outcomeUnknown() ? "(no reply)" : text(reply(operation));
    return "row %d  %s  %s  %s -> %s"
        .formatted(
            operation.row(),
            time(operation.sent()),
            shortened(client(operation)),
            shortened(operation.text()),
            shortened(reply));
  }

  /** An answer in lines for people. */
  public List<String> lines(Answer answer) {
    var lines = new ArrayList<String>();
    lines.add(
        "%s -> %s  (%s)"
            .formatted(
                shortened(answer.question().text()),
                shortened(isKnown(answer) ? text(reply(answer)) : "(not known)"),
                answer.certainty().label()));
    if (!answer.note().isEmpty()) {
      lines.add(shortened(answer.note()));
    }
    for (int i = 0; i < answer.witnesses().size(); i++) {
      boolean only = answer.witnesses().size() == 1;
      lines.add(only ? "because of" : i == 0 ? "either because of" : "or because of");
      var elements = answer.witnesses().get(i).elements();
      if (elements.isEmpty()) {
        lines.add(
            isKnown(answer)
                ? "  nothing: an empty store answers so"
                : "  nothing that is on record");
      }
      for (var element : elements) {
        lines.add("  " + line(element));
      }
    }
    if (answer.truncated()) {
      lines.add("There is more than is shown.");
    }
    return lines;
  }

  private String line(Witness.Element element) {
    return switch (element) {
      case Witness.Done done -> line(done.operation());
      case Witness.Clock(var moment) -> "the clock passed " + time(moment);
    };
  }

  /** What is printed for {@code --json}. */
  public static String json(Object element) {
    try {
      return JSON.writeValueAsString(element);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("texts, numbers, lists and maps can be written", e);
    }
  }

  /** Whether there is a reply on record, or it could be told what it would be. */
  static boolean isKnown(Answer answer) {
    return answer.question().reply() != null || answer.reply() != null;
  }

  /** The reply that an answer explains. */
  @Nullable Object reply(Answer answer) {
    var question = answer.question();
    var reply = answer.reply();
    if (reply == null || question.reply() != null) {
      return question.reply() == null ? null : reply(question);
    }
    return trace.kind(question.epoch()).plain(reply);
  }

  private @Nullable Object reply(Operation operation) {
    var reply = operation.reply();
    if (reply != null && reply.length() > longestReply) {
      return "%s… (%d bytes)".formatted(reply.slice(0, BEGINNING).text(), reply.length());
    }
    return reply == null ? null : trace.kind(operation.epoch()).value(reply);
  }

  /** The client's name if it has one, else its address. */
  private String client(Operation operation) {
    return clients.computeIfAbsent(
        operation.connection(),
        id ->
            trace
                .connection(id)
                .map(found -> found.client())
                .map(client -> client.name().isEmpty() ? client.address() : client.name())
                .orElse("?"));
  }

  private static String text(@Nullable Object reply) {
    return reply == null ? "(nil)" : reply instanceof String text ? text : json(reply);
  }

  private static String time(Moment moment) {
    var earliest = time(moment.earliest());
    return moment.latest().equals(moment.earliest())
        ? earliest
        : moment.isOpen()
            ? "a deadline that is not before " + earliest
            : "a deadline between %s and %s".formatted(earliest, time(moment.latest()));
  }

  private static String time(Instant moment) {
    return moment.truncatedTo(ChronoUnit.MICROS).toString();
  }

  /** On one line, no longer than one, and without what a terminal would obey. */
  private static String shortened(String text) {
    var printable = text.replaceAll("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", "?");
    return printable.length() <= LONGEST_LINE
        ? printable
        : printable.substring(0, LONGEST_LINE) + "...";
  }
}
