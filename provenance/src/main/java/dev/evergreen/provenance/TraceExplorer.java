package dev.evergreen.provenance;

import dev.evergreen.provenance.Specification.Knowledge;
import dev.evergreen.provenance.StoredTrace.Mark;
import dev.evergreen.provenance.Witness.Done;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the page shows of a trace, as lists and maps for JSON. Everything comes in pages and with
 * texts of a bounded length. Used as the trace is, by one thread.
 */
final class TraceExplorer {
  static final int PAGE = 50;

  /** Characters of a word or a reply. */
  private static final int LONGEST_TEXT = 2_000;

  /** Bytes of a reply that is shown as what it says. */
  private static final int LONGEST_REPLY = 64 << 10;

  /** So many touches of a witness's operations are compared to draw it as a graph. */
  private static final int MOST_TOUCHES = 10_000;

  /** Words of a request. */
  private static final int MOST_WORDS = 100;

  /** Elements of a witness; of a longer one these are the newest. */
  private static final int MOST_ELEMENTS = 200;

  /** So many operations are looked at for the reads of a client. */
  private static final int MOST_LOOKED_AT = 1_000;

  private static final int MOST_CELLS = 20;

  private final StoredTrace trace;
  private final TraceView view;

  TraceExplorer(StoredTrace trace) {
    this.trace = trace;
    this.view = new TraceView(trace, LONGEST_REPLY);
  }

  /** Which store it is and how far the trace is loaded. */
  Map<String, @Nullable Object> about() {
    var loaded = trace.awaitLoaded(Duration.ZERO);
    long epoch = trace.epoch(Long.MAX_VALUE);
    var about = new LinkedHashMap<String, @Nullable Object>();
    about.put("store", epoch == 0 ? "" : trace.kind(epoch).specification().store());
    about.put("server", epoch == 0 ? "" : trace.server(epoch));
    about.put("row", loaded.row());
    about.put("at", loaded.row() == 0 ? null : loaded.at().toString());
    about.put("whole", loaded.whole() || loaded.rest() == StoredTrace.Rest.NOT_KNOWN);
    return about;
  }

  /** The keys of a space that begin with a prefix. */
  Map<String, @Nullable Object> keys(String space, String prefix, @Nullable String after) {
    long epoch = trace.epoch(Long.MAX_VALUE);
    var parent = trace.kind(epoch).keys(space);
    var found = trace.below(parent, Bytes.of(prefix), after == null ? null : decoded(after), PAGE);
    var result = new LinkedHashMap<String, @Nullable Object>();
    result.put("keys", found.stream().map(TraceExplorer::cell).toList());
    result.put("more", found.size() == PAGE);
    return result;
  }

  /** What was done, or could have been, to a cell below a row, the newest first. */
  Map<String, @Nullable Object> timeline(String id, long before) {
    var cell = decoded(id);
    var writers = trace.writers(cell, before);
    var operations = new ArrayList<Map<String, @Nullable Object>>();
    long last = 0;
    while (operations.size() < PAGE && writers.hasNext()) {
      var operation = writers.next();
      var element = element(operation);
      element.put("effect", effect(operation, cell));
      operations.add(element);
      last = operation.row();
    }
    boolean more = writers.hasNext();
    var result = new LinkedHashMap<String, @Nullable Object>();
    result.put("cell", cell(cell));
    result.put("operations", operations);
    result.put("marks", marks(trace.marks(cell, more ? last : 0, before, PAGE)));
    result.put("more", more);
    return result;
  }

  /** Some answer of each kind, about what was recorded last. */
  Map<String, @Nullable Object> samples() {
    var samples = new LinkedHashMap<String, @Nullable Object>();
    samples.put("about", about());
    for (var last : trace.last(1)) {
      samples.put("keys", keys(last.space(), "", null));
      samples.put("operation", details(last));
      samples.put("before", before(last.row(), last.row()).orElse(null));
      samples.put("why", answer(last, -1, false));
      for (var cell : cells(last)) {
        samples.put("timeline", timeline(String.valueOf(cell.get("id")), last.row() + 1));
      }
    }
    return samples;
  }

  private static List<Map<String, @Nullable Object>> marks(List<Mark> marks) {
    var all = new ArrayList<Map<String, @Nullable Object>>();
    for (var mark : marks) {
      var element = new LinkedHashMap<String, @Nullable Object>();
      element.put("row", mark.row());
      element.put("at", mark.at() == null ? null : mark.at().toString());
      element.put("kind", mark.kind().toString().toLowerCase(java.util.Locale.ROOT));
      element.put("text", shortened(mark.text()));
      all.add(element);
    }
    return all;
  }

