package dev.evergreen.server;

import dev.evergreen.settings.Settings;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/**
 * Lets the options of a command also stand in a file and in the environment. Their keys are the
 * long names of the options, without hyphens before them: {@code memory-limit = 1024}, or {@code
 * EVERGREEN_MEMCACHED_MEMORY_LIMIT}. What is said on the command line goes before the environment,
 * that before the file. A switch is {@code true} or {@code false}.
 */
final class ConfiguredOptions implements IDefaultValueProvider {

  private static final String FILE = "--config";

  private final CommandLine command;
  private final Map<String, String> environment;
  private @Nullable Settings file;

  private ConfiguredOptions(CommandLine command, Map<String, String> environment) {
    this.command = command;
    this.environment = environment;
  }

  /** Lets a command's options stand elsewhere, too. */
  static CommandLine addTo(CommandLine command) {
    return addTo(command, System.getenv());
  }

  static CommandLine addTo(CommandLine command, Map<String, String> environment) {
    var options = new ConfiguredOptions(command, environment);
    command.addMixin("configured", options);
    // Of the command's own options, not of its subcommands', as CommandLine's method does it.
    command.getCommandSpec().defaultValueProvider(options);
    return command;
  }

  @Option(
      names = FILE,
      paramLabel = "FILE",
      description =
          "Reads options from lines NAME = VALUE, where a name is an option's long one without its"
              + " hyphens. The environment has them as EVERGREEN_COMMAND_NAME.")
  void read(Path from) {
    try {
      file = known(Settings.of(from));
    } catch (UncheckedIOException | IllegalArgumentException e) {
      throw new ParameterException(command, String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public @Nullable String defaultValue(ArgSpec argument) {
    if (!(argument instanceof OptionSpec option) || !isConfigurable(option)) {
      return null;
    }
    var value = fromEnvironment().get(key(option));
    return value == null && file != null ? file.get(key(option)) : value;
  }

  private Settings fromEnvironment() {
    var name = command.getCommandSpec().qualifiedName("_").replaceFirst("^evergreen_", "");
    var prefix = "EVERGREEN_" + name.toUpperCase(Locale.ROOT) + "_";
    return known(Settings.of(environment, prefix));
  }

  private Settings known(Settings settings) {
    var keys = new TreeSet<String>();
    command.getCommandSpec().options().stream()
        .filter(ConfiguredOptions::isConfigurable)
        .forEach(option -> keys.add(key(option)));
    try {
      settings.knowOnly(keys);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command, String.valueOf(e.getMessage()), e);
    }
    return settings;
  }

  private static boolean isConfigurable(OptionSpec option) {
    return option.longestName().startsWith("--")
        && !option.usageHelp()
        && !option.versionHelp()
        && !Arrays.asList(option.names()).contains(FILE);
  }

  private static String key(OptionSpec option) {
    return option.longestName().substring(2);
  }
}
