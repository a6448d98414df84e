package dev.evergreen.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;

/**
 * What a command asks of a server for its operators, by HTTP.
 *
 * @param spec the command, which prints the answer: what is not 200 as an error
 * @param server what it asks, in words
 * @param option by which the server was named
 * @param address host and port of the server
 */
record Asking(CommandSpec spec, String server, String option, String address) {

  /** Until an answer begins, of what only asks. What is to be done is waited for until it is. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  /**
   * Prints what is answered, line by line as it comes; blocks until the answer's end.
   *
   * @param patience until the answer begins; null for any time
   * @param show how a line is shown; not at all if that is empty
   * @return the command's exit code
   */
  int ask(
      String method,
      String path,
      String body,
      @Nullable Duration patience,
      UnaryOperator<String> show)
      throws InterruptedException {
    try (var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      var request =
          HttpRequest.newBuilder(URI.create("http://" + address + path))
              .method(method, BodyPublishers.ofString(body));
      if (patience != null) {
        request.timeout(patience);
      }
      var answer = client.send(request.build(), BodyHandlers.ofLines());
      boolean good = answer.statusCode() == 200;
      var out = good ? spec.commandLine().getOut() : spec.commandLine().getErr();
      try (var lines = answer.body()) {
        var shown = lines.map(show).filter(line -> !line.isEmpty()).iterator();
        while (shown.hasNext()) {
          out.println(shown.next());
          if (Output.isLost(out)) {
            return failed("the output cannot be written any more");
          }
        }
      }
      return good ? ExitCode.OK : ExitCode.SOFTWARE;
    } catch (ConnectException e) {
      return failed("no %s answers operators at %s; see its %s".formatted(server, address, option));
    } catch (IOException | UncheckedIOException e) {
      return failed("the %s at %s did not answer: %s".formatted(server, address, e.getMessage()));
    } catch (IllegalArgumentException e) {
      return failed("%s is no address of a %s, such as 127.0.0.1:9080".formatted(address, server));
    }
  }

  private int failed(String why) {
    spec.commandLine().getErr().println(server + ": " + why);
    return ExitCode.SOFTWARE;
  }
}