  /** What an operation did to a cell, in a word. */
  private String effect(Operation operation, Cell cell) {
    var effect = "none";
    for (var touch : trace.touches(operation)) {
      if (touch.writes() && touch.cell().overlaps(cell)) {
        switch (touch.effect()) {
          case YES -> {
            return touch.kind() == Touch.Kind.REPLACES && touch.cell().contains(cell)
                ? "replaced"
                : "changed";
          }
          case UNKNOWN -> effect = "unknown";
          case NO -> {}
        }
      }
    }
    return effect;
  }

  /** All about an operation. */
  Optional<Map<String, @Nullable Object>> operation(long row) {
    return trace.operation(row).map(this::details);
  }

  private Map<String, @Nullable Object> details(Operation operation) {
    var element = element(operation);
    element.put("lane", operation.lane());
    element.put("epoch", operation.epoch());
    element.put("replied", operation.replied() == null ? null : operation.replied().toString());
    trace
        .connection(operation.connection())
        .ifPresent(
            connected -> {
              element.put("address", connected.client().address());
              element.put("user", connected.client().user());
              element.put("protocol", connected.client().protocol());
            });
    element.put("parts", operation.parts().stream().map(part -> shortened(part.text())).toList());
    element.put("cells", cells(operation));
    return element;
  }

  /** The keys that an operation touches. */
  private List<Map<String, @Nullable Object>> cells(Operation operation) {
    int depth = trace.kind(operation.epoch()).keys(operation.space()).depth() + 1;
    var keys = new LinkedHashSet<Cell>();
    for (var touch : trace.touches(operation)) {
      if (touch.cell().depth() >= depth && keys.size() < MOST_CELLS) {
        keys.add(touch.cell().ancestor(depth));
      }
    }
    return keys.stream().map(TraceExplorer::cell).toList();
  }

  /** What the sender of an operation had been told before: the last reads, the newest first. */
  Optional<Map<String, @Nullable Object>> before(long row, long before) {
    return trace
        .operation(row)
        .map(
            operation -> {
              var reads = new ArrayList<Map<String, @Nullable Object>>();
              var earlier =
                  trace.ofConnection(operation.connection(), Math.min(before, operation.row()));
              int looked = 0;
              long next = 0;
              while (reads.size() < 5 && looked++ < MOST_LOOKED_AT && earlier.hasNext()) {
                var candidate = earlier.next();
                next = candidate.row();
                if (isRead(candidate)) {
                  reads.add(element(candidate));
                }
              }
              var result = new LinkedHashMap<String, @Nullable Object>();
              result.put("reads", reads);
              result.put("next", earlier.hasNext() ? next : null);
              return result;
            });
  }

  private boolean isRead(Operation operation) {
    var touches = trace.touches(operation);
    return operation.reply() != null
        && !touches.isEmpty()
        && touches.stream().anyMatch(touch -> touch.kind() != Touch.Kind.REPLACES)
        && touches.stream()
            .noneMatch(touch -> touch.writes() && touch.effect() == Touch.Effect.YES);
  }

  /** Why the reply of a row is as it is. */
  Optional<Map<String, @Nullable Object>> why(long row, int part, boolean all) {
    return trace.operation(row).map(question -> answer(question, part, all));
  }

  /** Why a request, written as a client would type it, would be answered as it would. */
  Optional<Map<String, @Nullable Object>> why(
      String request, String space, @Nullable Instant at, boolean all) {
    long before = at == null ? Long.MAX_VALUE : trace.rowAfter(at);
    long epoch = trace.epoch(before);
    if (epoch == 0) {
      return Optional.empty();
    }
    var words = trace.kind(epoch).typed(request);
    if (words.isEmpty()) {
      return Optional.empty();
    }
    var question = trace.question(before, epoch, space, words, at);
    return Optional.of(answer(question, -1, all));
  }

  private Map<String, @Nullable Object> answer(Operation question, int part, boolean all) {
    var specification = trace.kind(question.epoch()).specification();
    var wish = new Why.Wish(all, all ? Why.Wish.ALL.witnesses() : 1, MOST_ELEMENTS, part);
    var answer = new Why(specification, trace).ask(question, wish);
    var element = new LinkedHashMap<String, @Nullable Object>();
    element.put("question", element(question));
    element.put("recorded", question.row() != Long.MAX_VALUE && question.connection() != 0);
    element.put("reply", shortened(view.reply(answer)));
    element.put("known", TraceView.isKnown(answer));
    element.put("certainty", answer.certainty().label());
    element.put("minimal", answer.minimal());
    element.put("truncated", answer.truncated());
    element.put("note", answer.note());
    var witnesses = new ArrayList<Map<String, @Nullable Object>>();
    for (var witness : answer.witnesses()) {
      witnesses.add(graph(specification, question, witness));
    }
    element.put("witnesses", witnesses);
    return element;
  }

