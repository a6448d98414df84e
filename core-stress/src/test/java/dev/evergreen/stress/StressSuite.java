package dev.evergreen.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.collectors.DiskReadCollector;
import org.openjdk.jcstress.infra.collectors.InProcessCollector;
import org.openjdk.jcstress.infra.collectors.TestResult;

/**
 * Runs a module's tests of jcstress, in processes of their own, and tells the result of each. In
 * the ordinary run each gets one short round; {@code -Devergreen.jcstress.mode=quick|default|tough}
 * gives it all compilers and that mode's time. The reports are in {@code target/jcstress}.
 */
@Timeout(value = 8, unit = TimeUnit.HOURS)
public abstract class StressSuite {

  /** Of jcstress, or null for one short round. */
  private static final @Nullable String MODE = System.getProperty("evergreen.jcstress.mode");

  /** jcstress itself waits for ever for a test that hangs. */
  private static final long LIMIT_MINUTES = MODE == null ? 6 : TimeUnit.HOURS.toMinutes(7);

  private final List<Class<?>> tests;
  private final List<String> flags;

  /**
   * A module's suite.
   *
   * @param flags what its tests need of Java
   * @param tests the classes whose nested ones are the tests
   */
  protected StressSuite(List<String> flags, List<Class<?>> tests) {
    this.flags = flags;
    this.tests = tests;
  }

  @TestFactory
  final Stream<DynamicTest> noThreadSeesWhatItMustNot() throws Exception {
    var reports =
        Path.of(System.getProperty("evergreen.jcstress.reports", "target/jcstress"))
            .toAbsolutePath();
    empty(reports);
    var output = run(reports);
    var results =
        results(reports, output).stream().collect(Collectors.groupingBy(TestResult::getName));
    return names()
        .map(
            name ->
                dynamicTest(
                    name.substring(packageName().length() + 1),
                    () -> check(name, results.getOrDefault(name, List.of()), output)));
  }

  private String packageName() {
    return tests.getFirst().getPackageName();
  }

  private Stream<String> names() {
    return tests.stream()
        .flatMap(group -> Arrays.stream(group.getClasses()))
        .filter(test -> test.isAnnotationPresent(JCStressTest.class))
        .map(Class::getCanonicalName)
        .sorted();
  }

  private static void check(String name, List<TestResult> results, Path output) throws IOException {
    assertFalse(results.isEmpty(), () -> name + " did not run; see " + output);
    for (var result : results) {
      assertEquals(Status.NORMAL, result.status(), () -> describe(result));
      assertTrue(result.getTotalCount() > 0, () -> describe(result));
      assertTrue(result.grading().isPassed, () -> describe(result));
    }
  }

  private static String describe(TestResult result) {
    var states =
        result.getStateKeys().stream()
            .map(state -> state + " (" + result.getCount(state) + " times)")
            .collect(Collectors.joining("; "));
    return Stream.of(
            Stream.of(result.getName() + " saw: " + states),
            result.grading().failureMessages.stream(),
            result.getMessages().stream(),
            result.getVmOut().stream(),
            result.getVmErr().stream())
        .flatMap(lines -> lines)
        .collect(Collectors.joining("\n"));
  }

  private static void empty(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (var files = Files.walk(folder)) {
        for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
    Files.createDirectories(folder);
  }

  private static List<TestResult> results(Path reports, Path output) throws Exception {
    var collected = new InProcessCollector();
    List<Path> files;
    try (var all = Files.list(reports)) {
      files = all.filter(file -> file.toString().endsWith(".bin.gz")).toList();
    }
    assertEquals(1, files.size(), () -> "jcstress left no results; see " + output);
    var reader = new DiskReadCollector(files.getFirst().toString(), collected);
    try {
      reader.dump();
    } finally {
      reader.close();
    }
    return List.copyOf(collected.getTestResults());
  }

  /** Runs all to the end; what is made of it is in the results. */
  private Path run(Path reports) throws IOException, InterruptedException {
    var output = reports.resolve("output.txt");
    var process =
        new ProcessBuilder(command(reports))
            .directory(reports.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)) {
        var text = Files.readString(output);
        var open = names().filter(name -> !text.contains("] " + name)).toList();
        fail("jcstress did not end; one of these waits for ever: " + open + "; see " + output);
      }
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    return output;
  }

  private List<String> command(Path reports) {
    var command = new ArrayList<String>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    // Its start, and that of the tests' processes below, is most of the time.
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), "org.openjdk.jcstress.Main"));
    var pattern =
        tests.stream()
            .map(group -> Pattern.quote(group.getName()) + "\\.")
            .collect(Collectors.joining("|"));
    command.addAll(List.of("-v", "-r", reports.toString(), "-t", pattern));
    if (MODE == null) {
      command.addAll(List.of("-m", "quick", "-sc", "false", "-af", "NONE", "-f", "1"));
      command.addAll(List.of("-iters", "1", "-time", "300", "-hs", "128", "-pth", "false"));
      command.addAll(
          List.of(
              "-jvmArgs", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 " + String.join(" ", flags)));
      // Few states at once, and no busy waiting: in some tests actors wait for each other.
      command.addAll(List.of("-strideSize", "16", "-strideCount", "8"));
      command.addAll(List.of("-spinStyle", "THREAD_YIELD"));
    } else {
      command.addAll(List.of("-m", MODE, "-jvmArgs", String.join(" ", flags)));
    }
    return command;
  }
}
