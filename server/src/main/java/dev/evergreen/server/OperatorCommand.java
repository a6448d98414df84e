package dev.evergreen.server;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
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

  private int ask(String method, String path, String body) throws InterruptedException {
    var address = URI.create("http://127.0.0.1:" + port + path);
    var request = HttpRequest.newBuilder(address).method(method, BodyPublishers.ofString(body));
    try (var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      var answer = client.send(request.build(), BodyHandlers.ofString());
      boolean good = answer.statusCode() == 200;
      var out = good ? spec.commandLine().getOut() : spec.commandLine().getErr();
      out.print(answer.body());
      out.flush();
      return good ? ExitCode.OK : ExitCode.SOFTWARE;
    } catch (ConnectException e) {
      return failed("no node serves operators at 127.0.0.1:" + port + "; see operator-port");
    } catch (IOException e) {
      return failed("the node at 127.0.0.1:" + port + " did not answer: " + e);
    }
  }

  private int failed(String why) {
    spec.commandLine().getErr().println("node: " + why);
    return ExitCode.SOFTWARE;
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
      return node.ask("GET", "/members", "");
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
      return node.ask("POST", "/down", address);
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
      return node.ask("POST", "/drain", "");
    }
  }
}