  /** The elements of a witness, and which of them each depends on; the question is the row 0. */
  private Map<String, @Nullable Object> graph(
      Specification specification, Operation question, Witness witness) {
    var elements = new ArrayList<Map<String, @Nullable Object>>();
    var operations = new ArrayList<Operation>();
    for (var element : witness.elements()) {
      switch (element) {
        case Done(var operation) -> {
          elements.add(element(operation));
          operations.add(operation);
        }
        case Witness.Clock(var moment) -> elements.add(TraceView.clock(moment));
      }
    }
    var edges = new ArrayList<List<Long>>();
    boolean drawn =
        Stream.concat(operations.stream(), Stream.of(question))
                .mapToLong(operation -> touches(specification, operation).size())
                .sum()
            <= MOST_TOUCHES;
    var reached = new HashMap<Long, Set<Long>>();
    for (int i = 0; i <= operations.size(); i++) {
      boolean asked = i == operations.size();
      var from = asked ? question : operations.get(i);
      long row = asked ? 0 : from.row();
      var mine = new HashSet<Long>();
      var causes = new ArrayList<Operation>();
      if (drawn) {
        causes.addAll(causes(specification, from, asked, operations.subList(0, i)));
      }
      if (asked) {
        // What no chain of cells leads to, the definition needs nevertheless.
        causes.addAll(operations);
      }
      causes.sort(Comparator.comparingLong(Operation::row).reversed());
      for (var cause : causes) {
        // Not what another cause depends on in turn: that would hide the course.
        if (mine.add(cause.row())) {
          edges.add(List.of(row, cause.row()));
          mine.addAll(reached.getOrDefault(cause.row(), Set.of()));
        }
      }
      reached.put(row, mine);
    }
    var graph = new LinkedHashMap<String, @Nullable Object>();
    graph.put("elements", elements);
    graph.put("edges", edges);
    return graph;
  }

  private static List<Touch> touches(Specification specification, Operation operation) {
    return specification.knowledge(operation) == Knowledge.NONE
        ? List.of()
        : specification.allTouches(operation);
  }

  /** Those of earlier operations that wrote last what an operation looked at. */
  private static Set<Operation> causes(
      Specification specification, Operation operation, boolean asked, List<Operation> earlier) {
    var causes = new LinkedHashSet<Operation>();
    for (var touch : touches(specification, operation)) {
      var cells = new ArrayList<>(touch.from());
      if (touch.kind() != Touch.Kind.REPLACES || asked) {
        cells.add(touch.cell());
      }
      for (var cell : cells) {
        causes.addAll(writers(specification, cell, earlier));
      }
    }
    return causes;
  }

  private static List<Operation> writers(
      Specification specification, Cell cell, List<Operation> earlier) {
    var writers = new ArrayList<Operation>();
    for (var candidate : earlier.reversed()) {
      for (var touch : specification.allTouches(candidate)) {
        if (touch.writes() && touch.cell().overlaps(cell)) {
          writers.add(candidate);
          if (touch.cell().contains(cell) && touch.effect() == Touch.Effect.YES) {
            return writers;
          }
          break;
        }
      }
    }
    return writers;
  }

  /** An operation: row, at, client, connection, space, command, reply. */
  Map<String, @Nullable Object> element(Operation operation) {
    var element = view.element(operation);
    element.put(
        "command",
        operation.request().stream()
            .limit(MOST_WORDS)
            .map(word -> shortened(word.text()))
            .toList());
    element.put("reply", shortened(element.get("reply")));
    element.put("unknown", operation.outcomeUnknown());
    element.put("connection", operation.connection());
    element.put("space", operation.space());
    return element;
  }

  private static Map<String, @Nullable Object> cell(Cell cell) {
    var element = new LinkedHashMap<String, @Nullable Object>();
    element.put("id", HexFormat.of().formatHex(cell.encoded()));
    element.put("name", cell.depth() == 0 ? "" : shortened(cell.name().text()));
    element.put("path", shortened(cell.toString()));
    return element;
  }

  private static Cell decoded(String id) {
    return Cell.decode(HexFormat.of().parseHex(id));
  }

  /** The same with long texts cut, and long lists. */
  private static @Nullable Object shortened(@Nullable Object value) {
    return switch (value) {
      case String text -> shortened(text);
      case List<?> list -> {
        var all = new ArrayList<@Nullable Object>();
        for (Iterator<?> rest = list.iterator(); rest.hasNext() && all.size() < MOST_WORDS; ) {
          all.add(shortened(rest.next()));
        }
        if (list.size() > MOST_WORDS) {
          all.add("… %d more".formatted(list.size() - MOST_WORDS));
        }
        yield all;
      }
      case null, default -> value;
    };
  }

  private static String shortened(String text) {
    return text.length() <= LONGEST_TEXT
        ? text
        : text.substring(0, LONGEST_TEXT) + "… (%d characters)".formatted(text.length());
  }
}
