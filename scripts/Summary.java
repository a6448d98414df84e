import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * Sums up a run of {@code ./test}. Its argument names the list of the run's steps, one per line
 * with the fields kind, name, exit code, log and report, parted by tabs:
 *
 * <ul>
 *   <li>A {@code maven} step's report is the checkout; every module's Surefire and Failsafe reports
 *       count.
 *   <li>A {@code step}'s report is a JUnit file, or a folder of such as Surefire leaves; or {@code -}: the last line of its log says how
 *       many passed and failed; or {@code none}: it has no tests.
 * </ul>
 *
 * <p>A step that failed without a failed test to show for it counts as one failure, and so does
 * every module that Maven could not build or whose tests' JVM crashed; Maven is told to go on after
 * failed tests, so those never end its goals. What was skipped did not pass, and why is told. Tests of
 * processes are repeated once when they fail; what passed only then is told. Prints a table, the
 * failures, and as the last line {@code N passed, N failed}; the exit code is 0 if all passed and
 * at least one did.
 */
final class Summary {
  private static final Pattern COUNTS = Pattern.compile("(\\d+) passed, (\\d+) failed");
  private static final Pattern FAILED_GOAL =
      Pattern.compile("\\[ERROR\\] Failed to execute goal (.*?)(?: on project (\\S+))?: (.*)");
  private static final Pattern GOAL = Pattern.compile("\\[INFO\\] --- \\S+ \\(\\S+\\) @ (\\S+) ---");
  private static final Pattern TIMEOUT =
      Pattern.compile("\\[ERROR\\] (There was a timeout .*in the fork)");
  private static final Pattern NOT_RUN = Pattern.compile("\\[INFO\\] (.+?) \\.+ SKIPPED.*");
  private static final Pattern ASSUMPTION =
      Pattern.compile("^org\\.opentest4j\\.TestAbortedException: (Assumption failed: )?");
  private static final int FAILURES_SHOWN = 100;

  /** A line of the list of steps. */
  private record Step(String kind, String name, int exitCode, Path log, String report) {
    static Step parse(String line) {
      var fields = line.split("\t", -1);
      if (fields.length != 5) {
        throw new IllegalArgumentException(
            "a step has 5 fields, not " + fields.length + ": " + line);
      }
      return new Step(
          fields[0], fields[1], Integer.parseInt(fields[2]), Path.of(fields[3]), fields[4]);
    }

    List<String> logLines() throws IOException {
      return Files.exists(log) ? new String(Files.readAllBytes(log)).lines().toList() : List.of();
    }
  }

  /** One row of the table: what one suite's tests came to. Each failure is told in one line. */
  private record Suite(
      String name,
      long passed,
      List<String> skipped,
      double seconds,
      List<String> failures,
      int unnamed,
      List<String> repeated) {
    Suite(String name, long passed, int unnamed, List<String> failures) {
      this(name, passed, List.of(), 0, failures, unnamed, List.of());
    }

    static Suite broken(String name, String reason) {
      return new Suite(name, 0, 0, List.of(reason));
    }

    long failed() {
      return failures.size() + unnamed;
    }

    Suite with(String failure) {
      var all = Stream.concat(failures.stream(), Stream.of(failure)).toList();
      return new Suite(name, passed, skipped, seconds, all, unnamed, repeated);
    }

    Suite plus(Suite other) {
      return new Suite(
          name,
          passed + other.passed,
          both(skipped, other.skipped),
          seconds + other.seconds,
          both(failures, other.failures),
          unnamed + other.unnamed,
          both(repeated, other.repeated));
    }

    private static List<String> both(List<String> some, List<String> others) {
      return Stream.concat(some.stream(), others.stream()).toList();
    }

    /** Each reason why tests were skipped, with their number. */
    Stream<String> notTested() {
      return skipped.stream()
          .collect(groupingBy(reason -> reason, LinkedHashMap::new, counting()))
          .entrySet()
          .stream()
          .map(reason -> "skipped: %s, %d: %s".formatted(name, reason.getValue(), reason.getKey()));
    }
  }

  private final List<Suite> suites = new ArrayList<>();
  private final List<String> notRun = new ArrayList<>();

  public static void main(String[] args) throws IOException {
    var summary = new Summary();
    for (var line : Files.readAllLines(Path.of(args[0]))) {
      summary.add(Step.parse(line));
    }
    System.exit(summary.print() ? 0 : 1);
  }

  private void add(Step step) throws IOException {
    switch (step.kind()) {
      case "maven" -> addMaven(step);
      case "step" -> addStep(step);
      default -> throw new IllegalArgumentException("no kind of step: " + step.kind());
    }
  }

