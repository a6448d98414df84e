package dev.evergreen.server;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** What an operator asks of a node of a cluster on this machine, by the port that it serves. */
@Command(
    name = "node",
    description = "Asks a node of a cluster on this machine, which serves operators at a port.",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      OperatorCommand.Members.class,
      OperatorCommand.Down.class,
      OperatorCommand.Drain.class
    })
public final class OperatorCommand {

  @Option(
      names = {"-p", "--operator-port"},
      paramLabel = "PORT",
      required = true,
      description = "The node's operator-port.")
  private int port;

  @Spec private CommandSpec spec = CommandSpec.create();

  /** Made by picocli. */
  OperatorCommand() {}

  private int ask(String method, String path, String body, @Nullable Duration patience)
      throws InterruptedException {
    return new Asking(spec, "node", "operator-port", "127.0.0.1:" + port)
        .ask(method, path, body, patience, line -> line);
  }

  /** Lists who belongs to the cluster. */
  @Command(
      name = "members",
      description = "Lists the members of the cluster as the node knows them, and what it owns.",
      mixinStandardHelpOptions = true)
  static final class Members implements Callable<Integer> {
    @ParentCommand private OperatorCommand node = new OperatorCommand();

    @Override
    public Integer call() throws InterruptedException {
      return node.ask("GET", "/members", "", Asking.PATIENCE);
    }
  }

  /** Gives a member up. */
  @Command(
      name = "down",
      description = "Gives another member up, whose process has ended or shall end.",
      mixinStandardHelpOptions = true)
  static final class Down implements Callable<Integer> {
    @ParentCommand private OperatorCommand node = new OperatorCommand();

    @Parameters(paramLabel = "HOST:PORT", description = "The member's address.")
    private String address = "";

    @Override
    public Integer call() throws InterruptedException {
      return node.ask("POST", "/down", address, null);
    }
  }

  /** Has the node leave. */
  @Command(
      name = "drain",
      description = "Has the node hand over its grains and leave; returns when it has left.",
      mixinStandardHelpOptions = true)
  static final class Drain implements Callable<Integer> {
    @ParentCommand private OperatorCommand node = new OperatorCommand();

    @Override
    public Integer call() throws InterruptedException {
      return node.ask("POST", "/drain", "", null);
    }
  }
}
