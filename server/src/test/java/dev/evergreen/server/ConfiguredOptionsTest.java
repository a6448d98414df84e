package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.settings.SettingsPage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Options from the command line, the environment and a file. */
final class ConfiguredOptionsTest {

  @TempDir private Path folder;

  /** Shows what it is told. */
  @Command(name = "shop", mixinStandardHelpOptions = true)
  private static final class Shop implements Runnable {
    @Option(
        names = {"-p", "--port"},
        defaultValue = "80")
    private int port;

    @Option(names = "--open")
    private boolean open;

    @Option(names = "--goods", split = ",")
    private List<String> goods = List.of();

    @Option(names = "-x")
    private String unnamed = "none";

    @Override
    public void run() {}

    @Override
    public String toString() {
      return "%d %s %s %s".formatted(port, open, goods, unnamed);
    }
  }

  private String told(Map<String, String> environment, String... arguments) {
    var shop = new Shop();
    var errors = new StringWriter();
    var command =
        ConfiguredOptions.addTo(new CommandLine(shop), environment).setErr(new PrintWriter(errors));
    return command.execute(arguments) == 0 ? shop.toString() : errors.toString();
  }

  private String file(String text) throws IOException {
    return Files.writeString(folder.resolve("shop.conf"), text).toString();
  }

  @Test
  void aFileThatIsNoneOfPropertiesIsNamed() throws IOException {
    var said = told(Map.of(), "--config", file("goods = C:\\users\\ada"));
    assertTrue(said.contains("shop.conf") && !said.contains("invoke"), said);
  }

  @Test
  void theCommandLineGoesBeforeTheEnvironmentAndThatBeforeTheFile() throws IOException {
    var file = file("port = 1\nopen = true\ngoods = a,b\n");
    var environment = Map.of("EVERGREEN_SHOP_PORT", "2", "EVERGREEN_MALL_PORT", "9");
    assertEquals("80 false [] none", told(Map.of()));
    assertEquals("1 true [a, b] none", told(Map.of(), "--config", file));
    assertEquals("2 true [a, b] none", told(environment, "--config", file));
    assertEquals("3 true [c] none", told(environment, "--goods", "c", "--config", file, "-p", "3"));
  }

  @ParameterizedTest
  @CsvSource({
    "prot = 1, prot in",
    "port = x, x",
    "x = 1, x in",
    "config = other, config in",
    "help = true, help in",
  })
  void whatIsNotKnownIsNamed(String text, String named) throws IOException {
    var said = told(Map.of(), "--config", file(text));
    assertTrue(said.contains(named), said);
    var variable = "EVERGREEN_SHOP_" + text.split(" ", -1)[0].toUpperCase(java.util.Locale.ROOT);
    said = told(Map.of(variable, text.split(" ", -1)[2]));
    assertTrue(said.contains(variable) || said.contains("'x' is not"), said);
  }

  @Test
  void aFileThatIsNotThereIsNamed() {
    var said = told(Map.of(), "--config", folder.resolve("none.conf").toString());
    assertTrue(said.contains("none.conf cannot be read"), said);
  }

  private static CommandLine command(String... names) {
    var command = Main.commandLine();
    for (var name : names) {
      command = Objects.requireNonNull(command.getSubcommands().get(name));
    }
    return command;
  }

  @Test
  void thePageOfATraceIsConfiguredToo() {
    var page = command("trace", "page").getCommandSpec();
    assertNotEquals(null, page.findOption("--config"));
  }

  @ParameterizedTest
  @CsvSource({"memcached, memcached.md", "proxy, proxy.md", "shim redis, redis-shim.md"})
  void eachOptionIsOnItsPage(String name, String page) throws IOException {
    var text = SettingsPage.text(page);
    for (var option : command(name.split(" ", -1)).getCommandSpec().options()) {
      if (!option.hidden() && !option.usageHelp() && !option.versionHelp()) {
        // The proxy's page has the words without hyphens.
        assertTrue(
            Arrays.stream(option.names())
                .map(word -> name.equals("proxy") ? word.replaceFirst("^--", "") : word)
                .anyMatch(word -> Pattern.compile("[` -]" + word + "\\b").matcher(text).find()),
            option.longestName());
      }
    }
  }

  @Test
  void thePageOfTheProxyHasTheDefaults() throws IOException {
    var text = SettingsPage.text("proxy.md");
    for (var option : command("proxy").getCommandSpec().options()) {
      var value = option.defaultValue();
      if (value != null && !value.equals("false")) {
        var word = option.longestName().substring(2);
        assertTrue(
            text.lines().anyMatch(line -> line.contains("`" + word + "`") && line.contains(value)),
            word);
      }
    }
  }

  @Test
  void memcachedIsConfiguredByAFile() throws IOException {
    var file = file("port = 0\nmemory-limit = 2\nmax-item-size = 2m\n");
    var errors = new StringWriter();
    int code =
        MemcachedCommand.commandLine().setErr(new PrintWriter(errors)).execute("--config", file);
    assertNotEquals(0, code);
    assertTrue(errors.toString().contains("half of the memory limit"), errors.toString());
  }
}