  private void addStep(Step step) throws IOException {
    var suite =
        switch (step.report()) {
          case "none" -> new Suite(step.name(), 0, 0, List.of());
          case "-" -> counted(step);
          case String folder when Files.isDirectory(Path.of(folder)) ->
              readAll(step.name(), Path.of(folder));
          case String file when Files.exists(Path.of(file)) -> read(step.name(), Path.of(file));
          default -> Suite.broken(step.name(), "wrote no report; its log is " + step.log());
        };
    if (step.exitCode() != 0 && suite.failed() == 0) {
      suite = suite.with("ended with exit code " + step.exitCode() + "; its log is " + step.log());
    }
    if (!step.report().equals("none") || suite.failed() > 0) {
      suites.add(suite);
    }
  }

  private static Suite counted(Step step) throws IOException {
    var lines = step.logLines();
    var counts = COUNTS.matcher(lines.isEmpty() ? "" : lines.getLast());
    if (!counts.matches()) {
      return Suite.broken(step.name(), "its last line counts no tests; its log is " + step.log());
    }
    var passed = Long.parseLong(counts.group(1));
    return new Suite(step.name(), passed, Integer.parseInt(counts.group(2)), List.of());
  }

  private void addMaven(Step step) throws IOException {
    var told = false;
    for (var folder : reportFolders(Path.of(step.report()))) {
      addModule(
          Path.of(step.report()).relativize(folder.getParent().getParent()).toString(), folder);
    }
    var lines = step.logLines();
    var current = step.name();
    for (var i = 0; i < lines.size(); i++) {
      var line = lines.get(i);
      var begun = GOAL.matcher(line);
      if (begun.matches()) {
        current = begun.group(1);
      }
      // Maven goes on and ends well after that, as after failed tests; but no report names the test.
      var timeout = TIMEOUT.matcher(line);
      if (timeout.matches()) {
        told = true;
        suites.add(Suite.broken(current, timeout.group(1) + "; its log is " + step.log()));
      }
      var goal = FAILED_GOAL.matcher(line);
      if (goal.matches()) {
        var project = Optional.ofNullable(goal.group(2)).orElse(step.name());
        var reason =
            goal.group(3).isBlank()
                ? laterReason(lines.subList(i + 1, lines.size()))
                : goal.group(3);
        told = true;
        suites.add(Suite.broken(project, goal.group(1) + ": " + reason));
      }
      var skipped = NOT_RUN.matcher(line);
      if (skipped.matches()) {
        notRun.add(skipped.group(1));
      }
    }
    if (step.exitCode() != 0 && !told) {
      var reason = "ended with exit code " + step.exitCode() + "; its log is " + step.log();
      suites.add(Suite.broken(step.name(), reason));
    }
  }

  /** Surefire tells of a crashed JVM only after blank lines and pointers to folders. */
  private static String laterReason(List<String> lines) {
    return lines.stream()
        .map(line -> line.replaceFirst("^\\[ERROR\\] ?", ""))
        .filter(line -> !line.isBlank() && !line.startsWith("See "))
        .findFirst()
        .orElse("no reason given");
  }

  /** A module's Surefire and Failsafe reports make one row. */
  private void addModule(String module, Path folder) throws IOException {
    var sum = readAll(module, folder);
    if (!suites.isEmpty() && suites.getLast().name().equals(module)) {
      suites.add(suites.removeLast().plus(sum));
    } else {
      suites.add(sum);
    }
  }

  private static Suite readAll(String name, Path folder) throws IOException {
    var sum = new Suite(name, 0, 0, List.of());
    try (var files = Files.newDirectoryStream(folder, "TEST-*.xml")) {
      for (var file : files) {
        sum = sum.plus(read(name, file));
      }
    }
    return sum;
  }

  private static List<Path> reportFolders(Path root) throws IOException {
    var found = new ArrayList<Path>();
    for (var line : Files.readAllLines(root.resolve("pom.xml"))) {
      var module = line.strip();
      if (module.startsWith("<module>")) {
        var target = root.resolve(module.replaceAll("</?module>", "")).resolve("target");
        found.add(target.resolve("surefire-reports"));
        found.add(target.resolve("failsafe-reports"));
      }
    }
    found.removeIf(folder -> !Files.isDirectory(folder));
    return found;
  }

