package dev.evergreen.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The lines of a run as one table.
 *
 * @param values what values and intervals are
 */
record Report(List<Line> lines, String values) {

  /**
   * Of medians.
   *
   * @param rounds how often the variants took turns
   */
  Report(List<Line> lines, int rounds) {
    this(
        lines,
        "Median (its 95 %% interval; below six rounds least–greatest) of %d rounds in which the variants take turns"
            .formatted(rounds));
  }

  private static final List<String> HEAD =
      List.of("what", "unit", "measured", "against", "that", "ratio", "budget", "met");

  /** For a terminal. */
  String text() {
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    rows.addAll(cells());
    var widths =
        IntStream.range(0, HEAD.size())
            .map(c -> rows.stream().mapToInt(row -> row.get(c).length()).max().orElse(0))
            .toArray();
    return rows.stream()
            .map(
                row ->
                    IntStream.range(0, row.size())
                        .mapToObj(c -> row.get(c) + " ".repeat(widths[c] - row.get(c).length()))
                        .collect(Collectors.joining("  "))
                        .stripTrailing())
            .collect(Collectors.joining("\n", "", "\n"))
        + "\n"
        + how()
        + "\n";
  }

  /** For a document. */
  String markdown() {
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    rows.add(HEAD.stream().map(column -> "---").toList());
    rows.addAll(cells());
    return rows.stream()
            .map(row -> "| " + String.join(" | ", row) + " |")
            .collect(Collectors.joining("\n", "", "\n"))
        + "\n"
        + how()
        + "\n";
  }

  private List<List<String>> cells() {
    return lines.stream().map(Report::cells).toList();
  }

  private static List<String> cells(Line line) {
    var budget = line.budget();
    return List.of(
        line.name(),
        line.unit(),
        line.value().toString(),
        line.against() == null ? "" : line.against(),
        line.baseline() == null ? "" : line.baseline().toString(),
        line.ratio() == null ? "" : line.ratio().toString(),
        budget == null ? "" : budget.text(),
        budget == null ? "" : budget.verdict().toString());
  }

  private String how() {
    return values
        + "; Java "
        + Runtime.version()
        + ", "
        + Runtime.getRuntime().availableProcessors()
        + " processors. A budget that lies inside the interval is undecided.";
  }
}
