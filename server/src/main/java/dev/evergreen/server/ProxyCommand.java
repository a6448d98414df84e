package dev.evergreen.server;

import dev.evergreen.proxy.Proxy;
import dev.evergreen.proxy.ProxySettings;
import dev.evergreen.settings.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The HTTP caching proxy on the command line. */
@Command(
    name = "proxy",
    description = {
      "An HTTP proxy with a cache, in the foreground. SIGTERM and SIGINT end it when the requests",
      "that have begun are answered; SIGHUP reads its file and its certificates again."
    },
    footer = "docs/proxy.md tells what it does.",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    subcommands = {ProxyAsks.Log.class, ProxyAsks.Stat.class, ProxyAsks.Purge.class})
public final class ProxyCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private ProxyOptions options = new ProxyOptions();

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description =
          "A file of lines such as 'origin = http://127.0.0.1:3000', by the words of these options"
              + " without '--'. What is said on the command line counts more.")
  private @Nullable Path config;

  /** Made by picocli. */
  ProxyCommand() {}

  @Override
  public Integer call() throws InterruptedException {
    try (var proxy = Proxy.start(settings())) {
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
      spec.commandLine().getErr().println("proxy: " + e.getMessage());
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
      proxy.reload(settings());
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

  /** What the command line and the file say, the latter as it is now. */
  private ProxySettings settings() throws IOException, GeneralSecurityException {
    if (config == null) {
      return options.settings();
    }
    var both = new ProxyOptions();
    new CommandLine(both)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .parseArgs(arguments(words(config)).toArray(String[]::new));
    return both.settings();
  }

  private List<String> arguments(Settings file) {
    var known = CommandSpec.forAnnotatedObject(new ProxyOptions());
    var arguments = new ArrayList<String>();
    for (var word : file.keys()) {
      var option = known.findOption("--" + word);
      if (option == null) {
        throw new IllegalArgumentException(config + ": there is no option " + word);
      }
      if (matched(option) == null) {
        arguments.add("--" + word + "=" + file.get(word));
      }
    }
    for (var option : known.options()) {
      var given = matched(option);
      if (given != null) {
        given
            .originalStringValues()
            .forEach(each -> arguments.add(given.longestName() + "=" + each));
      }
    }
    return arguments;
  }

  private @Nullable OptionSpec matched(OptionSpec option) {
    return spec.commandLine().getParseResult().matchedOption(option.longestName());
  }

  private static Settings words(Path file) throws IOException {
    try {
      return Settings.of(file);
    } catch (UncheckedIOException e) {
      throw new IOException(e.getMessage(), e);
    }
  }
}
