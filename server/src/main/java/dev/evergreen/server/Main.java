package dev.evergreen.server;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code evergreen}, whose subcommands are the servers, and one to operate nodes. */
@Command(
    name = "evergreen",
    description = "The servers of Evergreen, and what operators need.",
    footer = "./evergreen new DIR makes a project of your own.",
    version = MemcachedCommand.VERSION,
    mixinStandardHelpOptions = true,
    subcommands = {MemcachedCommand.class, ProxyCommand.class, OperatorCommand.class})
public final class Main implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** Made by picocli. */
  Main() {}

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "say what, such as memcached");
  }

  /** Runs a server until it is ended; the exit code is 0 if that was by a signal or a client. */
  public static void main(String[] arguments) {
    System.exit(
        new CommandLine(new Main()).setCaseInsensitiveEnumValuesAllowed(true).execute(arguments));
  }
}
