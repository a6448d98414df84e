package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Redis's own tools, which say the same by the shim as without it. */
@Timeout(120)
class ToolsTest {
  private static Shimmed shimmed;

  @TempDir private Path directory;

  @BeforeAll
  static void start() throws IOException {
    shimmed = Shimmed.start();
  }

  @AfterAll
  static void end() {
    if (shimmed != null) {
      shimmed.close();
    }
  }

  @BeforeEach
  void fill() {
    shimmed.redis.ask("FLUSHALL");
    for (int i = 0; i < 50; i++) {
      shimmed.redis.ask("SET", "key:" + i, "v" + i);
      shimmed.redis.ask("RPUSH", "list", "e" + i);
    }
  }

  private static Process run(int port, String program, List<String> arguments) throws IOException {
    // By lines, as it says them to people.
    var command = new ArrayList<>(List.of("stdbuf", "-oL", program, "-p", "" + port));
    command.addAll(arguments);
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private static String said(int port, String program, String input, String... arguments)
      throws IOException, InterruptedException {
    var process = run(port, program, List.of(arguments));
    Thread.ofVirtual().start(() -> tell(process, input));
    var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return said.replace("127.0.0.1:" + port, "HERE") + "exit " + process.waitFor();
  }

  private static void tell(Process process, String input) {
    try (var to = process.getOutputStream()) {
      to.write(input.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void check(String program, String input, String... arguments)
      throws IOException, InterruptedException {
    var expected = said(shimmed.redis.port, program, input, arguments);
    if (!input.isEmpty()) {
      // What was said may have changed something.
      fill();
    }
    assertEquals(expected, said(shimmed.port(), program, input, arguments));
    assertTrue(expected.length() > 6, "it has said something");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-2", "-3", "--csv", "--json", "--raw"})
  void whatIsTypedIsAnswered(String form) throws IOException, InterruptedException {
    check(
        "redis-cli",
        """
        set a 1
        get a
        lrange list 0 3
        hset h f 1 g 2
        hgetall h
        nonsense
        multi
        incr a
        get nothing
        exec
        select 3
        get a
        "echo" 'two words'
        client setname typist
        client getname
        config get maxmemory
        object encoding a
        eval "return {1,{2,'x'},redis.call('get',KEYS[1])}" 1 a
        blpop none 0.01
        xadd s 1-1 f v
        xrange s - +
        debug sleep 0
        flushall
        """,
        form);
  }

  @Test
  void muchIsTakenAtOnceByAPipe() throws IOException, InterruptedException {
    var requests =
        IntStream.range(0, 3000)
            .mapToObj(i -> "*3\r\n$3\r\nSET\r\n$5\r\nk%04d\r\n$1\r\nv\r\n".formatted(i))
            .collect(
                Collectors.joining("", "SET inline 1\r\n", "*2\r\n$4\r\nINCR\r\n$4\r\nlist\r\n"));
    check("redis-cli", requests, "--pipe");
    assertEquals(":3052\r\n", shimmed.redis.ask("DBSIZE"));
  }

  @Test
  void keysAreListed() throws IOException, InterruptedException {
    check("redis-cli", "", "--scan", "--pattern", "key:1*");
    check("redis-cli", "", "--bigkeys");
  }

  @Test
  void aScriptIsRun() throws IOException, InterruptedException {
    var script = directory.resolve("script.lua");
    Files.writeString(script, "return {KEYS[1], ARGV[1], redis.call('llen', KEYS[1])}");
    check("redis-cli", "", "--eval", script.toString(), "list", ",", "x");
  }

  @Test
  void aDumpIsFetched() throws IOException, InterruptedException {
    var direct = directory.resolve("direct.rdb");
    var shim = directory.resolve("shim.rdb");
    said(shimmed.redis.port, "redis-cli", "", "--functions-rdb", direct.toString());
    said(shimmed.port(), "redis-cli", "", "--functions-rdb", shim.toString());
    // What it tells of times and memory lies in front of the checksum, and is as long.
    assertTrue(Math.abs(Files.size(direct) - Files.size(shim)) <= 4);
    assertArrayEquals(
        java.util.Arrays.copyOf(Files.readAllBytes(direct), 9),
        java.util.Arrays.copyOf(Files.readAllBytes(shim), 9));
  }

  @Test
  void countsAndCommandsAreShownForAMoment() throws IOException, InterruptedException {
    for (var form : List.of(List.of("--stat", "-i", "0.01"), List.of("monitor"))) {
      var process = run(shimmed.port(), "redis-cli", form);
      try (var lines = process.inputReader()) {
        // Its heading, or OK, and then what goes on.
        var first = lines.readLine();
        assertTrue(first.startsWith("---") || first.equals("OK"), first);
        shimmed.redis.ask("PING");
        for (int i = 0; i < 2; i++) {
          assertTrue(lines.readLine() != null);
        }
      } finally {
        process.destroy();
        process.waitFor();
      }
    }
  }

  private static List<String> names(String csv) {
    return Pattern.compile("(?m)^\"([^\"]+)\"")
        .matcher(csv)
        .results()
        .map(m -> m.group(1))
        .toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"-c 10", "-c 10 -P 16 -3", "-c 5 -P 4 -r 1000 --dbnum 2", "-c 5 -k 0 -t ping,set"})
  void allIsMeasured(String form) throws IOException, InterruptedException {
    var arguments = ("--csv -n 200 " + form).split(" ", -1);
    var expected = names(said(shimmed.redis.port, "redis-benchmark", "", arguments));
    var said = said(shimmed.port(), "redis-benchmark", "", arguments);
    assertEquals(expected, names(said), said);
    assertTrue(expected.size() > (form.contains("-t") ? 3 : 20), expected.toString());
    assertTrue(!said.toLowerCase(Locale.ROOT).contains("error"), said);
  }
}
