package dev.evergreen.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command {@code evergreen}, whose subcommands are the servers, one to operate nodes, and those
 * that ask a trace.
 */
@Command(
    name = "evergreen",
    description = "The servers of Evergreen, and what operators need.",
    footer = "./evergreen new DIR makes a project of your own.",
    versionProvider = Main.Version.class,
    mixinStandardHelpOptions = true,
    subcommands = {
      MemcachedCommand.class,
      ProxyCommand.class,
      ShimCommand.class,
      OperatorCommand.class,
      WhyCommand.class,
      TraceCommand.class
    })
public final class Main implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** Made by picocli. */
  Main() {}

  /** This build's, as Maven has written it. */
  static final class Version implements IVersionProvider {
    /** Made by picocli. */
    Version() {}

    @Override
    public String[] getVersion() throws IOException {
      try (var text = Main.class.getResourceAsStream("version")) {
        var bytes = Objects.requireNonNull(text, "the build has no version").readAllBytes();
        return new String[] {new String(bytes, StandardCharsets.UTF_8).strip()};
      }
    }
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "say what, such as memcached");
  }

  /** Runs a server until it is ended; the exit code is 0 if that was by a signal or a client. */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    var all = new CommandLine(new Main()).setCaseInsensitiveEnumValuesAllowed(true);
    MemcachedCommand.configured(subcommand(all, "memcached"));
    ConfiguredOptions.addTo(subcommand(all, "proxy"));
    ConfiguredOptions.addTo(subcommand(subcommand(all, "shim"), "redis"));
    ConfiguredOptions.addTo(subcommand(subcommand(all, "trace"), "page"));
    // The words of a store's command may begin like an option: ZRANGE board 0 -1.
    subcommand(all, "why").setUnmatchedOptionsArePositionalParams(true);
    return all;
  }

  private static CommandLine subcommand(CommandLine of, String name) {
    return Objects.requireNonNull(of.getSubcommands().get(name));
  }
}
