package dev.evergreen.bench;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command {@code bench}. */
@Command(
    name = "bench",
    description = "Measures Evergreen beside its alternatives.",
    subcommands = {
      Micro.class,
      Nodes.class,
      LoadCommand.class,
      Soak.class,
      MemcachedCommand.class,
      AttacksCommand.class,
      FibersCommand.class,
      StorageCommand.class,
      ProxyCommand.class,
      ShimCommand.class,
      TraceCommand.class
    },
    mixinStandardHelpOptions = true)
public final class Main {

  /** Runs the subcommand that the arguments name; the exit code is 0 if everything was measured. */
  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Main()).execute(arguments));
  }
}
