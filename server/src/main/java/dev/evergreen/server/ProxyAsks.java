package dev.evergreen.server;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What an operator asks of a proxy on this machine, at the address that its --admin says. */
abstract class ProxyAsks implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--admin",
      paramLabel = "ADDR",
      defaultValue = "127.0.0.1:9080",
      description = "The proxy's --admin. Default: ${DEFAULT-VALUE}.")
  private String admin = "";

  /** Prints what the proxy answers, line by line as it comes. */
  final int ask(String method, String path, @Nullable Duration patience)
      throws InterruptedException {
    return new Asking(spec, "proxy", "--admin", admin).ask(method, path, "", patience, this::show);
  }

  /** How a line is shown. */
  String show(String line) {
    return line;
  }

  /** The last transactions. */
  @Command(
      name = "log",
      description = "Shows the last requests and how they were answered, as lines of JSON.",
      mixinStandardHelpOptions = true)
  static final class Log extends ProxyAsks {
    @Option(
        names = {"-f", "--follow"},
        description = "Goes on with those that come.")
    private boolean follow;

    @Option(
        names = {"-c", "--course"},
        description = "With the points that each reached, and when.")
    private boolean course;

    /** Made by picocli. */
    Log() {}

    @Override
    public Integer call() throws InterruptedException {
      return ask(
          "GET", "/log?" + (follow ? "follow&" : "") + (course ? "course" : ""), Asking.PATIENCE);
    }
  }

  /** What the proxy has done and holds. */
  @Command(
      name = "stat",
      description = "Shows what the proxy has done and holds.",
      mixinStandardHelpOptions = true)
  static final class Stat extends ProxyAsks {
    private static final Pattern NUMBER =
        Pattern.compile("# TYPE .*|evergreen_proxy_(\\S+) (-?\\d+)");

    /** Made by picocli. */
    Stat() {}

    @Override
    public Integer call() throws InterruptedException {
      return ask("GET", "/metrics", Asking.PATIENCE);
    }

    @Override
    String show(String line) {
      var match = NUMBER.matcher(line);
      return match.matches() && match.group(1) != null
          ? "%15s  %s".formatted(match.group(2), match.group(1))
          : "";
    }
  }

  /** What is to be forgotten. */
  @Command(
      name = "purge",
      description = "Purges responses; when it returns they are not served as fresh any more.",
      mixinStandardHelpOptions = true)
  static final class Purge extends ProxyAsks {
    @ArgGroup(multiplicity = "1")
    private What what = new What();

    @Option(names = "--soft", description = "Keeps them, to be validated.")
    private boolean soft;

    /** By what. */
    static final class What {
      @Option(
          names = "--uri",
          paramLabel = "URI",
          description = "A whole URI, as clients name it: all its variants.")
      private @Nullable String uri;

      @Option(names = "--tag", paramLabel = "TAG", description = "All that has a tag.")
      private @Nullable String tag;

      @Option(names = "--prefix", paramLabel = "URI", description = "All whose URI begins so.")
      private @Nullable String prefix;

      /** Made by picocli. */
      What() {}

      String query() {
        return uri != null
            ? "uri=" + encode(uri)
            : tag != null ? "tag=" + encode(tag) : "prefix=" + encode(String.valueOf(prefix));
      }

      private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
      }
    }

    /** Made by picocli. */
    Purge() {}

    @Override
    public Integer call() throws InterruptedException {
      return ask("POST", "/purge?" + what.query() + (soft ? "&soft" : ""), null);
    }
  }
}