  /** Reads a JUnit report by its test cases: their number counts, not what the file says it is. */
  private static Suite read(String name, Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return readCases(name, in);
    } catch (XMLStreamException e) {
      return Suite.broken(name, file + " is no whole report: " + firstLine(e.getMessage()));
    }
  }

  private static Suite readCases(String name, InputStream in) throws XMLStreamException {
    var factory = XMLInputFactory.newFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    var xml = factory.createXMLStreamReader(in);
    long passed = 0;
    var skipped = new ArrayList<String>();
    var seconds = 0.0;
    var failures = new ArrayList<String>();
    var repeated = new ArrayList<String>();
    while (xml.hasNext()) {
      if (xml.next() == XMLStreamConstants.START_ELEMENT && xml.getLocalName().equals("testcase")) {
        var title = attribute(xml, "classname") + ": " + attribute(xml, "name");
        seconds += seconds(attribute(xml, "time"));
        switch (readCase(xml)) {
          case Passed() -> passed++;
          case Skipped(var reason) -> skipped.add(reason);
          case Failed(var reason) -> failures.add(title + ": " + reason);
          case Repeated(var reason) -> {
            passed++;
            repeated.add(title + ": " + reason);
          }
        }
      }
    }
    return new Suite(
        name, passed, List.copyOf(skipped), seconds, List.copyOf(failures), 0, List.copyOf(repeated));
  }

  private sealed interface Outcome {}

  private record Passed() implements Outcome {}

  private record Skipped(String reason) implements Outcome {}

  private record Failed(String reason) implements Outcome {}

  /** It failed, and passed when Surefire ran it once more. */
  private record Repeated(String reason) implements Outcome {}

  /** Reads to the end of a test case. */
  private static Outcome readCase(XMLStreamReader xml) throws XMLStreamException {
    Outcome outcome = new Passed();
    while (xml.hasNext()) {
      var event = xml.next();
      if (event == XMLStreamConstants.END_ELEMENT && xml.getLocalName().equals("testcase")) {
        return outcome;
      }
      if (event == XMLStreamConstants.START_ELEMENT && outcome instanceof Passed) {
        outcome =
            switch (xml.getLocalName()) {
              case "failure", "error" -> new Failed(firstLine(attribute(xml, "message")));
              case "flakyFailure", "flakyError" ->
                  new Repeated(firstLine(attribute(xml, "message")));
              case "skipped" -> new Skipped(whySkipped(xml));
              default -> outcome;
            };
      }
    }
    throw new XMLStreamException("it ends within a test case");
  }

  /** Surefire tells it as a message, or, of an assumption, as the exception's text. */
  private static String whySkipped(XMLStreamReader xml) throws XMLStreamException {
    var message = attribute(xml, "message");
    var text = xml.getElementText().strip();
    var reason = ASSUMPTION.matcher(firstLine(message.isEmpty() ? text : message)).replaceFirst("");
    return reason.isEmpty() ? "no reason given" : reason;
  }

  private static String attribute(XMLStreamReader xml, String name) {
    return Optional.ofNullable(xml.getAttributeValue(null, name)).orElse("");
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }

  /** Surefire writes 1,234.5 for long times. */
  private static double seconds(String time) {
    try {
      return Double.parseDouble(time.replace(",", ""));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /** Prints all and tells whether it is green. */
  private boolean print() {
    var width = suites.stream().mapToInt(s -> s.name().length()).max().orElse(0);
    var row = "%-" + Math.max(width, 5) + "s %8s %8s %8s %9s%n";
    System.out.printf("%n" + row, "suite", "passed", "failed", "skipped", "seconds");
    for (var s : suites) {
      System.out.printf(
          row, s.name(), s.passed(), s.failed(), s.skipped().size(), "%.1f".formatted(s.seconds()));
    }
    System.out.println();
    suites.stream().flatMap(Suite::notTested).forEach(System.out::println);
    suites.stream()
        .flatMap(s -> s.failures().stream().map(f -> "failed: " + s.name() + ": " + f))
        .limit(FAILURES_SHOWN)
        .forEach(System.out::println);
    suites.stream()
        .flatMap(s -> s.repeated().stream().map(r -> "passed when repeated: " + s.name() + ": " + r))
        .forEach(System.out::println);
    if (!notRun.isEmpty()) {
      System.out.println(
          notRun.stream().collect(joining(", ", "not run, as what they need failed: ", "")));
    }
    var passed = suites.stream().mapToLong(Suite::passed).sum();
    var failed = suites.stream().mapToLong(Suite::failed).sum();
    if (passed + failed == 0) {
      System.out.println("no test ran");
    }
    System.out.println(passed + " passed, " + failed + " failed");
    return failed == 0 && passed > 0;
  }
}
