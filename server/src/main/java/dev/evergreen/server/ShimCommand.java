package dev.evergreen.server;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What stands between clients and a store, and records what passes. */
@Command(
    name = "shim",
    description = "Stands between clients and a store, and records what passes.",
    mixinStandardHelpOptions = true,
    subcommands = RedisShimCommand.class)
final class ShimCommand implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** Made by picocli. */
  ShimCommand() {}

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "say before which store, such as redis");
  }
}
