package dev.evergreen.server;

import dev.evergreen.proxy.Proxy;
import dev.evergreen.proxy.ProxySettings;
import dev.evergreen.settings.Signals;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The HTTP caching proxy on the command line. */
@Command(
    name = "proxy",
    description = {
      "An HTTP proxy with a cache, in the foreground.",
      "SIGTERM and SIGINT end it when the requests that have begun are answered. SIGHUP reads its file and its certificates again."
    },
    footer = "docs/proxy.md tells what it does.",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    subcommands = {ProxyAsks.Log.class, ProxyAsks.Stat.class, ProxyAsks.Purge.class})
public final class ProxyCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private ProxyOptions options = new ProxyOptions();

  /** Made by picocli. */
  ProxyCommand() {}

  @Override
  public Integer call() throws InterruptedException {
    try (var proxy = Proxy.start(options.settings())) {
      var ended = new CountDownLatch(1);
      drainAtSignals(proxy, ended);
      Signals.on("HUP", () -> reload(proxy));
      var out = spec.commandLine().getOut();
      out.println("Proxy is at " + show(proxy.addresses()));
      var admin = proxy.admin();
      if (admin != null) {
        out.println("operators at http://" + show(List.of(admin)));
      }
      out.flush();
      ended.await();
      return ExitCode.OK;
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      spec.commandLine().getErr().println("proxy: " + Reasons.of(e, "--listen or --admin"));
      return ExitCode.SOFTWARE;
    }
  }

  /** A signal begins the end of the JVM, whose exit code would tell of the signal. */
  private static void drainAtSignals(Proxy proxy, CountDownLatch ended) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  proxy.drain();
                  ended.countDown();
                  Runtime.getRuntime().halt(ExitCode.OK);
                }));
  }

  private void reload(Proxy proxy) {
    try {
      proxy.reload(settingsAnew());
      spec.commandLine().getErr().println("proxy: reloaded");
    } catch (IOException
        | GeneralSecurityException
        | IllegalArgumentException
        | ParameterException e) {
      spec.commandLine().getErr().println("proxy: goes on as it was: " + e.getMessage());
    }
  }

  private static String show(List<InetSocketAddress> addresses) {
    return String.join(
        ", ",
        addresses.stream()
            .map(each -> each.getAddress().getHostAddress() + ":" + each.getPort())
            .toList());
  }

  /** What the command line, the environment and the file say, the latter as it is now. */
  private ProxySettings settingsAnew() throws IOException, GeneralSecurityException {
    var said = spec.root().commandLine().getParseResult().originalArgs();
    return settings(said.toArray(String[]::new));
  }

  /** What a command line says, with the environment and the file that it names. */
  static ProxySettings settings(String... said) throws IOException, GeneralSecurityException {
    var parsed = Main.commandLine().parseArgs(said);
    return ((ProxyCommand) parsed.subcommand().commandSpec().userObject()).options.settings();
  }
}
